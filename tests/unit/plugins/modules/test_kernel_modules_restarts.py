# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module kernel_modules on a node with daemons that were started with another limit of locked memory."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _apply
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._concern import hints, unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Seen
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import SERVICES_PATH, UNIT_PATHS
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import seen as look_at
from support.clocks import without_waiting
from support.expected import at
from support.kmod_node import RELEASE, Node, node_of

MAY_RAISE = "Name:\tsystemd\nCapEff:\t000001ffffffffff\n"
LOW, HIGH = "8388608", "unlimited"
RESTART = "service %s.service restart for locked memory: 8192 -> unlimited"
UNITS = {"slurmd": "slurmd.service", "containerd": "containerd.service"}


class Daemons:
    """Answers for systemctl on a node, where a restarted daemon has the limit that systemd has read."""

    def __init__(self, node: Node, kill_modes: t.Mapping[str, str]) -> None:
        self.node = node
        self.kill_modes = dict(kill_modes)
        self.default = LOW
        self.files = 1024
        self.obeys = True
        self.plain: t.Callable[..., Output] = type(node).__call__
        node.tools.add("systemctl")
        node.write("proc/1/status", MAY_RAISE)
        node.write("proc/1/cgroup", "0::/init.scope\n")
        (node.root / "run/systemd/system").mkdir(parents=True)
        (node.root / "proc/self/ns").mkdir(parents=True)
        (node.root / "proc/self/ns/pid").symlink_to("pid:[1]")
        for number, name in enumerate(kill_modes, 10):
            self.start(name, number, LOW)

    def start(self, name: str, pid: int, limit: str) -> None:
        folder = "proc/%d/" % pid
        limits = "Max locked memory  %s  %s  bytes\nMax open files  %s  %s  files" % (limit, limit, self.files, self.files)
        for file, text in {"comm": name, "cgroup": "0::/system.slice/%s.service" % name, "limits": limits}.items():
            self.node.write(folder + file, text + "\n")
        (self.node.root / folder / "ns").mkdir(exist_ok=True)
        link = self.node.root / folder / "ns/pid"
        if not link.is_symlink():
            link.symlink_to("pid:[1]")

    def __call__(self, node: Node, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        done = self.plain(node, argv, ok, timeout)
        if argv[:2] == ["systemctl", "show"]:
            shown = [(name, mode, number) for number, (name, mode) in enumerate(self.kill_modes.items(), 10)]
            return Output(0, "\n".join("Id=%s.service\nKillMode=%s\nMainPID=%d\n" % each for each in shown), "")
        if argv[:2] == ["systemctl", "daemon-reexec"] and (node.root / SERVICES_PATH[1:]).exists():
            self.default = HIGH if "MEMLOCK" in node.read(SERVICES_PATH) else LOW
            self.files = 65536 if "NOFILE=65536" in node.read(SERVICES_PATH) else 1024
        if argv[:2] == ["systemctl", "restart"] and self.obeys:
            for number, name in enumerate(self.kill_modes, 10):
                if argv[2] == name + ".service":
                    self.start(name, number, self.default)
        return done


@pytest.fixture
def daemons(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Daemons:
    found = Daemons(node_of(tmp_path, monkeypatch), {"slurmd": "process", "containerd": "control-group"})

    def called(node: Node, *args: t.Any, **kwargs: t.Any) -> Output:
        return found(node, *args, **kwargs)

    monkeypatch.setattr(Node, "__call__", called)
    monkeypatch.setattr(_apply, "PATIENCE", 0.0)
    return found


def restarted(node: Node) -> list[str]:
    return [argv[2] for argv in node.calls if argv[:2] == ["systemctl", "restart"]]


@pytest.mark.proves("modules", "check_mode", "unchanged")
def test_a_daemon_is_restarted_with_consent_and_only_where_its_jobs_go_on(daemons: Daemons) -> None:
    node = daemons.node
    assert RESTART % "slurmd" not in node.run()["changes"]
    assert restarted(node) == []
    foreseen = node.run(check=True, allow_interruption=True)
    assert foreseen["changes"] == [RESTART % "slurmd"]
    assert restarted(node) == []
    done = node.run(allow_interruption=True)
    assert (done["changes"], done["diff"], done["pending"]) == (foreseen["changes"], foreseen["diff"], [])
    assert restarted(node) == ["slurmd.service"]
    assert not node.run(allow_interruption=True)["changed"]


def test_a_daemon_is_restarted_for_open_files(daemons: Daemons) -> None:
    node = daemons.node
    node.run(allow_interruption=True)
    foreseen = node.run(check=True, allow_interruption=True, nofile=65536)
    done = node.run(allow_interruption=True, nofile=65536)
    assert done["changes"] == foreseen["changes"]
    assert "service slurmd.service restart for open files: 1024 -> 65536" in done["changes"]
    assert restarted(node) == ["slurmd.service"]
    assert not node.run(allow_interruption=True, nofile=65536)["changed"]


def test_one_restart_serves_both_limits(daemons: Daemons) -> None:
    done = daemons.node.run(allow_interruption=True, nofile=65536)
    assert [change for change in done["changes"] if "restart" in change] == [RESTART % "slurmd"]
    assert restarted(daemons.node) == ["slurmd.service"]
    assert not daemons.node.run(allow_interruption=True, nofile=65536)["changed"]


@pytest.mark.proves("interrupted")
def test_files_and_restarts_in_one_run_and_after_an_interruption(daemons: Daemons) -> None:
    """systemd reads the files before the restart, also where an earlier run ended between the two."""
    node = daemons.node
    node.run()
    daemons.default = LOW
    node.run(allow_interruption=True)
    words = [" ".join(argv[:3]) for argv in node.calls if argv[0] == "systemctl" and argv[1] != "show"]
    assert words == ["systemctl daemon-reexec", "systemctl restart slurmd.service"]
    assert not node.run(allow_interruption=True)["changed"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/systemd/system/slurmd.service", "[Service]\nLimitMEMLOCK=8M\n"),
        ("etc/systemd/system.conf", "[Manager]\nDefaultLimitMEMLOCK=8M\n"),
    ],
)
def test_a_restart_that_would_not_help_is_not_made(daemons: Daemons, path: str, text: str) -> None:
    daemons.node.write(path, text)
    daemons.node.run(allow_interruption=True)
    assert restarted(daemons.node) == []


def test_a_unit_with_a_limit_of_its_own_needs_no_default(daemons: Daemons) -> None:
    daemons.node.write("usr/lib/systemd/system/slurmd.service", "[Service]\nLimitMEMLOCK=infinity\n")
    daemons.node.write("etc/systemd/system.conf", "[Manager]\nDefaultLimitMEMLOCK=8M\n")
    daemons.default = HIGH
    daemons.node.run(allow_interruption=True)
    assert restarted(daemons.node) == ["slurmd.service"]


@pytest.mark.parametrize("params", [{"memlock": "keep"}, {"memlock": 8192}, {"state": "absent"}])
def test_no_restart_where_nothing_more_is_declared(daemons: Daemons, params: dict[str, t.Any]) -> None:
    daemons.node.run(allow_interruption=True, **params)
    assert restarted(daemons.node) == []


def test_a_daemon_that_does_not_get_the_limit_is_named(daemons: Daemons, monkeypatch: pytest.MonkeyPatch) -> None:
    without_waiting(monkeypatch)
    daemons.obeys = False
    with pytest.raises(CommandFailed, match=r"slurmd.service was restarted, and its limit of locked memory is not unlimited"):
        daemons.node.run(allow_interruption=True)
    # The node has its modules nevertheless.
    assert "modprobe" in [argv[0] for argv in daemons.node.calls]


def test_the_controller_plans_restarts_on_a_look_for_them(daemons: Daemons) -> None:
    node = daemons.node
    node.run()
    options = {**node.params, "allow_interruption": True}
    variables = {"kernel_modules_load": options["load"], "rdma_allow_interruption": True}

    def plan(given: dict[str, t.Any]) -> t.Any:
        here = look_at(at(node, node.root, RELEASE), hints(given))
        assert isinstance(here, Seen)
        return unchanged(options, here)

    assert plan(variables) is None
    node.run(allow_interruption=True)
    assert plan(variables) is not None
    # Without them in the look, the module runs on the node.
    assert plan({**variables, "rdma_allow_interruption": False}) is None
    assert "daemons" not in hints({**variables, "kernel_modules_memlock": "keep"})
    assert hints({**variables, "kernel_modules_memlock": "keep", "kernel_modules_nofile": 4096})["daemons"] == [["nofile", "4096"]]
    assert "daemons" not in hints({**variables, "kernel_modules_memlock": "keep", "kernel_modules_nofile": "unlimited"})


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/systemd/system/slurmd.service.d/site.conf", "[Service]\nLimitMEMLOCK=8M\n"),
        ("etc/containers/containers.conf", '[containers]\ndefault_ulimits = ["memlock=8388608"]\n'),
    ],
)
def test_a_lower_limit_of_a_unit_or_of_containers_stays_and_is_named(daemons: Daemons, path: str, text: str) -> None:
    daemons.node.write("usr/lib/systemd/system/slurmd.service", "[Service]\n")
    daemons.node.write(path, text)
    daemons.node.run()
    (warning,) = daemons.node.warnings
    assert warning.startswith("/%s line 2 limits locked memory to 8192, and unlimited is declared" % path)
    assert daemons.node.read(path) == text
    daemons.node.run(memlock=8192)
    assert daemons.node.warnings == []


