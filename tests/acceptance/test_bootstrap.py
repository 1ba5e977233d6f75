# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Debian without Python, with the real apt. No fabric is needed, so the container is none of a lab."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import subprocess

import pytest
import records
from cluster import Cluster

NAME = "rdma-bootstrap"
# What needs Python stays broken: nothing here needs it.
PURGE = "rm -rf /opt/lab; dpkg-query -W -f '${Package}\\n' | grep -E '^(lib)?python3' | xargs dpkg --purge --force-all"
INVENTORY = {"all": {"children": {"rdma": {"hosts": {NAME: {"ansible_connection": "community.docker.docker"}}}}}}


def inside(*argv: str) -> int:
    return subprocess.run(["docker", "exec", NAME, *argv], capture_output=True, check=False).returncode


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> collections.abc.Iterator[pathlib.Path]:
    image = Cluster().command("image").strip().splitlines()[-1]
    subprocess.run(["docker", "rm", "--force", NAME], capture_output=True, check=False)
    subprocess.run(["docker", "run", "--detach", "--name", NAME, "--entrypoint", "sleep", image, "infinity"], check=True)
    try:
        inside("sh", "-c", PURGE)
        assert inside("sh", "-c", "command -v python3") != 0
        path = tmp_path / "inventory.json"
        path.write_text(json.dumps(INVENTORY))
        yield path
    finally:
        subprocess.run(["docker", "rm", "--force", NAME], capture_output=True, check=False)


def test_a_node_without_python_gets_one_once(inventory: pathlib.Path) -> None:
    cluster = Cluster()
    refused = cluster.play("verify", inventory=inventory)
    assert refused.status == 2
    assert "no Python that the modules run with: found none" in refused.output
    runs = [cluster.play("bootstrap", *arguments, inventory=inventory) for arguments in (["--check"], [], [], ["--check"])]
    assert [run.status for run in runs] == [0, 0, 0, 0], runs[-1].output
    assert [bool(records.changes(run.events)) for run in runs] == [True, True, False, False]
    assert inside("python3", "--version") == 0
    assert "ansible_python_interpreter: /usr/bin/python3 for %s" % NAME in runs[1].output
