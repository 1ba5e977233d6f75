# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inspecting a node: a tree of files, with tools that give prepared answers."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._check import settled
from ansible_collections.rdma.ofed.plugins.module_utils._check._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._check._live import _look as _live_look
from ansible_collections.rdma.ofed.plugins.module_utils._check._live._look import read_opensm
from ansible_collections.rdma.ofed.plugins.module_utils._check._live._types import Manager, Process
from ansible_collections.rdma.ofed.plugins.module_utils._check._look import look, look_at_last
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Fabric
from ansible_collections.rdma.ofed.plugins.module_utils._check._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code, Finding
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links._look import Limits
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _plan as kmod
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import LOAD_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import Daemon
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import read_limits
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told._expect import Told
from ansible_collections.rdma.ofed.plugins.module_utils._performance._found import Found as Performance
from support.clocks import without_waiting
from support.expected import at, wanting

GUID = "0x0000000000100001"
SMINFO = "sminfo: sm lid 1 sm guid 0x100001, activity count 506 priority 14 state 3 SMINFO_MASTER\n"
SMIR = """SMInfoRecord dump:
\t\tRID
\t\tLID...................1
\t\tSMInfo dump:
\t\tGUID..................0x0000000000100001
\t\tSM_Key................0x0000000000000000
\t\tActCount..............126
\t\tPriority..............14
\t\tSMState...............3
"""
MODULES = kmod.Wanted(load=frozenset(("ib_umad", "ib_ipoib", "rdma_ucm")))
RELEASE = "6.1.0-50-amd64"


class Tools:
    """A Runner with canned answers by tool name."""

    def __init__(self, **answers: Output) -> None:
        self.answers = answers
        self.calls: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return tool in self.answers

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        return self.answers[argv[0]]


def tools(**answers: Output) -> Tools:
    good = {
        "ip": Output(0, "[]", ""),
        "sminfo": Output(0, SMINFO, ""),
        "saquery": Output(0, SMIR, ""),
        "smpquery": Output(0, "Node Description:...........................node1\n", ""),
    }
    return Tools(**{**good, **answers})


