# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that is cut off between setting and verifying: the next one finishes what is left, and no more."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from firmware import CONNECTX5, Host, broken, card, configure, restore, rows

testinfra_hosts = ["ansible://mixed"]

PARAMETERS = {"LINK_TYPE_P1": "ETH", "NUM_OF_VFS": 8}
SECONDS_UNTIL_SET = 60


def stored(host: Host, pci: str) -> str:
    """What is in the card's non-volatile memory. The tools hang while the card does."""
    return str(host.check_output("cxemu-ctl %s nv", pci))


def start(host: Host, log: str) -> subprocess.Popen[bytes]:
    arguments = '{"devices": [{"psid": "%s", "parameters": {"LINK_TYPE_P1": "ETH", "NUM_OF_VFS": 8}}]}' % CONNECTX5
    argv = ["ansible", "-i", host.backend.ansible_inventory, host.backend.host, "-m", "rdma.ofed.mlxconfig", "-a", arguments]
    with open(log, "wb") as stream:
        return subprocess.Popen(argv, env=os.environ, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT)


def wait_until_set(host: Host, pci: str, before: str) -> None:
    deadline = time.monotonic() + SECONDS_UNTIL_SET
    while stored(host, pci) == before:
        assert time.monotonic() < deadline, "nothing was set"
        time.sleep(0.2)


@pytest.fixture
def halfway(host: Host, tmp_path: os.PathLike[str]) -> str:
    """A card with one of two parameters set, and every process of the run that did it dead."""
    pci = card(host, CONNECTX5)
    before = stored(host, pci)
    with broken(host, pci, "silent-after-set"):
        run = start(host, os.path.join(tmp_path, "log"))
        wait_until_set(host, pci, before)
        # The module first, so that it can't react to what becomes of the tool.
        host.check_output("pkill --signal KILL --full --exact /usr/bin/python3; pkill --signal KILL -x timeout; pkill --signal KILL -x mstconfig")
        assert run.wait(60) != 0
    return pci


def finish(host: Host, pci: str) -> None:
    """The second run, the third, and back to what is declared."""
    found = rows(host, pci, *PARAMETERS)
    done = {name for name, value in (("LINK_TYPE_P1", "ETH(2)"), ("NUM_OF_VFS", "8")) if found[name][2] == value}
    assert len(done) == 1, found
    second = configure(host, psid=CONNECTX5, parameters=PARAMETERS)
    assert [change.split()[1] for change in second["changes"]] == ["%s:" % name for name in PARAMETERS if name not in done]
    third = configure(host, psid=CONNECTX5, parameters=PARAMETERS)
    assert third["changed"] is False
    assert {name: row[2] for name, row in rows(host, pci, *PARAMETERS).items()} == {"LINK_TYPE_P1": "ETH(2)", "NUM_OF_VFS": "8"}
    assert restore(host)["changed"] is True


def test_a_killed_run_is_finished_by_the_next(host: Host, halfway: str) -> None:
    finish(host, halfway)
