# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module on a node made of files: what it reads, starts and leaves behind."""

from __future__ import annotations

import json
import pathlib
import shutil
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._soft_links import Link, read_soft_links
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._record import as_data
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma import _converge
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._concern import idle
from support.module_files import FileNode

RELEASE = "6.1.0-50-amd64"
RXE = {"name": "rxe0", "type": "rxe", "netdev": "eth0"}
SIW = {"name": "siw0", "type": "siw", "netdev": "eth1"}
UNIT = "etc/systemd/system/rdma-ofed-link-rxe0.service"


class Node(FileNode):
    """A root directory, minimal systemd and rdma, and the part of AnsibleModule that the code uses."""

    def __init__(self, root: pathlib.Path) -> None:
        super().__init__(root)
        self.tools = {"modprobe", "rdma", "systemctl"}
        self.enabled: set[str] = set()
        self.active: set[str] = set()
        self.netdevs: dict[str, str] = {}
        self.refusal = ""
        self.refused = ""
        self.write("lib/modules/%s/modules.dep" % RELEASE, "kernel/rdma_rxe.ko:\nkernel/siw.ko:\n")
        for name in ("eth0", "eth1"):
            self.write("sys/class/net/%s/type" % name, "1\n")

    def add(self, name: str, kind: str, netdev: str) -> None:
        self.write("sys/devices/virtual/infiniband/%s/node_type" % name, "1: CA\n" if kind == "rxe" else "4: RNIC\n")
        place = self.root / "sys/class/infiniband"
        place.mkdir(parents=True, exist_ok=True)
        (place / name).symlink_to("../../devices/virtual/infiniband/" + name)
        self.netdevs[name] = netdev

    def delete(self, name: str) -> None:
        (self.root / "sys/class/infiniband" / name).unlink()
        shutil.rmtree(str(self.root / "sys/devices/virtual/infiniband" / name))
        del self.netdevs[name]

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(" ".join(argv))
        if list(argv[:3]) == ["rdma", "-j", "link"]:
            return Output(0, json.dumps([{"ifname": name, "port": 1, "netdev": netdev} for name, netdev in self.netdevs.items()]), "")
        if argv[0] == "modprobe" and argv[1] == self.refused:
            raise CommandFailed("modprobe: ERROR: could not insert '%s'" % argv[1])
        if list(argv[:3]) == ["rdma", "link", "add"]:
            if self.refusal:
                raise CommandFailed(self.refusal)
            self.add(argv[3], argv[5], argv[7])
        if list(argv[:3]) == ["rdma", "link", "delete"]:
            self.delete(argv[3])
        if argv[0] == "systemctl":
            return self._systemctl(argv)
        return Output(0, "", "")

    def _systemctl(self, argv: t.Sequence[str]) -> Output:
        if argv[1] == "enable":
            self.enabled |= set(argv[2:])
        if argv[1] == "disable":
            self.enabled -= set(argv[2:])
        if argv[1] == "stop":
            self.active -= set(argv[2:])
            self.delete(argv[2][len("rdma-ofed-link-") : -len(".service")])
        if argv[1] != "show":
            return Output(0, "", "")
        units = argv[argv.index("--") + 1 :]
        form = "Id=%s\nLoadState=loaded\nActiveState=%s\nUnitFileState=%s\n"
        states = [form % (unit, "active" if unit in self.active else "inactive", "enabled" if unit in self.enabled else "disabled") for unit in units]
        return Output(0, "\n".join(states), "")

    def run(self, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
        self.calls.clear()
        self.check_mode = check
        self.params = {"links": [RXE], "state": "present", **params}
        module: t.Any = self
        return _converge.converge(module, self, RELEASE, root=str(self.root))


@pytest.fixture(name="node")
def fresh_node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_check_mode_predicts_the_run_and_the_second_run_does_nothing(node: Node) -> None:
    predicted = node.run(check=True, links=[RXE, SIW])
    assert not any(call.startswith(("rdma link", "modprobe", "systemctl enable")) for call in node.calls)
    assert not (node.root / UNIT).exists()
    assert [link["present"] for link in predicted["links"]] == [False, False]
    done = node.run(links=[RXE, SIW])
    assert done["changes"] == predicted["changes"]
    assert node.netdevs == {"rxe0": "eth0", "siw0": "eth1"}
    assert node.enabled == {"rdma-ofed-link-rxe0.service", "rdma-ofed-link-siw0.service"}
    assert done["links"] == [dict(RXE, present=True), dict(SIW, present=True)]
    assert node.calls.index("systemctl daemon-reload") < node.calls.index("systemctl enable rdma-ofed-link-rxe0.service")
    assert node.calls.index("modprobe rdma_rxe") < node.calls.index("rdma link add rxe0 type rxe netdev eth0")
    again = node.run(links=[RXE, SIW])
    assert not again["changed"]
    assert len(node.calls) == 2, "rdma and systemctl are asked once"
    assert read_soft_links(str(node.root)) == (Link(**RXE), Link(**SIW))


def test_nothing_declared_on_a_bare_node_starts_no_process(node: Node) -> None:
    for declared in ({"links": []}, {"state": "absent"}):
        result = node.run(**declared)
        assert not result["changed"] and node.calls == []
        # If the facts show the same, the result needs no visit to the node.
        assert idle(node.params, {"soft_links": as_data(read_soft_links(str(node.root)))}) == result
        assert all(idle(node.params, facts) is None for facts in ({}, {"soft_links": None})), "facts that do not tell"


def test_absent_takes_all_of_ours_away_and_nothing_of_others(node: Node) -> None:
    node.add("siw9", "siw", "eth1")
    node.run()
    gone = node.run(state="absent")
    assert gone["changes"][0] == "link rxe0: rxe on eth0 -> none"
    assert node.netdevs == {"siw9": "eth1"}
    assert not node.enabled
    assert not (node.root / UNIT).exists()
    assert node.calls.index("systemctl disable rdma-ofed-link-rxe0.service") < node.calls.index("systemctl daemon-reload")
    assert not node.run(state="absent")["changed"]


def test_after_a_boot_the_unit_is_stopped(node: Node) -> None:
    node.run()
    node.active.add("rdma-ofed-link-rxe0.service")
    node.run(links=[])
    assert "systemctl stop rdma-ofed-link-rxe0.service" in node.calls
    assert "rdma link delete rxe0" not in node.calls
    assert node.netdevs == {}


def test_a_link_that_moves_is_wanted_by_its_new_interface(node: Node) -> None:
    node.run()
    node.run(links=[dict(RXE, netdev="eth1")])
    assert node.netdevs == {"rxe0": "eth1"}
    changing = [call for call in node.calls if call.startswith(("systemctl", "rdma link")) and " show " not in call]
    assert changing == [
        "rdma link delete rxe0",
        "systemctl disable rdma-ofed-link-rxe0.service",
        "systemctl daemon-reload",
        "systemctl enable rdma-ofed-link-rxe0.service",
        "rdma link add rxe0 type rxe netdev eth1",
    ]
    assert not node.run(links=[dict(RXE, netdev="eth1")])["changed"]


def test_a_refusal_leaves_the_next_run_its_work(node: Node) -> None:
    node.refusal = "error: Operation not permitted"
    with pytest.raises(CommandFailed, match="not permitted"):
        node.run()
    node.refusal = ""
    assert node.run()["changes"] == ["link rxe0: none -> rxe on eth0"]


@pytest.mark.parametrize(
    ("params", "kind", "text"),
    [
        ({"links": ["rxe0"]}, InvalidInput, "soft_rdma_links[0] is 'rxe0'"),
        ({"links": [dict(RXE, netdev="eth7")]}, InvalidInput, "soft_rdma_links[0].netdev is 'eth7'; allowed: eth0, eth1"),
        ({"links": [dict(RXE, type="ipoib")]}, InvalidInput, "allowed: rxe, siw"),
    ],
)
def test_bad_input_is_found_before_the_first_change(node: Node, params: dict[str, t.Any], kind: type[RdmaError], text: str) -> None:
    with pytest.raises(kind) as caught:
        node.run(**params)
    assert text in caught.value.msg
    assert not (node.root / "etc").exists()


@pytest.mark.parametrize(("tool", "text"), [("rdma", "rdma, which creates links, is not installed"), ("systemctl", "systemd does not run")])
def test_a_missing_tool_is_named_before_the_first_change(node: Node, tool: str, text: str) -> None:
    node.tools.remove(tool)
    assert node.run(check=True)["changed"]
    with pytest.raises(Unsupported, match=text):
        node.run()
    assert not (node.root / "etc").exists()


def test_a_kernel_without_the_driver(node: Node) -> None:
    node.write("lib/modules/%s/modules.dep" % RELEASE, "kernel/ib_core.ko:\n")
    with pytest.raises(InvalidInput, match="has no module rdma_rxe"):
        node.run(check=True)


def test_a_driver_that_does_not_load_is_found_before_the_first_change(node: Node) -> None:
    node.run(links=[RXE])
    node.refused = "siw"
    with pytest.raises(CommandFailed, match="could not insert 'siw'"):
        node.run(links=[SIW])
    assert node.netdevs == {"rxe0": "eth0"}
    assert not (node.root / UNIT.replace("rxe0", "siw0")).exists()


def test_a_container_without_systemd_has_the_command_nevertheless(node: Node) -> None:
    (node.root / "run/systemd/system").rmdir()
    with pytest.raises(Unsupported, match="systemd does not run"):
        node.run()
    assert node.calls == []
