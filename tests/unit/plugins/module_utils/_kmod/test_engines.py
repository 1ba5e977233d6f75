# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._engines import DOCKER_PATH, read_docker, read_podman
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import Line
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import container_limits
from hypothesis import given
from hypothesis import strategies as st

MEMLOCK = '{\n  "default-ulimits": {\n    "memlock": {"Name": "memlock", "Soft": %s, "Hard": -1}\n  }\n}\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (MEMLOCK % "65536", [Line("/x", 3, "64")]),
        (MEMLOCK % "-1", [Line("/x", 3, "unlimited")]),
        (MEMLOCK % "true", []),
        (MEMLOCK % '"65536"', []),
        ('{"default-ulimits": {"nofile": {"Soft": 1}}, "live-restore": true}', [Line("/x", 1, "1", resource="nofile")]),
        ('{"default-ulimits": {"nproc": {"Soft": 1}}}', []),
        ('{"default-ulimits": []}', []),
        ("[]", []),
        ("{", []),
        ("", []),
    ],
)
def test_the_limit_of_docker(text: str, found: list[Line]) -> None:
    assert read_docker("/x", text) == found


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (['[containers]\ndefault_ulimits = ["nofile=1024:2048", "memlock=65536:65536"]\n'], [Line("/0", 2, "1024", resource="nofile"), Line("/0", 2, "64")]),
        (["[containers]\ndefault_ulimits = [\n  'memlock=-1',\n]\n"], [Line("/0", 3, "unlimited")]),
        (['#default_ulimits = [\n#  "memlock=64:64",\n#]\n'], []),
        (['default_ulimits = [\n  "nofile=1:1",\n  #"memlock=64:64",\n]\n'], [Line("/0", 2, "1", resource="nofile")]),
        (['default_ulimits = ["memlock=65536"]\n', 'default_ulimits = ["nofile=1:1"]\n'], [Line("/1", 1, "1", resource="nofile")]),
        (['default_ulimits = ["memlock=65536"]\n', "[engine]\n"], [Line("/0", 1, "64")]),
        ([""], []),
    ],
)
def test_the_limit_of_podman(texts: list[str], found: list[Line]) -> None:
    """The list of a later file replaces that of an earlier one."""
    assert read_podman({"/%d" % number: text for number, text in enumerate(texts)}) == found


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read_docker("/x", text), list)
    assert isinstance(read_podman({"/x": 'default_ulimits = ["memlock=' + text}), list)


def test_both_engines_are_read(tmp_path: pathlib.Path) -> None:
    assert container_limits(str(tmp_path)) == ()
    for path, text in {
        DOCKER_PATH: MEMLOCK % "65536",
        "/usr/share/containers/containers.conf": 'default_ulimits = ["memlock=1024"]\n',
        "/etc/containers/containers.conf.d/site.conf": 'default_ulimits = ["memlock=2048"]\n',
    }.items():
        target = tmp_path / path[1:]
        target.parent.mkdir(parents=True)
        target.write_text(text)
    assert container_limits(str(tmp_path)) == (Line(DOCKER_PATH, 3, "64"), Line("/etc/containers/containers.conf.d/site.conf", 1, "2"))
