# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes of the lab, playbook runs on them, and a probe that queries the fabric for its masters."""

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

import ansible_runs
import tasks

INVENTORY = os.environ["MOLECULE_INVENTORY_FILE"]
NODES = ("node1", "node2", "node3")
UNIT = "rdma-opensm@ib"
# Host of the probe, which is never designated in these tests.
WITNESS = "node3"

# Queries one LID for a master, then the other, then the first again. Only if the first, the middle and the last query all answer "master", two subnet managers
# were master at the same time. An answer takes a millisecond; a node without power sends none.
PROBE = """
rm -f /tmp/probe.stop
ask() { timeout 1 sminfo -t 200 "$1" 2>/dev/null | grep -q SMINFO_MASTER && echo 1 || echo 0; }
while [ ! -e /tmp/probe.stop ]; do echo "sample $(date +%%s.%%N) $(ask %(one)s) $(ask %(two)s) $(ask %(one)s)"; done
"""


# A later version of the installed package, without scripts.
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
    """One query of both subnet managers."""

    when: float
    one: bool
    two: bool
    one_again: bool


def lab(*arguments: str, check: bool = True) -> str:
    """Run a command of the lab."""
    argv = [sys.executable, str(PROJECT / "tests/lab/lab"), *arguments]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    assert not check or done.returncode == 0, done.stdout
    return done.stdout


def shell(node: str, script: str, check: bool = True) -> str:
    return lab("shell", node, "sh", "-c", script, check=check).strip()


def _start(*argv: str) -> subprocess.Popen[str]:
    env = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
    return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


def _name(playbook: str) -> str:
    return playbook if playbook.endswith(".yml") else "rdma.ofed.%s" % playbook


def begin(inventory: str, playbook: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a run of a playbook, of the collection or from a file, in the background."""
    return _start("ansible-playbook", "-i", inventory, _name(playbook), *arguments)


def play(inventory: str, playbook: str, *arguments: str, fails: bool = False) -> str:
    """Run a playbook, of the collection or from a file, and return its output. It must succeed or fail as expected."""
    argv = ["-i", inventory, _name(playbook), *arguments]
    environ = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
    done = ansible_runs.run("playbook", argv, folder=pathlib.Path.cwd(), environ=environ, merged=True)
    assert (done.status != 0) == fails, done.shown
    return done.shown


def end(process: subprocess.Popen[str]) -> str:
    """Wait for a run, which must succeed, and return its output."""
    output, _nothing = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return output


def site(*arguments: str, inventory: str = INVENTORY, fails: bool = False) -> str:
    return play(inventory, "site", *arguments, fails=fails)


def designated(folder: pathlib.Path, *order: str) -> str:
    """Return an inventory of only these hosts: the first is designated, the others are standbys in this order."""
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
    """Return the results of opensm_info on these nodes."""
    found = tasks.run(INVENTORY, nodes, [tasks.module("opensm_info", known_hosts=list(NODES))])
    for (result,) in found.values():
        assert not result["failed"], result
    return {node: result for node, (result,) in found.items()}


def managers(*nodes: str) -> dict[str, dict[str, tuple[str, int]]]:
    """Return state and priority of each subnet manager by host, as seen by each of these nodes."""
    found = {}
    for node, result in infos(*nodes).items():
        (fabric,) = result["fabrics"]
        assert fabric["problem"] == "", fabric
        found[node] = {manager["host"]: (manager["state"], manager["priority"]) for manager in fabric["managers"]}
    return found


def wait_for_managers(wanted: dict[str, tuple[str, int]], seconds: float) -> None:
    """Wait until the fabric lists these subnet managers: the master keeps one that has exited until its next sweep."""
    deadline = time.monotonic() + seconds
    while (found := managers(WITNESS)[WITNESS]) != wanted:
        assert time.monotonic() < deadline, "after %g s, the fabric lists %s, not %s" % (seconds, found, wanted)


def process(node: str) -> int:
    """Return the process of the collection's subnet manager, 0 if there is none."""
    return int(shell(node, "systemctl show -p MainPID --value %s" % UNIT))


def processes() -> dict[str, int]:
    return {node: process(node) for node in NODES}


def master() -> str:
    """Return the port GUID of the fabric's master, "" if there is none."""
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
    """Return the P_Key table of a node's first port on the fabric."""
    answer = shell(WITNESS, "smpquery pkeys %d 1" % lid(node))
    return {int(word, 16) for word in re.findall(r"0x[0-9a-fA-F]{4}\b", answer)} - {0}


@contextlib.contextmanager
def probing(one: str, two: str) -> collections.abc.Iterator[list[Sample]]:
    """Sample while the block runs. The list is filled when the block ends."""
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
    """Return the longest time without a master between two samples, in seconds."""
    times = [sample.when for sample in samples if sample.one or sample.two or sample.one_again]
    return max((later - earlier for earlier, later in zip(times, times[1:])), default=0.0)


def longest_pause(samples: t.Sequence[Sample]) -> float:
    """Return the longest time that the probe itself was delayed between two samples, in seconds."""
    return max((later.when - earlier.when for earlier, later in zip(samples, samples[1:])), default=0.0)


def masters_at_once(samples: t.Sequence[Sample]) -> int:
    """Return the number of samples that prove two masters."""
    return sum(1 for sample in samples if sample.one and sample.two and sample.one_again)
