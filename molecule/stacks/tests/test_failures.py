# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Foreseeable failures are reported before anything is unpacked or changed; later failures are explained, and the next run completes. The tests depend on each
other: the node goes from the distribution's stack to the old release, to the new one, back to the old one and to DOCA, and something fails each time. They are
in one file because each file runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import typing as t

import pytest
from stacks import (
    HERE,
    NEW,
    OLD,
    STATE,
    THERE,
    Host,
    Options,
    archive,
    begin,
    checksum,
    doca,
    fault,
    fingerprint,
    mlnx_ofed,
    module,
    play,
    release,
    run,
    stack,
    wanted,
)
from tasks import Result, shell

testinfra_hosts = ["ansible://node2"]

JOB = STATE + "/jobs/driver-stack"
UNIT = "rdma-ofed-driver-stack"
SECONDS_UNTIL_THERE = 120
CONTROL = "Package: site-mpi\\nVersion: 1\\nArchitecture: all\\nMaintainer: site <site@example.invalid>\\nDepends: libibverbs1\\nDescription: MPI\\n"
CODES = {
    1: "a general failure",
    2: "no firmware was found",
    22: "an option is not known",
    28: "not enough free space",
    30: "supports this kernel already",
    171: "no adapter",
    172: "a prerequisite is missing",
    173: "the mst driver could not be started",
    174: "packages that are not part of OFED",
}
ZEROS = 64 * "0"
URL = "http://127.0.0.1:8000/"


RENAMED = "%s/renamed/" + archive(NEW)
TRUNCATED = THERE + "/half.tgz"


def _named(distribution: str, arch: str) -> Options:
    return mlnx_ofed(OLD, bundle="%s/MLNX_OFED_LINUX-%s-%s-%s.tgz" % (THERE, OLD, distribution, arch))


REFUSED: dict[str, tuple[Options, tuple[str, ...]]] = {
    "checksum of a file on the node": (
        mlnx_ofed(OLD, bundle="%s/%s" % (THERE, archive(OLD)), bundle_checksum="sha256:" + ZEROS),
        (archive(OLD), ZEROS, "nothing was unpacked"),
    ),
    "checksum of a file on the controller": (
        mlnx_ofed(OLD, bundle=str(HERE / archive(OLD)), bundle_on="controller", bundle_checksum="sha256:" + ZEROS),
        (archive(OLD), ZEROS, "nothing was unpacked"),
    ),
    "checksum of a download": (
        mlnx_ofed(OLD, bundle=URL + archive(OLD), bundle_checksum="sha256:" + ZEROS),
        (archive(OLD), ZEROS, "Nothing was unpacked"),
    ),
    "download without a checksum": (mlnx_ofed(OLD, bundle=URL + archive(OLD)), ("ofed_bundle_checksum",)),
    "misspelt option": (mlnx_ofed(OLD, installer_options=["--without-dkm"]), ("--without-dkm'", "--without-dkms")),
    "misspelt package in an option": (mlnx_ofed(OLD, installer_options=["--without-opensn"]), ("--without-opensn'", "--without-opensm")),
    "unknown option": (mlnx_ofed(OLD, installer_options=["--bogus"]), ("--bogus", "22")),
    "bundle for another distribution": (_named("ubuntu22.04", "x86_64"), ("ubuntu22.04", "debian")),
    "bundle for another architecture": (_named("debian12", "aarch64"), ("aarch64", "x86_64")),
    "bundle of another release": (mlnx_ofed(OLD, version="24.04-0.6.6.0", bundle="%s/%s" % (THERE, archive(OLD))), ("24.04-0.6.6.0", OLD)),
    "another release under the name of this one": (mlnx_ofed(NEW, bundle=RENAMED % THERE), (archive(NEW), OLD, NEW, "ofed_version")),
    "the same on the controller": (mlnx_ofed(NEW, bundle=RENAMED % HERE, bundle_on="controller"), (archive(NEW), OLD, NEW, "ofed_version")),
    "half a bundle": (mlnx_ofed(OLD, bundle=TRUNCATED), (TRUNCATED, "not a readable .tgz or .tar", "download it again")),
    "repository without a key": (doca(repository_key=""), ("ofed_repository_key", "ofed_repository_trusted")),
    "key that is none": (doca(repository_key=THERE + "/manifest.json"), ("ofed_repository_key", "manifest.json")),
    "version that the repository lacks": (doca(version="2.9.7"), ("2.9.7", "2.9.1")),
    "profile that the repository lacks": (doca(packages="doca-host-basic"), ("doca-host-basic",)),
}


