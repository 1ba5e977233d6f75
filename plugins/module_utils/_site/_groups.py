# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings on many hosts, in a part of a screen: equal texts once, with their hosts. Pure; linear in hosts except for sorting."""

from __future__ import annotations

import collections
import re
import typing as t

from .._hosts import fold, sharing

# Up to this many lines, each text is shown in full.
MOST_LINES = 24
_MOST_NAMES = 120
# The parts that differ between hosts with the same fault: GUIDs, addresses, numbers, and quoted text.
_OWN = re.compile(r"0x[0-9a-fA-F]{1,64}|'[^']{0,99}'|[0-9][0-9a-fA-F.:]{0,63}")


class Group(t.NamedTuple):
    """Hosts with the same text."""

    hosts: list[str]
    text: str

    def line(self) -> str:
        return "%s: %s" % (hosts_in_short(self.hosts), self.text)


def hosts_in_short(names: t.Sequence[str]) -> str:
    """A short form of host names. If even that is long, it names the first ones and the total number."""
    text = fold(names)
    if len(text) <= _MOST_NAMES:
        return text
    return "%s ... (%d hosts)" % (re.sub(r"[ ,][^ ,]*\Z", "", text[:_MOST_NAMES]), len(names))


def grouped(found: t.Mapping[str, t.Iterable[str]], most: int = MOST_LINES) -> list[Group]:
    """Group texts with their hosts. With more than `most` groups, texts that differ only in values are merged and shown by their first text."""
    exact = [Group(hosts, text) for text, hosts in sharing(found).items()]
    return exact if len(exact) <= most else _alike(found)


def _alike(found: t.Mapping[str, t.Iterable[str]]) -> list[Group]:
    hosts: dict[tuple[str, int], list[str]] = {}
    texts: dict[tuple[str, int], dict[str, None]] = {}
    for host, own in found.items():
        # Similar texts on one host are about different objects.
        seen: t.Counter[str] = collections.Counter()
        for text in own:
            form = _OWN.sub("#", text)
            key = (form, seen[form])
            seen[form] += 1
            hosts.setdefault(key, []).append(host)
            texts.setdefault(key, {})[text] = None
    return [Group(names, _shown(list(texts[key]), names[0])) for key, names in hosts.items()]


def _shown(texts: t.Sequence[str], host: str) -> str:
    return texts[0] if len(texts) == 1 else "%s (as on %s; the values differ)" % (texts[0], host)


def lines(groups: t.Sequence[Group], most: int = MOST_LINES) -> list[str]:
    """One line per group; if they do not all fit, the groups with the most hosts come first."""
    if len(groups) <= most:
        return [group.line() for group in groups]
    kept = sorted(groups, key=lambda group: -len(group.hosts))
    left = {host for group in kept[most - 1 :] for host in group.hosts}
    return [*(group.line() for group in kept[: most - 1]), "and %d more, on %d hosts" % (len(kept) - most + 1, len(left))]
