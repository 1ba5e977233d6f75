# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The names of the collection's variables, and the one that a misspelt name may mean. Pure."""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._schema import (
    _fabric_check,
    _gpudirect,
    _hca_firmware,
    _ipoib,
    _kernel_modules,
    _node_service,
    _ofed,
    _opensm,
    _site,
    _soft_rdma,
)

# The facts are no variables to set, but no misspellings either.
_NAMES = frozenset(("rdma_pending",)).union(
    *(table.VARIABLES for table in (_fabric_check, _gpudirect, _hca_firmware, _ipoib, _kernel_modules, _node_service, _ofed, _opensm, _site, _soft_rdma))
)
_PREFIXES = ("ofed_", "kernel_modules_", "ipoib_", "opensm_", "fabric_check_", "hca_firmware_", "gpudirect_", "soft_rdma_", "node_service_", "rdma_")
KNOWN: t.Mapping[str, frozenset[str]] = {prefix: frozenset(name[len(prefix) :] for name in _NAMES if name.startswith(prefix)) for prefix in _PREFIXES}
# Of the whole site, without a prefix.
PLAIN = frozenset(("fabric",))

# A name made longer or shorter by a letter or two; `ipoib_interfaces_common`, a variable of the user, is further away.
_ALIKE = 0.8
# Two slips in one name are rarer than a name of the user's own.
_VERY_ALIKE = 0.9
_ABBREVIATION = 3


def known_names() -> frozenset[str]:
    """Every variable of the collection, by its whole name."""
    return frozenset(prefix + rest for prefix, names in KNOWN.items() for rest in names) | PLAIN


def _one_slip(found: str, known: str) -> bool:
    """Whether they differ by one letter that is wrong, missing or superfluous, or by two neighbouring letters that are swapped."""
    while found and known and found[0] == known[0]:
        found, known = found[1:], known[1:]
    while found and known and found[-1] == known[-1]:
        found, known = found[:-1], known[:-1]
    return max(len(found), len(known)) == 1 or (len(found) == 2 and found == known[::-1])


def _behind_near_prefix(name: str) -> str:
    """The variable that is meant where the prefix itself is misspelt, as in `ipoip_interfaces`."""
    for prefix, names in KNOWN.items():
        # Nearly all names of a site end here: this runs on each of them, for each host. A digit is meant: ipoib2_interfaces.
        if name[0] != prefix[0] or any(letter.isdigit() for letter in name[: len(prefix) + 1]):
            continue
        for length in (len(prefix) - 1, len(prefix), len(prefix) + 1):
            head, rest = name[:length], name[length:]
            if rest and _one_slip(head, prefix):
                near = difflib.get_close_matches(rest, sorted(names), n=1, cutoff=_VERY_ALIKE)
                if near:
                    return prefix + near[0]
    return ""


def meant(name: str) -> str:
    """The variable that `name` is a misspelling of; "" where it is right, or no name of this collection.

    Prefix and rest are compared separately. Otherwise any two names of a role look alike.
    """
    if not name or name in PLAIN:
        return ""
    for plain_name in PLAIN:
        # A letter more is a word of its own: "fabrics".
        if len(name) == len(plain_name) and _one_slip(name, plain_name):
            return plain_name
    for prefix, names in KNOWN.items():
        if not name.startswith(prefix):
            continue
        rest = name[len(prefix) :]
        if rest in names:
            return ""
        near = difflib.get_close_matches(rest, sorted(names), n=1, cutoff=_ALIKE)
        near = near or [known for known in sorted(names) if len(rest) >= _ABBREVIATION and known.startswith(rest)]
        return prefix + near[0] if near else ""
    return _behind_near_prefix(name)


def misspelt(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """The variables whose names are nearly those of the collection. Others with the same prefix belong to the user."""
    return [Problem(name, value, meant(name), "no variable of this collection has that name") for name, value in sorted(variables.items()) if meant(name)]
