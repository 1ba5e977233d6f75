# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans as command lines for families that no lab covers, and properties of all plans."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State
from ansible_collections.rdma.ofed.plugins.module_utils._host._job_runner import NOT_STARTED
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import Place
from ansible_collections.rdma.ofed.plugins.module_utils._stack._changes import protects, renew
from ansible_collections.rdma.ofed.plugins.module_utils._stack._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import interruption
from ansible_collections.rdma.ofed.plugins.module_utils._stack._plan import StackPlan, plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package, Repository
from hypothesis import given
from hypothesis import strategies as st

ROCKY = OperatingSystem("RedHat", "rocky", "9.3", "Rocky Linux 9.3")
SLES = OperatingSystem("Suse", "sles", "15.5", "SLES 15 SP5")
DEBIAN = OperatingSystem("Debian", "debian", "12", "Debian 12")
RELEASE = "23.10-0.5.5.0"
INBOX = {"rdma-core": Package("44.0-2"), "libibverbs1": Package("44.0-2"), "bash": Package("5.2-1")}
OFED = {"mlnx-ofa_kernel": Package("23.10-OFED.23.10.0.5.5.1"), "rdma-core": Package("2310mlnx47-1.2310055"), "bash": Package("5.2-1")}
ABSENT = Wanted(state="absent")
SITE = Repository("https://mirror.example.org/x", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n", ("doca-ofed",), "2.9.1")


def node(system: OperatingSystem, kind: str = "inbox", **fields: t.Any) -> Found:
    stack = Stack(kind, {"inbox": "44.0", "mlnx_ofed": RELEASE, "doca": "2.9.1"}[kind], ofed_version="" if kind == "inbox" else RELEASE)
    return Found(os=system, stack=stack, packages=INBOX if kind == "inbox" else OFED)._replace(**fields)


def argvs(todo: StackPlan) -> list[tuple[str, ...]]:
    return [step.argv for step in todo.steps]


def test_installer_on_red_hat() -> None:
    wanted = Wanted(version=RELEASE, packages="hpc", installer_options=("--add-kernel-support", "--kmp", "--kernel 5.14.0-362.el9.x86_64"))
    todo = plan(wanted, node(ROCKY), place=Place("/b"))
    run = (sys.executable, "{job}/installer_run.py", "run", "dnf", "--assumeyes", "install", "--")
    argv = (*run, "/b/mlnxofedinstall", "--hpc", "--add-kernel-support", "--kmp", "--kernel", "5.14.0-362.el9.x86_64", "--without-fw-update", "-q")
    assert argvs(todo) == [("grep", "--quiet", "--fixed-strings", "--line-regexp", "--", RELEASE, "/b/.mlnx"), argv]
    assert todo.steps[-1].stage == "building and installing MLNX_OFED " + RELEASE
    assert todo.simulate == (("rpm", "--erase", "--test", "libibverbs1", "rdma-core"),)


@pytest.mark.parametrize(
    ("system", "installed", "last"),
    [
        (DEBIAN, {**INBOX, "libopensm9": Package("1")}, "--force"),
        (DEBIAN, INBOX, "--force"),
        (DEBIAN, {"bash": Package("1")}, "-q"),
        (ROCKY, {**INBOX, "libibverbs-utils": Package("1")}, "-q"),
    ],
)
def test_the_installer_is_forced_where_it_would_stop_at_a_library_of_the_distribution(
    system: OperatingSystem, installed: t.Mapping[str, Package], last: str
) -> None:
    found = node(system, packages=installed)
    todo = plan(Wanted(version=RELEASE, packages="all"), found, place=Place("/b"))
    assert argvs(todo)[-1][-1] == last


def script(argv: tuple[str, ...]) -> list[str]:
    """Return the commands of a dnf transaction."""
    assert argv[:2] == ("sh", "-c")
    return list(argv[4:])


def test_doca_on_red_hat_and_suse() -> None:
    wanted = Wanted(source="doca", version="2.9.1", method="repository", repository=SITE, firmware_update=True)
    todo = plan(wanted, node(ROCKY, alternatives={"rdma-core": "2410mlnx54-1", "libibverbs": "2410mlnx54-1"}))
    assert argvs(todo)[0] == ("dnf", "--assumeyes", "--disablerepo=*", "--enablerepo=rdma-ofed", "makecache")
    # The user space is named with its versions: the metapackage would accept the distribution's.
    install = "install doca-ofed-2.9.1[!0-9]* mlnx-fw-updater libibverbs-2410mlnx54-1 rdma-core-2410mlnx54-1"
    assert script(argvs(todo)[1]) == [install, "run"]
    # The preview is identical to the transaction.
    assert [script(argv) for argv in todo.simulate] == [[install, "run"]]
    assert "dnf --assumeno" in todo.simulate[0][2]
    assert "--repofrompath=rdma-ofed-preview,https://mirror.example.org/x" in todo.simulate[0][2]
    todo = plan(wanted, node(SLES))
    assert argvs(todo)[0] == ("rpm", "--import", "/etc/pki/rpm-gpg/RPM-GPG-KEY-rdma-ofed")
    assert argvs(todo)[1] == ("zypper", "--non-interactive", "refresh", "rdma-ofed")
    assert argvs(todo)[-1][-2:] == ("doca-ofed=2.9.1", "mlnx-fw-updater")
    assert todo.simulate[0][:6] == ("zypper", "--non-interactive", "--xmlout", "--no-gpg-checks", "--plus-repo", "https://mirror.example.org/x")
    assert todo.simulate[0][-2:] == argvs(todo)[-1][-2:]
    assert "--dry-run" in todo.simulate[0]
    assert todo.steps[-1].environment == (("RUN_FW_UPDATER", "yes"),)
    assert [change.key()[:2] for change in todo.changes] == [
        ("file", "/etc/pki/rpm-gpg/RPM-GPG-KEY-rdma-ofed"),
        ("file", "/etc/zypp/repos.d/rdma-ofed.repo"),
        ("stack", ""),
        ("package", "doca-ofed"),
        ("package", "mlnx-fw-updater"),
    ]


@pytest.mark.parametrize("profile", [True, False])
def test_what_is_added_to_doca_does_not_upgrade_it(profile: bool) -> None:
    """The repository has a newer release, and no version is declared. Without its profile, DOCA is the same stack."""
    installed = {**OFED, **({"doca-ofed": Package("2.9.1-0.1.4")} if profile else {})}
    wanted = Wanted(source="doca", method="repository", repository=SITE, firmware_update=True)
    todo = plan(wanted, node(ROCKY, "doca", packages=installed, alternatives={"rdma-core": "2504mlnx1-1"}))
    assert not todo.about(Kind.STACK)
    assert script(argvs(todo)[-1]) == ["install doca-ofed-2.9.1[!0-9]* mlnx-fw-updater", "run"]
    todo = plan(wanted, node(DEBIAN, "doca", packages=installed))
    assert argvs(todo)[-1][argvs(todo)[-1].index("install") + 1 :] == ("mlnx-fw-updater",)


def test_from_mlnx_ofed_to_doca_on_red_hat_is_one_transaction() -> None:
    wanted = Wanted(source="doca", version="2.9.1", method="repository", repository=SITE)
    todo = plan(wanted, node(ROCKY, "mlnx_ofed", alternatives={"rdma-core": "2410mlnx54-1.2410114"}))
    assert [script(argv) for argv in argvs(todo)[1:]] == [
        ["remove mlnx-ofa_kernel", "install doca-ofed-2.9.1[!0-9]* rdma-core-2410mlnx54-1.2410114", "run"],
    ]
    assert todo.removes == ("mlnx-ofa_kernel",)


LEFTOVERS = ("rm", "-f", "/usr/sbin/ofed_uninstall.sh", "/usr/bin/ofed_info")


def test_back_to_the_distribution_on_red_hat_and_suse() -> None:
    """Libraries that other packages link are replaced: removing them first would remove their dependants, firewall included."""
    todo = plan(ABSENT, node(ROCKY, "doca", alternatives={"rdma-core": "48.0-1.el9"}))
    assert script(argvs(todo)[0]) == ["remove mlnx-ofa_kernel", "install rdma-core-48.0-1.el9", "run"]
    assert "'--disablerepo=rdma-ofed*'" in argvs(todo)[0][2]
    assert argvs(todo)[1] == LEFTOVERS
    assert [script(argv) for argv in todo.simulate] == [script(argvs(todo)[0])]
    todo = plan(ABSENT, node(SLES, "mlnx_ofed", alternatives={"rdma-core": "48.0-1"}))
    assert argvs(todo)[0][-4:] == ("--oldpackage", "--force-resolution", "rdma-core=48.0-1", "!mlnx-ofa_kernel")
    assert not plan(ABSENT, node(ROCKY))


@pytest.mark.parametrize("system", [DEBIAN, ROCKY])
def test_what_packages_leave_behind_goes_with_them(system: t.Any, tmp_path: pathlib.Path) -> None:
    """Regression: a removal left dangling boot links of openibd and the failed unit of ibacm."""
    links, services = (step for step in plan(ABSENT, node(system, "doca")).steps if step.argv[0] in ("find", "systemctl"))
    assert services.argv[1] == "reset-failed" and "ibacm.service" in services.argv and {1, NOT_STARTED} <= set(services.ok)
    for path in ("init.d/ours", "rc3.d/K01openibd", "rc.d/rc5.d/S01opensmd", "rc3.d/K02ours"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "init.d/ours").touch()
    (tmp_path / "rc3.d/K01openibd").symlink_to("../init.d/openibd")
    (tmp_path / "rc.d/rc5.d/S01opensmd").symlink_to("../init.d/opensmd")
    (tmp_path / "rc3.d/K02ours").symlink_to("../init.d/gone")
    (tmp_path / "rc3.d/S01openibd").symlink_to("../init.d/ours")
    subprocess.run([word.replace("/etc", str(tmp_path), 1) for word in links.argv], check=True)
    assert sorted(path.name for path in tmp_path.rglob("rc*.d/*") if path.is_symlink()) == ["K02ours", "S01openibd"]


def test_the_user_space_alone_needs_no_other_driver() -> None:
    wanted = Wanted(version=RELEASE, packages="user-space-only")
    assert [change.needs for change in plan(wanted, node(DEBIAN), place=Place("/b")).changes] == ["", ""]
    assert [change.needs for change in plan(wanted._replace(packages="all"), node(DEBIAN), place=Place("/b")).changes] == ["driver_reload", ""]


def test_what_was_cut_off_while_files_were_replaced_is_dropped_first() -> None:
    found = node(DEBIAN, packages={**INBOX, "ibverbs-providers": Package("44.0-2", "half-installed", lost=True)})
    todo = plan(Wanted(version=RELEASE, packages="all"), found, place=Place("/b"))
    assert argvs(todo)[1] == ("dpkg", "--remove", "--force-remove-reinstreq", "--force-depends", "ibverbs-providers")
    assert argvs(todo)[2][:3] == ("dpkg", "--configure", "-a")


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (None, ""),
        ({"running": True}, ""),
        ({}, "interrupted while installing MLNX_OFED"),
        ({"stage": "unpacking the bundle"}, ""),
        ({"finished": True}, ""),
        ({"finished": True, "failed": "installing MLNX_OFED", "rc": 1}, "failed while installing MLNX_OFED"),
        ({"finished": True, "failed": "installing MLNX_OFED", "rc": 174}, ""),
        ({"finished": True, "failed": "checking the bundle", "rc": 1, "stage": "checking the bundle"}, ""),
    ],
)
def test_what_an_earlier_job_left(job: dict[str, t.Any] | None, words: str) -> None:
    whole = State("a", False, "installing MLNX_OFED", 2, 3, 1, False, 0, "", "/log", {})
    assert interruption(None if job is None else whole._replace(**job)) == words


