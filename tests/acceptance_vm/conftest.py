# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two virtual machines for all tests of this folder. RDMA_KEEP=1 leaves them up for a look.

test_boot.py needs one only: RDMA_TOPOLOGY names another topology, such as one that is up.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from cluster import Cluster

PREFIX = os.environ.get("RDMALAB_PREFIX", "") or "rdma-machines"


@pytest.fixture(scope="session")
def lab() -> collections.abc.Iterator[Cluster]:
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--kind", "vm", "--topology", os.environ.get("RDMA_TOPOLOGY", "") or "machines")
        yield cluster
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")
