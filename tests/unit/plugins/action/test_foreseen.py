# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller foresees what roles would refuse, from one inspection of each node, before any change."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
import typing as t
from unittest import mock

import pytest
import yaml
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import report, validate_site
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._registry import CONCERNS, ROLES
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import STAMP_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import UNIT_OF
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _concern as ipoib
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed, look_whole
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _concern as kernel_modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import Directive
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found as Modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Seen
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found as Managers
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import Election, Member, elect
from ansible_collections.rdma.ofed.plugins.module_utils._record import encode
from ansible_collections.rdma.ofed.plugins.module_utils._schema import _site
from ansible_collections.rdma.ofed.plugins.module_utils._site._leaving import leaves_of, left_out, takes_part
from ansible_collections.rdma.ofed.plugins.module_utils._site._machines import machine_marks, same_machines
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from support.ipoib_node import CAPABLE, FakeNode
from support.playbook_plays import GOES_ON, judges_controller, plays

ROOT = pathlib.Path(__file__).resolve().parents[4]
HOSTS = ["node1", "node2", "node3"]
IB0: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}]
FOREIGN = "/etc/systemd/network/10-ib.network configures ib0"


_UUIDS = itertools.count()


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path / "controller"))


def looked(node: FakeNode, variables: t.Mapping[str, t.Any], host: str = "node1") -> None:
    """Store the results as the action rdma_facts does."""
    found = condensed(look_whole(node, {}, str(node.root)), ipoib.hints(variables)["names"])
    _looks.keep(host, json.loads(json.dumps({"ipoib": encode(found)})))


def run(plugin: t.Any, arguments: dict[str, t.Any], uuid: str = "", **task_vars: t.Any) -> dict[str, t.Any]:
    templar = mock.Mock()
    templar.template = lambda value: value
    task: t.Any = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args=arguments, _uuid=uuid or str(next(_UUIDS)))
    found = plugin.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), templar, mock.Mock())
    found._execute_module = mock.Mock(side_effect=AssertionError("no node is visited"))
    result: dict[str, t.Any] = found.run(
        task_vars={"groups": {"rdma": HOSTS, "opensm": HOSTS[:1]}, "hostvars": {host: {} for host in HOSTS}, "ansible_play_hosts": HOSTS, **task_vars}
    )
    assert result["changed"] is False
    return result


def foresee(host: str = "node1", **variables: t.Any) -> list[str]:
    result = run(validate_site, {"foresee": True}, inventory_hostname=host, ansible_facts={}, **variables)
    assert "failed" not in result
    return t.cast("list[str]", result["refusals"])


def bare(path: pathlib.Path) -> FakeNode:
    """Return a node without the module ib_ipoib, on which other software has configured ib0."""
    node = FakeNode(path, "systemd-networkd", CAPABLE, "mlx4_core")
    node.write("etc/systemd/network/10-ib.network", "[Match]\nName=ib*\n[Network]\nDHCP=yes")
    return node


def test_a_conflict_is_foreseen_before_the_interface_is_there(tmp_path: pathlib.Path) -> None:
    variables = {"ipoib_interfaces": IB0}
    looked(bare(tmp_path / "node"), variables)
    (refusal,) = foresee(**variables)
    assert refusal.startswith(FOREIGN)
    # Another run inspects the node and has nothing to refuse.
    looked(FakeNode(tmp_path / "fresh", "systemd-networkd", CAPABLE, "mlx4_core"), variables)
    assert foresee(**variables) == []


@pytest.mark.parametrize(
    ("interfaces", "name"),
    [
        ([{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8001}], "ib0.8001"),
        ([{"name": "bond0", "bond": {"ports": ["ib0", "ib1"]}}], "bond0"),
        ([{"name": "storage", "port_guid": "0x0002c903000f0001"}], "storage"),
    ],
)
def test_a_conflict_of_any_declared_name_is_foreseen(tmp_path: pathlib.Path, interfaces: list[t.Any], name: str) -> None:
    node = FakeNode(tmp_path / "node", "systemd-networkd", CAPABLE, "mlx4_core", ports=2)
    node.write("etc/systemd/network/10-other.network", "[Match]\nName=%s\n[Network]\nDHCP=yes" % name)
    looked(node, {"ipoib_interfaces": interfaces})
    (refusal,) = foresee(ipoib_interfaces=interfaces)
    assert "10-other.network configures %s;" % name in refusal


