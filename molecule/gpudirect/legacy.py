# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life cycle of nv_peer_mem on a node for every package format: built, rebuilt when needed, removed. The tests depend on each other.

The files with the tests contain the differences between the two families.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import typing as t

import ansible_runs
import records
import tasks
from tasks import Result, Task, shell

PROJECT = pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
MANIFEST: dict[str, t.Any] = json.loads((PROJECT / "build/molecule/gpudirect-made/manifest.json").read_text(encoding="utf-8"))
THERE = "/srv/gpudirect-made/"
STATE = "/var/lib/rdma.ofed"
FIRST, SECOND = MANIFEST["commits"]
ARCHIVE = {"source": THERE + MANIFEST["archive"], "checksum": MANIFEST["checksum"]}

Host = t.Any


def repository(commit: str) -> dict[str, str]:
    return {"source": "file://" + THERE + MANIFEST["repository"], "commit": commit}


def wanted(check: bool = False, **options: t.Any) -> Task:
    """Return the task of the module."""
    return tasks.module("gpudirect", check, **{"method": "nv_peer_mem", "allow_container": True, **options})


def run(host: Host, *steps: Task) -> list[Result]:
    """Run tasks on a node and return their results, including failed ones."""
    return tasks.run(host.backend.ansible_inventory, [host.backend.host], steps)[host.backend.host]


def module(host: Host, check: bool = False, **options: t.Any) -> Result:
    """Return the full result of the module on a node, failed or not."""
    return run(host, wanted(check, **options))[0]


def role(host: Host, record: pathlib.Path, *arguments: str, **variables: t.Any) -> None:
    argv = ["-i", host.backend.ansible_inventory, str(PROJECT / "molecule/gpudirect/converge.yml"), "--limit", host.backend.host]
    argv += ["--extra-vars", json.dumps({"gpudirect_" + name: value for name, value in variables.items()}), *arguments]
    environ = {**os.environ, "ANSIBLE_NOCOLOR": "1", "RDMA_RECORD": str(record)}
    done = ansible_runs.run("playbook", argv, folder=pathlib.Path.cwd(), environ=environ, merged=True, seconds=3600)
    assert done.status == 0, done.shown


def as_predicted(host: Host, name: str, **variables: t.Any) -> list[str]:
    """Run check mode, the run that does the same, and one that changes nothing. Returns the changes of the run."""
    folder = PROJECT / "build/molecule/gpudirect-runs" / host.backend.host / name
    shutil.rmtree(folder, ignore_errors=True)
    role(host, folder, "--check", **variables)
    role(host, folder, **variables)
    role(host, folder, **variables)
    (check,), (done, again) = records.find(folder, "converge", "check"), records.find(folder, "converge", "run")
    assert records.differences(check, done) == []
    assert records.changes(again) == {}
    (changes,) = [found for rows in records.changes(done).values() for found in rows]
    return list(changes)


def converges(host: Host, **options: t.Any) -> list[str]:
    """Do the same with the module alone."""
    check, done, again = run(host, wanted(True, **options), wanted(**options), wanted(**options))
    assert not done["failed"], done["msg"]
    assert check["changes"] == done["changes"]
    assert (again["failed"], again["changes"]) == (False, []), again
    return list(done["changes"])


def loaded(host: Host, name: str = "nv_peer_mem") -> bool:
    return bool(host.run("grep -q '^%s ' /proc/modules" % name).rc == 0)


def description(host: Host) -> str:
    return str(host.check_output("modinfo -F description nv_peer_mem"))


def at_boot(host: Host) -> bool:
    return bool(host.run("ls /etc/rc3.d/S*nv_peer_mem").rc == 0)


