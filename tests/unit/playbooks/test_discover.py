# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A discovery is refused before it looks at any host, where its result could not be written, or is not what its author meant."""

from __future__ import annotations

import pathlib
import sys

import pytest
from support import playbook_runs

LOOKED = "Look at the node within the time limit"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-e", "discover_ouput=new"], "discover_ouput is unknown; allowed: discover_output"),
        (["-e", "discover_overwrite=perhaps"], "allowed: true or false"),
        (["-e", "discover_output=there"], "discover_output is there, which is not empty. No host was looked at"),
        (["-e", "discover_output=hosts", "-e", "discover_overwrite=true"], "discover_output is hosts, which is not a directory"),
        (["--limit", "other"], "No host of group rdma is within --limit other"),
    ],
)
def test_it_is_refused_before_the_look(tmp_path: pathlib.Path, arguments: list[str], said: str) -> None:
    (tmp_path / "hosts").write_text(
        "node1 ansible_connection=local\nother ansible_connection=local\n[rdma]\nnode1\n[all:vars]\nansible_python_interpreter=%s\n" % sys.executable
    )
    (tmp_path / "there").mkdir()
    (tmp_path / "there/mine.yml").write_text("", encoding="utf-8")
    done = playbook_runs.run("playbook", "-i", "hosts", "rdma.ofed.discover", *arguments, folder=tmp_path)
    assert done.status != 0 and said in done.said, done.output
    assert LOOKED not in done.output
    assert sorted(path.name for path in tmp_path.rglob("*.yml")) == ["mine.yml"]
