# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A three-node lab shared by all tests of this folder, converged once. Each test leaves it verified."""

from __future__ import annotations

import collections.abc
import copy
import os
import pathlib
import sys
import typing as t

import pytest
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from cluster import Cluster, Run

# Leftovers of a run's labs are removed when the next run starts.
os.environ.setdefault("RDMALAB_RUN", str(os.getpid()))

PREFIX = os.environ.get("RDMALAB_PREFIX", "") or "rdma-accept"


def converge(cluster: Cluster, *arguments: str, inventory: pathlib.Path | None = None) -> Run:
    """Run site.yml and require success."""
    run = cluster.play("site", *arguments, inventory=inventory)
    assert run.status == 0, run.output
    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that do not use the lab of this folder: they can run beside those that do."""
    for item in items:
        if "lab" not in getattr(item, "fixturenames", ()):
            item.add_marker("own_lab")


@pytest.fixture(scope="session")
def lab() -> collections.abc.Iterator[Cluster]:
    """Yield three provisioned nodes. RDMA_KEEP=1 keeps them up for inspection."""
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "3-nodes")
        converge(cluster)
        yield cluster
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")


Edit = t.Callable[[t.Dict[str, t.Any]], None]


@pytest.fixture
def edited(lab: Cluster, tmp_path: pathlib.Path) -> t.Callable[[Edit], pathlib.Path]:
    """Return a function that writes a copy of the lab's inventory, edited by a given function."""

    def write(edit: Edit) -> pathlib.Path:
        inventory = copy.deepcopy(yaml.safe_load(lab.inventory.read_text(encoding="utf-8")))
        edit(inventory)
        path = tmp_path / "inventory.yml"
        path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        return path

    return write
