# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages on nodes with apt, dnf and zypper: what is previewed, judged and carried out. What the tools print is as they print it."""

from __future__ import annotations

import fcntl
import os
import pathlib
import subprocess
import threading
import time
import types
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._packages._converge import converge, forbidden, script
from ansible_collections.rdma.ofed.plugins.module_utils._schema._packages import OPTIONS

STATUS = "Package: %s\nStatus: install ok %s\nVersion: 44.0-2\n\n"
OPENSM = "Inst opensm (3.3.23-2 Debian:12.5/stable [amd64])\nConf opensm (3.3.23-2 Debian:12.5/stable [amd64])\n"
DNF_TABLE = """Dependencies resolved.
================================================================================
 Package            Arch     Version                  Repository           Size
================================================================================
%s:
 opensm             x86_64   3.3.24-5.el9             baseos              5.5 k

Transaction Summary
"""
SOLVABLE = '<solvable type="package" name="opensm" edition="3.3.22-1.1" arch="x86_64"/>'
ZYPPER = '<stream><install-summary download-size="0"><to-%s>' + SOLVABLE + "</to-%s></install-summary></stream>"
MISSING = {
    "apt": Output(100, "", "E: Unable to locate package coffee\n"),
    "dnf": Output(1, "", "Error: Unable to find a match: coffee\n"),
    "zypper": Output(104, "<stream><message type=\"error\">No provider of 'coffee' found.</message></stream>", ""),
}
SYSTEMS = {"apt": "ID=debian\nVERSION_ID=12\n", "dnf": "ID=rocky\nVERSION_ID=9.3\nID_LIKE=rhel\n", "zypper": "ID=sles\nVERSION_ID=15.5\nID_LIKE=suse\n"}


