# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pending changes of hosts: parse, merge, choose what activates them, and render a table. Pure; linear in hosts except for sorting."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from .._errors import InvalidInput, Problem, require_none
from .._foreign import part
from .._hosts import fold, natural, sharing
from .._plain import plain
from .._plan import NEEDS, Change, Kind, Pending

_ACTIVATION = "A reload, reset or reboot is pending on %d of %d hosts: see rdma_allow_reload, rdma_allow_reset and rdma_allow_reboot."
_REBUILD = "Third-party modules do not fit the stack on %d of %d hosts: see ofed_rebuild_tasks."
_UPGRADE = "Another stack is pending on %d of %d hosts: rdma.ofed.upgrade installs it batch by batch. See rdma_allow_upgrade."


def pending_of(entries: t.Any, variable: str = "rdma_pending") -> tuple[Pending, ...]:
    """The inverse of `Pending.result`, for an Ansible list. Raises InvalidInput with every invalid entry; `variable` names the list."""
    entries = plain(entries)
    if not isinstance(entries, list):
        raise InvalidInput([Problem(variable, entries, "a list of pending changes, as the modules return them")])
    found: list[Pending] = []
    problems = []
    for index, entry in enumerate(entries):
        try:
            found.append(Pending.of_result(entry))
        except (KeyError, TypeError, ValueError):
            allowed = "a mapping with the keys kind, subject, aspect, before, after, needs (%s) and why" % ", ".join(NEEDS[1:])
            problems.append(Problem("%s[%d]" % (variable, index), entry, allowed))
    require_none(problems)
    return tuple(found)


def merge(*lists: Iterable[Pending]) -> tuple[Pending, ...]:
    """All entries, one per property of an object. The later entry wins: it reflects the present declaration and its needs."""
    return tuple({entry.change.key(): entry for entries in lists for entry in entries}.values())


def other_kernel(facts: Mapping[str, t.Any]) -> tuple[Pending, ...]:
    """The pending boot of another kernel, from the `rdma` facts of a node. A container or chroot boots no kernel."""
    kernels = part(facts, "kernels")
    running, following = str(kernels.get("running") or ""), str(kernels.get("next_boot") or "")
    if following in ("", running) or part(facts, "machine").get("kind") in ("container", "chroot"):
        return ()
    return (Pending(Change(Kind.KERNEL, "", "running", running, following, "reboot")),)


def render(pending: Mapping[str, Iterable[Pending]]) -> str:
    """One line per pending change, with the hosts that share it; "" if nothing is pending. `pending`: by host."""
    hosts = sharing(pending)
    if not hosts:
        return ""

    def order(entry: Pending) -> tuple[t.Any, ...]:
        """Sort by the first host, then by the strongest need."""
        return min(natural(host) for host in hosts[entry]), -NEEDS.index(entry.change.needs), *(natural(part) for part in entry.change.key())

    rows = [(fold(hosts[entry]), entry.words()) for entry in sorted(hosts, key=order)]
    width = max(len("hosts"), *(len(row[0]) for row in rows))
    table = ["%s  %s" % (left.ljust(width), right) for left, right in [("hosts", "pending"), ("-" * width, "-" * 7), *rows]]
    notes = []
    rebuilds, upgrades = [entry for entry in hosts if entry.is_rebuild], [entry for entry in hosts if entry.is_upgrade]
    others = [entry for entry in hosts if not entry.is_rebuild and not entry.is_upgrade]
    for note, chosen in ((_ACTIVATION, others), (_REBUILD, rebuilds), (_UPGRADE, upgrades)):
        waiting = len({host for entry in chosen for host in hosts[entry]})
        notes += [note % (waiting, len(pending))] if waiting else []
    return "\n".join([*table, "", *notes])


def activation(needs: t.Collection[str], *, allow_reload: bool = False, allow_reboot: bool = False, prefer_reboot: bool = False) -> str:
    """`reload`, `reboot` or "". `needs`: the needs of the pending changes.

    A reboot activates everything, so nothing is reloaded before it.
    """
    reload = "driver_reload" in needs
    if allow_reboot and ("device_reset" in needs or "reboot" in needs or (reload and (prefer_reboot or not allow_reload))):
        return "reboot"
    return "reload" if reload and allow_reload else ""
