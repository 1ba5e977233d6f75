# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import sys
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _handover, _plan
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._concern import unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._converge import require_free
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Foreign, Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import PACKAGED
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan, stopped
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._processes import owner_of, read_processes
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Bound, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode

ONE, TWO = "0x0002c90300001001", "0x0002c90300001011"
PORTS = tuple(
    Port("mlx5_%d/1" % index, "mlx5_%d" % index, 1, port_guid=guid, link_layer="InfiniBand", phys_state="LinkUp") for index, guid in enumerate((ONE, TWO))
)
SLICE = "/system.slice/system-opensm.slice"


def put(root: pathlib.Path, path: str, text: str = "") -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def process(root: pathlib.Path, pid: int, cgroup: str, *arguments: str, opened: t.Sequence[str] = (), program: str = "/usr/sbin/opensm") -> None:
    place = root / "proc" / str(pid)
    put(root, "/proc/%d/comm" % pid, "opensm\n")
    put(root, "/proc/%d/cgroup" % pid, "4:memory:/x\n0::%s\n" % cgroup)
    put(root, "/proc/%d/cmdline" % pid, "\0".join((program, *arguments)) + "\0")
    (place / "fd").mkdir()
    (place / "ns").mkdir()
    (place / "ns/pid").symlink_to("pid:[1]")
    (place / "exe").symlink_to(program)
    for index, name in enumerate(opened):
        (place / "fd" / str(index)).symlink_to(name)


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    put(tmp_path, "/proc/1/cgroup", "0::/docker/abc/init.scope\n")
    put(tmp_path, "/proc/1/comm", "systemd\n")
    put(tmp_path, "/proc/self/x")
    (tmp_path / "proc/self/ns").mkdir()
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[1]")
    for index, guid in enumerate((ONE, TWO)):
        for kind in ("umad", "issm"):
            put(tmp_path, "/sys/class/infiniband_mad/%s%d/ibdev" % (kind, index), "mlx5_%d\n" % index)
            put(tmp_path, "/sys/class/infiniband_mad/%s%d/port" % (kind, index), "1\n")
        digits = guid[2:]
        gid = ":".join(["fe80", "0000", "0000", "0000", *(digits[at : at + 4] for at in range(0, 16, 4))])
        put(tmp_path, "/sys/class/infiniband/mlx5_%d/ports/1/gids/0" % index, gid + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "program", "owner"),
    [
        ("/user.slice/user-0.slice/session-3.scope", "/usr/sbin/opensm", ""),
        ("/system.slice/ssh.service", "/usr/sbin/opensm", ""),
        ("/system.slice/cron.service", "/usr/local/sbin/opensm", ""),
        ("", "/usr/sbin/opensm", ""),
        ("/system.slice/ufm-enterprise.service", "/opt/ufm/opensm/sbin/opensm", "unit ufm-enterprise.service"),
        ("/system.slice/site-sm.service", "/usr/sbin/opensm", "unit site-sm.service"),
        ("/user.slice/user-0.slice/session-3.scope", "/opt/ufm/opensm/sbin/opensm", "program /opt/ufm/opensm/sbin/opensm"),
        ("/system.slice/docker-0123.scope", "/usr/sbin/opensm", "container docker-0123.scope"),
        ("/kubepods.slice/kubepods-pod1.slice/cri-containerd-ab.scope", "/usr/sbin/opensm", "container cri-containerd-ab.scope"),
    ],
)
def test_whose_it_is(path: str, program: str, owner: str) -> None:
    assert owner_of([part for part in path.split("/") if part], program) == owner


def test_the_ports_that_it_has(root: pathlib.Path) -> None:
    """The devices that a process has opened are more reliable than its command line. A node may itself be a container."""
    process(root, 10, "/docker/abc" + SLICE + "/opensm@x.service", "--guid", ONE, opened=["/dev/infiniband/umad1", "/dev/infiniband/issm1", "/dev/null"])
    process(root, 11, "/docker/abc/user.slice/session-1.scope", "-g", TWO, opened=["socket:[1]"])
    process(root, 12, "/docker/abc/system.slice/ufm.service", "-B")
    found = {each.pid: (each.owner, each.guids) for each in read_processes(str(root))}
    assert found == {10: ("unit opensm@x.service", (TWO,)), 11: ("", (TWO,)), 12: ("unit ufm.service", ())}