DROP_IN = UNIT_PATHS["slurmd.service"]
PACKAGED = "usr/lib/systemd/system/slurmd.service"


def test_a_package_with_a_lower_limit_gets_a_drop_in(daemons: Daemons) -> None:
    node = daemons.node
    node.write(PACKAGED, "[Service]\nLimitMEMLOCK=8M\n")
    foreseen = node.run(check=True, allow_interruption=True)
    done = node.run(allow_interruption=True)
    assert done["changes"] == foreseen["changes"]
    assert {"create file " + DROP_IN, RESTART % "slurmd"} < set(done["changes"])
    assert node.read(DROP_IN).endswith("[Service]\nLimitMEMLOCK=infinity\n")
    calls = [argv[1] for argv in node.calls if argv[0] == "systemctl"]
    assert calls.index("daemon-reexec") < calls.index("restart")
    assert node.warnings == []
    assert not node.run(allow_interruption=True)["changed"]
    # It goes with the declaration, and where the package sets enough.
    assert "remove file " + DROP_IN in node.run(memlock="keep")["changes"]
    node.run()
    node.write(PACKAGED, "[Service]\nLimitMEMLOCK=infinity\n")
    assert node.run()["changes"] == ["remove file " + DROP_IN]


@pytest.mark.parametrize(
    ("path", "ours"), [("usr/lib/systemd/system/slurmd.service.d/a.conf", True), ("usr/lib/systemd/system/slurmd.service.d/z.conf", False)]
)
def test_a_drop_in_is_made_where_it_counts(daemons: Daemons, path: str, ours: bool) -> None:
    """systemd reads drop-ins in the order of their names."""
    daemons.node.write(PACKAGED, "[Service]\n")
    daemons.node.write(path, "[Service]\nLimitMEMLOCK=64\n")
    assert ("create file " + DROP_IN in daemons.node.run()["changes"]) is ours
    assert bool(daemons.node.warnings) is not ours


