# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Choose what activates the pending changes of adapters, as far as it is allowed. Pure."""

from __future__ import annotations

import typing as t

_REFUSAL = "refusing to reset: %s. Nothing was drained or reset. %s"
_BY_REBOOT = "rdma_allow_reboot: true activates it with a reboot instead"
_BY_DRAIN = "rdma_drain_tasks can stop what uses the cards first"


class Adapters(t.NamedTuple):
    """All adapters of a node, as mlxfwreset has found them."""

    needs: frozenset[str] = frozenset()
    blocked: tuple[str, ...] = ()
    """What blocks a reset, in words."""
    lasting: tuple[str, ...] = ()
    """The part of `blocked` that a drain does not end."""
    unknown: bool = False
    """Whether the node has adapters and none of them could be read completely."""


class Consents(t.NamedTuple):
    reset: bool = False
    reboot: bool = False
    drains: bool = False
    """Whether the site can drain the node."""
    cycles: bool = False
    """Whether the site can power-cycle the node. The node is away as in a reboot, so the consent to a reboot covers it."""


class Activation(t.NamedTuple):
    way: str = ""
    """`reset`, `reboot`, `power_cycle`, or ""."""
    refusal: str = ""
    """Why an allowed reset is impossible, in words, where nothing else is allowed."""
    due: bool = False
    """Whether a run would act, be it only to refuse."""


def adapters_of(entries: t.Iterable[t.Mapping[str, t.Any]]) -> Adapters:
    known = list(entries)

    def texts(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(text) for entry in known for text in entry.get(name) or ()))

    needs = frozenset(str(entry["needs"]) for entry in known if entry.get("needs"))
    unknown = bool(known) and all(entry.get("unknown") for entry in known)
    return Adapters(needs, blocked=texts("blocked_by"), lasting=texts("blocked_when_drained"), unknown=unknown)


def activation(adapters: Adapters, allowed: Consents) -> Activation:
    """One reset, reboot or power cycle for all adapters of the node."""
    if not adapters.needs:
        return Activation()
    if "cold_boot" in adapters.needs:
        cycles = allowed.reboot and allowed.cycles
        return Activation("power_cycle" if cycles else "", due=cycles)
    if not allowed.reset or adapters.needs != {"device_reset"}:
        return Activation("reboot" if allowed.reboot else "", due=allowed.reboot)
    obstacles = adapters.lasting if allowed.drains else adapters.blocked
    if not obstacles:
        return Activation("reset", due=True)
    # Where only users of an adapter block its reset, a reboot would disregard them.
    if allowed.reboot and adapters.lasting:
        return Activation("reboot", due=True)
    return Activation(refusal=_REFUSAL % ("; ".join(obstacles), _BY_REBOOT if adapters.lasting else _BY_DRAIN), due=True)
