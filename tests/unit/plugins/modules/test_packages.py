# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages on nodes with apt, dnf and zypper: preview, decision and execution, with the real output of the tools."""

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
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, RdmaError, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, failure
from ansible_collections.rdma.ofed.plugins.module_utils._packages import _converge
from ansible_collections.rdma.ofed.plugins.module_utils._packages._converge import changes_of, converge, forbidden, lists_are_old, script
from ansible_collections.rdma.ofed.plugins.module_utils._schema._packages import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._tools._apt import parse_simulation
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package, Transaction

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
    """A node with one package manager, whose previews print `foreseen`, and which changes nothing."""

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
        if "--no-remove" in argv and (self.foreseen.rc or "Remv" in self.foreseen.stdout):
            raise failure(argv, self.foreseen if self.foreseen.rc else Output(100, "", "E: Packages need to be removed but remove is disabled.\n"))
        self.policy.append((self.root / "usr/sbin/policy-rc.d").exists())
        self.done.append(words)
        if "--no-remove" in argv:
            with (self.root / "var/lib/dpkg/status").open("a") as status:
                for name, version in parse_simulation(self.foreseen.stdout).installed.items():
                    status.write("Package: %s\nStatus: install ok installed\nVersion: %s\n\n" % (name, version))
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
    """A role uses this to record what it installed."""
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
    assert node.run(check=True, purposes=["opensm"], foreseen=before)["missing_purposes"] == [], "an earlier role brings it, and has it on record"
    # It is installed together with another package.
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
    # The package manager resolves a name that another package provides.
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


