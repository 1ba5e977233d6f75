# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT, Output
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._daemons import limit_of, read_daemons
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import NOFILE, Daemon, Limit, Line
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import unit_limits
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._obstacles import Around, obstacle
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._ulimits import limit_of_unit, remedy, restarts

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max processes             31188                31188                processes
Max locked memory         %s              %s              bytes
Max address space         unlimited            unlimited            bytes
Max open files            1024                 524288               files
"""
PROCESS = {"KillMode": "process"}


def memlock(value: str) -> Limit:
    return Limit("memlock", value)


class Node:
    """A root directory with processes, and the tools that tell about their units."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.units: list[dict[str, str]] = []
        self.answers: dict[str, Output] = {}
        self.calls: list[list[str]] = []
        (root / "proc/self/ns").mkdir(parents=True)
        (root / "proc/self/ns/pid").symlink_to("pid:[1]")
        self.write("proc/1/cgroup", "0::/init.scope\n")

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def daemon(self, pid: int, name: str, *, cgroup: str, limit: str = "8388608", namespace: str = "pid:[1]") -> None:
        self.write("proc/%d/comm" % pid, name + "\n")
        self.write("proc/%d/cgroup" % pid, "0::%s\n" % cgroup)
        self.write("proc/%d/limits" % pid, LIMITS % (limit, "unlimited"))
        (self.root / ("proc/%d/ns" % pid)).mkdir()
        (self.root / ("proc/%d/ns/pid" % pid)).symlink_to(namespace)

    def has(self, tool: str) -> bool:
        return tool == "systemctl" or tool in self.answers

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        if argv[0] != "systemctl":
            if self.answers[argv[0]].rc == TIMED_OUT:
                raise CommandFailed("%s did not end within %g s" % (" ".join(argv), timeout))
            return self.answers[argv[0]]
        return Output(0, "\n\n".join("".join("%s=%s\n" % pair for pair in unit.items()) for unit in self.units), "")

    def read(self) -> tuple[Daemon, ...]:
        return read_daemons(self, str(self.root))


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_each_resource_has_an_entry(node: Node) -> None:
    node.units = [{"Id": "slurmd.service", "MainPID": "10", "KillMode": "control-group"}]
    node.daemon(10, "slurmd", cgroup="/system.slice/slurmd.service", limit="unlimited")
    declared = [memlock("unlimited"), Limit(NOFILE.name, "65536")]
    most, few = read_daemons(node, str(node.root), declared)
    assert (most, few.resource, few.value) == (Daemon("slurmd", "slurmd.service", "unlimited"), "nofile", "1024")
    assert "KillMode=control-group" in few.obstacle
    node.calls.clear()
    # Where all is as declared, nothing is started.
    assert read_daemons(node, str(node.root), [declared[0], Limit(NOFILE.name, "1024")])[1].obstacle == ""
    assert node.calls == []


@pytest.mark.proves("modules")
def test_daemons_pass_on_the_limit_with_which_they_were_started(node: Node) -> None:
    node.units = [{"Id": "slurmd.service", "MainPID": "10", **PROCESS}, {"Id": "ssh.service", "MainPID": "13", **PROCESS}]
    node.daemon(10, "slurmd", cgroup="/system.slice/slurmd.service")
    node.daemon(11, "slurmd", cgroup="/system.slice/slurmd.service", limit="unlimited")
    node.daemon(12, "containerd", cgroup="/system.slice/containerd.service", limit="unlimited")
    node.daemon(13, "sshd", cgroup="/system.slice/ssh.service")
    node.daemon(14, "sshd", cgroup="/user.slice/user-0.slice/session-3.scope")
    node.daemon(15, "dockerd", cgroup="/system.slice/docker.service", namespace="pid:[2]")
    node.daemon(16, "pbs_mom", cgroup="/system.slice/a b.service")
    node.daemon(17, "sshd", cgroup="/system.slice/system-sshd.slice/sshd@3.service")
    slurmd, containerd = Daemon("slurmd", "slurmd.service", "8192"), Daemon("containerd", "containerd.service", "unlimited")
    assert node.read() == (slurmd, containerd, Daemon("sshd", "ssh.service", "8192"))
    # Sessions that use PAM get the limits of pam_limits. The first value counts, and included files come first.
    node.write("etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\n#UsePAM no\nUsePAM yes\n")
    assert node.read() == (slurmd, containerd)
    node.write("etc/ssh/sshd_config.d/10-site.conf", "usepam no\n")
    assert len(node.read()) == 3


def test_daemons_without_a_limit_cost_no_process(node: Node) -> None:
    node.daemon(10, "slurmd", cgroup="/system.slice/slurmd.service", limit="unlimited")
    assert node.read() == (Daemon("slurmd", "slurmd.service", "unlimited"),)
    assert node.calls == []


