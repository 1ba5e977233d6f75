# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

from labctl import _swap, _topology

TOPOLOGY = pathlib.Path(__file__).resolve().parents[2] / "lab/topologies/3-nodes.topo"


def test_only_the_guids_of_the_node_change() -> None:
    text = TOPOLOGY.read_text(encoding="utf-8")
    before = _topology.parse(text).nodes
    after = _topology.parse(_swap.swapped(text, before[1])).nodes
    assert (after[0], after[2]) == (before[0], before[2])
    (old,), (new,) = before[1].hcas, after[1].hcas
    assert (old.guid, new.guid, new.system_guid) == (0x2C90300001010, 0x2C90310001010, 0x2C90310001010)
    assert (new.description, new.device_id) == (old.description, old.device_id)
    assert [link.peer for link in new.links] == [link.peer for link in old.links]
    # The switch knows it by its new name.
    assert '[2]\t"H-0002c90310001010"[1](2c90310001011)' in _swap.swapped(text, before[1])
