# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab itself implements flock(2) on the lock files of the tools: it must block the same processes as a kernel."""

from __future__ import annotations

from firmware import CONNECTX5, Host, card, flash

testinfra_hosts = ["ansible://mixed"]


def lock_file(host: Host) -> str:
    """Return the lock file of a card that a tool has accessed."""
    pci = card(host, CONNECTX5)
    assert flash(host, pci)
    return "/tmp/mstflint_lockfiles/%s_config" % pci


def test_another_process_is_kept_out(host: Host) -> None:
    path = lock_file(host)
    assert host.check_output("flock --nonblock %s sh -c 'flock --nonblock %s true; echo $?'", path, path) == "1"
    assert host.run("flock --nonblock %s true", path).rc == 0


def test_the_lock_of_a_killed_process_is_free(host: Host) -> None:
    path = lock_file(host)
    held = "until ! flock --nonblock %s true; do sleep 0.1; done"
    host.check_output("flock %s sleep 60 & " + held + "; kill -KILL $!; flock --timeout 5 %s true; pkill -x sleep", path, path, path)
