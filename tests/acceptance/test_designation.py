# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The designation moves to another host: never two masters at a time, and the right one at the end."""

from __future__ import annotations

import collections.abc
import contextlib
import pathlib
import subprocess
import time
import typing as t

import pytest
from cluster import Cluster
from conftest import converge
from proofs import REAL

# Runs on a third node, about ten times a second: queries one LID for a master, then the other, then the first again. Only if the first and last query and the
# middle one all answer "master", two subnet managers were master at the same time.
SAMPLER = """
rm -f /tmp/sampler.stop
ask() { timeout 1 sminfo -t 50 "$1" 2>/dev/null | grep -q SMINFO_MASTER && echo 1 || echo 0; }
while [ ! -e /tmp/sampler.stop ]; do echo "sample $(ask %(one)s) $(ask %(two)s) $(ask %(one)s)"; sleep 0.05; done
"""


def lid(lab: Cluster, node: str) -> str:
    return lab.shell(node, "cat /sys/class/infiniband/*/ports/1/lid").stdout.strip()


@contextlib.contextmanager
def sampling(lab: Cluster, one: str, two: str) -> collections.abc.Iterator[list[tuple[int, ...]]]:
    """Sample from node3 while the block runs. The list is filled when the block ends."""
    samples: list[tuple[int, ...]] = []
    script = SAMPLER % {"one": lid(lab, one), "two": lid(lab, two)}
    process = subprocess.Popen([*lab.lab, "shell", "node3", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        time.sleep(1)
        yield samples
    finally:
        lab.shell("node3", "touch /tmp/sampler.stop")
        output, _errors = process.communicate(timeout=60)
        samples += [tuple(int(word) for word in line.split()[1:]) for line in output.splitlines() if line.startswith("sample ")]


def designate(node: str) -> t.Callable[[dict[str, t.Any]], None]:
    def edit(inventory: dict[str, t.Any]) -> None:
        inventory["all"]["children"]["opensm"]["hosts"] = {node: {}}

    return edit


@pytest.mark.quick
@pytest.mark.proves("handover", debian12=REAL)
def test_the_designation_moves_and_there_are_never_two_masters(lab: Cluster, edited: t.Callable[..., pathlib.Path]) -> None:
    for old, new in (("node1", "node2"), ("node2", "node1")):
        inventory = edited(designate(new))
        with sampling(lab, old, new) as samples:
            converge(lab, inventory=inventory)
        assert (1, 1, 1) not in samples
        # On a busy machine, queries time out. Those samples, and a handover, look like a fabric without a master.
        answered = [sample for sample in samples if any(sample)]
        assert len(answered) >= 5, samples
        first, last = answered[0], answered[-1]
        assert not first[1] and (first[0] or first[2])
        assert last[1] and not (last[0] or last[2])
        assert lab.play("verify", inventory=inventory).status == 0
        assert lab.shell(old, "systemctl is-enabled opensm").stdout.strip() == "masked"


@pytest.mark.proves("handover", "adopted", debian12=REAL)
def test_what_somebody_started_on_another_host_is_stopped_once_ours_stands_by_and_the_run_ends_with_a_master(lab: Cluster) -> None:
    guid = lab.shell("node3", "cat /sys/class/infiniband/*/ports/1/gids/0").stdout.strip()
    stranger = hex(int(guid.replace(":", "")[16:], 16))
    assert lab.shell("node3", "apt-get install -qq --yes opensm >/dev/null 2>&1 && opensm --daemon --priority 15 >/dev/null").returncode == 0
    try:
        # If a message between the two gets lost, their time limit of 40 s passes first.
        ask = "for i in $(seq 500); do sminfo | grep -q 'guid %s,.*MASTER' && exit 0; sleep 0.5; done; sminfo; exit 1" % stranger
        found = lab.shell("node2", ask)
        assert found.returncode == 0, found.stdout
        converge(lab)
        after = lab.shell("node2", "sminfo").stdout
        assert stranger not in after
        assert "SMINFO_MASTER" in after
        assert lab.shell("node3", "pgrep -x opensm").stdout == ""
    finally:
        lab.shell("node3", "pkill -x opensm; apt-get purge -qq --yes opensm >/dev/null 2>&1")