def converges(host: Host, options: Options, version: str) -> None:
    """Run until the state is reached, then once more without a change."""
    done, again = run(host, wanted(**options), wanted(**options))
    assert not done["failed"], done["msg"]
    assert done["changed"], done
    assert release(host).startswith(version)
    assert host.check_output("dpkg --audit") == ""
    assert (again["failed"], again["changes"], "job" in again) == (False, [], False), again


def wait_until(host: Host, script: str) -> None:
    found = host.run("for i in $(seq %d); do { %s; } && exit; sleep 0.2; done; exit 1" % (5 * SECONDS_UNTIL_THERE, script))
    assert found.rc == 0, host.run("tail %s/log; dpkg --list | tail" % JOB).stdout


def wait_until_hanging(host: Host, package: str) -> None:
    # A package being removed is briefly half-configured as well; it hangs only once its script does.
    script = "dpkg-query -W -f '${Status}' %s 2>/dev/null | grep -q half-configured && pgrep --full --exact 'sleep 3600' >/dev/null"
    wait_until(host, script % package)


def identity(host: Host) -> str:
    return str(json.loads(host.file(JOB + "/job.json").content_string)["id"])


def explained(host: Host, found: t.Mapping[str, t.Any], code: int, words: str) -> None:
    """Check that the message has the exit code, its meaning, the next step, and existing logs."""
    assert found["failed"], found
    assert "exit status %d: " % code in found["msg"]
    assert words in found["msg"]
    assert ". Next: " in found["msg"]
    assert found["rc"] == code
    folder = re.search(r"logs are in (/tmp/MLNX_OFED_LINUX\S+\.logs)", found["msg"])
    # The log that the installer itself names.
    log = re.search(r"log is (/tmp/\S+\.log);", found["msg"])
    assert folder or log, found["msg"]
    for path in ["%s/general.log" % match.group(1) for match in (folder,) if match] + [match.group(1) for match in (log,) if match]:
        assert host.run("ls %s" % path).rc == 0, found["msg"]
    assert "all output is in %s/log" % JOB in found["msg"]
    assert host.file(JOB + "/log").exists


@pytest.fixture(scope="module")
def served(host: Host) -> t.Iterator[None]:
    """Serve the node's downloads at a URL."""
    host.check_output("systemd-run --quiet --unit=served --collect python3 -m http.server --bind 127.0.0.1 --directory %s 8000" % THERE)
    host.check_output("for i in $(seq 2000); do ss --listening --tcp --numeric | grep -q 127.0.0.1:8000 && exit; sleep 0.1; done; exit 1")
    yield
    host.check_output("systemctl stop served")


@pytest.fixture(scope="module")
def misnamed(host: Host) -> None:
    """Create bundles whose content does not match their names."""
    renamed = pathlib.Path(RENAMED % HERE)
    renamed.parent.mkdir(exist_ok=True)
    shutil.copyfile(HERE / archive(OLD), renamed)
    there = RENAMED % THERE
    host.check_output("mkdir -p %s && cp %s/%s %s" % (there.rpartition("/")[0], THERE, archive(OLD), there))
    host.check_output("head -c 20000 %s/%s >%s" % (THERE, archive(OLD), TRUNCATED))


@pytest.fixture(scope="module")
def refused(host: Host, misnamed: None, served: None) -> dict[str, list[Result]]:
    """Return the results of check mode and run for each, and check that none of them changed anything."""
    # Problems of a download show only in the run itself.
    modes = {case: (True, False) if case != "checksum of a download" else (False,) for case in REFUSED}
    before = fingerprint(host)
    results = run(host, *(wanted(check, **REFUSED[case][0]) for case in REFUSED for check in modes[case]))
    assert fingerprint(host) == before
    return {case: [results.pop(0) for _check in modes[case]] for case in REFUSED}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_refused_with_nothing_changed(refused: dict[str, list[Result]], case: str) -> None:
    for found in refused[case]:
        assert found["failed"], found
        assert [word for word in REFUSED[case][1] if word not in found["msg"]] == [], found["msg"]


