# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a lab and the collection's playbooks on it, for the demo, the benchmark and the acceptance tests."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import time
import typing as t

import ansible_runs
import records
from common import BUILD, ROOT, SetupError

BIN = ROOT / ".venv/bin"
LAB = [str(BIN / "python"), str(ROOT / "tests/lab/lab")]


class Run(t.NamedTuple):
    """Result of a playbook run."""

    status: int
    output: str
    events: list[records.Event]
    seconds: float


def environment(record: pathlib.Path | None = None, collections: pathlib.Path = BUILD / "collections") -> dict[str, str]:
    """Return the environment of ansible-playbook: the collection installed in `collections`, the lab's connection plugins, and the callback if its record is
    wanted.
    """
    # Every ansible-core finds the collections of .venv. The connection collection declares 2.14 unsupported but works with it.
    folders = [collections, *ROOT.glob(".venv/lib/python3*/site-packages")]
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=os.pathsep.join(map(str, folders)), ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"))
    env["PATH"] = "%s%s%s" % (BIN, os.pathsep, env.get("PATH", os.defpath))
    env[ansible_runs.CONNECTIONS] = "community.docker.docker"
    if record:
        env["ANSIBLE_CALLBACK_PLUGINS"] = str(ROOT / "tests/tools/callback_plugins")
        env["ANSIBLE_CALLBACKS_ENABLED"] = "task_record"
        env["RDMA_RECORD"] = str(record)
    return env


class Cluster:
    """One lab. `prefix` separates it from others on the same machine; `programs` is the directory of its controller's ansible-playbook, and `collections`
    the folder with the collection.
    """

    def __init__(self, prefix: str = "", *, programs: pathlib.Path = BIN, collections: pathlib.Path = BUILD / "collections") -> None:
        self.lab = [*LAB, *(["--prefix", prefix] if prefix else [])]
        self.programs, self.collections = programs, collections

    def command(self, *argv: str, timeout: float = 1800) -> str:
        """Run a lab command and return its output. Its progress goes to the terminal."""
        done = subprocess.run([*self.lab, *argv], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8", timeout=timeout, check=False)
        if done.returncode:
            raise SetupError("lab %s exited %d: %s" % (" ".join(argv), done.returncode, done.stdout))
        return done.stdout

    def show(self, *argv: str) -> None:
        """Run a lab command with all its output on the terminal."""
        if status := subprocess.call([*self.lab, *argv], cwd=ROOT, stdin=subprocess.DEVNULL):
            raise SetupError("lab %s exited %d" % (" ".join(argv), status))

    def shell(self, node: str, script: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a shell script on a node. The caller checks the status."""
        argv = [*self.lab, "shell", node, "sh", "-c", script]
        return subprocess.run(argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=timeout, check=False)

    @property
    def inventory(self) -> pathlib.Path:
        return pathlib.Path(self.command("inventory").strip())

    def play(self, playbook: str, *arguments: str, inventory: pathlib.Path | None = None, timeout: int = 1800) -> Run:
        """Run a playbook of the collection or a playbook file. Returns its output and events. At the time limit, it ends by SIGALRM."""
        with tempfile.TemporaryDirectory() as folder:
            record = pathlib.Path(folder)
            name = playbook if playbook.endswith(".yml") else "rdma.ofed.%s" % playbook
            start = time.monotonic()
            done = ansible_runs.run(
                "playbook",
                ["-i", str(inventory or self.inventory), name, *arguments],
                folder=ROOT,
                environ=dict(environment(record, self.collections), ANSIBLE_NOCOLOR="1"),
                python=str(self.programs / "python"),
                merged=True,
                seconds=timeout,
            )
            files = sorted(record.iterdir())
            return Run(done.status, done.shown, records.read(files[0]) if files else [], time.monotonic() - start)

    def show_play(self, playbook: str) -> None:
        """Run a playbook with its output on the terminal."""
        argv = [str(BIN / "ansible-playbook"), "-i", str(self.inventory), "rdma.ofed.%s" % playbook]
        if status := subprocess.call(argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL):
            raise SetupError("ansible-playbook rdma.ofed.%s exited %d" % (playbook, status))

    def wait_until_green(self, seconds: float, inventory: pathlib.Path | None = None) -> float:
        """Return the seconds until verify.yml passed. Raises an error with the last output if it never did."""
        start = time.monotonic()
        while True:
            run = self.play("verify", inventory=inventory)
            passed = time.monotonic() - start
            if run.status == 0:
                return passed
            if passed > seconds:
                raise SetupError("verify.yml still fails after %.0f s:\n%s" % (passed, run.output))
            time.sleep(1)