def test_apt_installs_without_a_preview(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation takes longer than an installation from the cache. What was installed is read from the database."""
    node = Node(tmp_path, "apt", {})
    node.foreseen = said("apt", "install")
    monkeypatch.setattr(_converge, "_preview", lambda *_args, **_words: pytest.fail("a preview"))
    assert node.run(names=["opensm"])["transaction"] == {"installed": {"opensm": "3.3.23-2"}, "removed": []}


@pytest.mark.parametrize("half", [True, False])
def test_an_installation_by_apt_that_fails_is_reported_as_apt_says_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    """For example, because a server does not answer, or a maintainer script fails. Simulations know nothing of either."""
    node = Node(tmp_path, "apt", {})
    node.foreseen = said("apt", "install")
    real = Node.__call__

    def broken(self: Node, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if "--no-remove" not in argv:
            return real(self, argv, ok, timeout)
        if half:
            (self.root / "var/lib/dpkg/status").write_text(STATUS % ("opensm", "half-configured"))
        raise failure(argv, Output(100, "", "E: Failed to fetch opensm.deb"))

    monkeypatch.setattr(Node, "__call__", broken)
    with pytest.raises(CommandFailed, match="Failed to fetch opensm"):
        node.run(names=["opensm"])


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
    # The package lists in check mode do not know what the run will find.
    assert node.run(names=["ucx"], check=True)["changed"] is True


def test_a_node_of_another_family_is_named(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {})
    (tmp_path / "etc/os-release").write_text("ID=gentoo\nNAME=Gentoo\n")
    with pytest.raises(Unsupported, match=r"allowed: the families .*\. Do it yourself"):
        node.run(names=["opensm"], unsupported="Do it yourself")


def test_what_is_impossible_is_foreseen_where_the_run_would_find_it_impossible(tmp_path: pathlib.Path, manager: str) -> None:
    """Check mode continues only if the run refreshes the lists or completes an interrupted transaction; the run itself never does."""
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
    assert node.done[-1].endswith(" install --no-remove opensm")


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
    # A killed run leaves its script, which blocks nothing: its process is gone.
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


def test_a_policy_that_came_meanwhile_where_there_was_none_stays(tmp_path: pathlib.Path) -> None:
    policy = tmp_path / "usr/sbin/policy-rc.d"
    policy.parent.mkdir(parents=True)
    with forbidden(str(tmp_path)):
        assert policy.stat().st_mode & 0o777 == 0o755
        policy.write_text("#!/bin/sh\nexit 0\n")
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"


def test_services_are_forbidden_where_packages_start_them_and_only_by_a_run(tmp_path: pathlib.Path, manager: str) -> None:
    node = Node(tmp_path, manager, {})
    node.foreseen = said(manager, "install")
    (tmp_path / "run").mkdir()
    node.run(names=["opensm"], start_services=False, check=True)
    assert not list((tmp_path / "run").iterdir()), "check mode writes nothing"
    node.run(names=["opensm"], start_services=False)
    assert node.policy == [manager == "apt"]


def test_check_mode_refreshes_no_lists(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {"rdma-core": "half-configured"})
    os.utime(tmp_path / "var/lib/apt/lists", (0, 0))
    node.foreseen = said("apt", "install")
    assert node.run(names=["opensm"], check=True)["changed"] and node.done == []


def test_lists_are_old_after_a_day_or_where_there_are_none(tmp_path: pathlib.Path) -> None:
    family = by_name("Debian")
    assert family
    assert lists_are_old(family.manager, 86400.5, str(tmp_path))
    lists = tmp_path / "var/lib/apt/lists"
    lists.mkdir(parents=True)
    os.utime(lists, (1000, 1000))
    assert not lists_are_old(family.manager, 1000 + 86400.0, str(tmp_path))
    assert lists_are_old(family.manager, 1000 + 86400.5, str(tmp_path))


def test_versions_before_and_after_are_in_the_changes() -> None:
    found = {"opensm": Package("1"), "ucx": Package("2"), "rest": Package("3", "config-files")}
    changes = changes_of(Transaction({"opensm": "", "ucx": "2.0"}, {"rest": "4"}), found)
    assert [(change.subject, change.before, change.after) for change in changes] == [("opensm", "1", ""), ("rest", "", "4"), ("ucx", "2.0", "")]


def test_what_is_left_of_a_removed_package_does_not_count_as_installed(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {"opensm": "config-files"})
    node.foreseen = said("apt", "install")
    assert node.run(names=["opensm"])["changed"] is True


def test_an_impossible_preview_stops_before_the_command(tmp_path: pathlib.Path, manager: str) -> None:
    """For any message of the tool, and without one."""
    node = Node(tmp_path, manager, {"opensm": "installed"})
    node.needed = Output(0, "opensm 0\n", "")
    for node.foreseen in (Output(7, "", "no space left\n"), Output(7, "no space left\n", "")):
        with pytest.raises(RdmaError, match="ucx can't be installed, and nothing was changed. %s: (no space left|zypper failed)" % manager):
            node.run(names=["ucx"])
        with pytest.raises(RdmaError, match="opensm can't be removed, and nothing was changed. %s: (no space left|zypper failed)" % manager):
            node.run(names=["opensm"], state="absent")
    assert node.done == []


def test_why_the_lists_could_not_be_refreshed_is_said(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, "apt", {})
    os.utime(tmp_path / "var/lib/apt/lists", (0, 0))
    node.foreseen = MISSING["apt"]
    with pytest.raises(RdmaError, match=r"Unable to locate package coffee\. Next"):
        node.run(names=["coffee"])
    real = Node.__call__

    def offline(self: Node, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        return Output(100, "", "mirror does\nnot answer") if argv[-1] == "update" else real(self, argv, ok, timeout)

    monkeypatch.setattr(Node, "__call__", offline)
    with pytest.raises(RdmaError, match=r"Unable to locate package coffee; apt-get: mirror does not answer\. Next"):
        node.run(names=["coffee"])


def test_a_run_waits_longer_for_other_processes_than_check_mode(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, "apt", {"opensm": "installed"})
    waits: list[float] = []
    monkeypatch.setattr(_converge, "wait_for_turn", lambda _manager, patience, _root: bool(waits.append(patience)))
    node.foreseen = said("apt", "install")
    for check in (True, False):
        node.run(names=["ucx"], check=check)
    node.foreseen = said("apt", "remove")
    node.needed = Output(0, "", "")
    for check in (True, False):
        node.run(names=["opensm"], state="absent", check=check)
    assert waits == [20.0, 300.0, 20.0, 300.0]
    node.run(names=["absent"], state="absent")
    assert len(waits) == 4, "a run without work waits for nothing"


def test_a_removal_waits_for_other_processes_and_reads_again(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, "dnf", {"opensm": "installed"})
    node.foreseen, node.needed = said("dnf", "remove"), Output(0, "opensm 0\n", "")

    def other_removes(*_args: object) -> bool:
        node.installed = {}
        return True

    monkeypatch.setattr(_converge, "wait_for_turn", other_removes)
    assert node.run(names=["opensm"], state="absent")["changed"] is False
    assert node.done == []


def test_a_pattern_may_take_along_what_it_matches(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {"opensm": "installed"})
    node.foreseen = said("apt", "remove")
    assert node.run(names=["open*"], state="absent", needed="remove")["changed"] is True
    assert node.done[0].endswith(" open*")


def test_the_result_has_the_documented_keys(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, "apt", {})
    node.foreseen = said("apt", "install")
    assert set(node.run(names=["opensm"])) == {"changed", "changes", "diff", "missing_purposes", "transaction"}
