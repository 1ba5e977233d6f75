# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Versions that equal hosts should share and do not, from the results of `fabric_check`. Pure; linear in hosts.

None is a deviation by itself: an upgrade that goes on is one, too.
"""

from __future__ import annotations

import enum
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._hosts import fold, natural

if t.TYPE_CHECKING:
    from collections.abc import Mapping

_VENDORS = ("mlnx_ofed", "doca")


class What(str, enum.Enum):
    FIRMWARE = "firmware"
    """Of the adapters with one PSID."""
    STACK = "stack"
    """Of the hosts with a vendor's stack of one kind. What a distribution has is up to its release."""


class Difference(t.NamedTuple):
    """Several versions of one thing."""

    what: What
    of: str
    """A PSID, or the kind of a stack."""
    hosts: t.Mapping[str, tuple[str, ...]]
    """By version; that of most hosts first."""

    def result(self) -> dict[str, t.Any]:
        """In the shape of an entry of `differences`."""
        return {"what": self.what.value, "of": self.of, "hosts": {version: list(names) for version, names in self.hosts.items()}}


_WORDS: t.Mapping[What, str] = {What.FIRMWARE: "firmware of adapters with PSID %s", What.STACK: "release of %s"}


def differences_of(results: Mapping[str, Mapping[str, t.Any]]) -> list[Difference]:
    """`results` are those of `fabric_check`, by host."""
    seen: dict[tuple[What, str], dict[str, dict[str, None]]] = {}

    def see(of: tuple[What, str], version: str, host: str) -> None:
        if of[1] and version:
            seen.setdefault(of, {}).setdefault(version, {})[host] = None

    for host, result in results.items():
        for card in result.get("adapters") or ():
            see((What.FIRMWARE, str(card.get("psid", ""))), str(card.get("firmware", "")), host)
        stack = result.get("stack") or {}
        if stack.get("kind") in _VENDORS:
            see((What.STACK, str(stack["kind"])), str(stack.get("version", "")), host)
    return [Difference(what, of, _largest_first(versions)) for (what, of), versions in sorted(seen.items()) if len(versions) > 1]


def _largest_first(versions: Mapping[str, Mapping[str, None]]) -> dict[str, tuple[str, ...]]:
    return {version: tuple(versions[version]) for version in sorted(versions, key=lambda version: (-len(versions[version]), natural(version)))}


def lines(differences: t.Iterable[Difference]) -> list[str]:
    """`firmware of adapters with PSID MT_0000000008: 16.35.2000 on node[1-3], 16.35.4030 on node4`."""
    return [
        "%s: %s" % (_WORDS[each.what] % each.of, ", ".join("%s on %s" % (version, fold(names)) for version, names in each.hosts.items()))
        for each in differences
    ]
