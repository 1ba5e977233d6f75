# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every test begins with working cards in the declared state. Tests run on nodes of the same kind in parallel."""

from __future__ import annotations

import os
import pathlib
import sys
import typing as t

import pytest
import testinfra

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"]) / "tests/tools"))


def _nodes(*names: str) -> list[t.Any]:
    return [testinfra.get_host("ansible://%s?ansible_inventory=%s" % (name, os.environ["MOLECULE_INVENTORY_FILE"])) for name in names]


@pytest.fixture(scope="session")
def mixed() -> list[t.Any]:
    """Return the nodes with three kinds of cards, of Debian 12 and 13."""
    return _nodes("node1", "node2")


@pytest.fixture(scope="session")
def dense() -> list[t.Any]:
    """Return the nodes with eight identical cards, of Debian 12 and 13."""
    return _nodes("node3", "node4")