@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_exit_codes_are_explained(host: Host) -> None:
    faults = [("exit=%d" % code, code, mlnx_ofed(OLD)) for code in CODES]
    faults += [("space", 28, mlnx_ofed(OLD)), ("", 172, mlnx_ofed(OLD, installer_options=["--distro debian11"]))]
    steps = [step for words, _code, options in faults for step in (shell("echo '%s' >/etc/ofed-standin" % words), wanted(**options))]
    found = run(host, *steps, shell("rm /etc/ofed-standin"))
    for (_words, code, _options), result in zip(faults, found[1::2]):
        explained(host, result, code, CODES[code])
    assert release(host) == ""


@pytest.fixture
def site_mpi(host: Host) -> None:
    """Install a package outside all stacks that needs a library of the stack."""
    host.check_output("mkdir -p /tmp/site/DEBIAN && printf '%s' >/tmp/site/DEBIAN/control" % CONTROL)
    host.check_output("dpkg-deb -b /tmp/site /tmp/site.deb && dpkg -i /tmp/site.deb && rm -r /tmp/site /tmp/site.deb")


@pytest.mark.usefixtures("site_mpi")
@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_foreign_dependants_go_only_if_they_may(host: Host) -> None:
    allowed = mlnx_ofed(OLD, allow_removal=["site-mpi"])
    *both, foreseen = run(host, *(wanted(check, **mlnx_ofed(OLD)) for check in (True, False)), wanted(True, **allowed))
    for refused in both:
        assert refused["failed"], refused
        assert refused["dependants"] == ["site-mpi"]
        assert "site-mpi" in refused["msg"]
        assert "ofed_allow_removal" in refused["msg"]
    assert host.package("site-mpi").is_installed
    predicted = foreseen["changes"]
    assert "package site-mpi: 1 -> none" in predicted
    done, again = run(host, wanted(**allowed), wanted(**allowed))
    assert not done["failed"], done["msg"]
    assert done["changes"] == predicted
    assert not host.package("site-mpi").is_installed
    assert again["changes"] == []


@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_after_a_package_that_failed_the_next_run_converges(host: Host) -> None:
    with fault(host, "fail=mlnx-tools"):
        explained(host, stack(host, **mlnx_ofed(NEW)), 1, "the package mlnx-tools could not be installed")
    assert "mlnx-tools" in host.check_output("dpkg --audit")
    converges(host, mlnx_ofed(NEW), NEW)


@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_another_release_takes_consent(host: Host) -> None:
    before = fingerprint(host)
    for options in (mlnx_ofed(OLD), doca(), {"state": "absent"}):
        found = stack(host, **{**options, "allow_upgrade": False})
        assert (found["failed"], found["changed"], found["stack"]["withheld"]) == (False, False, True), found
        assert found["pending"][0]["why"] == ["mlnx_ofed %s is installed" % NEW]
    assert fingerprint(host) == before


@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_a_flattened_failure_of_a_build_is_told_apart(host: Host) -> None:
    with fault(host, "build"):
        explained(host, stack(host, **mlnx_ofed(OLD, installer_options=["--add-kernel-support"])), 1, "every failure ends in 1")
    assert release(host) == NEW


@pytest.mark.proves("mlnx_ofed", "interruption", debian12="look-alike")
def test_after_a_killed_job_the_next_run_converges(host: Host, tmp_path: pathlib.Path) -> None:
    with fault(host, "hang=mlnx-tools"):
        run = begin(host, tmp_path / "log", **mlnx_ofed(OLD))
        wait_until_hanging(host, "mlnx-tools")
        host.check_output("systemctl kill --signal KILL %s" % UNIT)
        assert run.wait(60) != 0
    said = (tmp_path / "log").read_text(encoding="utf-8")
    assert "was interrupted" in said
    assert JOB + "/log" in said
    converges(host, mlnx_ofed(OLD), OLD)


