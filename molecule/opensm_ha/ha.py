# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes of the lab, runs of the playbooks on them, and a probe that asks the fabric for its masters."""

from __future__ import annotations

import collections.abc
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import typing as t

PROJECT = pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
sys.path.insert(0, str(PROJECT / "tests/tools"))

import tasks

INVENTORY = os.environ["MOLECULE_INVENTORY_FILE"]
NODES = ("node1", "node2", "node3")
UNIT = "rdma-opensm@ib"
# Where the probe runs: a host that is never designated in these tests.
WITNESS = "node3"

# Is there a master at the LID of the one, of the other, and still of the one? Only if both ends of that sandwich answer "master",
# two were master at the same time. An answer takes a millisecond; a node without power gives none.
PROBE = """
rm -f /tmp/probe.stop
ask() { timeout 1 sminfo -t 200 "$1" 2>/dev/null | grep -q SMINFO_MASTER && echo 1 || echo 0; }
while [ ! -e /tmp/probe.stop ]; do echo "sample $(date +%%s.%%N) $(ask %(one)s) $(ask %(two)s) $(ask %(one)s)"; done
"""


# The installed package in a later version, without scripts.
NEXT_PACKAGE = """
set -e
rm -rf /tmp/next && mkdir -p /tmp/next/DEBIAN
dpkg-query -s opensm | sed -e '/^Status:/d' -e '/^Conffiles:/,/^[A-Z]/{/^Conffiles:/d; /^ /d}' -e 's/^Version: .*/&+next/' >/tmp/next/DEBIAN/control
dpkg -L opensm | while read -r path; do [ -d "$path" ] || [ ! -e "$path" ] || cp --archive --parents "$path" /tmp/next; done
dpkg-deb --build --root-owner-group /tmp/next /tmp/next.deb >/dev/null
DEBIAN_FRONTEND=noninteractive dpkg --install --force-confold /tmp/next.deb
rm -r /tmp/next /tmp/next.deb
"""


class Sample(t.NamedTuple):
    """One question to both."""

    when: float
    one: bool
    two: bool
    one_again: bool


def lab(*arguments: str, check: bool = True) -> str:
    """A command of the lab."""
    argv = [sys.executable, str(PROJECT / "tests/lab/lab"), *arguments]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    assert not check or done.returncode == 0, done.stdout
    return done.stdout


def shell(node: str, script: str, check: bool = True) -> str:
    return lab("shell", node, "sh", "-c", script, check=check).strip()


def _start(*argv: str) -> subprocess.Popen[str]:
    env = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
    return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


def begin(inventory: str, playbook: str, *arguments: str) -> subprocess.Popen[str]:
    """A run that goes on while the test does, of a playbook of the collection or of a file."""
    name = playbook if playbook.endswith(".yml") else "rdma.ofed.%s" % playbook
    return _start("ansible-playbook", "-i", inventory, name, *arguments)


def end(process: subprocess.Popen[str], fails: bool = False) -> str:
    """What the run said; whether it failed is as it shall be."""
    output, _nothing = process.communicate(timeout=600)
    assert (process.returncode != 0) == fails, output
    return output


def site(*arguments: str, inventory: str = INVENTORY, fails: bool = False) -> str:
    return end(begin(inventory, "site", *arguments), fails)


def designated(folder: pathlib.Path, *order: str) -> str:
    """An inventory of these hosts alone, in which the first one is designated and the others follow in this order."""
    hosts = {}
    for rank, node in enumerate(order):
        hosts[node] = {**json.loads(_output("ansible-inventory", "-i", INVENTORY, "--host", node)), "opensm_rank": rank}
    inventory = {"all": {"children": {"rdma": {"hosts": hosts}, "opensm": {"hosts": {node: {} for node in order}}}}}
    path = folder / ("%s.yml" % order[0])
    path.write_text(json.dumps(inventory), encoding="utf-8")
    return str(path)


def _output(*argv: str) -> str:
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=True).stdout


