# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of the collection's variables, and those that an unknown name may mean. Pure."""

from __future__ import annotations

import difflib
import string
import typing as t

from .._concerns._registry import ROLES, SITE, TABLES
from .._errors import Problem, Unshown

_PREFIXES = tuple(TABLES)
# The facts are no variables to set, but no misspellings either.
_NAMES: frozenset[str] = frozenset(("rdma_pending", *(name for table in TABLES.values() for name in table)))
KNOWN: t.Mapping[str, frozenset[str]] = {prefix: frozenset(name[len(prefix) :] for name in _NAMES if name.startswith(prefix)) for prefix in _PREFIXES}
# Those of a prefix that names of others may have, too.
PLAIN = frozenset(name for name in _NAMES if not name.startswith(_PREFIXES))
# What roles and playbooks set for others. A later playbook of the same run finds it among the variables.
PUBLISHED = frozenset(
    (
        *("rdma_pending", "rdma_report", "rdma_site", "node_service_failure", "node_service_outcome", "ansible_python_interpreter"),
        *("%s_%s" % (role, what) for role in ROLES for what in ("outcome", "foreseen")),
    ),
)
# Where a site names variables of its own that begin like those of the collection.
OWN = "rdma_own_variables"

# A name made longer or shorter by a letter or two.
_ALIKE = 0.8
# What is merely worth mentioning: `ipoib_ifaces` and `ipoib_interfaces`.
_REMOTELY_ALIKE = 0.5
_MENTIONED = 3
# Prefixes of roles that have another name now. Ignored, what they declare would be given up without a word.
_FORMER: t.Mapping[str, str] = {"fabric_check_": "node_check_"}
# What a role is mostly for.
_MAIN = ("load", "interfaces", "source", "devices", "method", "links", "fabrics", "state")
# Two slips in one name are rarer than a name of the user's own.
_VERY_ALIKE = 0.9
_ABBREVIATION = 3
# A misspelt name of a secret has the secret for its value.
_UNKNOWN = Unshown("unknown")


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
        if name[0] != prefix[0] or any(letter in string.digits for letter in name[: len(prefix) + 1]):
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
    for former, prefix in _FORMER.items():
        if name.startswith(former) and name[len(former) :] in KNOWN[prefix]:
            return prefix + name[len(former) :]
    # A role's name alone, as where what it loads is declared by that.
    if name + "_" in _PREFIXES and name + "_" != SITE:
        known = KNOWN[name + "_"]
        return name + "_" + next((rest for rest in _MAIN if rest in known), min(known))
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
        # What is of the whole site, with the name of a role.
        if rest in KNOWN[SITE]:
            return SITE + rest
        near = difflib.get_close_matches(rest, sorted(names), n=1, cutoff=_ALIKE)
        near = near or [known for known in sorted(names) if len(rest) >= _ABBREVIATION and known.startswith(rest)]
        return prefix + near[0] if near else ""
    return _behind_near_prefix(name)


def _nearest(name: str) -> list[str]:
    """The variables of the same prefix that come nearest; where none is near, all of them."""
    for prefix, names in KNOWN.items():
        if name.startswith(prefix):
            near = difflib.get_close_matches(name[len(prefix) :], sorted(names), n=_MENTIONED, cutoff=_REMOTELY_ALIKE)
            return [prefix + rest for rest in near or sorted(names)]
    return []


def is_known(name: str) -> bool:
    """Whether a name is that of a variable of the collection, or of what its roles publish."""
    return name in PLAIN or name in PUBLISHED or any(name.startswith(prefix) and name[len(prefix) :] in names for prefix, names in KNOWN.items())


def concerns(name: str) -> bool:
    """Whether a name is a variable of the collection, begins like one, or nearly like one. Linear in the names of a host."""
    return name in PLAIN or name.startswith(_PREFIXES) or meant(name) != ""


def own_names(value: t.Any) -> frozenset[str]:
    """The names in `OWN`. Another form has none: `own_problems` reports it."""
    return frozenset(name for name in value if isinstance(name, str)) if isinstance(value, (list, tuple)) else frozenset()


def own_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with `OWN`."""
    value = variables.get(OWN, [])
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return []
    return [Problem(OWN, value, "a list of names of variables", "they begin like those of the collection, and are your own")]


def unknown(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """The variables that begin like those of the collection and are none. Ignored, such a slip would mean that what it declares is given up.

    Their values are of no interest.
    """
    own = own_names(variables.get(OWN))
    found = []
    for name in sorted(variables):
        if name in own or is_known(name):
            continue
        near = meant(name)
        allowed = near or " or ".join(_nearest(name))
        if allowed:
            found.append(_slip(name, allowed))
    return found


def misspelt(variables: t.Mapping[str, t.Any], prefix: str) -> list[Problem]:
    """The variables that begin with `prefix` and are nearly those of a playbook: its names are those of a site as well, so others are none of ours."""
    own = own_names(variables.get(OWN))
    rests = sorted(name[len(prefix) :] for name in PLAIN if name.startswith(prefix))
    found = []
    for name in sorted(variables):
        if name.startswith(prefix) and name not in own and not is_known(name):
            found += [_slip(name, prefix + near) for near in difflib.get_close_matches(name[len(prefix) :], rests, n=1, cutoff=_ALIKE)]
    return found


def _slip(name: str, allowed: str) -> Problem:
    return Problem(name, _UNKNOWN, allowed, "this collection has no variable %s; if it is your own, list it in %s" % (name, OWN))