@pytest.mark.proves("mlnx_ofed", "interruption", debian12="look-alike")
def test_after_a_lost_controller_the_next_run_attaches(host: Host, tmp_path: pathlib.Path) -> None:
    with fault(host, "hang=mlnx-tools"):
        first = begin(host, tmp_path / "first", **doca())
        wait_until_hanging(host, "mlnx-tools")
        os.killpg(first.pid, signal.SIGKILL)
        first.wait(60)
        job = identity(host)
        # The job on the node continues, and no second one starts.
        refused = stack(host, True, **doca())
        assert "a job is installing DOCA-OFED" in refused["msg"], refused
        second = begin(host, tmp_path / "second", **doca(poll=1))
        _wait_for_words(tmp_path / "second", "node2: stage ", second)
    host.check_output("pkill --full --exact 'sleep 3600'")
    assert second.wait(SECONDS_UNTIL_THERE) == 0, (tmp_path / "second").read_text(encoding="utf-8")
    assert "CHANGED" in (tmp_path / "second").read_text(encoding="utf-8")
    assert identity(host) == job
    assert host.check_output("dpkg --audit") == ""
    again = stack(host, **doca())
    assert (again["failed"], again["changes"], "job" in again) == (False, [], False), again


@pytest.mark.proves("doca", debian12="look-alike")
def test_a_profile_that_went_with_opensm_is_added_again_and_nothing_is_torn_down(host: Host) -> None:
    host.check_output("apt-get purge -qq -y opensm")
    assert not host.package("doca-ofed").is_installed
    before = host.package("rdma-core").version
    found = module(host, "rdma_facts", gather=["stack"])["ansible_facts"]["rdma"]["stack"]
    assert (found["kind"], found["complete"]) == ("doca", True)
    done = stack(host, **doca(allow_upgrade=False))
    assert not done["failed"], done["msg"]
    assert [change.partition(":")[0] for change in done["changes"]] == ["package doca-ofed"]
    assert host.package("rdma-core").version == before
    assert host.package("opensm").is_installed


@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_opensm_stays_where_the_stack_needs_it(host: Host) -> None:
    """Removes the package as the role opensm does, which had installed it."""
    assert host.package("doca-ofed").is_installed
    before = host.check_output("dpkg-query --show")
    for check in (True, False):
        done = module(host, "packages", check, purposes=["opensm"], state="absent", needed="keep")
        assert (done["failed"], done["changes"]) == (False, []), done
    assert host.check_output("dpkg-query --show") == before


@pytest.mark.proves("mlnx_ofed", debian12="look-alike")
def test_half_a_stack_that_the_installer_left_is_named_and_mended(host: Host) -> None:
    """The installer is started by hand and killed."""
    assert not stack(host, **mlnx_ofed(NEW))["failed"]
    with fault(host, "hang=mlnx-tools"):
        folder = mlnx_ofed(NEW)["bundle"]
        host.check_output("systemd-run --quiet --unit=by-hand --collect %s/mlnxofedinstall --basic --force --distro debian12" % folder)
        wait_until_hanging(host, "mlnx-tools")
        host.check_output("systemctl kill --signal KILL by-hand")
    host.run("dpkg --configure -a")
    found = module(host, "rdma_facts", gather=["stack"])["ansible_facts"]["rdma"]["stack"]
    assert (found["kind"], found["complete"]) == ("mlnx_ofed", False), found
    assert any("half installed" in change for change in stack(host, True, **mlnx_ofed(NEW))["changes"])
    converges(host, mlnx_ofed(NEW), NEW)


@pytest.fixture
def later_kernel(host: Host) -> str:
    """Add a kernel installed after the driver: it has the distribution's modules and boots next."""
    running, later = host.check_output("uname -r"), "6.1.0-99-amd64"
    there = "/lib/modules/" + later
    host.check_output("mkdir -p %s/build/scripts && cd /lib/modules/%s && cp -a kernel modules.* %s/ && depmod -a %s" % (there, running, there, later))
    host.check_output("touch /boot/vmlinuz-%s && ln -sfn vmlinuz-%s /boot/vmlinuz" % (later, later))
    # The stand-in needs no compiler.
    host.check_output("for tool in gcc make; do ln -sf /bin/true /usr/local/bin/$tool; done")
    return later


