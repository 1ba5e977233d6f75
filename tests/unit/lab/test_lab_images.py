# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Building images with a docker command that fails."""

from __future__ import annotations

import os
import pathlib

import pytest
from labctl import _docker, _image
from labctl._say import LabError

FAILS = '#!/bin/sh\necho "$*" >>"$0.calls"\n[ "$(wc -l <"$0.calls")" -gt %d ] && exit 0\necho "Step 1/2 : COPY a /"\necho "unknown parent image ID"\nexit 1\n'


def docker_that_fails(times: int, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    program = folder / "docker"
    program.write_text(FAILS % times, encoding="utf-8")
    program.chmod(0o755)
    path = "%s%s%s" % (folder, os.pathsep, os.environ["PATH"])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setitem(_docker._ENVIRONMENT, "PATH", path)
    return folder / "docker.calls"


def test_a_build_that_fails_once_is_tried_again_and_what_docker_said_is_shown(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = docker_that_fails(1, tmp_path, monkeypatch)
    _image.build("--tag", "it")
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 2
    assert "unknown parent image ID" in capsys.readouterr().err


def test_a_build_that_fails_twice_is_an_error_with_what_docker_said(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = docker_that_fails(9, tmp_path, monkeypatch)
    with pytest.raises(LabError, match="unknown parent image ID"):
        _image.build("--tag", "it")
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 2
