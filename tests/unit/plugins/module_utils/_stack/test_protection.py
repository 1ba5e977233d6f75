# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The protection of packages from system updates: when it is written and lifted, and the content of its files."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import Place
from ansible_collections.rdma.ofed.plugins.module_utils._stack._changes import is_unprotected
from ansible_collections.rdma.ofed.plugins.module_utils._stack._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._stack._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._tools._dnf import Dnf
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package

RELEASE, NEXT = "23.10-0.5.5.0", "24.10-1.1.4.0"
WANTED = Wanted(version=RELEASE, packages="all")
# The module packages change with the kernel; bash is not part of the stack.
PACKAGES = {
    "bash": Package("5.2-1"),
    "kmod-mlnx-ofa_kernel": Package("23.10-OFED.23.10.0.5.5.1"),
    "libibverbs1:amd64": Package("2310mlnx47-1.2310055"),
    "mlnx-tools": Package("23.10-0.2310055"),
    "mstflint": Package("4.16.1-2.2310055"),
    "rdma-core": Package("2310mlnx47-1.2310055"),
}
DEBIAN = OperatingSystem("Debian", "debian", "12", "Debian 12")
ROCKY = OperatingSystem("RedHat", "rocky", "9.3", "Rocky Linux 9.3")
SLES = OperatingSystem("Suse", "sles", "15.5", "SLES 15 SP5")
APT = "/etc/apt/preferences.d/rdma-ofed-installed.pref"
DNF = "/etc/dnf/plugins/versionlock.list"
PINS = """Package: mlnx-tools
Pin: version 23.10-0.2310055
Pin-Priority: 1001

Package: libibverbs1 rdma-core
Pin: version 2310mlnx47-1.2310055
Pin-Priority: 1001

Package: mstflint
Pin: version 4.16.1-2.2310055
Pin-Priority: 1001
"""
LOCKS = """# Packages of the vendor's RDMA stack. Managed by the Ansible collection rdma.ofed.
mlnx-tools-23.10-0.2310055.?*
mstflint-4.16.1-2.2310055.?*
rdma-core-2310mlnx47-1.2310055.?*
"""
FOREIGN = "# Added lock on Mon Jan  5 2026\nkernel-5.14.0-362.el9.*\n"


def node(system: OperatingSystem, protection: str = "") -> Found:
    packages = PACKAGES if system == DEBIAN else {name: package for name, package in PACKAGES.items() if ":" not in name}
    return Found(os=system, stack=Stack("mlnx_ofed", RELEASE, ofed_version=RELEASE), packages=packages, protection=protection)


def rows(wanted: Wanted, found: Found) -> list[tuple[str, str, str, str]]:
    """Return kind, subject, before and after of each change."""
    return [(change.kind.value, change.subject, change.before, change.after) for change in plan(wanted, found, place=Place("/b")).changes]


@pytest.mark.parametrize(
    ("system", "path", "before", "after"),
    [(DEBIAN, APT, "", HEADER + PINS), (ROCKY, DNF, FOREIGN, FOREIGN + LOCKS), (ROCKY, DNF, "mine", "mine\n" + LOCKS)],
)
def test_all_but_the_modules_is_protected(system: OperatingSystem, path: str, before: str, after: str) -> None:
    assert rows(WANTED, node(system, before)) == [("file", path, before, after)]
    assert rows(WANTED, node(system, after)) == []


@pytest.mark.parametrize(("system", "protection", "left"), [(DEBIAN, HEADER + PINS, ""), (ROCKY, FOREIGN + LOCKS, FOREIGN), (ROCKY, LOCKS, "\n")])
def test_it_is_lifted_with_the_stack_and_where_it_is_not_wanted(system: OperatingSystem, protection: str, left: str) -> None:
    path = APT if system == DEBIAN else DNF
    lifted = ("file", path, protection, left)
    found = node(system, protection)
    assert lifted in rows(Wanted(state="absent"), found)
    assert rows(WANTED._replace(protect=False), found) == [lifted]
    # The stack was removed by other means.
    assert rows(Wanted(state="absent"), found._replace(stack=Stack("inbox", "48.0"), packages={"rdma-core": Package("48.0-1")})) == [lifted]


@pytest.mark.parametrize(("system", "protection"), [(DEBIAN, HEADER + PINS), (ROCKY, LOCKS)])
def test_an_upgrade_takes_it_along(system: OperatingSystem, protection: str) -> None:
    assert rows(WANTED._replace(version=NEXT), node(system, protection))[-1] == ("protection", "", "mlnx_ofed " + RELEASE, "mlnx_ofed " + NEXT)
    assert rows(WANTED._replace(version=NEXT), node(system))[-1] == ("protection", "", "", "mlnx_ofed " + NEXT)


def test_a_manager_that_keeps_vendors_apart_needs_none() -> None:
    assert rows(WANTED, node(SLES)) == []
    assert not is_unprotected(WANTED, node(SLES)._replace(can_protect=False))