@pytest.mark.usefixtures("served")
@pytest.mark.proves("dkms", debian12="look-alike")
def test_ready_made_modules_are_built_for_a_later_kernel(host: Host, later_kernel: str) -> None:
    done = stack(host, **mlnx_ofed(NEW, installer_options=["--add-kernel-support"]))
    assert not done["failed"], done["msg"]
    assert not host.package("mlnx-ofed-kernel-dkms").is_installed
    refused = module(host, "kernel_policy")
    assert "kernel %s, which boots next" % later_kernel in refused["msg"]
    assert "declare ofed_bundle, the bundle of MLNX_OFED %s" % NEW in refused["msg"]
    bundle = {"bundle": URL + archive(NEW), "bundle_checksum": checksum(NEW)}
    with fault(host, "build"):
        failed = module(host, "kernel_policy", **bundle)
        assert failed["failed"], failed
        assert "building the driver for kernel %s failed, exit status 1" % later_kernel in failed["msg"]
        assert 'Failed executing "MLNX_OFED_SRC' in failed["msg"]
    assert later_kernel not in host.package("mlnx-ofed-kernel-modules").version
    foreseen = module(host, "kernel_policy", True, **bundle)["changes"]
    with fault(host, "slow=3"):
        done = module(host, "kernel_policy", poll=1, **bundle)
    assert not done["failed"], done["msg"]
    assert done["changes"] == foreseen
    assert "building the driver for kernel %s (" % later_kernel in done["said"]
    assert host.package("mlnx-ofed-kernel-modules").version.endswith("kver." + later_kernel)
    assert "mlx_compat" in host.check_output("modinfo -k %s -F depends ib_core" % later_kernel)
    assert host.run("ls %s/kernel-support %s/bundles" % (STATE, STATE)).rc != 0
    again = module(host, "kernel_policy", **bundle)
    assert (again["failed"], again["changes"], "job" in again) == (False, [], False), again
    assert (release(host), stack(host, **mlnx_ofed(NEW, installer_options=["--add-kernel-support"]))["changes"]) == (NEW, [])


def _wait_for_words(log: pathlib.Path, words: str, run: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS_UNTIL_THERE
    while words not in log.read_text(encoding="utf-8"):
        assert run.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
        time.sleep(0.2)


@pytest.mark.usefixtures("served")
@pytest.mark.proves("dkms", debian12="look-alike")
def test_a_bundle_that_is_built_once_serves_the_nodes_with_its_kernel(host: Host, tmp_path: pathlib.Path) -> None:
    folder, running = tmp_path / "bundles", host.check_output("uname -r")
    folder.mkdir()
    host.check_output("for tool in gcc make; do ln -sf /bin/true /usr/local/bin/$tool; done")
    variables = {"ofed_bundle": URL + archive(NEW), "ofed_bundle_checksum": checksum(NEW), "rdma_build_folder": str(folder)}
    before = release(host)
    runs = {name: tmp_path / name for name in ("check", "first", "second")}
    play(host, "rdma.ofed.build", runs["check"], variables, "--check")
    assert list(folder.iterdir()) == []
    said = play(host, "rdma.ofed.build", runs["first"], variables)
    (built,) = folder.iterdir()
    assert "kver.%s-ext.tgz" % running in built.name and "ofed_bundle: %s" % built in said, said
    assert "changed=0" in play(host, "rdma.ofed.build", runs["second"], variables)
    # The node's stack is unchanged, and only the bundle is left.
    assert release(host) == before and host.check_output("ls /var/lib/rdma.ofed-built") == built.name
    assert host.run("ls %s/kernel-bundle %s/bundles" % (STATE, STATE)).rc != 0
    options = mlnx_ofed(NEW, bundle=str(built), bundle_on="controller", allow_upgrade=True)
    foreseen = stack(host, True, **options)["changes"]
    done = stack(host, **options)
    assert not done["failed"], done["msg"]
    assert done["changes"] == foreseen
    assert host.package("mlnx-ofed-kernel-modules").version.endswith("kver." + running)
    assert not host.package("mlnx-ofed-kernel-dkms").is_installed
    assert stack(host, **options)["changes"] == []
