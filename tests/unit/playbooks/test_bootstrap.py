# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node whose only Python is 3.6: the playbooks report it, and the bootstrap installs another one.

The node is this machine with a PATH of a few programs. The package manager is a stand-in that only installs an interpreter.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

import pytest
from support import playbook_runs

PROGRAMS = ("sh", "sed", "id", "sleep", "mkdir", "chmod", "rm")
# A real one on this machine is used if there is one.
OLD_PYTHONS = sorted(pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))).glob("versions/3.6.*/bin/python3.6"))
STAND_IN = """#!/bin/sh
exec {real} -c 'import sys; sys.version_info = (3, 6, 8, "final", 0); exec(sys.argv.pop(1))' "$2" "$3"
"""
APT = """#!/bin/sh
case "$*" in
*--simulate*) ;;
*install*python3*) {ln} -s {real} {bin}/python3.11 ;;
esac
"""
INVENTORY = """
all:
  vars: {ansible_connection: local, ansible_become: false}
  children:
    rdma: {hosts: {node1: , node2: , node3: }}
"""


@pytest.fixture
def node(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return the directory of the node's programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or "/bin/" + name)
    (programs / "apt-get").write_text(APT.format(ln=shutil.which("ln"), real=sys.executable, bin=programs))
    if OLD_PYTHONS:
        (programs / "python3").symlink_to(OLD_PYTHONS[0])
    else:
        (programs / "python3").write_text(STAND_IN.format(real=sys.executable))
        (programs / "python3").chmod(0o755)
    (programs / "apt-get").chmod(0o755)
    (tmp_path / "inventory.yml").write_text(INVENTORY)
    return programs


def play(node: pathlib.Path, playbook: str, *arguments: str) -> tuple[int, str]:
    argv = ["-i", str(node.parent / "inventory.yml"), "rdma.ofed." + playbook, *arguments]
    done = playbook_runs.run("playbook", *argv, folder=node.parent, PATH=str(node))
    return done.status, done.said


@pytest.mark.parametrize("playbook", ["site", "verify"])
def test_nodes_with_an_old_python_are_named_at_once_with_the_one_command(node: pathlib.Path, playbook: str) -> None:
    status, said = play(node, playbook)
    assert status == 2
    assert "node[1-3]: no Python that the modules run with: found 3.6." in said
    assert "Next: 'ansible-playbook -b rdma.ofed.bootstrap'" in said
    assert "SyntaxError" not in said


def test_the_bootstrap_installs_once_and_tells_what_to_declare(node: pathlib.Path) -> None:
    runs = (["--check"], "changed=1", False), ([], "changed=1", True), ([], "changed=0", True), (["--check"], "changed=0", True)
    for arguments, changed, installed in runs:
        status, said = play(node, "bootstrap", "--limit", "node1,localhost", *arguments)
        assert status == 0, said
        assert changed in said.rpartition("node1 :")[2].partition("unreachable")[0]
        assert (node / "python3.11").exists() == installed
        assert ("ansible_python_interpreter: %s/python3.11 for node1" % node in said) == installed
    # Without a declaration, the present interpreter is discovered.
    assert "no Python that the modules run with" not in play(node, "verify", "--limit", "node1,localhost")[1]


def test_a_declared_interpreter_that_is_too_old_is_named_with_the_one_to_declare(node: pathlib.Path) -> None:
    (node / "python3.11").symlink_to(sys.executable)
    status, said = play(node, "site", "-e", "ansible_python_interpreter=%s/python3" % node)
    assert status == 2
    assert "ansible_python_interpreter is 3.6." in said
    assert "Set it to %s/python3.11" % node in said
