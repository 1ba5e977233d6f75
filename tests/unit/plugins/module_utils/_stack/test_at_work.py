# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An installation takes minutes: the progress names the package being installed."""

from __future__ import annotations

import os
import pathlib
import time

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State, progress
from ansible_collections.rdma.ofed.plugins.module_utils._stack._log import last_package, package_at_work
from hypothesis import given
from hypothesis import strategies as st

APT = "Unpacking mlnx-ofed-kernel-dkms (23.10) ...\nSetting up libibverbs1:amd64 (2310mlnx47) ...\nProcessing triggers for libc-bin (2.36) ...\n"
DNF = "  Upgrading        : rdma-core-2310mlnx47-1.el9.x86_64     3/12 \n  Running scriptlet: rdma-core-2310mlnx47-1.el9.x86_64     3/12 \n"
ZYPPER = "( 3/12) Installing: mlnx-ofa_kernel-kmp-default-23.10-1.x86_64 [..done]\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (APT, "libibverbs1"),
        (APT + "Removing old packages...\n", "libibverbs1"),
        (DNF, "rdma-core"),
        (ZYPPER, "mlnx-ofa_kernel-kmp-default"),
        ("Reading package lists...\n", ""),
        ("", ""),
    ],
)
def test_the_last_package_of_an_output(text: str, name: str) -> None:
    assert last_package(text) == name


@given(st.text())
def test_any_output(text: str) -> None:
    last_package(text)


def _job(**options: object) -> State:
    memo = {"wanted": {"installer_options": options.get("options", [])}}
    return State("1", True, "installing MLNX_OFED", 2, 4, 60.0, False, 0, "", "/var/lib/rdma.ofed/jobs/driver-stack/log", memo)


def _write(path: pathlib.Path, text: str, age: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (time.time() - age, time.time() - age))


def test_the_newest_log_tells(tmp_path: pathlib.Path) -> None:
    root, logs = str(tmp_path), tmp_path / "tmp/MLNX_OFED_LINUX.7.logs"
    _write(tmp_path / "tmp/MLNX_OFED_LINUX.5.logs/opensm.debinstall.log", "", 4000)
    assert package_at_work(_job(), root) == ""
    _write(tmp_path / "var/lib/rdma.ofed/jobs/driver-stack/log", "\n==> installing\nSetting up former (1) ...\n", 50)
    assert package_at_work(_job(), root) == "former"
    _write(
        tmp_path / "var/lib/rdma.ofed/jobs/driver-stack/log",
        "\n==> removing\nRemoving former (1) ...\n\n==> reading the package lists: apt-get update\nHit:1 x\n",
        40,
    )
    assert package_at_work(_job(), root) == ""
    _write(logs / "general.log", "Get:1 http://deb.example.org gcc\nSetting up gcc (12) ...\n", 30)
    assert package_at_work(_job(), root) == "gcc"
    _write(logs / "mlnx-ofed-kernel-dkms.debinstall.log", "/usr/bin/dpkg -i x.deb\n", 10)
    _write(logs / "general.log", "nothing of use\n", 5)
    found = package_at_work(_job(), root)
    assert found == "mlnx-ofed-kernel-dkms"
    assert progress("node1", _job()._replace(detail=found).result()) == "node1: stage 2 of 4, installing MLNX_OFED, mlnx-ofed-kernel-dkms (1:00)"
    _write(tmp_path / "scratch/MLNX_OFED_LINUX.8.logs/ucx.rpmbuild.log", "", 1)
    assert package_at_work(_job(options=["--tmpdir", "/scratch"]), root) == "ucx"
