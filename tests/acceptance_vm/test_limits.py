# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs of an ordinary user that lock memory, with Debian's Slurm: slurmctld and slurmd on one machine, because containers of the lab may not raise limits.

The unit of slurmd is one of the site's own, without LimitMEMLOCK. The tests depend on each other.
"""

from __future__ import annotations

import collections.abc
import json
import typing as t

import pytest
import records
from cluster import Cluster, Run
from conftest import PREFIX, running
from interfaces import run, within
from proofs import REAL
from slurm_lab import USER, configuration, installation

NODE = "node1"
VARIABLES: dict[str, t.Any] = {"ofed_tools": False, "ipoib_interfaces": [], "rdma_allow_removal": True}
FILES = 200000
CONSENT = {"rdma_allow_interruption": True}
RESTART = "service slurmd.service restart for locked memory: 8192 -> unlimited"
# Jobs get the limit of slurmd, not that of the session that submits them.
CONFIG = configuration(
    NODE,
    partition="Nodes=%s OverSubscribe=FORCE:4" % NODE,
    SelectType="select/linear",
    PropagateResourceLimitsExcept="MEMLOCK",
)
WITHOUT_LIMIT = "grep -v LimitMEMLOCK /lib/systemd/system/slurmd.service >/etc/systemd/system/slurmd.service; systemctl daemon-reload"
INSTALL = "apt-get update -qq\n" + installation(CONFIG, "slurmctld slurmd", prepare=WITHOUT_LIMIT)
# Locks 32 MiB, and prints the limit in KiB.
LOCK = (
    "import ctypes, mmap, resource; "
    "size = 32 << 20; memory = mmap.mmap(-1, size); address = ctypes.addressof(ctypes.c_char.from_buffer(memory)); "
    "done = ctypes.CDLL(None, use_errno=True).mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)); "
    "limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]; "
    "print('locked' if done == 0 else 'errno %d' % ctypes.get_errno(), 'unlimited' if limit < 0 else limit // 1024)"
)


@pytest.fixture(scope="module")
def machine() -> collections.abc.Iterator[Cluster]:
    for cluster in running(PREFIX + "-limits", "one-machine", INSTALL):
        run(cluster, NODE, "cat >/srv/lock.py <<'EOF'\n%s\nEOF" % LOCK)
        await_slurm(cluster)
        yield cluster


def await_slurm(machine: Cluster) -> None:
    """Wait until the node is idle: the machine may have resumed from a snapshot taken before slurmctld knew it."""
    assert within(180, lambda: run(machine, NODE, "sinfo --noheader --format=%T") == "idle"), run(machine, NODE, "sinfo --long; journalctl -u slurmd")


def submit(machine: Cluster, name: str, command: str) -> str:
    """Submit a job of the user and return its number."""
    job = "sbatch --parsable --chdir=/ --oversubscribe --job-name=%s --output=/tmp/%s.out --wrap '%s'" % (name, name, command)
    return run(machine, NODE, 'su %s -c "%s"' % (USER, job))


def job(machine: Cluster, name: str) -> str:
    """Run a job that locks memory, and return what it prints."""
    submit(machine, name, "python3 /srv/lock.py >/tmp/%s.part; mv /tmp/%s.part /tmp/%s.done" % (name, name, name))
    assert within(180, lambda: machine.shell(NODE, "test -e /tmp/%s.done" % name).returncode == 0), run(machine, NODE, "squeue; cat /tmp/%s.out" % name)
    return run(machine, NODE, "cat /tmp/%s.done" % name)


def play(machine: Cluster, playbook: str, *arguments: str, **variables: t.Any) -> Run:
    done = machine.play(playbook, "-e", json.dumps({**VARIABLES, **variables}), *arguments)
    assert done.status == 0, done.output
    return done


def changes(done: Run) -> list[str]:
    """Return the changes of the role in words."""
    found = records.changes(done.events)
    return [line for (_play, task, _host), lines in found.items() if "kernel modules" in task for line in lines[0]]


@pytest.mark.proves("modules", debian12=REAL)
def test_a_job_can_not_lock_what_a_new_session_can(machine: Cluster) -> None:
    assert job(machine, "before") == "errno 12 8192"
    play(machine, "site")
    assert run(machine, NODE, "su -l %s -c 'python3 /srv/lock.py'" % USER) == "locked unlimited"
    assert job(machine, "running") == "errno 12 8192"


@pytest.mark.proves("verify", "modules", debian12=REAL)
def test_verify_names_the_daemon_and_the_command(machine: Cluster) -> None:
    output = " ".join(play(machine, "verify").output.split())
    for words in ("daemon slurmd locked memory", "8192", "systemctl restart slurmd.service", "rdma_allow_interruption"):
        assert words in output, output


@pytest.mark.proves("modules", "check_mode", "unchanged", debian12=REAL)
def test_the_role_restarts_it_with_consent_and_running_jobs_go_on(machine: Cluster) -> None:
    number = submit(machine, "long", "while ! [ -e /tmp/released ]; do sleep 0.5; done; touch /tmp/long.done")
    assert within(180, lambda: run(machine, NODE, "squeue --noheader --jobs=%s --format=%%T" % number) == "RUNNING")
    predicted, done = play(machine, "site", "--check", **CONSENT), play(machine, "site", **CONSENT)
    assert changes(done) == [RESTART]
    assert records.differences(predicted.events, done.events) == []
    assert run(machine, NODE, "squeue --noheader --jobs=%s --format=%%T" % number) == "RUNNING"
    assert job(machine, "after") == "locked unlimited"
    run(machine, NODE, "touch /tmp/released")
    assert within(180, lambda: machine.shell(NODE, "test -e /tmp/long.done").returncode == 0)
    assert records.changes(play(machine, "site", **CONSENT).events) == {}
    assert "slurmd" not in play(machine, "verify").output


@pytest.mark.proves("modules", "verify", "check_mode", "unchanged", debian12=REAL)
def test_open_files(machine: Cluster) -> None:
    """The unit of slurmd, which is one of the site's own, has a limit that is lower than declared."""
    predicted, done = (play(machine, "site", *check, kernel_modules_nofile=FILES, **CONSENT) for check in (["--check"], []))
    assert changes(done) == ["edit file /etc/security/limits.d/rdma-ofed.conf", "edit file /etc/systemd/system.conf.d/rdma-ofed.conf"]
    assert records.differences(predicted.events, done.events) == []
    assert run(machine, NODE, "su -l %s -c 'ulimit -Sn; ulimit -Hn'" % USER).split() == [str(FILES), "524288"]
    assert run(machine, NODE, "systemd-run --quiet --wait --pipe --collect sh -c 'ulimit -n'") == str(FILES)
    output = " ".join(play(machine, "verify", kernel_modules_nofile=FILES).output.split())
    for words in ("daemon slurmd open files", "131072", "/etc/systemd/system/slurmd.service line"):
        assert words in output, output
    # Without the line of the site, the default for services counts, and a restart is all that slurmd needs.
    run(machine, NODE, "sed -i /LimitNOFILE/d /etc/systemd/system/slurmd.service; systemctl daemon-reload")
    done = play(machine, "site", kernel_modules_nofile=FILES // 2)
    assert changes(done) == ["edit file /etc/security/limits.d/rdma-ofed.conf", "edit file /etc/systemd/system.conf.d/rdma-ofed.conf"]
    done = play(machine, "site", kernel_modules_nofile=FILES, **CONSENT)
    assert changes(done)[-1] == "service slurmd.service restart for open files: 131072 -> %d" % FILES
    assert records.changes(play(machine, "site", kernel_modules_nofile=FILES, **CONSENT).events) == {}
    assert "slurmd" not in play(machine, "verify", kernel_modules_nofile=FILES).output


@pytest.mark.proves("remove", debian12=REAL)
def test_after_the_removal_daemons_are_started_with_the_former_limit(machine: Cluster) -> None:
    play(machine, "remove", "--tags", "kernel_modules", rdma_remove=True)
    run(machine, NODE, "systemctl restart slurmd")
    assert job(machine, "removed") == "errno 12 8192"
    assert int(run(machine, NODE, "su -l %s -c 'ulimit -Sn'" % USER)) < FILES
