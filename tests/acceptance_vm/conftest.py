# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The virtual machines for the tests of this folder. RDMA_KEEP=1 keeps them up for inspection."""

from __future__ import annotations

import collections.abc
import hashlib
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from cluster import Cluster
from driver_node import COMPILERS, Node, vendor_node

# Leftovers of a run's labs are removed when the next run starts.
os.environ.setdefault("RDMALAB_RUN", str(os.getpid()))

BOOTED = "booted"
"""Snapshot of machines after their first boot."""
PREFIX = os.environ.get("RDMALAB_PREFIX", "") or "rdma-machines"


@pytest.fixture(scope="session")
def stacks() -> collections.abc.Iterator[Cluster]:
    """Yield four machines, one per network stack. Their tests come last: the machines of `lab` are down by then."""
    yield from running(PREFIX + "-stacks", "network-stacks")


@pytest.fixture(scope="module")
def lab() -> collections.abc.Iterator[Cluster]:
    yield from running(PREFIX, os.environ.get("RDMA_TOPOLOGY", "") or "machines")


@pytest.fixture(scope="module")
def driver() -> collections.abc.Iterator[Node]:
    """Yield one machine with compilers, for a vendor's driver."""
    for cluster in running(PREFIX + "-driver", "driver", COMPILERS):
        with vendor_node(cluster) as node:
            yield node


def running(prefix: str, topology: str, prepare: str = "") -> collections.abc.Iterator[Cluster]:
    """Yield machines that have just booted, or resume from a snapshot of that moment.

    With `prepare`, they are in the state after that script on node1, which must be idempotent.
    """
    cluster = Cluster(prefix)
    prepared = "prepared-%s" % hashlib.sha256(prepare.encode()).hexdigest()[:8]
    try:
        cluster.command("up", "--kind", "vm", "--topology", topology, "--from", prepared, "--from", BOOTED, "--keep", BOOTED)
        if prepare:
            cluster.command("shell", "node1", "sh", "-ec", prepare)
            cluster.command("save", prepared)
        yield cluster
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")