def test_what_an_earlier_daemon_left_in_the_unit_does_not_count(node: Node) -> None:
    """After a restart with KillMode=process, such as a session of sshd."""
    node.write("etc/ssh/sshd_config", "UsePAM no\n")
    node.daemon(10, "sshd", cgroup="/system.slice/ssh.service")
    node.daemon(40, "sshd", cgroup="/system.slice/ssh.service", limit="unlimited")
    node.units = [{"Id": "ssh.service", "MainPID": "40", **PROCESS}]
    assert node.read() == (Daemon("sshd", "ssh.service", "unlimited"),)
    # The main process of a unit may be another program.
    node.units[0]["MainPID"] = "1"
    assert node.read() == (Daemon("sshd", "ssh.service", "8192", "the main process of its unit is not known to systemd"),)


def test_of_service_managers_of_users_those_count_that_stay(node: Node) -> None:
    """The others end with the last session of their user. Their cgroup is `init.scope` below their unit."""
    node.daemon(9, "systemd", cgroup="/init.scope")
    node.daemon(10, "systemd", cgroup="/user.slice/user-0.slice/user@0.service/init.scope")
    node.daemon(11, "systemd", cgroup="/user.slice/user-0.slice/user@0.service/app.slice/x.service")
    assert node.read() == ()
    node.write("var/lib/systemd/linger/root", "")
    node.write("var/lib/systemd/linger/no such user", "")
    (manager,) = node.read()
    assert (manager.name, manager.unit, manager.value, manager.is_user_manager) == ("systemd", "user@0.service", "8192", True)
    assert manager.obstacle == "that ends everything that runs in it"


@pytest.mark.parametrize(
    ("name", "unit", "around", "words"),
    [
        ("slurmd", PROCESS, Around(), ""),
        ("slurmd", {"KillMode": "control-group"}, Around(), "KillMode=control-group"),
        ("slurmd", {}, Around(), "KillMode=unknown"),
        ("slurmd", {**PROCESS, "RequiredBy": "slurm.target"}, Around(), "slurm.target"),
        ("pbs_mom", PROCESS, Around(), "options"),
        ("containerd", PROCESS, Around(), ""),
        ("containerd", {**PROCESS, "BoundBy": "docker.service"}, Around(), "docker.service"),
        ("dockerd", {**PROCESS, "ConsistsOf": "docker.socket"}, Around(live_restore=True), ""),
        ("dockerd", PROCESS, Around(), "live restore"),
        ("sshd", PROCESS, Around(), ""),
        ("sshd", PROCESS, Around(sshd_refuses="/etc/ssh/sshd_config line 3: Bad configuration option: x"), "Bad configuration option"),
    ],
)
def test_what_a_restart_may_end(name: str, unit: dict[str, str], around: Around, words: str) -> None:
    found = obstacle(name, unit, around, leader=name)
    assert words in found and bool(found) == bool(words)
    assert obstacle(name, unit, around, leader="")


@pytest.mark.parametrize(("live", "free"), [("true\n", True), ("false\n", False), ("", False)])
def test_docker_tells_whether_containers_stay(node: Node, live: str, free: bool) -> None:
    node.answers["docker"] = Output(0 if live else 1, live, "")
    node.daemon(10, "containerd", cgroup="/system.slice/containerd.service")
    node.daemon(11, "dockerd", cgroup="/system.slice/docker.service")
    node.units = [{"Id": "containerd.service", "MainPID": "10", **PROCESS}, {"Id": "docker.service", "MainPID": "11", **PROCESS}]
    assert [daemon.obstacle == "" for daemon in node.read()] == [True, free]
    # Not the dockerd of another host, which a context may name.
    assert ["docker", "--host", "unix:///var/run/docker.sock", "info", "--format", "{{.LiveRestoreEnabled}}"] in node.calls


@pytest.mark.parametrize("live", ["true\n", "false\n"])
def test_a_containerd_that_dockerd_has_started_is_part_of_its_unit(node: Node, live: str) -> None:
    """As without a containerd.service. A restart of docker.service for it would stop all containers."""
    node.answers["docker"] = Output(0, live, "")
    node.daemon(10, "dockerd", cgroup="/system.slice/docker.service")
    node.daemon(11, "containerd", cgroup="/system.slice/docker.service")
    node.units = [{"Id": "docker.service", "MainPID": "10", **PROCESS}]
    assert [bool(daemon.obstacle) for daemon in node.read()] == [True, True]
    assert restarts(Found(daemons=node.read(), may_raise=True), memlock("unlimited")) == []


def test_a_daemon_in_the_unit_of_a_user_says_nothing_about_the_unit_of_the_system(node: Node) -> None:
    """Rootless docker has a docker.service, too. A restart of that of the system, which does not run, would start it."""
    node.answers["docker"] = Output(0, "true\n", "")
    node.daemon(10, "dockerd", cgroup="/user.slice/user-1000.slice/user@1000.service/app.slice/docker.service")
    node.units = [{"Id": "docker.service", "MainPID": "0", **PROCESS}]
    (daemon,) = node.read()
    assert daemon.obstacle == "the main process of its unit is not known to systemd"


