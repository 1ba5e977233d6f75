# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check on the controller gives the same result as the module, or leaves the check to the module."""

from __future__ import annotations

import json
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.action import node_check
from ansible_collections.rdma.ofed.plugins.module_utils._check._concern import hints, unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._live._types import choose_port, names_of, scope_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._check._outcome import judge
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _shared
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._node import Node
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import LOAD_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import SERVICES_PATH, SESSIONS_PATH, Limit, services_text, sessions_text
from ansible_collections.rdma.ofed.plugins.module_utils._site._looks import look_at
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import LINKS
from ansible_collections.rdma.ofed.plugins.modules.node_check import OPTIONS
from support.expected import at
from support.ipoib_node import FakeNode

DEFAULTS = {name: argument.get("default") for name, argument in OPTIONS.items()}
RELEASE = "6.1.0"
GUID = "0x0002c903000f0009"
GUID_OF_IB1 = "0x0000000000000001"
PORT = "sys/class/infiniband/hca_0/ports/1/"
INTERFACES = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}, {"parent": "ib0", "pkey": "0x8001", "mode": "datagram"}]
OF_A_FABRIC = {name: option.get("default") for name, option in OPTIONS["fabrics"]["options"].items()}
DECLARED: dict[str, t.Any] = {
    "ports": ["0000:03:00.0/1"],
    "interfaces": INTERFACES,
    "modules": ["ib_umad", "ib_ipoib"],
    "kernel_modules_memlock": "unlimited",
    "gpudirect": "auto",
    "ofed_source": "inbox",
    "pcie": True,
    "fabrics": [{**OF_A_FABRIC, "designated_host": "node1", "designated_guids": [GUID]}],
}


class InfinibandNode(FakeNode):
    """A node in its fabric, in the state after a run that declared INTERFACES and two modules."""

    def __init__(self, root: pathlib.Path, backend: str) -> None:
        super().__init__(root, backend)
        self.calls: list[tuple[str, ...]] = []
        self.answers = {
            "sminfo": "sminfo: sm lid 1 sm guid %s, activity count 506 priority 14 state 3 SMINFO_MASTER\n" % GUID,
            "smpquery": "Node Description:...........................node1\n",
            "saquery": "",
            "su": "unlimited\n",
            "systemd-run": "unlimited\n",
        }
        for name, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "100 Gb/sec (4X EDR)", "lid": "0x2", "sm_lid": "0x1"}.items():
            self.write(PORT + name, text)
        self.write("sys/class/infiniband/hca_0/board_id", "MT_0000000008")
        self.write("proc/1/status", "CapEff:\t000001ffffffffff")
        self.write("etc/os-release", "ID=debian\nVERSION_ID=12")
        self.write("lib/modules/%s/modules.dep" % RELEASE, "kernel/ib_umad.ko:\nkernel/ib_ipoib.ko:")
        self.write("etc/rdma/modules/rdma.conf", "")
        self.write("usr/lib/systemd/system/rdma-load-modules@.service", "")
        self.write("etc/rdma/modules/infiniband.conf", "ib_umad\nib_ipoib")
        self.write(SESSIONS_PATH[1:], sessions_text([Limit("memlock", "unlimited")]).rstrip("\n"))
        self.write(SERVICES_PATH[1:], services_text([Limit("memlock", "unlimited")]).rstrip("\n"))
        self.appear("ib0")
        self.write("var/lib/dpkg/status", "Package: rdma-core\nStatus: install ok installed\nArchitecture: amd64\nVersion: 44.0-2\n")
        self.call(interfaces=INTERFACES)
        for name in ("ib0", "ib0.8001"):
            self.set(name, "carrier", "1")
        self.write("proc/modules", "ib_ipoib 1 0 - Live 0x0\nib_umad 1 0 - Live 0x0")

    def has(self, tool: str) -> bool:
        return tool in self.answers or super().has(tool)

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(tuple(argv))
        return Output(0, self.answers[argv[0]], "") if argv[0] in self.answers else super().__call__(argv, ok, timeout)