def test_where_it_takes_a_plugin_that_is_told() -> None:
    found = node(ROCKY)._replace(can_protect=False)
    assert rows(WANTED, found) == []
    assert is_unprotected(WANTED, found)
    assert not is_unprotected(WANTED._replace(protect=False), found)
    assert not is_unprotected(WANTED._replace(state="absent"), found)
    assert not is_unprotected(WANTED._replace(method="repository"), found)


def test_what_is_simulated_is_what_comes_once_it_is_lifted() -> None:
    """Locks would hide the distribution's packages."""
    for text in ("", LOCKS):
        todo = plan(Wanted(state="absent"), node(ROCKY, text)._replace(alternatives={"rdma-core": "48.0-1"}))
        assert ["--disableplugin=versionlock" in " ".join(argv) for argv in todo.simulate] == [bool(text)]
        # The transaction itself needs no such option.
        assert not [step for step in todo.steps if "versionlock" in " ".join(step.argv)]


def test_what_is_pinned_is_named_with_its_version() -> None:
    """Naming the version makes apt simulate the same with and without the pins."""
    found = node(DEBIAN, HEADER + PINS)._replace(alternatives={"rdma-core": "44.0-2"})
    todo = plan(Wanted(state="absent", keep=("rdma-core",)), found)
    named = {word.rstrip("-").partition("=")[0] for word in todo.simulate[0]}
    assert {"libibverbs1:amd64", "mlnx-tools", "mstflint", "rdma-core"} <= named


def test_repositories_are_ranked_but_by_apt() -> None:
    site = WANTED._replace(method="repository")
    assert rows(site, node(ROCKY))[-1][0] != "protection"
    assert [row[:2] for row in rows(site, node(DEBIAN)) if row[1] == APT or row[0] == "protection"]


@pytest.mark.parametrize(("system", "protection"), [(DEBIAN, HEADER + PINS), (ROCKY, FOREIGN + LOCKS)])
def test_it_follows_the_packages_but_not_those_that_are_added(system: OperatingSystem, protection: str) -> None:
    """Another role may add a vendor package after this one; the next run would then change the protection again."""
    found = node(system, protection)
    assert rows(WANTED, found._replace(packages={**found.packages, "opensm": Package("5.17.0.MLNX2310-0.1.2310055")})) == []
    for packages in ({**found.packages, "mstflint": Package("4.26.0-1")}, {name: found.packages[name] for name in found.packages if name != "mstflint"}):
        (change,) = rows(WANTED, found._replace(packages=packages))
        assert "mstflint" in change[2]
        assert "mstflint" not in change[3]


@pytest.mark.parametrize("text", [FOREIGN + LOCKS, LOCKS + FOREIGN, LOCKS.replace("\n", "\r\n") + FOREIGN, LOCKS + LOCKS + FOREIGN, LOCKS[:-1]])
@pytest.mark.parametrize("comments", [True, False])
def test_locks_of_ours_are_known_without_the_comments(text: str, comments: bool) -> None:
    """The plugin drops all comments when a lock is deleted. A lock that remained would block the distribution's packages."""
    shown = text if comments else "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    found = node(ROCKY, shown)
    assert found.protected
    assert rows(WANTED, found) == []
    (lifted,) = rows(WANTED._replace(protect=False), found)
    assert [line for line in lifted[3].splitlines() if line and not line.startswith("#")] == (["kernel-5.14.0-362.el9.*"] if FOREIGN in text else [])
    assert not found._replace(protection=lifted[3]).protected


@pytest.mark.parametrize(
    ("plugin", "main", "able"),
    [
        ("", "", False),
        ("[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n", "[main]\nbest=True\n", True),
        ("[main]\nenabled=0\n", "", False),
        ("[main]\nenabled=1\n", "[main]\nplugins = False\n", False),
        ("[main]\nenabled=1\nlocklist=/etc/site.list\n", "", False),
        ("[main]\n", "", True),
    ],
)
def test_the_plugin_must_be_on_and_read_that_list(plugin: str, main: str, able: bool, tmp_path: pathlib.Path) -> None:
    for path, text in (("plugins/versionlock.conf", plugin), ("dnf.conf", main)):
        (tmp_path / "etc/dnf" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "etc/dnf" / path).write_text(text, encoding="utf-8")
    assert Dnf().can_lock(str(tmp_path)) is able


def test_what_is_gone_is_not_called_protected() -> None:
    found = node(ROCKY, LOCKS)._replace(stack=Stack("inbox", "48.0"))
    assert rows(WANTED, found)[-1] == ("protection", "", "", "mlnx_ofed " + RELEASE)


@pytest.mark.parametrize("edit", [("1001", "500"), ("Pin-Priority: 1001\n\n", "Pin-Priority: 1001\n\n\n"), ("mstflint", "mstflint foreign")])
def test_an_edited_file_of_preferences_is_written_again(edit: tuple[str, str]) -> None:
    edited = (HEADER + PINS).replace(*edit)
    assert rows(WANTED, node(DEBIAN, edited)) == [("file", APT, edited, HEADER + PINS)]
