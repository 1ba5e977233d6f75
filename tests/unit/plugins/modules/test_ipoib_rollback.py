# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes to the interface that carries the connection: refused, or made with a rollback."""

from __future__ import annotations

import os
import pathlib
import stat
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._saved import Access
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _look, _rollback
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._todo import IpoibPlan
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from support.ipoib_node import CAPABLE, FakeNode, wait_briefly

SSH = {"SSH_CONNECTION": "10.20.0.9 50000 10.20.0.1 22"}
TIMER = "rdma-ofed-ipoib-rollback.timer"
IB0: list[dict[str, t.Any]] = [{"name": "ib0", "mode": "connected", "addresses": ["10.20.0.1/24"], "routes": [{"to": "10.30.0.0/16", "via": "10.20.0.254"}]}]
MOVED: list[dict[str, t.Any]] = [{"name": "ib0", "addresses": ["10.20.0.2/24"], "mode": "datagram"}]
BOND: list[dict[str, t.Any]] = [{"name": "bond0", "mode": "connected", "addresses": ["10.20.0.1/24"], "bond": {"ports": ["ib0", "ib1"]}}]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.2)


def made(path: pathlib.Path, stack: str, interfaces: list[dict[str, t.Any]]) -> FakeNode:
    node = FakeNode(path, stack, CAPABLE, "mlx4_core", ports=2)
    for name in ("ib0", "ib1"):
        node.appear(name)
    node.call(interfaces=interfaces)
    return node


def script(node: FakeNode) -> str:
    return node.read("run/rdma-ofed-ipoib-rollback/undo")


@pytest.mark.parametrize("stack", ["systemd-networkd", "ifupdown", "networkmanager"])
@pytest.mark.parametrize("interfaces", [MOVED, BOND, []])
def test_refused_without_a_way_back(tmp_path: pathlib.Path, stack: str, interfaces: list[dict[str, t.Any]]) -> None:
    node = made(tmp_path, stack, IB0)
    with pytest.raises(Refused, match="or set ipoib_rollback_timeout"):
        node.call(environ=SSH, interfaces=interfaces)
    assert node.argv == []
    assert node.call(environ=SSH, interfaces=IB0)["changed"] is False


def test_the_timer_is_set_before_the_first_change(tmp_path: pathlib.Path) -> None:
    node = made(tmp_path, "systemd-networkd", IB0)
    foreseen = node.call(environ=SSH, check=True, interfaces=MOVED, rollback_timeout=60)
    assert (node.argv, node.timers) == ([], set())
    done = node.call(environ=SSH, interfaces=MOVED, rollback_timeout=60)
    assert done["changes"] == foreseen["changes"]
    options = "--collect --on-active=60 --timer-property=AccuracySec=1s /bin/sh /run/rdma-ofed-ipoib-rollback/undo"
    assert node.argv[0] == "systemd-run --unit=rdma-ofed-ipoib-rollback " + options
    assert done["rollback"] == {"unit": TIMER, "seconds": 60, "confirmed": False}
    assert stat.S_IMODE(os.stat(tmp_path / "run/rdma-ofed-ipoib-rollback").st_mode) == 0o700
    with pytest.raises(CommandFailed, match="the rollback of an earlier change is armed"):
        node.call(environ=SSH, interfaces=BOND, rollback_timeout=60)
    # Nor over another path, where nothing is cut.
    with pytest.raises(CommandFailed, match="the rollback of an earlier change is armed"):
        node.call(interfaces=BOND)
    assert not node.call(interfaces=MOVED)["changed"]
    assert not node.call(confirm=TIMER)["changed"]
    assert node.timers == set()
    assert not (tmp_path / "run/rdma-ofed-ipoib-rollback").exists()
    with pytest.raises(CommandFailed, match="is back in its state before"):
        node.call(confirm=TIMER)


def test_what_does_not_disturb_needs_no_timer(tmp_path: pathlib.Path) -> None:
    node = made(tmp_path, "systemd-networkd", IB0)
    wanted = [{**IB0[0], "addresses": ["10.20.0.1/24", "10.20.0.7/24"]}]
    assert "rollback" not in node.call(environ=SSH, interfaces=wanted, rollback_timeout=60)


