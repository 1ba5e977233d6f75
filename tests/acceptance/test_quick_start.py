# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The quick start of the README, its commands and inventory verbatim, on bare nodes; then a reboot of all nodes, and the same again.

Two details differ: the archive is built in a directory of the test instead of /tmp, and the connection variables of the lab's nodes are added beside the
inventory.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import re
import subprocess
import typing as t

import pytest
import records
import yaml
from cluster import BIN, Cluster
from common import ROOT
from proofs import REAL

PREFIX = "rdma-quick-start"
_PLAY = ("ansible-playbook", "-i", "inventory.yml", "-b")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def chapter() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8").partition("## A cluster in five minutes")[2].partition("\n## ")[0]


def blocks() -> dict[str, list[str]]:
    """Return the code blocks of the chapter by language."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for language, text in _BLOCK.findall(chapter()):
        found[language].append(text)
    return found


class User(t.NamedTuple):
    """A user who follows the README with an empty home directory and the Ansible of .venv."""

    home: pathlib.Path
    commands: list[str]

    def run(self, script: str, folder: pathlib.Path, *, record: pathlib.Path | None = None) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        env.update(HOME=str(self.home), PATH="%s%s%s" % (BIN, os.pathsep, env["PATH"]), ANSIBLE_NOCOLOR="1")
        if record:
            env.update(ANSIBLE_CALLBACK_PLUGINS=str(ROOT / "tests/tools/callback_plugins"), ANSIBLE_CALLBACKS_ENABLED="task_record", RDMA_RECORD=str(record))
        done = subprocess.run(["bash", "-ec", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, "%s\n%s%s" % (script, done.stdout, done.stderr)
        return done.stdout

    def play(self, playbook: str, *options: str) -> list[records.Event]:
        """Run the README's command for a playbook, or the equivalent for a playbook that its text names. Returns what it did."""
        command = " ".join([*_PLAY, "rdma.ofed." + playbook])
        assert command in self.commands or "`rdma.ofed.%s`" % playbook in chapter()
        record = self.home / "records"
        before = set(record.glob("*"))
        self.run(command, self.home / "fabric", record=record)
        (events,) = [records.read(path) for path in set(record.glob("*")) - before]
        return events


@pytest.fixture(scope="module")
def lab() -> collections.abc.Iterator[Cluster]:
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "3-nodes")
        yield cluster
    finally:
        cluster.command("down")


@pytest.mark.proves("opensm", "reboot", debian12=REAL)
def test_the_quick_start_holds_as_printed_and_after_a_reboot_of_all_nodes(lab: Cluster, tmp_path: pathlib.Path) -> None:
    found = blocks()
    commands = [line[2:].partition(" #")[0].strip() for text in found["console"] for line in text.splitlines() if line.startswith("$ ")]
    (inventory,) = found["yaml"]
    user = User(tmp_path, commands)
    (tmp_path / "records").mkdir()
    begin = next(number for number, command in enumerate(commands) if command.startswith("ansible-galaxy collection build"))
    user.run("\n".join(commands[begin : begin + 3]).replace("/tmp", str(tmp_path)), ROOT)
    folder = tmp_path / "fabric"
    (folder / "inventory.yml").write_text(inventory, encoding="utf-8")
    reached = yaml.safe_load(lab.inventory.read_text(encoding="utf-8"))["all"]
    for name, variables in {
        "group_vars/all.yml": {"ansible_connection": reached["vars"]["ansible_connection"], "ansible_user": "root"},
        **{"host_vars/%s.yml" % host: {"ansible_host": variables["ansible_host"]} for host, variables in reached["children"]["rdma"]["hosts"].items()},
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(yaml.safe_dump(variables), encoding="utf-8")

    assert records.changes(user.play("bootstrap")) == {}
    (check,) = [line for line in commands if line.endswith("rdma.ofed.site --check --diff")]
    user.commands.remove(check)
    user.run(check, folder)
    assert records.changes(user.play("site"))
    user.play("verify")
    user.play("fabric")

    lab.command("restart", "--all")
    lab.wait_until_green(1200, folder / "inventory.yml")
    assert records.changes(user.play("site")) == {}
    user.play("verify")
    user.play("fabric")