class Systemctl:
    def __init__(self, *units: str) -> None:
        self.units = units

    def has(self, tool: str) -> bool:
        return False

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        return Output(0, "\n\n".join("Id=%s\nLoadState=loaded\nActiveState=active\n" % unit for unit in self.units), "")


UNITS = ("opensm.service", "opensm@%s.service" % ONE, "opensm@%s.service" % TWO)


def test_units_of_packages_by_port(root: pathlib.Path) -> None:
    """The first unit starts the others and has no process of its own."""
    (root / "run/systemd/system").mkdir(parents=True)
    process(root, 10, SLICE + "/" + UNITS[1], "--guid", ONE)
    process(root, 12, "/system.slice/ufm.service", "--guid", TWO)
    found = look(Systemctl(*UNITS), str(root))
    assert found.bound == {UNITS[0]: (ONE, TWO), UNITS[1]: (ONE,), UNITS[2]: (TWO,)}
    assert (found.strays, found.foreign) == ((), (Foreign(12, "unit ufm.service", (TWO,)),))
    assert sys.version_info < (3, 10) or decode(Found, encode(found)) == found


BOUND = Bound(Instance("ib", ONE, 13), PORTS[0])
FOUND = Found(running=UNITS, bound={UNITS[0]: (ONE, TWO), UNITS[1]: (ONE,), UNITS[2]: (TWO,)})


def test_what_serves_a_port_of_no_declared_fabric_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: both kept running and the run succeeded, with two subnet managers on the declared port."""
    stops = stopped(plan(Wanted((BOUND.instance,)), FOUND))
    lost = _plan.undeclared(stops, FOUND, ports=PORTS, declared={ONE})
    assert {stop.subject: [port.name for port in ports] for stop, ports in lost.items()} == {UNITS[0]: ["mlx5_1/1"], UNITS[2]: ["mlx5_1/1"]}
    handover = _handover.Handover(mock.Mock(), mock.Mock(), FOUND, ports=PORTS, patience=0)
    monkeypatch.setattr(handover, "_alone", lambda *_arguments: "it is master")
    with pytest.raises(Refused, match=r"port mlx5_1/1 \(port GUID %s\).*rdma_fabrics" % TWO) as caught:
        handover.require_declared(lost)
    assert ONE not in caught.value.msg
    # If another one takes over, as on the second rail of one fabric, it is stopped.
    monkeypatch.setattr(handover, "_alone", lambda *_arguments: "")
    handover.require_declared(lost)
    assert _plan.undeclared(stops, FOUND, ports=PORTS, declared={ONE, TWO}) == {}


def test_what_is_on_our_port_leaves_for_ours() -> None:
    stop = Change(Kind.UNIT, UNITS[1], "state", "running", "stopped")
    assert _plan.bound_to(stop.subject, FOUND, PORTS, free={TWO}) == [PORTS[0]]
    assert _handover.Handover(mock.Mock(), mock.Mock(), FOUND, ports=PORTS, patience=0).without_heir([stop], {ONE}) == {}


@pytest.mark.parametrize(("guids", "ports", "free"), [((ONE,), PORTS, False), ((TWO,), PORTS, True), ((), PORTS, True), ((), PORTS[:1], False)])
def test_a_port_takes_one(guids: tuple[str, ...], ports: tuple[Port, ...], free: bool) -> None:
    found = Found(foreign=(Foreign(7, "unit ufm.service", guids),))
    if free:
        require_free(found, [BOUND], ports)
        return
    with pytest.raises(RdmaError, match=r"unit ufm\.service, process 7"):
        require_free(found, [BOUND], ports)
    # A running subnet manager of the collection owns the port.
    require_free(found._replace(running=(BOUND.instance.unit,)), [BOUND], ports)


def test_a_resting_host_leaves_others_alone_and_names_them() -> None:
    """Regression: the standby of UFM was stopped."""
    found = Found(masked=PACKAGED, foreign=(Foreign(7, "unit ufm.service", (ONE,)),))
    assert not plan(Wanted(()), found)
    options = {"state": "present", "instances": [], "wait_timeout": 60, "options": {}, "secret_options": {}, "known_hosts": [], "allow_foreign_master": False}
    result = unchanged(options, found.public())
    assert result is not None and not result["changed"]
    (reason,) = result["reasons"]
    assert "unit ufm.service" in reason and "process 7" in reason and ONE in reason
