# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The vendor's downloads as variables of the role, and runs of the playbook and of the module on a node."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import typing as t

import ansible_runs
import tasks
from tasks import Result, Task

PROJECT = pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
HERE = PROJECT / "build/molecule/stacks-made"
"""Directory of the downloads on the controller."""
THERE = "/srv/stacks"
"""Directory of the downloads on the nodes."""
STATE = "/var/lib/rdma.ofed"
MANIFEST: dict[str, t.Any] = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
OLD, NEW = sorted(MANIFEST["bundles"])
DOCA = min(MANIFEST["doca"])

Host = t.Any
Options = t.Dict[str, t.Any]


def archive(version: str) -> str:
    return str(MANIFEST["bundles"][version]["archive"])


def checksum(version: str) -> str:
    return str(MANIFEST["bundles"][version]["checksum"])


def mlnx_ofed(release: str, **options: t.Any) -> Options:
    """Return the module's options for a release whose bundle is unpacked on the node."""
    folder = "%s/%s" % (THERE, MANIFEST["bundles"][release]["folder"])
    return {"source": "mlnx_ofed", "packages": "basic", "bundle": folder, "version": release, "allow_upgrade": True, **options}


def doca(**options: t.Any) -> Options:
    repository = "%s/%s" % (THERE, MANIFEST["doca"][DOCA]["repository"])
    return {"source": "doca", "version": DOCA, "repository": repository, "repository_key": THERE + "/key.asc", "allow_upgrade": True, **options}


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "ANSIBLE_NOCOLOR": "1", **more}


def begin(host: Host, log: pathlib.Path, **options: t.Any) -> subprocess.Popen[bytes]:
    """Start the module on a node in the background, in a session of its own."""
    argv = ["ansible", "-i", host.backend.ansible_inventory, host.backend.host, "-m", "rdma.ofed.driver_stack", "-a", json.dumps(options)]
    with log.open("wb") as stream:
        return subprocess.Popen(argv, env=_environment(), stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)


def run(host: Host, *steps: Task) -> list[Result]:
    """Run tasks on a node and return their results, including failed ones. `said` is the output shown while they ran."""
    node = host.backend.host
    return tasks.run(host.backend.ansible_inventory, [node], steps)[node]


def module(host: Host, name: str, check: bool = False, **options: t.Any) -> Result:
    return run(host, tasks.module(name, check, **options))[0]


def wanted(check: bool = False, **options: t.Any) -> Task:
    """Return the task of the module driver_stack."""
    return tasks.module("driver_stack", check, **options)


def stack(host: Host, check: bool = False, **options: t.Any) -> Result:
    return run(host, wanted(check, **options))[0]


def site(host: Host, record: pathlib.Path, variables: Options, *arguments: str) -> str:
    """Run site.yml on one node and return its output."""
    return play(host, "rdma.ofed.site", record, variables, *arguments)


def play(host: Host, playbook: str, record: pathlib.Path, variables: Options, *arguments: str) -> str:
    """Run a playbook on localhost and one node and return its output."""
    limit = "localhost," + host.backend.host
    argv = ["-i", host.backend.ansible_inventory, playbook, "--limit", limit, "--extra-vars", json.dumps(variables), *arguments]
    environ = _environment(RDMA_RECORD=str(record))
    done = ansible_runs.run("playbook", argv, folder=pathlib.Path.cwd(), environ=environ, merged=True, seconds=3600)
    assert done.status == 0, done.shown
    return done.shown


@contextlib.contextmanager
def fault(host: Host, words: str) -> t.Iterator[None]:
    """Make the stand-ins on a node fail as specified."""
    host.check_output("echo '%s' >/etc/ofed-standin" % words)
    try:
        yield
    finally:
        host.check_output("rm -f /etc/ofed-standin")


def fingerprint(host: Host) -> str:
    """Return everything that a refused run must not change: packages, repositories, and the collection's state except job logs."""
    sums = "md5sum /var/lib/dpkg/status; find /etc/apt /usr/share/keyrings -type f -exec md5sum {} +"
    return str(host.check_output("%s; find /tmp; find %s -mindepth 1 -path '*/jobs' -prune -o -print 2>/dev/null; true" % (sums, STATE)))


def release(host: Host) -> str:
    """Return the release that the node reports, "" for the distribution's stack."""
    said = str(host.run("ofed_info -s").stdout).strip().rstrip(":")
    return said.rpartition("LINUX-")[2]