VERSIONS = st.sampled_from(["44.0-2", "2310mlnx47-1.2310055", "23.10.OFED.23.10.0.5.5", "1.0-1.2310055", "2.9.1-0.1.4"])
NAMES = ["rdma-core", "libibverbs1", "mlnx-ofed-kernel-dkms", "ofed-scripts", "mlnx-ofed-all", "doca-ofed", "doca-all", "libpcap0.8", "bash"]
STATES = st.sampled_from(["installed", "installed", "installed", "half-configured", "unpacked"])
PACKAGES = st.dictionaries(st.sampled_from(NAMES), st.tuples(VERSIONS, STATES).map(lambda pair: Package(*pair)))


def wishes(**fields: t.Any) -> st.SearchStrategy[Wanted]:
    """Return declarations with some of the options varied and the others left out."""
    return st.fixed_dictionaries(fields).map(lambda values: Wanted(**values))


SITES = {"method": st.just("repository"), "repository": st.just(SITE)}
WANTED = st.one_of(
    wishes(version=st.just(RELEASE), packages=st.sampled_from(["all", "hpc"])),
    wishes(version=st.sampled_from([RELEASE, ""]), packages=st.just("all"), **SITES),
    wishes(source=st.just("doca"), version=st.sampled_from(["2.9.1", ""]), packages=st.sampled_from(["doca-ofed", "doca-all"]), **SITES),
    st.just(ABSENT),
)


