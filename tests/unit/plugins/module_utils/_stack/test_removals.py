# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is removed with the installer's packages when rpm tests the removal: rpm names only direct dependants."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._stack._foreseen import dependants
from ansible_collections.rdma.ofed.plugins.module_utils._stack._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._stack._plan import StackPlan
from ansible_collections.rdma.ofed.plugins.module_utils._stack._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package
from ansible_collections.rdma.ofed.plugins.module_utils._tools._rpm import erase_test_argv

INSTALLED = {name: Package("1-1.el8") for name in ("libibverbs", "rdma-core", "libpcap", "tcpdump", "nmap", "bash")}
FOUND = Found(os=OperatingSystem("RedHat", "rocky", "8.10", "Rocky Linux 8.10"), stack=Stack("inbox", "48.0"), packages=INSTALLED)
WANTED = Wanted(version="23.10-0.5.5.0", packages="all")
# By package: its requirements as rpm prints them, and the package that provides each.
NEEDS = {
    "libpcap": ("libibverbs.so.1()(64bit)", "libibverbs"),
    "tcpdump": ("libpcap.so.1()(64bit)", "libpcap"),
    "nmap": ("libpcap.so.1()(64bit)", "libpcap"),
    "rdma-core": ("libibverbs", "libibverbs"),
}


class Rpm:
    """`rpm --erase --test` of these packages. Reads no package database."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(tuple(argv))
        assert tuple(argv[:3]) == erase_test_argv(()) and ok is None
        gone = argv[3:]
        wrong = ["\t%s is needed by (installed) %s-1-1.el8.x86_64\n" % (what, name) for name, (what, by) in NEEDS.items() if by in gone and name not in gone]
        return Output(1 if wrong else 0, "", "error: Failed dependencies:\n%s" % "".join(wrong) if wrong else "")

    def has(self, tool: str) -> bool:
        return tool == "rpm"


def plan_of(*names: str) -> StackPlan:
    return StackPlan(removes=names, simulate=(erase_test_argv(names),), by_installer=True)


def test_what_needs_a_package_that_goes_is_followed_to_its_end() -> None:
    run = Rpm()
    with pytest.raises(Refused, match="ofed_allow_removal") as refused:
        dependants(run, WANTED, FOUND, todo=plan_of("libpcap"), root="/")
    assert refused.value.details["dependants"] == ["nmap", "tcpdump"]
    assert run.calls[-1] == erase_test_argv(["libpcap", "nmap", "tcpdump"])


def test_what_needs_only_a_library_that_comes_back_survives() -> None:
    assert dependants(Rpm(), WANTED, FOUND, todo=plan_of("libibverbs"), root="/") == ()


def test_a_library_that_does_not_come_back_takes_along_what_needs_it() -> None:
    kernel_only = WANTED._replace(packages="kernel-only")
    allowed = kernel_only._replace(allow_removal=("libpcap", "nmap", "tcpdump"))
    changes = dependants(Rpm(), allowed, FOUND, todo=plan_of("libibverbs"), root="/")
    assert [(change.subject, change.after) for change in changes] == [("libpcap", ""), ("nmap", ""), ("tcpdump", "")]
    with pytest.raises(Refused, match="libpcap"):
        dependants(Rpm(), kernel_only, FOUND, todo=plan_of("libibverbs"), root="/")
