# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Joined, Reference
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import CONF, DECLARED
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._discovery import join
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Foreign, Found, Predecessor, Whole
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import HIDDEN
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import PARTITIONS, ROOT_GUIDS, file_path
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from support import drawn, hostile

DEFAULT = "fe80:0000:0000:0000"
OTHER = "fe80:0000:0000:0001"


def port(number: int, *, lid: int = 0, sm: int = 1, prefix: str = DEFAULT, state: str = "ACTIVE") -> dict[str, t.Any]:
    return {
        "name": "mlx5_%d/1" % number,
        "device": "mlx5_%d" % number,
        "port": 1,
        "port_guid": "0x%016x" % (0x100 + number),
        "gid": "%s:0000:0000:0000:%04x" % (prefix, 0x100 + number),
        "link_layer": "InfiniBand",
        "state": state,
        "lid": lid,
        "sm_lid": sm,
        "pci": "0000:%02x:00.0" % (number + 3),
    }


NONE = Found()


def host(name: str, found: Found | Whole = NONE, *ports: t.Mapping[str, t.Any]) -> Subject:
    return Subject(
        name,
        facts={"ports": list(ports)},
        found=found if isinstance(found, Whole) else Whole(found),
        groups={"rdma": ["node1", "node2", "node3"], "all": ["node1", "node2", "node3"]},
    )


def handmade(partitions: str = "", guid: str = "", **keys: str) -> Found:
    source = "process 7, /etc/opensm/opensm.conf"
    return Found(predecessors=(Predecessor(source, {key: (value,) for key, value in keys.items()}, partitions, "/etc/opensm/partitions.conf", guid),))


def ours(fabric: str = "ib", text: str = "", declared: str = "", **files: str) -> Found:
    conf = "".join("%s %s\n" % pair for pair in Instance(fabric, "0x0000000000000101", 13).values().items())
    texts = {CONF: conf + text, DECLARED: "# x\n" + declared, **files}
    return Found(running=("rdma-opensm@%s.service" % fabric,), files={file_path(fabric, name): own for name, own in texts.items()})


def values(joined: Joined, name: str = "node1") -> dict[str, t.Any]:
    declared = {value.variable: value.value for value in joined.values[name]}
    secret = {
        key: "0x1" if key == "opensm_sm_key" else dict.fromkeys(value, "0x1")
        for key, value in declared.items()
        if key in ("opensm_sm_key", "opensm_secret_options")
    }
    assert problems({**declared, **secret}) == []
    return declared


def left(joined: Joined) -> str:
    return "\n".join("%s: %s" % each for each in joined.left)


