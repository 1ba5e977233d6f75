# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The virtual machines of the tests of this folder. RDMA_KEEP=1 leaves them up for a look."""

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

# What is left of the labs of a run goes when the next one starts.
os.environ.setdefault("RDMALAB_RUN", str(os.getpid()))

BOOTED = "booted"
"""The snapshot of machines that have booted for the first time."""
PREFIX = os.environ.get("RDMALAB_PREFIX", "") or "rdma-machines"


@pytest.fixture(scope="session")
def stacks() -> collections.abc.Iterator[Cluster]:
    """Four machines, one for each network stack. The tests on them come last: those of lab are down by then."""
    yield from running(PREFIX + "-stacks", "network-stacks")


@pytest.fixture(scope="module")
def lab() -> collections.abc.Iterator[Cluster]:
    yield from running(PREFIX, os.environ.get("RDMA_TOPOLOGY", "") or "machines")


@pytest.fixture(scope="module")
def driver() -> collections.abc.Iterator[Node]:
    """One machine with compilers, for the driver of a vendor."""
    for cluster in running(PREFIX + "-driver", "driver", COMPILERS):
        with vendor_node(cluster) as node:
            yield node


def running(prefix: str, topology: str, prepare: str = "") -> collections.abc.Iterator[Cluster]:
    """Machines that have just booted, or go on from a snapshot of that moment.

    With `prepare`, from the end of that script on node1, which does nothing a second time.
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
