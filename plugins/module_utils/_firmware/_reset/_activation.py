# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What makes the pending changes of adapters effective, as far as it is allowed. Pure."""

from __future__ import annotations

import typing as t

_REFUSAL = "refusing to reset: %s. Nothing was drained or reset. %s"
_BY_REBOOT = "rdma_allow_reboot: true makes it effective by a reboot instead"
_BY_DRAIN = "rdma_drain_tasks can end the use of the cards before"


class Adapters(t.NamedTuple):
    """All adapters of a node, as mlxfwreset has found them."""

    needs: frozenset[str] = frozenset()
    blocked: tuple[str, ...] = ()
    """What stands against a reset, in words."""
    lasting: tuple[str, ...] = ()
    """What of it a drain does not end."""
    unknown: bool = False
    """Whether there are any, and none of them could be read to the end."""


class Consents(t.NamedTuple):
    reset: bool = False
    reboot: bool = False
    drains: bool = False
    """Whether the site can end the use of the node."""
    cycles: bool = False
    """Whether it can switch the node off and on. The node is away as for a reboot, so the consent is that to a reboot."""


class Activation(t.NamedTuple):
    way: str = ""
    """`reset`, `reboot`, `power_cycle`, or nothing."""
    refusal: str = ""
    """Why a reset that is allowed is impossible, in words, where nothing else is allowed."""
    due: bool = False
    """Whether a run would do something about it, were it only to refuse."""


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
    # Where only the users of an adapter block its reset, a reboot would ignore them.
    if allowed.reboot and adapters.lasting:
        return Activation("reboot", due=True)
    return Activation(refusal=_REFUSAL % ("; ".join(obstacles), _BY_REBOOT if adapters.lasting else _BY_DRAIN), due=True)