def write(root: pathlib.Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


@pytest.fixture
def node(tmp_path: pathlib.Path) -> pathlib.Path:
    base = "sys/class/infiniband/mlx5_0/ports/1/"
    for name, text in {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "100 Gb/sec (4X EDR)",
        "lid": "0x2",
        "sm_lid": "0x1",
        "link_layer": "InfiniBand",
        "gids/0": "fe80:0000:0000:0000:0000:0000:0010:0002",
    }.items():
        write(tmp_path, base + name, text + "\n")
    write(tmp_path, "proc/modules", "ib_umad 40960 0 - Live 0x0\nib_ipoib 155648 0 - Live 0x0\n")
    write(tmp_path, "lib/modules/%s/modules.dep" % RELEASE, "kernel/ib_umad.ko:\nkernel/ib_ipoib.ko:\nkernel/rdma_ucm.ko:\n")
    write(tmp_path, "etc/modules-load.d/rdma-ofed.conf", "ib_umad\nrdma_ucm\n")
    return tmp_path


def manager(found: Found) -> Manager:
    (manager,) = found.live.managers
    return manager


def test_a_node(node: pathlib.Path) -> None:
    run = tools()
    found = look(at(run, node, RELEASE), wanting(Wanted(), kernel_modules=MODULES))
    assert [(port.name, port.state, port.sm_lid) for port in found.live.ports] == [("mlx5_0/1", "ACTIVE", 1)]
    modules = found.concerns["kernel_modules"].found
    assert (set(modules.loaded), modules.text(LOAD_PATH)) == ({"ib_umad", "ib_ipoib"}, "ib_umad\nrdma_ucm\n")
    assert set(found.concerns) == {"kernel_modules"}
    assert manager(found).master is not None
    assert (manager(found).master.guid, manager(found).master.state, manager(found).master.description) == (GUID, 3, "node1")
    assert manager(found).masters is None
    assert ["smpquery", "-C", "mlx5_0", "-P", "1", "nodedesc", "1"] in run.calls


def test_what_slows_down_the_adapters_is_read_where_it_is_judged(node: pathlib.Path) -> None:
    device = node / "sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0"
    device.mkdir(parents=True)
    (node / "sys/class/infiniband/mlx5_0/device").symlink_to(device)
    (node / "proc/1").mkdir()
    (node / "proc/1/root").symlink_to(node)
    write(node, "proc/sys/kernel/numa_balancing", "1\n")
    run = tools()
    assert look(at(run, node, RELEASE), Wanted()).live.performance == Performance()
    processes = len(run.calls)
    around = look(at(run, node, RELEASE), Wanted(performance="report")).live.performance
    assert ([adapter.pci for adapter in around.adapters], around.numa_balancing) == (["0000:18:00.0"], 1)
    assert len(run.calls) == 2 * processes, "it starts no process"


def test_the_designated_host_asks_for_all_masters(node: pathlib.Path) -> None:
    run = tools()
    found = look(at(run, node, RELEASE), Wanted(fabrics=(Fabric(designated=True),)))
    assert manager(found).masters == (GUID,)
    assert [argv[0] for argv in run.calls] == ["ip", "sminfo", "saquery"]


NO_ANSWER = Output(1, "", "sminfo: iberror: query failed\n")


def test_a_subnet_manager_that_was_stopped_is_told_from_a_host_that_is_silent(node: pathlib.Path) -> None:
    found = look(at(tools(sminfo=NO_ANSWER), node, RELEASE), Wanted())
    assert (manager(found).master, manager(found).master_error) == (
        None,
        "no subnet manager answers on port mlx5_0/1: its host, node1 at LID 1, answers without one: start opensm there",
    )
    found = look(at(tools(sminfo=NO_ANSWER, smpquery=Output(1, "", "timed out")), node, RELEASE), Wanted())
    assert "nor does its host at LID 1: it is off, its cable is pulled, or the fabric is slow" in manager(found).master_error
    write(node, "sys/class/infiniband/mlx5_0/ports/1/sm_lid", "0x0\n")
    assert manager(look(at(tools(sminfo=NO_ANSWER), node, RELEASE), Wanted())).master_error == "no subnet manager answers on port mlx5_0/1"


@pytest.mark.parametrize(("state", "stopped"), [("inactive", True), ("failed", False), ("activating", False)])
def test_whether_opensm_was_stopped_or_failed(node: pathlib.Path, state: str, stopped: bool) -> None:
    # A standby may have become master in the meantime.
    run = tools(systemctl=Output(0, "ActiveState=%s\n" % state, ""))
    found = look(at(run, node, RELEASE), Wanted(fabrics=(Fabric(designated=True),)))
    assert manager(found).stopped is stopped
    assert ["systemctl", "show", "--no-pager", "-p", "ActiveState", "--", "rdma-opensm@ib.service"] in run.calls


def test_a_master_whose_node_is_silent_is_known_to_be_so(node: pathlib.Path) -> None:
    found = look(at(tools(smpquery=Output(1, "", "timed out")), node, RELEASE), Wanted())
    assert manager(found).master is not None and not manager(found).master.answers


def test_a_tool_that_fails_is_a_finding(node: pathlib.Path) -> None:
    found = look(at(tools(sminfo=Output(2, "", "iberror: failed\nibwarn: can't open UMAD port\n")), node, RELEASE), Wanted())
    assert manager(found).master is None and manager(found).unable.endswith("iberror: failed; ibwarn: can't open UMAD port")


def test_no_tools(node: pathlib.Path) -> None:
    found = look(at(Tools(ip=Output(0, "[]", "")), node, RELEASE), Wanted())
    assert manager(found).unable == "sminfo and saquery and smpquery not installed: the role ofed installs them (ofed_tools)"


def test_no_link(node: pathlib.Path) -> None:
    write(node, "sys/class/infiniband/mlx5_0/ports/1/phys_state", "2: Polling\n")
    run = tools()
    assert manager(look(at(run, node, RELEASE), Wanted())).unable == "no link on port mlx5_0/1: it is Polling"
    assert [argv[0] for argv in run.calls] == ["ip"]


def test_an_empty_machine(tmp_path: pathlib.Path) -> None:
    found = look(at(Tools(), tmp_path, RELEASE), wanting(Wanted(), kernel_modules=MODULES))
    assert (found.live.ports, found.live.netdevs) == ((), ())
    assert not found.concerns["kernel_modules"].found.loaded
    assert manager(found).unable == "this node has no InfiniBand port"


def test_a_node_without_a_port_on_one_of_its_fabrics_says_so(node: pathlib.Path) -> None:
    wanted = Wanted(fabrics=(Fabric("ib", ("mlx5_0/1",)), Fabric("storage", ("mlx5_1/1",))))
    ib, storage = look(at(tools(), node, RELEASE), wanted).live.managers
    assert ib.master is not None and ib.asked == "mlx5_0/1"
    assert storage.unable == "this node has none of its InfiniBand ports on fabric storage: mlx5_1/1"


def test_opensm_is_heard_on_the_port_that_it_is_bound_to(node: pathlib.Path) -> None:
    for name, text in {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "link_layer": "InfiniBand",
        "gids/0": "fe80:0000:0000:0000:0000:0000:0010:0009",
    }.items():
        write(node, "sys/class/infiniband/mlx5_9/ports/1/" + name, text + "\n")
    write(node, "etc/rdma-ofed/opensm/ib/opensm.conf", "guid 0x0000000000100009\n")
    heard: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_live_look, "listen", lambda run, fabric, port, **options: heard.append(port.name) or Told(fabric))
        look(at(tools(), node, RELEASE), Wanted(fabrics=(Fabric(designated=True),)))
    assert heard == ["mlx5_9/1"]