class Node:
    """A node with one package manager, which tells what `foreseen` says of a preview, and does nothing."""

    def __init__(self, root: pathlib.Path, manager: str, installed: t.Mapping[str, str]) -> None:
        self.root, self.manager, self.installed = root, manager, installed
        for path, text in {"etc/os-release": SYSTEMS[manager], "var/lib/dpkg/status": "".join(STATUS % row for row in installed.items())}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        (root / "usr/sbin").mkdir(parents=True)
        (root / "var/lib/apt/lists").mkdir(parents=True)
        self.foreseen = Output(0, "", "")
        self.needed = Output(0, "", "")
        self.done: list[str] = []
        self.policy: list[bool] = []

    def has(self, _tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        words = " ".join(argv)
        if argv[0] == "rpm":
            return Output(0, "".join("%s\t48.0-1.el9\n" % name for name in self.installed), "")
        if argv[0] == "/bin/sh":
            return self.needed
        if "--simulate" in argv or "--assumeno" in argv or "--dry-run" in argv:
            return self.foreseen
        self.policy.append((self.root / "usr/sbin/policy-rc.d").exists())
        self.done.append(words)
        return Output(0, "", "")

    def run(self, *, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        defaults = {name: spec.get("default") for name, spec in OPTIONS.items()}
        module = types.SimpleNamespace(params={**defaults, **options}, check_mode=check)
        return converge(module, self, str(self.root))  # type: ignore[arg-type]


@pytest.fixture(params=["apt", "dnf", "zypper"])
def manager(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def said(manager: str, verb: str) -> Output:
    if manager == "apt":
        return Output(0, OPENSM if verb == "install" else "Remv opensm [3.3.23-2]\n", "")
    if manager == "dnf":
        return Output(1, DNF_TABLE % ("Installing" if verb == "install" else "Removing"), "Error: Operation aborted.\n")
    return Output(0, ZYPPER % (verb, verb), "")


def test_a_missing_package_is_installed_and_check_mode_predicts_it(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {"bash": "installed"})
    node.foreseen = said(manager, "install")
    predicted = node.run(check=True, names=["opensm", "bash"])
    assert node.done == []
    result = node.run(names=["opensm", "bash"])
    assert result == predicted
    assert result["changed"] and "opensm" in result["changes"][0] and "3.3.2" in result["changes"][0]
    assert node.done[0].endswith(" opensm"), "what is installed is not upgraded"
    assert node.policy == [False]


@pytest.mark.parametrize("there", ["", "opensm", "infiniband-diags"])
def test_for_what_a_package_was_missing(tmp_path: pathlib.Path, manager: str, there: str) -> None:
    """A role puts on record by this what it brought."""
    node = Node(tmp_path, manager, {there: "installed"} if there else {})
    node.foreseen = said(manager, "install")
    for check in (True, False):
        missing = node.run(check=check, purposes=["opensm", "diagnostics"])["missing_purposes"]
        assert missing == [purpose for purpose, package in (("opensm", "opensm"), ("diagnostics", "infiniband-diags")) if package != there]


def test_check_mode_counts_with_what_earlier_tasks_would_have_done(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {"bash": "installed"})
    node.foreseen = said(manager, "install")
    version = node.run(check=True, names=["opensm"])["transaction"]["installed"]["opensm"]
    before = {"installed": {"opensm": version}, "removed": []}
    assert node.run(check=True, names=["opensm"], foreseen=before)["changes"] == []
    # It comes along with another one.
    assert node.run(check=True, names=["coffee"], foreseen=before)["changes"] == []
    assert node.run(names=["opensm"], foreseen=before)["changed"], "this is no check mode"


def test_check_mode_removes_what_only_earlier_tasks_left_needed(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {"opensm": "installed", "infiniband-diags": "installed"})
    node.foreseen = Output(0, "Remv opensm [3.3.23-2]\nRemv infiniband-diags [44.0-2]\n", "")
    gone = node.run(check=True, names=["infiniband-diags"], state="absent", foreseen={"installed": {}, "removed": ["opensm"]})
    assert gone["transaction"] == {"installed": {}, "removed": ["infiniband-diags"]}
    with pytest.raises(Refused, match="would remove opensm, too"):
        node.run(check=True, names=["infiniband-diags"], state="absent")


def test_nothing_is_done_where_all_is_there(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {"bash": "installed"})
    assert node.run(names=["bash"])["changed"] is False
    assert node.run(names=["opensm"], state="absent")["changed"] is False
    # The package manager finds a name that another package provides.
    node.foreseen = Output(0, "Nothing to do.\n", "")
    assert node.run(names=["sh"], check=True)["changed"] is False
    assert node.done == []


def test_a_package_that_is_not_to_be_had_is_named(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {})
    node.foreseen = MISSING[manager]
    with pytest.raises(RdmaError, match="coffee can't be installed, and nothing was changed. %s: " % manager):
        node.run(names=["coffee"])
    assert node.done == []


def test_an_installation_that_removes_anything_is_refused(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {"opensm": "installed"})
    node.foreseen = said(manager, "remove")
    for check in (True, False):
        with pytest.raises(Refused, match="would remove opensm"):
            node.run(names=["ucx"], check=check)
    assert node.done == []


def test_a_removal_takes_what_nothing_needs(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {"opensm": "installed", "rdma-core": "installed"})
    node.foreseen = said(manager, "remove")
    needed = "dpkg: dependency problems prevent removal of rdma-core:\n"
    node.needed = Output(1, "", needed) if manager == "apt" else Output(0, "opensm 0\nrdma-core 1\n", "")
    names = ["opensm", "rdma-core", "perftest"]
    assert node.run(names=names, state="absent", check=True)["changed"] is True
    assert node.run(names=names, state="absent")["changed"] is True
    assert [line.split()[-1] for line in node.done] == ["opensm"]
    node.needed = Output(2, "", "dpkg: error: no database\n")
    with pytest.raises(RdmaError, match="no database"):
        node.run(names=names, state="absent")


def test_a_removal_that_takes_others_along_needs_consent(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {"opensm": "installed", "libosm": "installed"})
    node.foreseen = said(manager, "remove")
    node.needed = Output(0, "libosm 0\n", "")
    with pytest.raises(Refused, match="would remove opensm, too"):
        node.run(names=["libosm"], state="absent")
    assert node.done == []
    assert node.run(names=["libosm"], state="absent", needed="remove")["changed"] is True
    assert [line.split()[-1] for line in node.done] == ["libosm"]


def test_lists_that_are_old_are_refreshed_and_what_was_interrupted_is_finished(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {"rdma-core": "half-configured"})
    os.utime(tmp_path / "var/lib/apt/lists", (0, 0))
    node.foreseen = Output(0, OPENSM, "")
    node.run(names=["opensm"])
    assert [line.split()[0] for line in node.done] == ["dpkg", "apt-get", "apt-get"]
    assert node.done[1].endswith(" update")
    node.foreseen = MISSING["apt"]
    # The lists that check mode has do not know what the run will find.
    assert node.run(names=["opensm"], check=True)["changed"] is True


def test_a_node_of_another_family_is_named(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {})
    (tmp_path / "etc/os-release").write_text("ID=gentoo\nNAME=Gentoo\n")
    with pytest.raises(Unsupported, match=r"allowed: the families .*\. Do it yourself"):
        node.run(names=["opensm"], unsupported="Do it yourself")


def test_what_is_impossible_is_foreseen_where_the_run_would_find_it_impossible(tmp_path: pathlib.Path, manager: str) -> None:
    """Check mode goes on only where the run refreshes the lists, or ends what was interrupted; the run never does."""
    node = Node(tmp_path, manager, {"bash": "installed"})
    node.foreseen = MISSING[manager]
    with pytest.raises(RdmaError, match="coffee can't be installed"):
        node.run(check=True, names=["coffee"])
    old = time.time() - 200_000
    os.utime(tmp_path / "var/lib/apt/lists", (old, old))
    if manager == "apt":
        assert node.run(check=True, names=["coffee"])["changed"]
    with pytest.raises(RdmaError, match="coffee can't be installed"):
        node.run(names=["coffee"])
    assert not any("coffee" in words for words in node.done)


def test_two_runs_at_once_leave_the_policy_of_the_site(tmp_path: pathlib.Path) -> None:
    policy = tmp_path / "usr/sbin/policy-rc.d"
    policy.parent.mkdir(parents=True)
    policy.write_text("#!/bin/sh\nexit 104\n")
    seen = []

    def second() -> None:
        with forbidden(str(tmp_path)):
            seen.append(str(threading.get_ident()))

    thread = threading.Thread(target=second)
    with forbidden(str(tmp_path)):
        thread.start()
        with open(tmp_path / "run/rdma-ofed/lock/policy", "rb") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert seen == []
    thread.join()
    assert seen and policy.read_text() == "#!/bin/sh\nexit 104\n"


def test_what_a_killed_dpkg_left_is_finished_first(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {})
    node.foreseen = said("apt", "install")
    updates = tmp_path / "var/lib/dpkg/updates"
    updates.mkdir()
    (updates / "0001").touch()
    predicted = node.run(check=True, names=["opensm"])
    assert node.done == []
    assert node.run(names=["opensm"]) == predicted
    assert node.done[0].startswith("dpkg --configure -a")
    assert node.done[-1].endswith(" install opensm")


def test_what_another_process_has_installed_meanwhile_is_there(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "dnf", {})
    other, pid = tmp_path / "proc/4711", tmp_path / "var/cache/dnf/download_lock.pid"
    other.mkdir(parents=True)
    pid.parent.mkdir(parents=True)
    pid.write_text("4711")
    node.foreseen = said("dnf", "install")

    def end() -> None:
        node.installed = {"opensm": "installed"}
        other.rmdir()

    threading.Timer(0.5, end).start()
    assert node.run(names=["opensm"])["changed"] is False
    assert [words for words in node.done if "install" in words] == []


def test_a_policy_that_came_meanwhile_stays(tmp_path: pathlib.Path) -> None:
    policy = tmp_path / "usr/sbin/policy-rc.d"
    policy.parent.mkdir(parents=True)
    policy.write_text("#!/bin/sh\nexit 104\n")
    with forbidden(str(tmp_path)):
        policy.write_text("#!/bin/sh\nexit 0\n")
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"
    assert [path.name for path in policy.parent.iterdir()] == ["policy-rc.d"]


def test_no_service_starts_and_the_policy_of_the_site_comes_back(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {})
    node.foreseen = Output(0, OPENSM, "")
    policy = tmp_path / "usr/sbin/policy-rc.d"
    node.run(names=["opensm"], start_services=False)
    assert node.policy == [True] and not policy.exists()
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o755)
    for _interrupted in range(2):
        with forbidden(str(tmp_path)):
            assert subprocess.run([str(policy), "opensm", "start"], check=False).returncode == 101
    assert policy.read_text() == "#!/bin/sh\nexit 104\n"
    # A run that was killed leaves its script, which forbids nothing: there is no such process.
    gone = subprocess.Popen(["true"])
    gone.wait()
    saved = tmp_path / "usr/sbin/policy-rc.d.rdma-ofed"
    policy.rename(saved)
    policy.write_text(script(gone.pid, str(saved)))
    policy.chmod(0o755)
    assert subprocess.run([str(policy), "opensm", "start"], check=False).returncode == 104
    with forbidden(str(tmp_path)):
        pass
    assert policy.read_text() == "#!/bin/sh\nexit 104\n" and not saved.exists()