def concluded(wanted: Wanted, found: Found) -> Found:
    """Return the node after the end of the job."""
    return found._replace(protection="".join(change.after for change in renew(found))) if protects(wanted, found) else found


def carried_out(wanted: Wanted, found: Found) -> Found:
    """Return the node after the plan, with the packages and files that it would have."""
    packages = {name: package._replace(state="installed") for name, package in found.packages.items()}
    files = {**found.files, **found.manager.files_of(wanted.repository)}
    if wanted.state == "absent":
        packages = {name: package for name, package in packages.items() if name not in found.vendors}
        return found._replace(stack=Stack("inbox", "44.0"), packages=packages, files=files, interrupted="")
    if wanted.source == "doca":
        packages[wanted.metapackage] = Package((wanted.version or "3.0.0") + "-1")
        stack = Stack("doca", wanted.version or "3.0.0", ofed_version="24.10-1.1.4")
        return concluded(wanted, found._replace(stack=stack, packages=packages, files=files, interrupted=""))
    packages[wanted.metapackage] = Package(wanted.version or RELEASE)
    stack = Stack("mlnx_ofed", RELEASE, ofed_version=RELEASE)
    return concluded(wanted, found._replace(stack=stack, packages=packages, files=files, interrupted="", record=wanted.selection()))