def test_subnet_managers_are_not_asked_without_need(node: pathlib.Path) -> None:
    run = tools()
    look(at(run, node, RELEASE), Wanted(subnet_manager=False))
    assert [argv[0] for argv in run.calls] == ["ip"]


def test_opensm(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "proc/42/comm", "opensm\n")
    write(tmp_path, "proc/43/comm", "opensmtpd\n")
    write(tmp_path, "proc/44/comm", "opensm\n")
    write(tmp_path, "proc/44/cgroup", "0::/system.slice/system-rdma\\x2dopensm.slice/rdma-opensm@storage.service\n")
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "opensm.service").symlink_to("/lib/systemd/system/opensm.service")
    (wants / "ssh.service").symlink_to("/lib/systemd/system/ssh.service")
    found = read_opensm(str(tmp_path))
    assert (found.processes, found.enabled) == ((Process(42), Process(44, "storage")), ("opensm.service",))


def test_a_masked_unit_does_not_start(tmp_path: pathlib.Path) -> None:
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "opensm.service").symlink_to("/lib/systemd/system/opensm.service")
    (tmp_path / "etc/systemd/system/opensm.service").symlink_to("/dev/null")
    assert read_opensm(str(tmp_path)).enabled == ()


def test_limits_are_those_of_a_session_and_a_service_that_begin_now() -> None:
    run = tools(su=Output(0, "64\n1024\n", "su: warning: cannot change directory\n"), **{"systemd-run": Output(0, "unlimited\n4096\n", "")})
    assert read_limits(run) == {"memlock": {"session": "64", "service": "unlimited"}, "nofile": {"session": "1024", "service": "4096"}}
    assert [argv[0] for argv in run.calls] == ["su", "systemd-run"]
    # A test that could not start shows nothing.
    assert read_limits(tools(su=Output(1, "", "su: cannot open session\n"))) == {}


