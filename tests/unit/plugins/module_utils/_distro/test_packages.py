# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries for installed packages."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name, installed_packages
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

STATUS = """Package: rdma-core
Status: install ok installed
Architecture: amd64
Version: 44.0-2

Package: perftest
Status: deinstall ok config-files
Version: 43.0-1

Package: opensm
Status: install ok unpacked
Version: 3

Package: bash
Status: install ok installed
Version: 5.2

Package: rdma-core-something
Status: install ok installed
Version: 1
"""


class Rpm:
    """A runner that knows only rpm; with "", not even that."""

    def __init__(self, stdout: str) -> None:
        self.stdout = stdout
        self.asked: list[t.Sequence[str]] = []

    def has(self, tool: str) -> bool:
        return tool == "rpm" and bool(self.stdout)

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.asked.append(argv)
        return Output(1, self.stdout, "")


def status(root: pathlib.Path, text: str) -> str:
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text(text, encoding="utf-8")
    return str(root)


def test_dpkg_needs_no_process(tmp_path: pathlib.Path) -> None:
    run = Rpm("kmod\t30\n")
    root = status(tmp_path, STATUS)
    assert installed_packages(run, None, root=root) == {"rdma-core": "44.0-2"}
    assert installed_packages(run, None, ["bash", "zsh"], root=root) == {"rdma-core": "44.0-2", "bash": "5.2"}
    assert installed_packages(run, None, ["ba*"], root=root) == {"rdma-core": "44.0-2", "bash": "5.2"}
    assert not run.asked


@pytest.mark.parametrize("dpkg", [False, True])
def test_one_question_to_rpm(tmp_path: pathlib.Path, dpkg: bool) -> None:
    root = status(tmp_path, "") if dpkg else str(tmp_path)
    run = Rpm("package doca-ofed is not installed\nrdma-core\t51.0-1.el9\nlibibverbs\t51.0-1.el9\n")
    assert installed_packages(run, None, ["doca-ofed"], root=root) == {"rdma-core": "51.0-1.el9", "libibverbs": "51.0-1.el9"}
    (argv,) = run.asked
    assert argv[:2] == ("rpm", "-q")
    assert {"doca-ofed", "rdma-core", "mstflint", "srp_daemon"} <= set(argv)
    assert not [name for name in argv if "*" in name]


def test_no_package_manager(tmp_path: pathlib.Path) -> None:
    assert installed_packages(Rpm(""), None, root=str(tmp_path)) == {}


def test_the_family_of_the_node_decides_which_database_counts(tmp_path: pathlib.Path) -> None:
    """An RPM system may have a dpkg with packages, as a tool for containers."""
    root = status(tmp_path, STATUS)
    run = Rpm("mlnx-ofa_kernel\t5.0-1\n")
    assert installed_packages(run, by_name("RedHat"), ["mlnx-ofa_kernel"], root=root) == {"mlnx-ofa_kernel": "5.0-1"}
    assert installed_packages(run, by_name("Debian"), ["mlnx-ofa_kernel"], root=root) == {"rdma-core": "44.0-2"}