class Legacy:
    """Tests that hold on each node."""

    newer = ""
    """Command that installs the next release of the stack on the node."""

    def packages(self, host: Host) -> list[str]:
        """Return the installed packages of nv_peer_mem."""
        raise NotImplementedError

    def fingerprint(self, host: Host) -> str:
        """Return everything that a refused run must not change."""
        return str(host.check_output("md5sum /var/lib/dpkg/status; rpm -qa 2>/dev/null | sort; find /tmp %s 2>/dev/null; true" % STATE))

    def test_a_wrong_checksum_is_refused_before_anything_is_unpacked(self, host: Host) -> None:
        before = self.fingerprint(host)
        wrong = "sha256:" + 64 * "0"
        for refused in run(host, *(wanted(check, **{**ARCHIVE, "checksum": wrong}) for check in (True, False))):
            assert refused["failed"], refused
            assert wrong in refused["msg"]
            assert MANIFEST["checksum"] in refused["msg"]
            assert "Nothing was unpacked" in refused["msg"]
        assert self.fingerprint(host) == before

    def test_an_archive_is_built_and_installed(self, host: Host) -> None:
        changes = as_predicted(host, "archive", **ARCHIVE)
        assert changes[0].startswith("package nv_peer_mem: not built yet -> built from %s" % MANIFEST["checksum"][:19])
        assert changes[2:] == ["service nv_peer_mem enabled: no -> yes", "module nv_peer_mem: not loaded -> loaded"]
        assert self.packages(host)
        assert loaded(host)
        assert at_boot(host)
        assert description(host) == "stand-in for nv_peer_mem"
        log = host.file(STATE + "/jobs/gpudirect-build/log").content_string
        assert "Built: /tmp/" in log
        # The source and everything built from it are gone.
        assert host.run("ls %s/nv_peer_mem /tmp/nv*" % STATE).stdout == ""

    def test_the_init_script_works(self, host: Host) -> None:
        host.check_output("/etc/init.d/nv_peer_mem stop")
        assert not loaded(host)
        host.check_output("systemctl restart nv_peer_mem")
        assert loaded(host)

    def test_a_commit_is_built_in_place_of_the_archive(self, host: Host) -> None:
        done = module(host, **repository(FIRST))
        assert not done["failed"], done["msg"]
        assert done["changes"][0].startswith("package nv_peer_mem: built for source %s" % MANIFEST["checksum"])
        assert done["loaded"] == ["nv_peer_mem"]

    def test_another_commit_is_built_again(self, host: Host) -> None:
        changes = converges(host, **repository(SECOND))
        assert changes == [
            "package nv_peer_mem: built for source %s -> built from %s for kernel %s" % (FIRST, SECOND[:19], host.check_output("uname -r")),
            "edit file %s/nv_peer_mem.json" % STATE,
        ]
        assert description(host) == "the second stand-in for nv_peer_mem"
        assert loaded(host)
        assert at_boot(host)

    def test_a_commit_that_nobody_has(self, host: Host) -> None:
        refused, after = run(host, wanted(**repository("a" * 40)), wanted(**repository(SECOND)))
        assert refused["failed"]
        assert "taking commit aaaaaaaaaaaa failed" in refused["msg"]
        assert STATE + "/jobs/gpudirect-build/log" in refused["msg"]
        assert description(host) == "the second stand-in for nv_peer_mem"
        assert after["changes"] == []

    def test_another_kernel_or_stack_builds_it_again(self, host: Host) -> None:
        kernel, stamp = host.check_output("uname -r"), STATE + "/nv_peer_mem.json"
        look = wanted(True, **repository(SECOND))
        steps = (shell("sed -i 's/%s/6.1.0-1-amd64/' %s" % (kernel, stamp)), look, shell("sed -i 's/6.1.0-1-amd64/%s/' %s" % (kernel, stamp)), look)
        _other, rebuilt, _back, unchanged, _newer, again = run(host, *steps, shell(self.newer), look)
        assert "built for kernel 6.1.0-1-amd64 -> " in rebuilt["changes"][0]
        assert unchanged["changes"] == []
        assert "built for OFED 4.9 -> " in again["changes"][0]

    def test_a_driver_with_nvidia_peermem_supersedes_it(self, host: Host) -> None:
        version = "/run/rdmalab/proc/driver/nvidia/version"
        host.check_output("sed -i s/460.106.00/535.104.05/ " + version)
        refused = module(host, **repository(SECOND))
        host.check_output("sed -i s/535.104.05/460.106.00/ " + version)
        assert refused["failed"], refused
        assert "GPU driver 535.104.05 has nvidia_peermem instead" in refused["msg"]
        assert "use nvidia_peermem" in refused["msg"]

    def test_absent_leaves_nothing(self, host: Host) -> None:
        changes = as_predicted(host, "absent", state="absent")
        assert changes == ["package nv_peer_mem: installed -> not installed", "remove file %s/nv_peer_mem.json" % STATE]
        assert self.packages(host) == []
        assert not loaded(host)
        assert not at_boot(host)
        assert loaded(host, "nvidia"), "the GPU's driver stays"
        assert host.run("modinfo nv_peer_mem").rc != 0