def test_a_limit_of_the_site_is_taken_out_of_a_unit_with_consent_and_given_back(daemons: Daemons) -> None:
    node = daemons.node
    path, text = "etc/systemd/system/slurmd.service.d/site.conf", "[Service]\nLimitMEMLOCK=8M\nNice=-5\n"
    node.write(PACKAGED, "[Service]\n")
    node.write(path, text)
    foreseen = node.run(check=True, adopt=True, allow_interruption=True)
    done = node.run(adopt=True, allow_interruption=True)
    assert done["changes"] == foreseen["changes"]
    assert {"edit file /" + path, RESTART % "slurmd"} < set(done["changes"])
    assert node.read(path) == "[Service]\nNice=-5\n"
    assert not node.run(adopt=True, allow_interruption=True)["changed"]
    node.run(state="absent", restore=True)
    assert node.read(path) == text


def test_another_name_of_a_unit_is_no_unit(daemons: Daemons) -> None:
    node = daemons.node
    node.write("usr/lib/systemd/system/ssh.service", "[Service]\nLimitMEMLOCK=8M\n")
    (node.root / "etc/systemd/system").mkdir(parents=True)
    (node.root / "etc/systemd/system/sshd.service").symlink_to("../../../usr/lib/systemd/system/ssh.service")
    done = node.run()["changes"]
    assert "create file " + UNIT_PATHS["ssh.service"] in done
    assert not any("sshd.service" in change for change in done)