def test_a_subnet_manager_that_was_set_up_by_hand() -> None:
    text = "Default=0x7fff, ipoib : ALL=full;\ngpu=0x8002 : 0x101=full, 0x102=limited;\n"
    found = handmade(text, routing_engine="updn,minhop", max_wire_smps="16", qos="TRUE", log_flags="7", sm_priority="9", part_enforce="off")
    joined = join([host("node1", found, port(1, lid=1)), host("node2", Found(), port(2, lid=2)), host("node3", Found(), port(3, lid=3))])
    assert values(joined) == {
        "opensm_priority": 9,
        "opensm_routing_engine": ["updn", "minhop"],
        "opensm_qos": True,
        "opensm_log_flags": "0x07",
        "opensm_options": {"max_wire_smps": 16, "part_enforce": "off"},
        "opensm_partitions": [
            {"name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"keyword": "ALL"}]},
            {"name": "gpu", "pkey": "0x0002", "members": [{"host": "node1"}, {"host": "node2", "membership": "limited"}]},
        ],
    }
    assert (joined.groups, list(joined.left), list(joined.dangers)) == ({"opensm": ["node1"]}, [], [])
    assert joined.values["node1"][0].source == "the running opensm, /etc/opensm/opensm.conf"


def test_secrets_are_no_values() -> None:
    joined = join([host("node1", handmade(sm_key=HIDDEN, m_key=HIDDEN, password=HIDDEN), port(1, lid=1))])
    declared = values(joined)
    assert declared["opensm_sm_key"] == Reference("vault_opensm_sm_key")
    assert declared["opensm_secret_options"] == {"m_key": Reference("vault_opensm_m_key")}
    assert "add vault_opensm_m_key to a file that ansible-vault encrypts, such as group_vars/opensm.yml next to" in left(joined)
    assert "password of the running opensm" in left(joined)


def test_a_master_and_its_standbys() -> None:
    found = [handmade(sm_priority=str(priority)) for priority in (3, 15, 14)]
    joined = join([host("node%d" % (number + 1), found[number], port(number, lid=number + 1, sm=2)) for number in range(3)])
    assert joined.groups == {"opensm": ["node2", "node3", "node1"]}
    assert [values(joined, "node%d" % number)["opensm_priority"] for number in (1, 2, 3)] == [15, 15, 15]
    assert all(values(joined, "node%d" % number)["opensm_standby"] for number in (1, 2, 3))
    assert left(joined) == "priority 3 of node1: as standby number 2 it gets 13"


def test_each_manager_keeps_its_log_and_that_is_no_danger() -> None:
    """The unit of Debian's package names the log after the port GUID, so no two hosts have the same."""
    logs = ["/var/log/opensm.0x101.log", "/var/log/opensm.0x102.log"]
    found = [handmade(sm_priority=str(15 - number), max_wire_smps="16", log_file=log) for number, log in enumerate(logs)] + [handmade(max_wire_smps="16")]
    joined = join([host("node%d" % (number + 1), found[number], port(number, lid=number + 1)) for number in range(3)])
    assert [values(joined, "node%d" % number).get("opensm_log_file") for number in (1, 2, 3)] == [*logs, None]
    assert [values(joined, "node%d" % number)["opensm_options"] for number in (1, 2, 3)] == [{"max_wire_smps": 16}] * 3
    assert list(joined.dangers) == []


def test_priorities_without_room_for_standbys() -> None:
    joined = join([host("node1", handmade(), port(1, lid=1)), host("node2", handmade(), port(2, lid=2))])
    assert "opensm_priority" not in values(joined)
    assert "the default counts, and node1 stays before the others" in left(joined)


def test_two_masters_and_settings_that_differ() -> None:
    joined = join([host("node1", handmade(), port(1, lid=1)), host("node2", handmade(routing_engine="updn"), port(2, lid=2, sm=2))])
    assert joined.dangers[0].startswith("two masters, on node1, node2")
    assert joined.dangers[1].startswith("the subnet manager of node2 has other settings than that of node1 (opensm_routing_engine)")


def test_no_master() -> None:
    assert "is master on node1" in join([host("node1", handmade(), port(1, sm=0))]).dangers[0]


def test_a_standby_whose_master_was_not_looked_at() -> None:
    joined = join([host("node2", handmade(), port(2, lid=2, sm=1))])
    assert (joined.dangers, left(joined)) == ([], "the master subnet manager of fabric ib (LID 1): it runs on none of these hosts")


def test_a_fabric_that_none_of_the_hosts_manages() -> None:
    joined = join([host("node1", Found(), port(1, lid=1, sm=9))])
    assert values(joined) == {"opensm_state": "unmanaged"}
    assert "no subnet manager runs" in join([host("node1", Found(), port(1, sm=0))]).dangers[0]


@pytest.mark.parametrize(("sm", "said"), [(9, "the subnet manager (LID 9): it runs on none of the hosts"), (0, "the subnet manager, which no port knows: it")])
def test_a_manager_may_run_on_a_host_that_was_not_looked_at(sm: int, said: str) -> None:
    joined = join([host("node2", Found(), port(1, sm=sm))._replace(unseen=["node1"])])
    assert (values(joined, "node2"), joined.groups, joined.dangers) == ({}, {}, [])
    assert left(joined).startswith(said) and "so opensm_state and the group opensm are not declared" in left(joined)
    assert join([host("node1")]).dangers == []


def test_what_is_not_ours_and_what_does_not_run() -> None:
    found = Found(foreign=(Foreign(7, "unit ufm.service"),), predecessors=(Predecessor("/etc/opensm/opensm.conf", {"qos": ("TRUE",)}, runs=False),))
    words = left(join([host("node1", found, port(1, lid=1))]))
    assert "unit ufm.service" in words and "an opensm that does not run (/etc/opensm/opensm.conf)" in words


def test_what_no_instance_may_have() -> None:
    joined = join([host("node1", handmade(ignore_other_sm="TRUE", command_line="--what"), port(1, lid=1))])
    assert "ignore_other_sm" in joined.dangers[0]
    assert "opensm_give_up: [ignore_other_sm]" in left(joined) and "opensm_give_up: [command_line]" in left(joined)


def test_what_the_installed_opensm_does_not_take() -> None:
    template = "# Supported engines: minhop, updn\nrouting_engine (null)\n# x\nmax_wire_smps 4\n"
    found = handmade(routing_engine="magic", max_wire_smps="16", max_wire_smpz="16")._replace(template=template)
    joined = join([host("node1", found, port(1, lid=1))])
    assert values(joined) == {"opensm_priority": 0, "opensm_options": {"max_wire_smps": 16}}
    assert "max_wire_smpz of the running opensm, /etc/opensm/opensm.conf: the installed opensm does not take it (allowed: max_wire_smps)" in left(joined)
    assert "routing_engine of the running opensm" in left(joined) and "opensm_give_up: [routing_engine]" in left(joined)


def test_the_files_that_keys_name() -> None:
    named = {"/etc/roots": "# x\n0x10 spine\n\n0x20\n", "/etc/qos": "# Managed\nqos-ulps\nend-qos-ulps\n"}
    found = Whole(handmade(routing_engine="updn", qos="TRUE", root_guid_file="/etc/roots", qos_policy_file="/etc/qos"), named)
    declared = values(join([host("node1", found, port(1, lid=1))]))
    assert declared["opensm_root_guids"] == ["0x%016x" % 0x10, "0x%016x" % 0x20]
    assert declared["opensm_qos_policy"] == "qos-ulps\nend-qos-ulps\n"
    lost = left(join([host("node1", Whole(handmade(root_guid_file="/etc/roots", qos_policy_file="/etc/qos"), named), port(1, lid=1))]))
    assert "root_guid_file" in lost and "qos_policy_file" in lost


def test_ours() -> None:
    files = {PARTITIONS: "Default=0x7fff : ALL=full;\n", ROOT_GUIDS: "# x\n0x0000000000000010\n"}
    found = ours(text="routing_engine updn\nmax_wire_smps 8\nlmc 3\nlog_file /var/log/x.log\n", declared="routing_engine\nmax_wire_smps\n", **files)
    joined = join([host("node1", found, port(1, lid=1))])
    assert values(joined) == {
        "opensm_priority": 13,
        "opensm_routing_engine": ["updn"],
        "opensm_options": {"max_wire_smps": 8},
        "opensm_log_file": "/var/log/x.log",
        "opensm_root_guids": ["0x0000000000000010"],
        "opensm_partitions": [{"name": "Default", "pkey": "0x7fff", "members": [{"keyword": "ALL"}]}],
    }


def test_two_fabrics() -> None:
    text = "Default=0x7fff, ipoib : ALL=full;\na=0x8001 : 0x102=full;\n"
    second = handmade(text, guid="0x0000000000000102", subnet_prefix=str(0xFE80000000000001))
    both = [port(1, lid=1), port(2, lid=1, prefix=OTHER)]
    joined = join([host("node1", ours(), *both), host("node2", second, *both), host("node3", Found(), port(3, lid=3, prefix=OTHER), port(4, state="DOWN"))])
    fabric = "fabric-fe80000000000001"
    assert values(joined)["rdma_fabrics"] == {"ib": ["0000:04:00.0/1"], fabric: ["0000:05:00.0/1"]}
    assert values(joined)["opensm_fabrics"] == values(joined, "node2")["opensm_fabrics"] == values(joined, "node3")["opensm_fabrics"]
    assert values(joined, "node2")["opensm_fabrics"][fabric]["subnet_prefix"] == "0xfe80000000000001"
    assert [entry["name"] for entry in values(joined, "node2")["opensm_fabrics"][fabric]["partitions"]] == ["Default", "a"]
    assert values(joined, "node3")["fabric"] == fabric
    assert "it is down, so its fabric is not known" in left(joined)


def test_one_fabric_with_a_prefix_and_a_port_of_several() -> None:
    joined = join([host("node1", handmade(guid="0x0000000000000102"), port(1, prefix=OTHER), port(2, lid=1, prefix=OTHER))])
    assert values(joined) == {"opensm_priority": 0, "opensm_port": "0000:05:00.0/1", "opensm_fabrics": {"ib": {"subnet_prefix": "0xfe80000000000001"}}}


@pytest.mark.parametrize("text", hostile.NAMES)
def test_hostile_values(text: str) -> None:
    found = handmade(
        "%s=0x8001 : ALL=full;\n" % text, routing_engine=text, log_prefix=text, log_flags=text, sm_priority=text, subnet_prefix="0xfe80000000000000"
    )
    values(join([host("node1", found, port(1, lid=1))]))
    join([Subject("node1", facts={"ports": [{"link_layer": "InfiniBand", "gid": text, "lid": text, "sm_lid": text}]}, found=Whole(handmade()))])


def test_what_was_declared_applied_and_forgotten_is_declared_again() -> None:
    """From variables to the files of an instance, and back."""
    chance = random.Random(9)
    for _round in range(1000):
        declared = drawn.subnet_managers(chance)
        ports = [port(number, lid=number) for number in (1, 2, 3)]
        again = values(join([host("node1", drawn.with_manager(declared), ports[0]), host("node2", NONE, ports[1]), host("node3", NONE, ports[2])]))
        assert again == declared
