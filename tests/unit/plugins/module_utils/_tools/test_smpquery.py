# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""smpquery nodedesc: C(Node Description:), dots up to column 32, the description."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools._smpquery import parse_node_description
from hypothesis import given
from hypothesis import strategies as st


def printed(description: str) -> str:
    """What smpquery.c prints: as many dots as fill 32 columns together with the description."""
    return "Node Description:%s%s\n" % ("." * max(0, 32 - len(description)), description)


@pytest.mark.parametrize("description", ["node1", "node1.example.org mlx5_0", "MT4119 ConnectX5   Mellanox Technologies"])
def test_description(description: str) -> None:
    assert parse_node_description(printed(description)) == description


@given(st.text(alphabet="abcXYZ019 -_", min_size=0, max_size=64).map(str.strip))
def test_any_description(description: str) -> None:
    assert parse_node_description(printed(description)) == description


def test_anything_else_is_no_description() -> None:
    assert parse_node_description("no route\n") == ""