def infos(*nodes: str) -> dict[str, dict[str, t.Any]]:
    """What opensm_info says on these nodes."""
    found = tasks.run(INVENTORY, nodes, [tasks.module("opensm_info", known_hosts=list(NODES))])
    for (result,) in found.values():
        assert not result["failed"], result
    return {node: result for node, (result,) in found.items()}


def managers(*nodes: str) -> dict[str, dict[str, tuple[str, int]]]:
    """State and priority of each subnet manager of the fabric, by host, as each of these nodes sees them."""
    found = {}
    for node, result in infos(*nodes).items():
        (fabric,) = result["fabrics"]
        assert fabric["problem"] == "", fabric
        found[node] = {manager["host"]: (manager["state"], manager["priority"]) for manager in fabric["managers"]}
    return found


def wait_for_managers(wanted: dict[str, tuple[str, int]], seconds: float) -> None:
    """As the fabric lists them: the master keeps one that has ended until it has swept."""
    deadline = time.monotonic() + seconds
    while (found := managers(WITNESS)[WITNESS]) != wanted:
        assert time.monotonic() < deadline, "after %g s, the fabric lists %s, not %s" % (seconds, found, wanted)


def process(node: str) -> int:
    """That of our subnet manager; 0 for none."""
    return int(shell(node, "systemctl show -p MainPID --value %s" % UNIT))


def processes() -> dict[str, int]:
    return {node: process(node) for node in NODES}


def master() -> str:
    """What the fabric says of its master, a GUID; "" for none."""
    found = re.search(r"guid (0x[0-9a-f]+),.*SMINFO_MASTER", shell(WITNESS, "sminfo", check=False))
    return found[1] if found else ""


def guid(node: str) -> str:
    return hex(int(shell(node, "cat /sys/class/infiniband/*/ports/1/gids/0").replace(":", "")[-16:], 16))


def wait_for_master(node: str, seconds: float) -> None:
    wanted, deadline = guid(node), time.monotonic() + seconds
    while master() != wanted:
        assert time.monotonic() < deadline, "%s is no master after %g s: %s" % (node, seconds, infos(WITNESS))
        time.sleep(0.3)


def lid(node: str) -> int:
    return int(shell(node, "cat /sys/class/infiniband/*/ports/1/lid"), 16)


def lids() -> dict[str, int]:
    return {node: lid(node) for node in NODES}


def pkeys(node: str) -> set[int]:
    """The P_Key table of the first port of a node, as the fabric has it."""
    answer = shell(WITNESS, "smpquery pkeys %d 1" % lid(node))
    return {int(word, 16) for word in re.findall(r"0x[0-9a-fA-F]{4}\b", answer)} - {0}


@contextlib.contextmanager
def probing(one: str, two: str) -> collections.abc.Iterator[list[Sample]]:
    """Samples while the block runs; the list is filled when it ends."""
    samples: list[Sample] = []
    script = PROBE % {"one": lid(one), "two": lid(two)}
    process = _start(sys.executable, str(PROJECT / "tests/lab/lab"), "shell", WITNESS, "sh", "-c", script)
    try:
        time.sleep(1)
        yield samples
    finally:
        time.sleep(1)
        shell(WITNESS, "touch /tmp/probe.stop")
        output, _nothing = process.communicate(timeout=60)
        lines = [line.split()[1:] for line in output.splitlines() if line.startswith("sample ")]
        samples += [Sample(float(when), *(answer == "1" for answer in answers)) for when, *answers in lines]


def longest_gap(samples: t.Sequence[Sample]) -> float:
    """The longest time between two samples with a master, seconds."""
    times = [sample.when for sample in samples if sample.one or sample.two or sample.one_again]
    return max((later - earlier for earlier, later in zip(times, times[1:])), default=0.0)


def longest_pause(samples: t.Sequence[Sample]) -> float:
    """The longest time that the probe itself was made to wait between two samples, seconds."""
    return max((later.when - earlier.when for earlier, later in zip(samples, samples[1:])), default=0.0)


def masters_at_once(samples: t.Sequence[Sample]) -> int:
    """Samples in which both were master for certain."""
    return sum(1 for sample in samples if sample.one and sample.two and sample.one_again)