def test_giving_up_all_interfaces_is_foreseen(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path / "node", "systemd-networkd", CAPABLE, "mlx4_core")
    node.appear("ib0")
    node.call(interfaces=IB0)
    looked(node, {})
    (refusal,) = foresee()
    assert "rdma_allow_removal: true" in refusal
    assert foresee(rdma_allow_removal=True) == foresee(rdma_allow_removal="yes") == foresee(ipoib_state="absent") == []


def test_without_a_look_nothing_is_foreseen(tmp_path: pathlib.Path) -> None:
    assert foresee(ipoib_interfaces=IB0) == []
    looked(bare(tmp_path / "node"), {"ipoib_interfaces": IB0})
    assert foresee("node2", ipoib_interfaces=IB0) == []


def test_what_the_run_does_not_come_to_is_not_refused(tmp_path: pathlib.Path) -> None:
    looked(bare(tmp_path / "node"), {"ipoib_interfaces": IB0})
    assert foresee(ipoib_interfaces=IB0, ansible_run_tags=["kernel_modules"], ansible_skip_tags=[]) == []
    assert foresee(ipoib_interfaces=IB0, ansible_run_tags=["all"], ansible_skip_tags=["ipoib"]) == []
    assert len(foresee(ipoib_interfaces=IB0, ansible_run_tags=["ipoib", "ofed"], ansible_skip_tags=[])) == 1
    # With a tag that a site has given to the playbook, the run may reach it.
    assert takes_part("ipoib", ["network"], [])


OURS = "rdma-opensm@ib.service"


@pytest.mark.parametrize(
    ("host", "found", "variables", "asked"),
    [
        # The first start on the designated host, and a change that waits for a restart; another host starts none.
        ("node1", Managers(), {}, True),
        ("node1", Managers(running=(OURS,), replaced=(OURS,)), {}, True),
        ("node1", Managers(running=("opensm.service",)), {}, True),
        ("node2", Managers(), {}, False),
        # A run that finds the subnet manager running asks only in its turn.
        ("node1", Managers(running=(OURS,)), {}, False),
        # Stopping the only subnet manager of the site; one with a successor; with consent; without any.
        ("node1", Managers(running=(OURS,)), {"opensm_state": "absent"}, True),
        ("node2", Managers(running=(OURS,)), {"opensm_state": "absent"}, False),
        ("node1", Managers(running=(OURS,)), {"opensm_state": "absent", "rdma_allow_removal": True}, False),
        ("node1", Managers(running=("opensm.service",)), {"opensm_state": "absent"}, False),
        ("node1", Managers(), {"opensm_state": "unmanaged"}, False),
    ],
)
def test_the_fabric_is_asked_first_where_a_subnet_manager_comes_or_goes(host: str, found: Managers, variables: dict[str, t.Any], asked: bool) -> None:
    _looks.keep(host, json.loads(json.dumps({"opensm": encode(found)})))
    result = run(validate_site, {"foresee": True}, inventory_hostname=host, ansible_facts={}, **variables)
    assert result["ask_fabric"] is asked


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Modules(release="6.1", installed=("6.2",)), "/lib/modules/6.1 is missing"),
        (
            Modules(
                release="6.1",
                catalogue=Catalogue(frozenset(kernel_modules.USUAL)),
                directives=(Directive("blacklist", "ib_ipoib", "", "/etc/modprobe.d/no.conf", 3),),
            ),
            "/etc/modprobe.d/no.conf line 3",
        ),
        # The stack that is installed first may provide the module.
        (Modules(release="6.1", catalogue=Catalogue(frozenset(kernel_modules.USUAL[1:]))), ""),
    ],
)
def test_of_kernel_modules_what_no_installation_changes(found: Modules, words: str) -> None:
    seen = Seen(frozenset(kernel_modules.USUAL), frozenset(), found)
    _looks.keep("node1", json.loads(json.dumps({"kernel_modules": encode(seen)})))
    refusals = foresee()
    assert bool(refusals) == bool(words)
    assert words in " ".join(refusals)


