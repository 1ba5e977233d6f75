# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run is killed between setting and verifying: the next one does only what is left."""

from __future__ import annotations

import os
import pathlib
import subprocess
import time

import pytest
from firmware import CONNECTX5, RESTORE, Host, broken, configure, parsed, query, run, slot

PARAMETERS = {"LINK_TYPE_P1": "ETH", "NUM_OF_VFS": 8}
SECONDS_UNTIL_SET = 120


def stored(host: Host, pci: str) -> str:
    """Return the content of the card's non-volatile memory, without the tools, which hang while the card does."""
    return str(host.check_output("cxemu-ctl %s nv", pci))


def start(log: pathlib.Path) -> subprocess.Popen[bytes]:
    arguments = '{"devices": [{"psid": "%s", "parameters": {"LINK_TYPE_P1": "ETH", "NUM_OF_VFS": 8}}], "allow_container": true}' % CONNECTX5
    argv = ["ansible", "-i", os.environ["MOLECULE_INVENTORY_FILE"], "mixed", "-m", "rdma.ofed.mlxconfig", "-a", arguments]
    with log.open("wb") as stream:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT)


def wait_until_set(host: Host, pci: str, before: str) -> None:
    deadline = time.monotonic() + SECONDS_UNTIL_SET
    while stored(host, pci) == before:
        assert time.monotonic() < deadline, "nothing was set"
        time.sleep(0.2)


@pytest.fixture
def halfway(mixed: list[Host], tmp_path: pathlib.Path) -> str:
    """Return the address of the cards that have one of two parameters set. All processes of the run that set it are dead."""
    pci = slot(mixed, CONNECTX5)
    before = [stored(host, pci) for host in mixed]
    with broken(mixed[0], pci, "silent-after-set"), broken(mixed[1], pci, "silent-after-set"):
        killed = start(tmp_path / "log")
        for host, text in zip(mixed, before):
            wait_until_set(host, pci, text)
            # The module is killed first, so that it cannot react to the death of the tool.
            host.check_output("pkill --signal KILL --full --exact /usr/bin/python3; pkill --signal KILL -x timeout; pkill --signal KILL -x mstconfig")
        assert killed.wait(60) != 0
    return pci


@pytest.mark.proves("parameters", "interruption", debian12="look-alike", debian13="look-alike")
def test_a_killed_run_is_finished_by_the_next(mixed: list[Host], halfway: str) -> None:
    shown, wanted = query(halfway, *PARAMETERS), configure(psid=CONNECTX5, parameters=PARAMETERS)
    for found, second, third, left, back in run(mixed, shown, wanted, wanted, shown, RESTORE):
        values = parsed(found["stdout"])
        done = {name for name, value in (("LINK_TYPE_P1", "ETH(2)"), ("NUM_OF_VFS", "8")) if values[name][2] == value}
        assert len(done) == 1, found
        assert [change.split()[1] for change in second["changes"]] == ["%s:" % name for name in PARAMETERS if name not in done]
        assert (third["failed"], third["changed"]) == (False, False), third
        assert {name: row[2] for name, row in parsed(left["stdout"]).items()} == {"LINK_TYPE_P1": "ETH(2)", "NUM_OF_VFS": "8"}
        assert back["changed"] is True, back
