# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The pending changes of hosts: reading, merging, what makes them effective, and one plain table. Pure; linear in hosts but for sorting."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal
from ansible_collections.rdma.ofed.plugins.module_utils._plan import NEEDS, Pending

_ACTIVATION = "A reload, reset or reboot is pending on %d of %d hosts: see rdma_allow_reload, rdma_allow_reset and rdma_allow_reboot."
_UPGRADE = "Another stack is pending on %d of %d hosts: rdma.ofed.upgrade installs it batch by batch. See rdma_allow_upgrade."
_LAST_NUMBER = re.compile(r"^(.*?)([0-9]{1,18})([^0-9]*)$")


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts `node2` before `node10`."""
    return tuple((1, 0, part) if decimal(part) is None else (0, decimal(part, 0), "") for part in re.split(r"([0-9]+)", name))


def _are_neighbours(one: str, other: str) -> bool:
    """`9` and `10`, `08` and `09`; but not `08` and `9`, for which a span has no notation."""
    return decimal(one, 0) + 1 == decimal(other, 0) and (len(one) == len(other) or "0" not in (one[0], other[0]))


def _spans(numbers: list[str]) -> str:
    """`1-3,7` for digits in order."""
    spans: list[list[str]] = []
    for number in numbers:
        if spans and _are_neighbours(spans[-1][-1], number):
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ",".join("-".join(span) for span in spans)


def fold(names: Iterable[str]) -> str:
    """Host names in short: `node[1-3,7] login`. The last number of a name is the one that counts up."""
    families: dict[tuple[str, str, bool], list[str]] = {}
    for name in sorted(set(names), key=natural):
        match = _LAST_NUMBER.match(name)
        prefix, number, suffix = match.groups() if match and match[2].isascii() else (name, "", "")
        families.setdefault((prefix, suffix, bool(number)), []).append(number)
    words = []
    for (prefix, suffix, _counts), numbers in families.items():
        words.append(prefix + (numbers[0] if len(numbers) == 1 else "[%s]" % _spans(numbers)) + suffix)
    return " ".join(words)


def pending_of(entries: t.Any, variable: str = "rdma_pending") -> tuple[Pending, ...]:
    """The inverse of `Pending.result` for a list. Raises InvalidInput with every entry that is none; `variable` names the list."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise InvalidInput([Problem(variable, entries, "a list of pending changes, as the modules return them")])
    found: list[Pending] = []
    problems = []
    for index, entry in enumerate(entries):
        try:
            found.append(Pending.of_result(entry))
        except (KeyError, TypeError, ValueError):
            allowed = "a mapping with the keys kind, subject, aspect, before, after, needs (%s) and why" % ", ".join(NEEDS[1:])
            problems.append(Problem("%s[%d]" % (variable, index), entry, allowed))
    if problems:
        raise InvalidInput(problems)
    return tuple(found)


def merge(*lists: Iterable[Pending]) -> tuple[Pending, ...]:
    """All entries, each change once. Of two entries for the same change, the later one counts: it knows better what the change needs."""
    return tuple({(*entry.change.key(), entry.change.after): entry for entries in lists for entry in entries}.values())


def render(pending: Mapping[str, Iterable[Pending]]) -> str:
    """One line for each pending change, with the hosts that share it; `pending` is by host. "" if nothing is pending."""
    hosts: dict[Pending, list[str]] = {}
    for host, entries in pending.items():
        for entry in entries:
            hosts.setdefault(entry, []).append(host)
    if not hosts:
        return ""

    def order(entry: Pending) -> tuple[t.Any, ...]:
        """By the first host, and what needs most first."""
        return min(natural(host) for host in hosts[entry]), -NEEDS.index(entry.change.needs), *(natural(part) for part in entry.change.key())

    rows = [(fold(hosts[entry]), entry.words()) for entry in sorted(hosts, key=order)]
    width = max(len("hosts"), *(len(row[0]) for row in rows))
    table = ["%s  %s" % (left.ljust(width), right) for left, right in [("hosts", "pending"), ("-" * width, "-" * 7), *rows]]
    notes = []
    for note, chosen in ((_ACTIVATION, [entry for entry in hosts if not entry.is_upgrade]), (_UPGRADE, [entry for entry in hosts if entry.is_upgrade])):
        waiting = len({host for entry in chosen for host in hosts[entry]})
        notes += [note % (waiting, len(pending))] if waiting else []
    return "\n".join([*table, "", *notes])


def activation(needs: t.Collection[str], *, allow_reload: bool = False, allow_reboot: bool = False, prefer_reboot: bool = False) -> str:
    """`reload`, `reboot` or "". `needs` are those of the pending changes.

    One reboot makes everything effective, so nothing is reloaded before it.
    """
    reload = "driver_reload" in needs
    if allow_reboot and ("device_reset" in needs or "reboot" in needs or (reload and (prefer_reboot or not allow_reload))):
        return "reboot"
    return "reload" if reload and allow_reload else ""