def test_daemons_are_looked_at_where_a_limit_is_declared(node: pathlib.Path) -> None:
    (node / "proc/self/ns").mkdir(parents=True, exist_ok=True)
    (node / "proc/self/ns/pid").symlink_to("pid:[1]")
    for name, text in {"comm": "slurmd", "cgroup": "0::/system.slice/slurmd.service", "limits": "Max locked memory  unlimited  unlimited  bytes"}.items():
        write(node, "proc/10/" + name, text + "\n")
    (node / "proc/10/ns").mkdir()
    (node / "proc/10/ns/pid").symlink_to("pid:[1]")
    limited = wanting(Wanted(), kernel_modules=MODULES._replace(memlock="unlimited"))
    assert look(at(tools(), node, RELEASE), limited).concerns["kernel_modules"].found.daemons == (Daemon("slurmd", "slurmd.service", "unlimited"),)
    kept = wanting(Wanted(), kernel_modules=MODULES)
    assert look(at(tools(), node, RELEASE), kept).concerns["kernel_modules"].found.daemons is None


CABLED = (pathlib.Path(__file__).resolve().parents[4] / "corpus/mlxlink/bf3_p1_m_c_text.txt").read_text()


def test_cables_are_read_only_where_that_is_wanted_and_there_is_a_link(node: pathlib.Path) -> None:
    def links(limits: Limits, *ports: str, **answers: Output) -> tuple[Finding, ...]:
        wanted, here = wanting(Wanted(ports=ports or ("mlx5_0/1",)), cables=limits), at(tools(**answers), node, RELEASE)
        found = look(here, wanted)
        assert "cables" not in found.concerns
        return t.cast("tuple[Finding, ...]", look_at_last(here, wanted, found).concerns["cables"])

    device = node / "sys/bus/pci/devices/0000:03:00.0"
    device.mkdir(parents=True)
    (node / "sys/class/infiniband/mlx5_0/device").symlink_to(device)
    mstlink = Output(0, CABLED, "")
    strict = Limits(("MCP1600-E*",))
    assert look_at_last(at(tools(mstlink=mstlink), node), Wanted(), Found()) == Found()
    assert links(strict, "mlx5_7/1", mstlink=mstlink) == links(Limits(), mstlink=mstlink) == ()
    (finding,) = links(strict, mstlink=mstlink)
    assert (finding.code, finding.subject) == (Code.CABLE_UNDECLARED, "mlx5_0/1")
    assert "the part number of its cable is none of MCP1600-E*; cable: FS Q28-PC03" in finding.found
    (finding,) = links(Limits())
    assert (finding.code, finding.subject) == (Code.LINK_UNREAD, "mlx5_0/1") and "install the package mstflint" in finding.found
    write(node, "sys/class/infiniband/mlx5_0/ports/1/phys_state", "2: Polling\n")
    assert links(strict, mstlink=mstlink) == ()
    (node / "sys/class/infiniband/mlx5_0/ports/1/phys_state").write_text("5: LinkUp\n")
    (device / "physfn").mkdir()
    assert links(strict, mstlink=mstlink) == ()


def test_cables_are_read_once_and_after_the_waiting(node: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a port that comes up while the tool runs would be reported as down."""
    device = node / "sys/bus/pci/devices/0000:03:00.0"
    device.mkdir(parents=True)
    (node / "sys/class/infiniband/mlx5_0/device").symlink_to(device)
    state = node / "sys/class/infiniband/mlx5_0/ports/1/state"
    state.write_text("2: INIT\n")
    run = tools(mstlink=Output(0, CABLED, ""))

    def comes_up(sleeps: int) -> None:
        if sleeps == 2:
            state.write_text("4: ACTIVE\n")

    wanted = wanting(Wanted(ports=("mlx5_0/1",), subnet_manager=False), cables=Limits(("MCP1600-E*",)))
    slept = without_waiting(monkeypatch, comes_up)
    outcome, waited = settled(lambda: at(run, node, RELEASE), wanted, wait=30)
    assert [finding.code.value for finding in outcome.findings] == ["cable_undeclared"]
    assert (len(slept), waited) == (2, sum(slept))
    assert [argv[0] for argv in run.calls].count("mstlink") == 1