def gpu_refusals(kind: str, gpu: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> list[str]:
    facts = {"gpu": {"devices": [{"pci": "0000:17:00.0", "driver": "nvidia"}], "managed": [], **gpu}, "machine": {"kind": kind}}
    found = run(validate_site, {"foresee": True}, inventory_hostname="node2", ansible_facts={"rdma": marked(facts)}, **variables)
    assert "failed" not in found, found
    return t.cast("list[str]", found["refusals"])


def test_a_module_for_gpu_memory_that_is_in_use_is_not_unloaded() -> None:
    def foreseen(state: str, users: int, managed: str) -> list[str]:
        peers = [{"name": "nvidia_peermem", "users": 7}, {"name": "nv_peer_mem", "users": users}]
        return gpu_refusals("host", {"peers": peers, "managed": [managed]}, {"gpudirect_state": state})

    (refusal,) = foreseen("absent", 2, STAMP_PATH)
    assert "in use by 2 registrations" in refusal
    assert foreseen("absent", 0, STAMP_PATH) == foreseen("absent", 2, "/etc/systemd/system/x") == foreseen("present", 2, STAMP_PATH) == []


def test_gpudirect_in_a_container_needs_consent() -> None:
    def foreseen(kind: str = "container", managed: t.Sequence[str] = (), **variables: t.Any) -> list[str]:
        return gpu_refusals(kind, {"managed": list(managed)}, variables)

    (refusal,) = foreseen(gpudirect_method="nvidia_peermem")
    assert "rdma_allow_container: true" in refusal
    for variables in ({"rdma_allow_container": True}, {"gpudirect_state": "absent"}, {"ansible_run_tags": ["ipoib"]}):
        assert foreseen(**{"gpudirect_method": "nvidia_peermem", **variables}) == []
    assert foreseen() == foreseen("host", gpudirect_method="nvidia_peermem") == []
    # An existing configuration may need no change.
    assert foreseen(managed=["/etc/systemd/system/x"], gpudirect_method="nvidia_peermem") == []


@pytest.mark.parametrize("method", ["nvidia_peermem", "nv_peer_mem"])
def test_a_masked_unit_for_gpu_memory_is_not_enabled(method: str) -> None:
    unit = UNIT_OF[method]
    (refusal,) = gpu_refusals("host", {"masked": [unit], "managed": [STAMP_PATH]}, {"gpudirect_method": method})
    assert "the unit %s is masked" % unit in refusal
    other = [name for name in UNIT_OF.values() if name != unit]
    assert gpu_refusals("host", {"masked": other}, {"gpudirect_method": method}) == []
    assert gpu_refusals("host", {"masked": [unit]}, {}) == gpu_refusals("host", {"masked": [unit], "devices": []}, {"gpudirect_method": method}) == []
    # A run that omits the role does not refuse it.
    assert gpu_refusals("host", {"masked": [unit]}, {"gpudirect_method": method, "ansible_run_tags": ["opensm"]}) == []


def table(found: t.Mapping[str, list[str]], **arguments: t.Any) -> dict[str, t.Any]:
    hostvars = {host: {"rdma_site": {"left_out": left_out({"ipoib": refusals})}} for host, refusals in found.items()}
    return run(report, {"kind": "refusals", **arguments}, hostvars=hostvars, ansible_play_hosts=list(hostvars))


REFUSED = {"node1": [FOREIGN], "node2": [], "node3": [FOREIGN, "no"], "node4": [FOREIGN]}


def test_equal_refusals_are_told_once_and_leave_these_hosts_out(capsys: pytest.CaptureFixture[str]) -> None:
    result = table(REFUSED)
    assert "failed" not in result
    assert result["left_out"] == {host: {"ipoib": reasons, "ipoib_network": reasons} for host, reasons in REFUSED.items() if reasons}
    printed = capsys.readouterr().out.strip().splitlines()
    assert printed[1:] == ["  node[1,3-4]: left out of ipoib: %s" % FOREIGN, "  node3: left out of ipoib: no"]
    assert "failed" not in table({"node1": [], "node2": []}) and not capsys.readouterr().out


def test_the_strict_way_ends_the_run_for_all() -> None:
    result = table(REFUSED, strict=True)
    assert result["failed"] is True
    assert result["msg"].startswith("rdma_strict is set, and nothing was changed on any host. node[1,3-4]: left out of ipoib: %s; node3:" % FOREIGN)
    assert "failed" not in table({"node1": []}, strict=True)


def test_what_a_role_would_refuse_leaves_out_what_needs_it_too() -> None:
    hostvars: dict[str, t.Any] = {"node1": {"ofed_foreseen": {"refusals": ["no such package"]}}, "node2": {}}
    result = run(report, {"kind": "refusals", "variable": "ofed_foreseen", "role": "ofed"}, hostvars=hostvars, ansible_play_hosts=list(hostvars))
    assert set(result["left_out"]["node1"]) == {name for name in ROLES if "ofed" in (name, *CONCERNS[name].needs)}
    assert list(result["left_out"]) == ["node1"] and "failed" not in result


def test_a_task_that_failed_leaves_its_whole_host_out() -> None:
    """As with a task that exceeds its time limit."""
    hostvars: dict[str, t.Any] = {"node1": {"found": {"failed": True, "msg": "too slow"}}, "node2": {"found": {"left_out": {}}}}
    result = run(report, {"kind": "refusals", "variable": "found"}, hostvars=hostvars, ansible_play_hosts=list(hostvars))
    assert result["left_out"]["node1"]["all"] == ["too slow"] and list(result["left_out"]) == ["node1"]


WRONG = "fabric is 3; allowed: a name"


def judged(capsys: pytest.CaptureFixture[str], **registered: dict[str, t.Any]) -> tuple[dict[str, t.Any], str]:
    hostvars = {host: {"rdma_site": own} for host, own in registered.items()}
    result = run(report, {"kind": "refusals"}, hostvars=hostvars, ansible_play_hosts=list(hostvars))
    return result, capsys.readouterr().out


def test_wrong_input_is_one_list_for_all_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    result, printed = judged(capsys, node1={"wrong": [WRONG]}, node2={"wrong": [WRONG, "x is 1"]}, node3={"wrong": [], "left_out": {"ipoib": ["no"]}})
    assert result["failed"] is True
    assert result["msg"] == "invalid input, nothing was changed. node[1-2]: %s; node2: x is 1" % WRONG
    assert printed.strip().splitlines()[1:] == ["  node[1-2]: %s" % WRONG, "  node2: x is 1", "  node3: left out of ipoib: no"]


def test_a_slip_in_a_templated_value_is_one_line_for_all_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    hosts = {"node%d" % number: {"wrong": ["ipoib_interfaces[0].addresses[0] is '10.20.0.%d/33'; allowed: 0 to 32" % number]} for number in range(1, 41)}
    result, printed = judged(capsys, **hosts)
    assert "node[1-40]: ipoib_interfaces[0].addresses[0] is '10.20.0.1/33'; allowed: 0 to 32 (as on node1; the values differ)" in result["msg"]
    assert len(printed) + len(str(result)) < 500


MARKS = "machine id m, boot id b and host name h"


def test_two_names_of_one_machine_end_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    own = {"node1": [MARKS], "node2": [MARKS, "port GUID 0x1"], "node3": ["port GUID 0x2"]}
    result, _printed = judged(capsys, **{host: {"machine": marks} for host, marks in own.items()})
    assert result["failed"] is True
    assert "node[1-2]: ansible_host is the same machine for node[1-2]; allowed: one machine for each name" in result["msg"]
    assert "(they share %s)" % MARKS in result["msg"] and "node3" not in result["msg"]


def test_containers_of_one_host_and_copies_of_one_image_are_several_machines() -> None:
    facts = {"hcas": [{"name": "mlx5_0"}, {"name": "mlx5_1", "virtual": True}], "ports": []}
    ports = [("mlx5_0", "0x1", "InfiniBand"), ("mlx5_1", "0x2", "InfiniBand"), ("mlx5_0", "0x3", "Ethernet"), ("mlx5_0", "0x0000000000000000", "InfiniBand")]
    facts["ports"] = [{"device": device, "port_guid": guid, "link_layer": layer} for device, guid, layer in ports]
    assert machine_marks(["m", "b", "h"], facts) == [MARKS, "port GUID 0x1"]
    for identity in (["", "b", "h"], ["m", "", "h"], ["m"], None):
        assert machine_marks(identity, None) == []
    assert same_machines({"node1": machine_marks(["m", "b1", "h"], None), "node2": machine_marks(["m", "b2", "h"], None)}) == {}
    assert same_machines({"node1": machine_marks(["m1", "b", "h"], None), "node2": machine_marks(["m2", "b", "h"], None)}) == {}


def test_the_input_of_a_host_fails_its_task_unless_the_table_does() -> None:
    own = {"inventory_hostname": "node2", "ansible_facts": {}, "fabric": 3}
    assert run(validate_site, {}, **own)["problems"][0].startswith("node2: fabric is 3")
    result = run(validate_site, {"fail": False}, **own)
    assert ("failed" in result, "problems" in result, result["wrong"][0][:11]) == (False, False, "fabric is 3")


def claims(host: str, **variables: t.Any) -> dict[str, t.Any]:
    return run(validate_site, {"fail": False}, inventory_hostname=host, ansible_facts={}, **variables)


def test_an_address_of_two_hosts_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    both = {host: claims(host, ipoib_interfaces=IB0) for host in ("node1", "node2")}
    other = claims("node3", ipoib_interfaces=[{"name": "ib0", "addresses": ["10.20.0.3/24"]}])
    result, _printed = judged(capsys, **both, node3=other)
    assert result["msg"].endswith(
        "node[1-2]: ipoib_interfaces[0].addresses[0] is '10.20.0.1/24'; allowed: an address that no other host has (node[1-2] declare it)"
    )


@pytest.mark.parametrize(
    "variables",
    [
        {"ipoib_interfaces": [{"name": "ib0", "addresses": ["10.20.0.2/24"]}]},
        {"ipoib_interfaces": IB0, "fabric": "storage", "opensm_state": "unmanaged"},
        {"ipoib_interfaces": IB0, "ipoib_state": "absent"},
        {"ipoib_interfaces": [{**IB0[0], "state": "absent"}]},
        {"ipoib_interfaces": [{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.20.0.1/24"]}]},
    ],
)
def test_addresses_that_do_not_meet_may_be_equal(variables: dict[str, t.Any], capsys: pytest.CaptureFixture[str]) -> None:
    result, _printed = judged(capsys, node1=claims("node1", ipoib_interfaces=IB0), node2=claims("node2", **variables))
    assert "failed" not in result


def test_addresses_of_the_link_may_be_equal(capsys: pytest.CaptureFixture[str]) -> None:
    local = [{"name": "ib0", "addresses": ["fe80::1/64"]}]
    result, _printed = judged(capsys, **{host: claims(host, ipoib_interfaces=local) for host in HOSTS})
    assert "failed" not in result


def test_a_bond_of_children_is_in_their_partition(capsys: pytest.CaptureFixture[str]) -> None:
    """Its address is thus that of a child on the same partition of another host."""
    ports: list[dict[str, t.Any]] = [{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8001}]
    bond = [*ports, {"name": "bond0", "addresses": ["10.20.0.1/24"], "bond": {"ports": ["ib0.8001"]}}]
    child = [{"name": "ib0"}, {"parent": "ib0", "pkey": 1, "addresses": ["10.20.0.1/16"]}]
    result, _printed = judged(capsys, node1=claims("node1", ipoib_interfaces=bond), node2=claims("node2", ipoib_interfaces=child))
    assert "node[1-2]: ipoib_interfaces[2].addresses[0]" in result["msg"] or "node2: ipoib_interfaces[1].addresses[0]" in result["msg"]


FEDORA = {"family": "RedHat", "id": "fedora", "version": "42", "name": "Fedora 42"}


def test_a_distribution_that_is_served_untested_is_named_in_a_warning() -> None:
    own = {"inventory_hostname": "node2", "ansible_facts": {"rdma": marked({"os": FEDORA})}}
    (warning,) = run(validate_site, {}, **own)["warnings"]
    assert warning.startswith("Fedora 42 (ID=fedora, VERSION_ID=42) was not tested.")
    listed = {"inventory_hostname": "node2", "ansible_facts": {"rdma": marked({"os": {**FEDORA, "id": "rocky", "version": "9"}})}}
    assert "warnings" not in run(validate_site, {}, **listed)


@pytest.mark.parametrize(("family", "os_id", "version"), [("Unknown", "plan9", "4"), ("RedHat", "rhel", "7.9")])
def test_a_node_of_an_unknown_distribution_is_left_out_of_a_playbook_and_refused_by_a_task(family: str, os_id: str, version: str) -> None:
    own = {"inventory_hostname": "node2", "ansible_facts": {"rdma": marked({"os": {"family": family, "id": os_id, "version": version, "name": "Plan 9"}})}}
    found = run(validate_site, {"fail": False, "foresee": True}, **own)
    assert found["wrong"] == [] and "Plan 9" in found["left_out"]["all"][0] and "refusals" not in found
    assert "Plan 9" in run(validate_site, {}, **own)["msg"]


def test_what_was_looked_at_is_kept_or_forgotten() -> None:
    _looks.keep("node1", {"ipoib": 1})
    table({"node1": []})
    assert _looks.recall("node1", "ipoib") == 1
    table({"node1": []}, keep_looks=False)
    assert _looks.recall("node1", "ipoib") is None


@pytest.mark.parametrize("name", [name for name, concern in CONCERNS.items() if concern.options and name != "opensm"])
def test_the_options_are_those_that_the_role_hands_over(name: str) -> None:
    (task,) = (task for task in yaml.safe_load((ROOT / "roles" / name / "tasks/main.yml").read_text()) if "rdma.ofed." + name in task)
    passed = {option: re.sub(r"\W*(?:lookup\('rdma\.ofed\.declared', ')?(\w+).*", r"\1", value) for option, value in task["rdma.ofed." + name].items()}
    concern = CONCERNS[name]
    assert {option: concern.elsewhere.get(option, "%s_%s" % (name, option)) for option in passed} == passed
    assert set(concern.given(dict.fromkeys(passed.values(), 1))) >= set(passed)
    of_needs = {variable for needed in concern.needs for variable in CONCERNS[needed].variables}
    assert set(concern.elsewhere.values()) <= {*_site.VARIABLES, *of_needs}


@pytest.mark.parametrize("playbook", ["site", "upgrade", "reboot", "firmware", "verify", "remove"])
def test_a_playbook_without_hosts_fails(playbook: str) -> None:
    """Ansible itself skips plays without hosts and reports success."""
    first, *_others = plays(playbook)
    assert judges_controller(first) and first["tags"] == ["always"]
    assert first["run_once"] is True and "__rdma_no_host | mandatory" in first["hosts"]
    assert "rdma_hosts" in first["tasks"][-1]["ansible.builtin.assert"]["that"]


@pytest.mark.parametrize("playbook", ["site", "upgrade", "reboot", "firmware", "verify"])
def test_playbooks_have_one_list_of_wrong_input(playbook: str) -> None:
    tasks = [task for play in plays(playbook) for task in play["tasks"]]
    (at,) = (index for index, task in enumerate(tasks) if "rdma.ofed.validate_site" in task)
    assert (tasks[at]["rdma.ofed.validate_site"]["fail"], tasks[at]["register"]) == (False, "rdma_site")
    assert tasks[at + 1]["rdma.ofed.report"]["kind"] == "refusals"
    assert tasks[at + 1]["run_once"] is tasks[at + 1]["any_errors_fatal"] is True


@pytest.mark.parametrize("playbook", ["site", "upgrade", "reboot"])
def test_playbooks_refuse_before_their_first_change(playbook: str) -> None:
    of_nodes = [task for play in plays(playbook) for task in play["tasks"] if not judges_controller(play)]
    # The search for the modules' Python needs none itself, and has its own table of refusals.
    tasks = of_nodes[next(index for index, task in enumerate(of_nodes) if "rdma.ofed.rdma_facts" in task) :]
    names = [next(key for key in task if "." in key) for task in tasks[:3]]
    assert names == ["rdma.ofed.rdma_facts", "rdma.ofed.validate_site", "rdma.ofed.report"]
    assert tasks[0]["rdma.ofed.rdma_facts"]["keep_look"] is tasks[1]["rdma.ofed.validate_site"]["foresee"] is tasks[2]["any_errors_fatal"] is True
    # A node that does not answer or hangs is left out without affecting others.
    assert tasks[0]["rdma.ofed.rdma_facts"]["keep_failure"] is tasks[0][GOES_ON] is True and "rdma_look_timeout" in tasks[0]["timeout"]


def test_firmware_keeps_no_look_and_leaves_those_of_others() -> None:
    """It queries the adapters within their batch, and no role of it plans from a look."""
    tasks = [task for play in plays("firmware") for task in play["tasks"]]
    at = next(index for index, task in enumerate(tasks) if "rdma.ofed.validate_site" in task)
    look, validate, refuse = tasks[at - 1 : at + 2]
    assert look["rdma.ofed.rdma_facts"]["keep_look"] is validate["rdma.ofed.validate_site"]["foresee"] is False
    assert refuse["rdma.ofed.report"]["keep_looks"] == "{{ not __rdma_foresee }}"


def _looks_for_refusals(task: dict[str, t.Any]) -> bool:
    return any(each.get("ansible.builtin.include_role", {}).get("tasks_from") == "refusals" for each in task.get("block", ()))


def test_what_modules_would_refuse_ends_the_run_once_for_all() -> None:
    """With any_errors_fatal, the strategy fails all other hosts of a block as soon as one of them enters its rescue or is unreachable."""
    pairs = []
    for play in (play for play in plays("site") if any(_looks_for_refusals(task) for task in play["tasks"])):
        assert "any_errors_fatal" not in play
        block, refuses = play["tasks"]
        # A host whose block fails, fails in its rescue for itself alone.
        assert [task["ansible.builtin.import_tasks"] for task in block["rescue"]] == ["shared/fail.yml"]
        pairs.append((play["tags"], block["block"][0], refuses))
    assert [finds["ansible.builtin.include_role"]["name"] for _tags, finds, _refuses in pairs] == ["rdma.ofed.ofed", "rdma.ofed.opensm"]
    for tags, finds, refuses in pairs:
        include = finds["ansible.builtin.include_role"]
        role = include["name"].rpartition(".")[2]
        assert include["apply"]["check_mode"] is refuses["run_once"] is refuses["any_errors_fatal"] is True
        assert tags == include["apply"]["tags"] == [role]
        assert refuses["rdma.ofed.report"]["role"] == role
        tasks = yaml.safe_load((ROOT / "roles" / role / "tasks/refusals.yml").read_text())
        published = [task for each in tasks for task in (each, *each.get("rescue", ()))]
        assert len([task for task in published if refuses["rdma.ofed.report"]["variable"] in task.get("ansible.builtin.set_fact", ())]) == 1
        (leaves,) = [task["rdma.ofed.validate_site"]["refused"] for task in published if task.get("register") == "rdma_site"]
        assert leaves == {role: "{{ %s.refusals }}" % refuses["rdma.ofed.report"]["variable"]}


def test_a_profile_of_the_port_is_foreseen_by_its_hardware_address(tmp_path: pathlib.Path) -> None:
    """As written by cloud-init and netplan: NetworkManager compares the last 8 bytes, regardless of the interface name."""
    node = FakeNode(tmp_path / "node", "networkmanager", CAPABLE, "mlx4_core")
    path = "etc/NetworkManager/system-connections/cloud-init.nmconnection"
    node.write(path, "[connection]\ntype=infiniband\n[infiniband]\nmac-address=a0:00:02:20:%s\n" % CAPABLE[12:])
    for interfaces in (IB0, [{"name": "storage", "port_guid": "0x" + CAPABLE[36:].replace(":", "")}]):
        looked(node, {"ipoib_interfaces": interfaces})
        (refusal,) = foresee(ipoib_interfaces=interfaces)
        assert refusal.startswith("/%s configures %s;" % (path, interfaces[0]["name"]))


class Counted(t.Dict[str, t.Any]):
    """The variables of all hosts; counts how often each host's are read."""

    taken = 0

    def __getitem__(self, host: str) -> t.Any:
        self.taken += 1
        return super().__getitem__(host)


def taken_by(count: int, failing: bool = False) -> int:
    """Return how often variables of other hosts are read if all of these hosts may run a subnet manager. Those that fail leave the play."""
    hosts = ["node%d" % number for number in range(count)]
    hostvars = Counted({host: {"opensm_rank": number} for number, host in enumerate(hosts)})
    for number, host in enumerate(hosts):
        left = hosts[max(number - 1, 0) :] if failing else hosts
        given = {"groups": {"rdma": hosts, "opensm": hosts}, "hostvars": hostvars, "opensm_rank": number}
        given.update(ansible_play_hosts=left, ansible_play_batch=left)
        result = run(validate_site, {}, uuid="one", inventory_hostname=host, ansible_facts={}, **given)
        assert result["designated_host"] == "node0" and result["designated"] == (number == 0)
    return hostvars.taken


@pytest.mark.parametrize("failing", [False, True])
def test_the_members_are_read_once_for_all_hosts(failing: bool) -> None:
    assert taken_by(40, failing) <= 5 * taken_by(10, failing)


def kept_by(number: int) -> int:
    """Return the bytes that the first of these hosts keeps for the others if all of them may run a subnet manager."""
    hosts = ["node%05d" % index for index in range(number)]
    given: dict[str, t.Any] = {"groups": {"rdma": hosts, "opensm": hosts}, "hostvars": {host: {} for host in hosts}}
    given.update(ansible_play_hosts=hosts, ansible_play_batch=hosts)
    run(validate_site, {}, uuid=str(number), inventory_hostname=hosts[0], ansible_facts={}, **given)
    key = "%s %s" % (number, hosts[-1])
    assert Election(*_looks.recall_survey(key, "opensm")) == elect([Member(hosts[0], "ib")])
    return pathlib.Path(_looks._path(_looks._SURVEYS, key + " opensm")).stat().st_size


def test_what_each_host_reads_does_not_grow_with_the_group() -> None:
    assert kept_by(400) == kept_by(10)


def test_another_task_reads_them_again() -> None:
    found = []
    for uuid, rank in (("one", 1), ("two", 3)):
        hostvars = {"node1": {"opensm_rank": rank}, "node2": {"opensm_rank": 2}, "node3": {}}
        groups = {"rdma": HOSTS, "opensm": HOSTS[:2]}
        for host in HOSTS[:2]:
            result = run(validate_site, {}, uuid=uuid, inventory_hostname=host, ansible_facts={}, groups=groups, hostvars=hostvars, **hostvars[host])
        found.append(result["designated_host"])
    assert found == ["node1", "node2"]


def validated(images: bool, **variables: t.Any) -> dict[str, t.Any]:
    facts = {"rdma": marked({"machine": {"kind": "chroot"}, "stack": variables.pop("stack", {"kind": "none"}), "ports": []})}
    arguments = {"foresee": True, "images": images, "fail": False}
    return run(validate_site, arguments, inventory_hostname="node2", ansible_facts=facts, **variables)


def test_what_an_image_lacks_leaves_roles_out_and_is_no_fault() -> None:
    result = validated(True, rdma_image=True, gpudirect_method="nvidia_peermem")
    assert result["deferred"] == {"node_check": "state", "gpudirect": "gpu"}
    assert set(result["left_out"]) == {"node_check", "gpudirect"}
    assert leaves_of(result) == {}


@pytest.mark.parametrize(
    ("source", "found", "roles"),
    [("doca", "none", {"ofed", "kernel_modules", "ipoib"}), ("doca", "doca", {"ofed"}), ("inbox", "mlnx_ofed", {"ofed"}), ("inbox", "inbox", set())],
)
def test_a_vendors_stack_is_not_installed_into_an_image(source: str, found: str, roles: set[str]) -> None:
    result = validated(True, rdma_image=True, ofed_source=source, stack={"kind": found})
    assert {role for role in result["left_out"] if role in ("ofed", "kernel_modules", "ipoib")} == roles
    # A stack that is missing is a fault of the image. One that is there waits for the booted node.
    assert ("ofed" in result["deferred"]) is ((source, found) == ("doca", "doca") or found == "mlnx_ofed")


def test_an_image_of_a_host_with_a_subnet_manager_waits_for_the_host() -> None:
    result = validated(True, rdma_image=True, groups={"rdma": HOSTS, "opensm": ["node2"]})
    assert result["deferred"] == {"node_check": "state", "opensm": "fabric"}


def test_playbooks_that_need_a_running_system_leave_an_image_out() -> None:
    assert "rdma.ofed.site" in " ".join(validated(False, rdma_image=True)["left_out"]["all"])


def test_a_chroot_gets_a_hint() -> None:
    assert "rdma_image: true" in " ".join(validated(True)["warnings"])
    assert "warnings" not in validated(True, rdma_image=True)
