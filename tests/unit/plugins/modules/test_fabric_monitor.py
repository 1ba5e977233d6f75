# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The monitor on a node made of files: what it installs and removes, and whether the programs run without the collection."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
import sys
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._monitor import _converge, _settings
from ansible_collections.rdma.ofed.plugins.module_utils._schema._fabric_monitor import OPTIONS
from ansible_collections.rdma.ofed.plugins.modules import fabric_monitor
from support.module_files import FileNode

SAMPLER = {"sampler": True, "fabrics": {"ib": ["mlx5_0/1"]}}
CHECKS = {"health_checks": ["nhc", "slurm"], "ports": ["mlx5_0/1"], "interfaces": ["ib0", {"parent": "ib0", "pkey": 0x8001}], "slurm_node": "n1"}
TIMER = "rdma-fabric-monitor.timer"


class Node(FileNode):
    """A root directory, the timer, and the part of AnsibleModule that the code uses."""

    def __init__(self, root: pathlib.Path) -> None:
        super().__init__(root)
        self.enabled = self.active = False

    def has(self, tool: str) -> bool:
        return tool == "systemctl"

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        verb = argv[1]
        if verb == "show":
            form = "Id=%s\nLoadState=loaded\nActiveState=%s\nUnitFileState=%s\n"
            return Output(0, form % (TIMER, "active" if self.active else "inactive", "enabled" if self.enabled else "disabled"), "")
        self.calls.append(" ".join(argv[1:]))
        if verb in ("enable", "disable"):
            self.enabled = verb == "enable"
        if verb in ("start", "restart", "stop"):
            self.active = verb != "stop"
        return Output(0, "", "")

    def files(self) -> set[str]:
        return {str(path)[len(str(self.root)) :] for path in self.root.rglob("*") if path.is_file()}

    def run(self, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
        self.calls.clear()
        self.check_mode = check
        self.params = {**{name: option.get("default") for name, option in OPTIONS.items()}, **params}
        module: t.Any = self
        return _converge.converge(module, self, root=str(self.root))


@pytest.fixture(name="node")
def fresh_node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return a node with the port to query through."""
    monkeypatch.setattr(_converge, "asked_port", lambda name, root: name or "mlx5_0/1")
    return Node(tmp_path)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("ports", "words"),
    [([], r"fabrics\.ib is \[\]; allowed: a fabric that this host has an InfiniBand port in"), (["mlx5_0/1"], r"fabrics\.ib: port.* is 'mlx5_0/1'")],
)
def test_a_host_without_a_port_of_the_fabric_is_refused_before_anything_is_installed(tmp_path: pathlib.Path, ports: list[str], words: str, check: bool) -> None:
    node = Node(tmp_path)
    with pytest.raises(InvalidInput, match=words):
        node.run(check, sampler=True, fabrics={"ib": ports})
    assert node.files() == set() and node.calls == []
    # Health checks alone, and the removal, need none.
    node.run(**CHECKS)
    node.run(state="absent", **SAMPLER)


def test_check_mode_predicts_the_run_and_the_second_run_does_nothing(node: Node) -> None:
    predicted = node.run(check=True, **SAMPLER, **CHECKS)
    assert node.files() == set() and node.calls == []
    done = node.run(**SAMPLER, **CHECKS)
    assert done["changed"] and done["changes"] == predicted["changes"] and done["diff"] == predicted["diff"]
    assert node.calls == ["daemon-reload", "enable " + TIMER, "start " + TIMER]
    assert {path for path in node.files() if os.access(str(node.root) + path, os.X_OK)} == {_settings.SAMPLER, _settings.HEALTH, _settings.SLURM}
    assert stat.S_IMODE(node.path(_settings.SAMPLER).stat().st_mode) == 0o755
    again = node.run(**SAMPLER, **CHECKS)
    assert not again["changed"] and node.calls == []


def test_another_interval_restarts_the_timer_and_another_port_does_not(node: Node) -> None:
    node.run(**SAMPLER)
    assert node.run(sampler=True, fabrics={"ib": []})["changes"] == ["edit file " + _settings.SAMPLE_CONF]
    assert node.calls == []
    node.run(sampler=True, fabrics={"ib": []}, interval=600)
    assert node.calls == ["daemon-reload", "restart " + TIMER]


def test_absent_takes_all_of_ours_away_and_nothing_of_others(node: Node) -> None:
    node.run(**SAMPLER, **CHECKS)
    textfile = _settings.text_of(_settings.SampleSettings((("ib", ""),), "/srv/metrics/rdma_fabric.prom", "/names", True))
    node.write(_settings.SAMPLE_CONF, textfile)
    node.write("/srv/metrics/rdma_fabric.prom", HEADER + "rdma_fabric_links 1\n")
    node.write("/srv/metrics/other.prom", "other 1\n")
    node.write(_settings.STATES, "{}\n")
    node.write(_settings.DRAINED, "")
    node.write("/etc/rdma-ofed/opensm/record", "x\n")
    node.write(_settings.NHC, "# mine\n")
    gone = node.run(state="absent")
    assert gone["changes"][:2] == ["service %s enabled: yes -> no" % TIMER, "service %s: running -> stopped" % TIMER]
    assert node.calls == ["disable " + TIMER, "stop %s rdma-fabric-monitor.service" % TIMER, "daemon-reload"]
    assert node.files() == {"/srv/metrics/other.prom", "/etc/rdma-ofed/opensm/record", _settings.NHC}
    assert not node.path(_settings.PROGRAMS).exists() and not node.path(_settings.KEPT).exists()
    assert not node.run(state="absent")["changed"]


def test_a_textfile_elsewhere_does_not_stay_behind(node: Node) -> None:
    node.run(**SAMPLER)
    node.write("/var/lib/prometheus/node-exporter/rdma_fabric.prom", HEADER)
    node.run(**SAMPLER, textfile_dir="/srv/metrics")
    assert not node.path("/var/lib/prometheus/node-exporter/rdma_fabric.prom").exists()


@pytest.mark.parametrize("path", [_settings.SAMPLER, "/etc/systemd/system/" + TIMER, _settings.NHC])
def test_files_of_others_are_refused(node: Node, path: str) -> None:
    node.write(path, "#!/bin/sh\necho mine\n")
    with pytest.raises(Refused, match=path):
        node.run(**SAMPLER, **CHECKS)
    assert node.files() == {path}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sampler": True}, "fabrics is {}"),
        ({**SAMPLER, "interval": 5}, "interval is 5; allowed: 60 to 3600 seconds"),
        ({**SAMPLER, "textfile_dir": "metrics"}, "textfile_dir is 'metrics'"),
        ({**SAMPLER, "fabrics": {"a b": []}}, "fabrics.a b is"),
        ({**SAMPLER, "fabrics": {"ib": "mlx5_0/1"}}, "fabrics.ib is 'mlx5_0/1'"),
        ({**SAMPLER, "fabrics": {"ib": ["nothing"]}}, r"fabrics.ib\[0\] is 'nothing'"),
        ({**CHECKS, "ports": ["mlx5_0"]}, r"ports\[0\] is 'mlx5_0'"),
        ({**CHECKS, "rate_gbps": -1}, "rate_gbps is -1"),
    ],
)
def test_wrong_input_is_refused_before_any_change(node: Node, options: dict[str, t.Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        node.run(**options)
    assert node.files() == set()


def test_a_sampler_needs_systemd(node: Node) -> None:
    (node.root / "run/systemd/system").rmdir()
    with pytest.raises(Unsupported, match="systemd"):
        node.run(**SAMPLER)
    assert node.run(**CHECKS)["changed"]


def alone(path: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as on a node: without this collection and with an empty environment."""
    done = subprocess.run([str(path), *arguments], capture_output=True, encoding="utf-8", cwd="/", env={}, check=False)
    assert "Traceback" not in done.stderr
    return done


def test_the_programs_need_nothing_but_python(node: Node) -> None:
    """Their messages about files that this machine lacks show that all of their modules were loaded."""
    node.run(**SAMPLER, **CHECKS)
    for path, entry in ((_settings.SAMPLER, _settings.SAMPLE_CONF), (_settings.HEALTH, _settings.HEALTH_CONF)):
        text = node.path(path).read_text(encoding="utf-8")
        assert text.startswith("#!%s -I\n%s" % (sys.executable, HEADER)) and text.isascii()
        if not os.path.exists(entry):
            done = alone(node.path(path))
            assert done.returncode == 2 and "%s can't be read" % entry in done.stdout + done.stderr
    assert json.loads(node.path(_settings.HEALTH_CONF).read_text(encoding="utf-8")[len(HEADER) :])["interfaces"] == ["ib0", "ib0.8001"]


def test_main_takes_the_options_of_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[t.Any] = []
    monkeypatch.setattr(fabric_monitor, "answer", lambda *given, **named: taken.append((given, named)))
    fabric_monitor.main()
    assert taken == [((OPTIONS, _converge.converge), {"root": True})]