@given(WANTED, PACKAGES, st.sampled_from(["inbox", "mlnx_ofed", "doca"]), st.sampled_from(["", "interrupted while installing MLNX_OFED"]))
def test_a_plan_that_was_carried_out_is_empty(wanted: Wanted, packages: dict[str, Package], kind: str, interrupted: str) -> None:
    found = node(DEBIAN, kind, packages=packages, interrupted=interrupted)
    todo = plan(wanted, found, place=Place("/b"))
    assert all(change.before != change.after for change in todo.changes)
    if todo:
        assert todo.steps or all(change.is_about(Kind.FILE) for change in todo.changes)
    else:
        assert not todo.steps
    after = plan(wanted, carried_out(wanted, found))
    assert after.changes == ()
    assert after.steps == ()


@given(WANTED, st.permutations(sorted(OFED.items())), st.sampled_from(["inbox", "mlnx_ofed", "doca"]))
def test_the_order_of_the_packages_does_not_matter(wanted: Wanted, rows: list[tuple[str, Package]], kind: str) -> None:
    assert plan(wanted, node(DEBIAN, kind, packages=dict(rows))) == plan(wanted, node(DEBIAN, kind, packages=OFED))


@pytest.mark.parametrize(("version", "kept"), [("", True), ("3.4", True), ("3.3", False)])
def test_ubuntus_own_doca_is_the_declared_one(version: str, kept: bool) -> None:
    """Its packages have other names than the vendor's profile, which Ubuntu's archive lacks."""
    installed = {"doca-ofed-generic": Package("7.0.0-1004.4"), "doca-ofed-userspace-3.4": Package("3.4.0-1"), "rdma-core": Package("61.0-2")}
    found = Found(os=OperatingSystem("Debian", "ubuntu", "26.04", "Ubuntu 26.04"), stack=Stack("doca", "3.4"), packages=installed)
    wanted = Wanted(source="doca", method="repository", version=version, protect=False)
    assert (not plan(wanted, found).steps) is kept