def of_module(node: FakeNode, params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    wanted = wanted_of(params)
    return judge(wanted, look(at(node, node.root, RELEASE), wanted)).result()


def of_controller(node: FakeNode, params: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    looks = look_at(Node(node, RELEASE, {}, str(node.root)), json.loads(json.dumps(hints(params))))
    return unchanged(params, json.loads(json.dumps(looks)))


@pytest.mark.parametrize("backend", ["systemd-networkd", "ifupdown", "networkmanager"])
def test_of_a_node_that_is_as_declared_both_say_the_same(tmp_path: pathlib.Path, backend: str) -> None:
    node = InfinibandNode(tmp_path, backend)
    params = {**DEFAULTS, **DECLARED}
    expected = of_module(node, params)
    assert expected["deviation_lines"] == []
    assert expected["adapters"] == [{"pci": "0000:03:00.0", "psid": "MT_0000000008", "firmware": ""}]
    assert of_controller(node, params) == expected
    # Without a declared port, the ports below the interfaces count.
    assert of_controller(node, {**params, "ports": []}) == of_module(node, {**params, "ports": []})


def _surplus(node: InfinibandNode) -> None:
    node.write("proc/77/comm", "opensm")


def _address(node: InfinibandNode) -> None:
    node.addresses["ib0"] = []


def _carrier(node: InfinibandNode) -> None:
    node.up("ib0.8001")
    node.set("ib0.8001", "carrier", "0")


def _other_master(node: InfinibandNode) -> None:
    node.answers["smpquery"] = "Node Description:...........................node7\n"
    node.answers["sminfo"] = node.answers["sminfo"].replace(GUID, "0x0002c903000f0777")


def _limit(node: InfinibandNode) -> None:
    node.answers["su"] = "64\n"


def _slot(node: InfinibandNode) -> None:
    port, card = "sys/devices/pci0000:00/0000:00:01.0", "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0"
    for place, width in ((port, 16), (card, 8)):
        for name, text in {
            "current_link_width": width,
            "max_link_width": 16,
            "current_link_speed": "16.0 GT/s PCIe",
            "max_link_speed": "16.0 GT/s PCIe",
        }.items():
            node.write("%s/%s" % (place, name), str(text))
        link = node.root / "sys/bus/pci/devices" / pathlib.Path(place).name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(node.root / place)


def _listed(node: InfinibandNode) -> None:
    # No longer declared, but the kernel loads it for a device by itself.
    node.write("lib/modules/%s/modules.dep" % RELEASE, "kernel/ib_umad.ko:\nkernel/ib_ipoib.ko:\nkernel/mlx5_ib.ko:")
    node.write("lib/modules/%s/modules.alias" % RELEASE, "alias pci:v000015B3d00001017sv*sd*bc*sc*i* mlx5_ib")
    node.write(LOAD_PATH[1:], "mlx5_ib")


DISTURBANCES: dict[str, t.Callable[[InfinibandNode], None]] = {
    "link_down": lambda node: node.write(PORT + "phys_state", "2: Polling"),
    "port_not_configured": lambda node: node.write(PORT + "state", "2: INIT"),
    "opensm_surplus": _surplus,
    "other_master": _other_master,
    "low_limit": _limit,
    "pcie_degraded": _slot,
    "differs": _address,
    "differs: module": _listed,
    "no_carrier": _carrier,
    "no_interface": lambda node: node.vanish("ib0.8001"),
}


@pytest.mark.parametrize("code", DISTURBANCES)
def test_a_node_that_deviates_is_for_the_module(tmp_path: pathlib.Path, code: str) -> None:
    node, params = InfinibandNode(tmp_path, "systemd-networkd"), {**DEFAULTS, **DECLARED}
    assert of_controller(node, params) is not None
    DISTURBANCES[code](node)
    assert code.partition(":")[0] in {deviation["code"] for deviation in of_module(node, params)["deviations"]}
    assert of_controller(node, params) is None


@pytest.mark.parametrize("declared", [{"cables": True}, {"hca_firmware_versions": {"MT_0000000008": "16.35.2000"}, "firmware": True}])
def test_what_takes_seconds_on_the_node_is_for_the_module(declared: dict[str, t.Any]) -> None:
    assert hints({**DEFAULTS, **DECLARED, **declared}) == {}


def test_a_look_that_lacks_a_part_says_nothing(tmp_path: pathlib.Path) -> None:
    node, params = InfinibandNode(tmp_path, "ifupdown"), {**DEFAULTS, **DECLARED}
    looks = look_at(Node(node, RELEASE, {}, str(node.root)), hints(params))
    assert unchanged(params, looks) is not None
    for concern in looks:
        assert unchanged(params, {name: seen for name, seen in looks.items() if name != concern}) is None


def test_what_two_concerns_need_is_read_once(tmp_path: pathlib.Path) -> None:
    node = InfinibandNode(tmp_path, "ifupdown")
    node.calls.clear()
    with mock.patch.object(_shared, "read_stack", wraps=_shared.read_stack) as read_stack:
        looks = look_at(Node(node, RELEASE, {}, str(node.root)), hints({**DEFAULTS, **DECLARED}))
    assert node.calls.count(LINKS) == 1 and "node_check" in looks
    read_stack.assert_called_once()


@pytest.mark.parametrize(
    "interfaces",
    [
        [{"name": "ib0", "state": "absent"}, {"name": "ib1"}],
        [{"name": "ib1"}, {"parent": "ib1", "pkey": "0x8001", "mode": "datagram"}],
        [{"port_guid": GUID_OF_IB1.upper().replace("0X", "0x")}],
        [{"name": "bond0", "bond": {"ports": ["ib1", "ib2"]}}],
    ],
)
def test_the_look_asks_through_the_port_that_the_module_would(interfaces: list[dict[str, t.Any]]) -> None:
    ports = [Port("mlx5_%d/1" % card, "mlx5_%d" % card, 1, "0x000000000000000%d" % card, state="ACTIVE", link_layer="InfiniBand") for card in range(3)]
    netdevs = [Netdev("ib%d" % card, "ipoib", port=port.name, port_guid=port.port_guid) for card, port in enumerate(ports)]
    scope = scope_of(hints({**DEFAULTS, "interfaces": interfaces})["node_check"])
    port = choose_port(names_of(scope, ports, netdevs), ports, ())
    assert port is not None and port.name == "mlx5_1/1"


def run(arguments: dict[str, t.Any], answer: dict[str, t.Any], **task: t.Any) -> tuple[dict[str, t.Any], list[tuple[str, t.Any]]]:
    """Return the result of the action plugin, and module and arguments of each execution."""
    fields: dict[str, t.Any] = {"async_val": 0, "check_mode": False, "diff": False, "delegate_to": None, "args": arguments, **task}
    action = node_check.ActionModule(mock.Mock(**fields), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    executions: list[tuple[str, t.Any]] = []

    def execute(module_name: str, module_args: t.Any = None, **_more: t.Any) -> dict[str, t.Any]:
        executions.append((module_name.rpartition(".")[2], module_args))
        return dict(answer) if module_name.endswith("rdma_facts") else {"from": "the module"}

    action._execute_module = execute
    return action.run(task_vars={"inventory_hostname": "node1"}), executions


def filled(names: dict[str, str], *, wait: int = 0, **task_vars: t.Any) -> t.Any:
    """Return the arguments of the module with options from variables."""
    templar = mock.Mock()
    templar.template = lambda value: value
    task: t.Any = mock.Mock(async_val=60, check_mode=False, delegate_to=None)
    task.args = {"from_variables": names, "wait": wait}
    action = node_check.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), templar, mock.Mock())
    action._execute_module = mock.Mock(return_value={})
    action.run(task_vars={"inventory_hostname": "node1", **task_vars})
    return action._execute_module.call_args.kwargs["module_args"]


def test_options_come_from_variables_that_are_set() -> None:
    names = {"cables": "node_check_cables", "ofed_version": "ofed_version", "wait": "node_check_wait"}
    assert filled(names, node_check_cables=True, node_check_wait=10) == {"cables": True, "wait": 0}


def test_a_designated_host_outside_of_the_run_is_marked() -> None:
    fabrics = [{"fabric": "a", "designated_host": "node1"}, {"fabric": "b", "designated_host": "node9"}, {"fabric": "c", "designated_host": ""}]
    found = filled({"fabrics": "node_check_fabrics"}, node_check_fabrics=fabrics, ansible_play_hosts_all=["node1", "node2"])["fabrics"]
    assert [each.get("designated_absent", False) for each in found] == [False, True, False]
    assert filled({"fabrics": "node_check_fabrics"}, node_check_fabrics=fabrics)["fabrics"] == fabrics


def test_one_module_execution_where_all_is_well(tmp_path: pathlib.Path) -> None:
    node = InfinibandNode(tmp_path, "systemd-networkd")
    arguments = {**DECLARED, "wait": "30"}
    looks = look_at(Node(node, RELEASE, {}, str(node.root)), hints({**DEFAULTS, **arguments, "wait": 30}))
    result, executions = run(arguments, {"look": looks})
    assert [module for module, _arguments in executions] == ["rdma_facts"]
    assert (result["ok"], result["changed"], result["deviations"]) == (True, False, [])
    _surplus(node)
    looks = look_at(Node(node, RELEASE, {}, str(node.root)), hints({**DEFAULTS, **arguments, "wait": 30}))
    result, executions = run(arguments, {"look": looks})
    assert executions[1:] == [("node_check", arguments)] and result["from"] == "the module"


@pytest.mark.parametrize(("arguments", "task"), [({"ports": 7, "wait": "no"}, {}), ({"wait": -1}, {}), ({}, {"async_val": 60}), ({"cables": True}, {})])
def test_the_module_alone_where_it_is_needed_in_any_case(arguments: dict[str, t.Any], task: dict[str, t.Any]) -> None:
    result, executions = run(arguments, {}, **task)
    assert executions == [("node_check", arguments)] and result["from"] == "the module"
