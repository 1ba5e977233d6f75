# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the pending changes of adapters take effect: what they need, what prevents it, and what is allowed."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset._activation import Activation, Adapters, Consents, activation, adapters_of

RESET, COLD, BOTH = frozenset({"device_reset"}), frozenset({"cold_boot"}), frozenset({"device_reset", "reboot"})
USED, CARRIES = "mlx5_0 is in use", "mlx5_0 carries the connection"


@pytest.mark.parametrize(
    "adapters, allowed, way",
    [
        (Adapters(), Consents(True, True, True, True), ""),
        (Adapters(RESET), Consents(), ""),
        (Adapters(RESET), Consents(reset=True), "reset"),
        (Adapters(RESET), Consents(reset=True, reboot=True), "reset"),
        (Adapters(RESET), Consents(reboot=True), "reboot"),
        (Adapters(BOTH), Consents(reset=True), ""),
        (Adapters(BOTH), Consents(reset=True, reboot=True), "reboot"),
        # Uses that a drain ends do not prevent a reset.
        (Adapters(RESET, (USED,)), Consents(reset=True, drains=True), "reset"),
        # A reboot would disregard the users.
        (Adapters(RESET, (USED,)), Consents(reset=True, reboot=True), ""),
        (Adapters(RESET, (USED, CARRIES), (CARRIES,)), Consents(reset=True, drains=True), ""),
        (Adapters(RESET, (USED, CARRIES), (CARRIES,)), Consents(reset=True, reboot=True), "reboot"),
        # Only the site can power-cycle a node.
        (Adapters(COLD), Consents(reset=True, reboot=True), ""),
        (Adapters(COLD), Consents(cycles=True), ""),
        (Adapters(COLD), Consents(reboot=True, cycles=True), "power_cycle"),
        (Adapters(COLD | RESET), Consents(reset=True, reboot=True, cycles=True), "power_cycle"),
    ],
)
def test_one_way_makes_all_effective(adapters: Adapters, allowed: Consents, way: str) -> None:
    assert activation(adapters, allowed).way == way


def test_an_impossible_reset_is_refused_with_what_helps() -> None:
    used = activation(Adapters(RESET, (USED,)), Consents(reset=True, reboot=True))
    assert used == Activation(
        refusal="refusing to reset: %s. Nothing was drained or reset. rdma_drain_tasks can stop what uses the cards first" % USED, due=True
    )
    lasting = activation(Adapters(RESET, (USED, CARRIES), (CARRIES,)), Consents(reset=True))
    assert lasting.refusal.startswith("refusing to reset: %s; %s. Nothing" % (USED, CARRIES))
    assert lasting.refusal.endswith("rdma_allow_reboot: true activates it with a reboot instead")
    drained = activation(Adapters(RESET, (USED, CARRIES), (CARRIES,)), Consents(reset=True, drains=True))
    assert USED not in drained.refusal and CARRIES in drained.refusal


def test_nothing_happens_without_consent_and_what_happens_was_due() -> None:
    needs = [frozenset(some) for count in range(4) for some in itertools.combinations(("device_reset", "reboot", "cold_boot"), count)]
    blocks: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ()), ((USED,), ()), ((USED, CARRIES), (CARRIES,))]
    for some, (blocked, lasting), consents in itertools.product(needs, blocks, itertools.product((False, True), repeat=4)):
        allowed = Consents(*consents)
        found = activation(Adapters(some, blocked, lasting), allowed)
        assert not (found.way and found.refusal)
        assert found.due == bool(found.way or found.refusal)
        assert allowed.reset or (found.way != "reset" and not found.refusal)
        assert allowed.reboot or found.way not in ("reboot", "power_cycle")
        assert found.way != "reset" or some == RESET


def test_the_adapters_of_a_node_count_together() -> None:
    entries: list[dict[str, t.Any]] = [
        {"needs": "device_reset", "blocked_by": [USED], "blocked_when_drained": [], "unknown": []},
        {"needs": "", "blocked_by": [USED, CARRIES], "blocked_when_drained": [CARRIES], "unknown": ["NUM_OF_VFS"]},
    ]
    assert adapters_of(entries) == Adapters(RESET, (USED, CARRIES), (CARRIES,), False)
    assert adapters_of(entries[1:]).unknown and not adapters_of([]).unknown
