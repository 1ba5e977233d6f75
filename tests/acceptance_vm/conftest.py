# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The virtual machines of the tests of this folder. RDMA_KEEP=1 leaves them up for a look."""

from __future__ import annotations

import collections.abc
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from cluster import Cluster
from driver_node import Node, vendor_node

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
    """One machine, for the driver of a vendor."""
    for cluster in running(PREFIX + "-driver", "driver"):
        with vendor_node(cluster) as node:
            yield node


def running(prefix: str, topology: str) -> collections.abc.Iterator[Cluster]:
    cluster = Cluster(prefix)
    try:
        cluster.command("up", "--kind", "vm", "--topology", topology)
        yield cluster
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")