def test_a_command_that_hangs_is_an_obstacle_and_no_failure_of_the_look(node: Node) -> None:
    node.answers.update(docker=Output(TIMED_OUT, "", ""), sshd=Output(TIMED_OUT, "", ""))
    for pid, name, unit in ((10, "dockerd", "docker.service"), (11, "sshd", "ssh.service")):
        node.daemon(pid, name, cgroup="/system.slice/" + unit)
        node.units.append({"Id": unit, "MainPID": str(pid), **PROCESS})
    assert ["live restore" in node.read()[0].obstacle, "did not end" in node.read()[1].obstacle] == [True, True]


def test_an_sshd_that_would_not_start_again_is_not_restarted(node: Node) -> None:
    node.daemon(10, "sshd", cgroup="/system.slice/ssh.service")
    node.units = [{"Id": "ssh.service", "MainPID": "10", **PROCESS}]
    node.answers["sshd"] = Output(255, "", "/etc/ssh/sshd_config: line 3: Bad configuration option: x\n")
    assert "Bad configuration option" in node.read()[0].obstacle
    node.answers["sshd"] = Output(0, "", "")
    assert node.read()[0].obstacle == ""


@pytest.mark.parametrize("text", ["", "Max locked memory\n", "Max locked memory         many  many  bytes\n", LIMITS % ("9" * 40, "1")])
def test_a_limit_that_is_not_told_is_none(text: str) -> None:
    assert limit_of(text) == ""


def test_the_limits_of_units_are_read_in_the_order_of_systemd(node: Node) -> None:
    assert unit_limits(str(node.root)) == {}
    node.write("usr/lib/systemd/system/slurmd.service", "[Service]\nLimitMEMLOCK=infinity\n")
    node.write("usr/lib/systemd/system/slurmd.service.d/20-vendor.conf", "[Service]\nLimitMEMLOCK=64K\n")
    node.write("usr/lib/systemd/system/slurmd.service.d/10-hidden.conf", "[Service]\nLimitMEMLOCK=1K\n")
    node.write("etc/systemd/system/slurmd.service.d/10-hidden.conf", "[Service]\nLimitMEMLOCK=8M:16M\n")
    node.write("usr/lib/systemd/system/docker.service", "[Service]\nLimitNPROC=infinity\n")
    node.write("etc/systemd/system/pbs.service.d/site.conf", "[Service]\nLimitMEMLOCK=1K\n")
    lines = unit_limits(str(node.root))["slurmd.service"]
    assert [(line.path.rpartition("/")[2], line.value) for line in lines] == [
        ("slurmd.service", "unlimited"),
        ("10-hidden.conf", "8192"),
        ("20-vendor.conf", "64"),
    ]
    assert set(unit_limits(str(node.root))) == {"slurmd.service"}
    # A file in /etc replaces the one of the package.
    node.write("etc/systemd/system/slurmd.service", "[Service]\nLimitMEMLOCK=1G\n")
    assert unit_limits(str(node.root))["slurmd.service"][0] == Line("/etc/systemd/system/slurmd.service", 2, str(1024 * 1024))


def test_the_drop_ins_of_all_services_count_by_their_names(node: Node) -> None:
    node.write("usr/lib/systemd/system/slurmd.service", "[Service]\n")
    node.write("etc/systemd/system/service.d/20-site.conf", "[Service]\nLimitMEMLOCK=64K\n")
    node.write("etc/systemd/system/service.d/30-both.conf", "[Service]\nLimitMEMLOCK=1K\n")
    node.write("usr/lib/systemd/system/slurmd.service.d/10-vendor.conf", "[Service]\nLimitMEMLOCK=8M\n")
    node.write("usr/lib/systemd/system/slurmd.service.d/30-both.conf", "[Service]\nLimitMEMLOCK=16M\n")
    lines = unit_limits(str(node.root))["slurmd.service"]
    assert [(line.path.partition("system/")[2], line.value) for line in lines] == [
        ("slurmd.service.d/10-vendor.conf", "8192"),
        ("service.d/20-site.conf", "64"),
        ("slurmd.service.d/30-both.conf", "16384"),
    ]


@pytest.mark.parametrize(
    ("values", "low"), [(["64"], True), (["64", "unlimited"], False), (["unlimited", "64"], True), (["64", ""], False), ([], False), (["8192"], False)]
)
def test_the_last_line_of_a_unit_counts(values: list[str], low: bool) -> None:
    found = Found(unit_limits={"slurmd.service": tuple(Line("/etc/x", number, value) for number, value in enumerate(values, 1))})
    assert (limit_of_unit("slurmd.service", found, memlock("8192")) is not None) is low


def test_a_remedy_names_the_line_or_the_command() -> None:
    daemon = Daemon("slurmd", "slurmd.service", "64")
    found = Found(unit_limits={"slurmd.service": (Line("/etc/systemd/system/slurmd.service.d/site.conf", 2, "64"),)})
    assert remedy(daemon, found, memlock("8192")).startswith("/etc/systemd/system/slurmd.service.d/site.conf line 2 sets it")
    for words in ("'systemctl restart slurmd.service'", "rdma_allow_interruption: true"):
        assert words in remedy(daemon, Found(), memlock("8192"))
    assert "rdma_allow_interruption" not in remedy(daemon._replace(obstacle="it has jobs"), Found(), memlock("8192"))
