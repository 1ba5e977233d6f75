# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refusals of roles are foreseen on the controller, from one look at each node, before anything is changed."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t
from unittest import mock

import pytest
import yaml
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import refusal_table, validate_site
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _concern as ipoib
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _concern as kernel_modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import Directive
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found as Modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._record import encode
from ansible_collections.rdma.ofed.plugins.module_utils._schema import _site
from ansible_collections.rdma.ofed.plugins.module_utils._site._foresight import CONCERNS, message, takes_part
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ipoib_node import CAPABLE, FakeNode

ROOT = pathlib.Path(__file__).resolve().parents[4]
HOSTS = ["node1", "node2", "node3"]
IB0: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}]
FOREIGN = "/etc/systemd/network/10-ib.network configures ib0"


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path / "controller"))


def looked(node: FakeNode, variables: t.Mapping[str, t.Any], host: str = "node1") -> None:
    """What the action rdma_facts does."""
    found = look(node, {}, str(node.root), declared=ipoib.hints(variables)["names"])
    _looks.keep(host, json.loads(json.dumps({"ipoib": encode(found)})))


def run(plugin: t.Any, arguments: dict[str, t.Any], **task_vars: t.Any) -> dict[str, t.Any]:
    templar = mock.Mock()
    templar.template = lambda value: value
    task: t.Any = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args=arguments)
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
    """A node without the module ib_ipoib, on which another has configured ib0."""
    node = FakeNode(path, "systemd-networkd", CAPABLE, "mlx4_core")
    node.write("etc/systemd/network/10-ib.network", "[Match]\nName=ib*\n[Network]\nDHCP=yes")
    return node


def test_a_conflict_is_foreseen_before_the_interface_is_there(tmp_path: pathlib.Path) -> None:
    variables = {"ipoib_interfaces": IB0}
    looked(bare(tmp_path / "node"), variables)
    (refusal,) = foresee(**variables)
    assert refusal.startswith(FOREIGN)
    # Another run looks, and has nothing to refuse.
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
    # With a tag that a site has given to the playbook, the run may come to it.
    assert takes_part("ipoib", ["network"], [])


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
        # The stack that is installed first may bring the module.
        (Modules(release="6.1", catalogue=Catalogue(frozenset(kernel_modules.USUAL[1:]))), ""),
    ],
)
def test_of_kernel_modules_what_no_installation_changes(found: Modules, words: str) -> None:
    seen = kernel_modules.Seen(frozenset(kernel_modules.USUAL), frozenset(), found)
    _looks.keep("node1", json.loads(json.dumps({"kernel_modules": encode(seen)})))
    refusals = foresee()
    assert bool(refusals) == bool(words)
    assert words in " ".join(refusals)


def table(found: t.Mapping[str, list[str]], **arguments: t.Any) -> dict[str, t.Any]:
    hostvars = {host: {"rdma_site": {"refusals": refusals}} for host, refusals in found.items()}
    return run(refusal_table, arguments, hostvars=hostvars, ansible_play_hosts=list(hostvars))


def test_equal_refusals_are_told_once_and_end_the_run() -> None:
    result = table({"node1": [FOREIGN], "node2": [], "node3": [FOREIGN, "no"], "node4": [FOREIGN]})
    assert result["failed"] is True
    assert result["msg"] == "refused, nothing was changed on any host. node[1,3-4]: %s; node3: no" % FOREIGN
    assert list(result["refusals"]) == ["node1", "node3", "node4"]
    assert "failed" not in table({"node1": [], "node2": []})
    assert message({}) == ""


def test_what_was_looked_at_is_kept_or_forgotten() -> None:
    _looks.keep("node1", {"ipoib": 1})
    table({"node1": []})
    assert _looks.recall("node1", "ipoib") == 1
    table({"node1": []}, keep_looks=False)
    assert _looks.recall("node1", "ipoib") is None


@pytest.mark.parametrize("name", CONCERNS)
def test_the_options_are_those_that_the_role_hands_over(name: str) -> None:
    (task,) = (task for task in yaml.safe_load((ROOT / "roles" / name / "tasks/main.yml").read_text()) if "rdma.ofed." + name in task)
    passed = {option: re.sub(r"\W*(\w+).*", r"\1", value) for option, value in task["rdma.ofed." + name].items()}
    concern = CONCERNS[name]
    assert {option: concern.elsewhere.get(option, "%s_%s" % (name, option)) for option in passed} == passed
    assert set(concern.elsewhere.values()) <= set(_site.VARIABLES)


@pytest.mark.parametrize("playbook", ["site", "upgrade", "reboot"])
def test_playbooks_refuse_before_their_first_change(playbook: str) -> None:
    plays = yaml.safe_load((ROOT / "playbooks" / (playbook + ".yml")).read_text())
    tasks = [task for play in plays for task in play.get("tasks", ()) if play["hosts"] != "localhost"]
    names = [next(key for key in task if "." in key) for task in tasks[:3]]
    assert names == ["rdma.ofed.rdma_facts", "rdma.ofed.validate_site", "rdma.ofed.refusal_table"]
    assert tasks[0]["rdma.ofed.rdma_facts"]["keep_look"] is tasks[1]["rdma.ofed.validate_site"]["foresee"] is tasks[2]["any_errors_fatal"] is True


def test_what_a_vendors_stack_would_refuse_ends_the_run_once_for_all() -> None:
    """With any_errors_fatal, the strategy fails all other hosts of a block as soon as one enters its rescue, or is unreachable."""
    plays = yaml.safe_load((ROOT / "playbooks/site.yml").read_text())
    (play,) = (play for play in plays if any((task.get("ansible.builtin.include_role") or {}).get("tasks_from") == "refusals" for task in play["tasks"]))
    assert "any_errors_fatal" not in play
    _finds, refuses = play["tasks"]
    assert refuses["run_once"] is refuses["any_errors_fatal"] is True
    (rescue,) = (task["rescue"] for task in yaml.safe_load((ROOT / "roles/ofed/tasks/refusals.yml").read_text()) if "rescue" in task)
    assert refuses["rdma.ofed.refusal_table"]["variable"] in rescue[0]["ansible.builtin.set_fact"]


def test_a_profile_of_the_port_is_foreseen_by_its_hardware_address(tmp_path: pathlib.Path) -> None:
    """As cloud-init and netplan write it: NetworkManager compares the last 8 bytes, whatever the interface is called."""
    node = FakeNode(tmp_path / "node", "networkmanager", CAPABLE, "mlx4_core")
    path = "etc/NetworkManager/system-connections/cloud-init.nmconnection"
    node.write(path, "[connection]\ntype=infiniband\n[infiniband]\nmac-address=a0:00:02:20:%s\n" % CAPABLE[12:])
    for interfaces in (IB0, [{"name": "storage", "port_guid": "0x" + CAPABLE[36:].replace(":", "")}]):
        looked(node, {"ipoib_interfaces": interfaces})
        (refusal,) = foresee(ipoib_interfaces=interfaces)
        assert refusal.startswith("/%s configures %s;" % (path, interfaces[0]["name"]))
