# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What waits for a reload, reset or reboot on all hosts of a run, as one plain table. Pure; linear in hosts but for sorting."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LAST_NUMBER = re.compile(r"^(.*?)(\d+)(\D*)$")


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts C(node2) before C(node10)."""
    return tuple((0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in re.split(r"([0-9]+)", name))


def _are_neighbours(one: str, other: str) -> bool:
    """C(9) and C(10), C(08) and C(09); but not C(08) and C(9), which no span of one notation means."""
    return int(one) + 1 == int(other) and (len(one) == len(other) or "0" not in (one[0], other[0]))


def _spans(numbers: list[str]) -> str:
    """C(1-3,7) for digits in order."""
    spans: list[list[str]] = []
    for number in numbers:
        if spans and _are_neighbours(spans[-1][-1], number):
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ",".join("-".join(span) for span in spans)


def fold(names: Iterable[str]) -> str:
    """Host names in short: C(node[1-3,7] login). The last number of a name is the one that counts up."""
    families: dict[tuple[str, str, bool], list[str]] = {}
    for name in sorted(set(names), key=natural):
        match = _LAST_NUMBER.match(name)
        prefix, number, suffix = match.groups() if match and match[2].isascii() else (name, "", "")
        families.setdefault((prefix, suffix, bool(number)), []).append(number)
    words = []
    for (prefix, suffix, _counts), numbers in families.items():
        words.append(prefix + (numbers[0] if len(numbers) == 1 else "[%s]" % _spans(numbers)) + suffix)
    return " ".join(words)


def render(pending: Mapping[str, Iterable[str]]) -> str:
    """One line for everything that waits, with the hosts on which it does; C(pending) is that of each host. "" if nothing waits."""
    hosts: dict[str, list[str]] = {}
    for host, lines in pending.items():
        for line in lines:
            hosts.setdefault(line, []).append(host)
    if not hosts:
        return ""
    first = {line: min(natural(name) for name in names) for line, names in hosts.items()}
    rows = [(fold(hosts[line]), line) for line in sorted(hosts, key=lambda line: (first[line], natural(line)))]
    width = max(len("hosts"), *(len(row[0]) for row in rows))
    table = ["%s  %s" % (left.ljust(width), right) for left, right in [("hosts", "pending"), ("-" * width, "-" * 7), *rows]]
    waiting = len({host for names in hosts.values() for host in names})
    what = "is pending on %d of %d hosts: see rdma_allow_reload, rdma_allow_reset and rdma_allow_reboot." % (waiting, len(pending))
    return "\n".join([*table, "", "A reload, reset or reboot %s" % what])