def test_the_way_back(tmp_path: pathlib.Path) -> None:
    node = made(tmp_path, "systemd-networkd", IB0)
    before = node.read("etc/systemd/network/50-rdma-ib0.network")
    node.call(environ=SSH, interfaces=MOVED, rollback_timeout=60)
    lines = script(node).splitlines()
    kept = [line.split() for line in lines if line.endswith("/50-rdma-ib0.network")]
    assert (tmp_path / kept[0][-2][1:]).read_text().strip() == before
    assert [line for line in lines if not line.startswith("install ")] == [
        "#!/bin/sh",
        "tries=600",
        "while [ $tries -gt 0 ] && kill -0 %d 2>/dev/null; do tries=$((tries - 1)); sleep 1; done" % os.getpid(),
        # Left by a run that was killed during a write.
        "rm -f /etc/systemd/network/.50-rdma-ib0.network.*.rdma-ofed",
        "systemctl daemon-reload",
        "systemctl enable rdma-ofed-ipoib-mode.service",
        "networkctl reload",
        "[ ! -e /sys/class/net/ib0/master ] || ip link set dev ib0 nomaster",
        "[ ! -e /sys/class/net/ib0/mode ] || grep -qx connected /sys/class/net/ib0/mode || echo connected > /sys/class/net/ib0/mode",
        "ip address del 10.20.0.2/24 dev ib0",
        "ip link set dev ib0 mtu 65520",
        "ip link set dev ib0 up",
        "ip address replace 10.20.0.1/24 broadcast + dev ib0",
        "ip -4 route replace 10.30.0.0/16 via 10.20.0.254 dev ib0",
    ]


@pytest.mark.parametrize("stack", ["systemd-networkd", "ifupdown", "networkmanager"])
@pytest.mark.parametrize(("before", "after"), [(IB0, BOND), (BOND, IB0), (BOND, [])])
def test_the_way_back_is_a_script(tmp_path: pathlib.Path, stack: str, before: list[t.Any], after: list[t.Any], monkeypatch: pytest.MonkeyPatch) -> None:
    node = made(tmp_path, stack, before)
    monkeypatch.setattr(node, "outgoing", before[0]["name"])
    node.call(environ=SSH, interfaces=after, rollback_timeout=60)
    subprocess.run(["sh", "-n", str(tmp_path / "run/rdma-ofed-ipoib-rollback/undo")], check=True)
    text = script(node)
    if before is BOND:
        assert "ip link add name bond0 type bond mode active-backup miimon 100 fail_over_mac active" in text
        assert "ip link set dev ib1 master bond0" in text
    else:
        assert "ip link delete dev bond0" in text
    if stack == "networkmanager":
        assert "nmcli connection up uuid " in text


def test_the_way_back_gives_files_of_others_their_owners() -> None:
    """systemd-networkd is not root, and reads a file that only its group may read."""
    paths = ("/etc/systemd/network/20-ib0.network", "/etc/systemd/network/50-rdma-ib0.network")
    gone = Plan(tuple(Change(Kind.FILE, path, "", "[Match]\nName=ib0\n", "") for path in paths))
    kept = _rollback.undo_of(IpoibPlan(gone), Found(), {paths[0]: Access(0o640, (0, 998))})
    lines = [line for line in kept["undo"].splitlines() if line.startswith("install ")]
    folder = "/run/rdma-ofed-ipoib-rollback"
    assert lines == ["install -D -m 640 -o 0 -g 998 %s/0 %s" % (folder, paths[0]), "install -D -m 644 %s/1 %s" % (folder, paths[1])]


def test_a_failure_on_the_way_says_that_the_node_goes_back(tmp_path: pathlib.Path) -> None:
    node = made(tmp_path, "systemd-networkd", IB0)
    node.break_at = 2
    with pytest.raises(RdmaError) as caught:
        node.call(environ=SSH, interfaces=MOVED, rollback_timeout=60)
    assert "the node returns to its former state within 60 s" in caught.value.msg


def test_seconds(tmp_path: pathlib.Path) -> None:
    node = made(tmp_path, "systemd-networkd", IB0)
    with pytest.raises(InvalidInput, match="ipoib_rollback_timeout is 5"):
        node.call(interfaces=IB0, rollback_timeout=5)


def test_another_unit_is_not_stopped(tmp_path: pathlib.Path) -> None:
    node = made(tmp_path, "systemd-networkd", IB0)
    node.timers.add("logrotate.timer")
    with pytest.raises(CommandFailed, match="logrotate"):
        node.call(confirm="logrotate.timer")
    assert _look.ROLLBACK in TIMER


def test_the_way_back_takes_off_what_was_added(tmp_path: pathlib.Path) -> None:
    node = made(tmp_path, "ifupdown", IB0)
    routes = [*IB0[0]["routes"], {"to": "10.40.0.0/16", "via": "10.20.0.254"}]
    node.call(environ=SSH, interfaces=[{"name": "ib0", "addresses": ["10.20.0.2/24", "fd00::2/64"], "routes": routes}], rollback_timeout=60)
    lines = script(node).splitlines()
    taken = [line for line in lines if " del " in line]
    assert taken == ["ip -4 route del 10.40.0.0/16 via 10.20.0.254 dev ib0", "ip address del 10.20.0.2/24 dev ib0", "ip address del fd00::2/64 dev ib0"]
    assert lines.index(taken[-1]) < lines.index("ip address replace 10.20.0.1/24 broadcast + dev ib0")
