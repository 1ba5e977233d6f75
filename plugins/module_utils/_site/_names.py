# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of the collection's variables, and what an unknown name may mean. Pure."""

from __future__ import annotations

import difflib
import string
import typing as t

from .._concerns._registry import ROLES, SITE, TABLES
from .._errors import Problem, Unshown

_PREFIXES = tuple(TABLES)
# Facts are not set as variables, but their names are no misspellings.
_NAMES: frozenset[str] = frozenset(("rdma_pending", *(name for table in TABLES.values() for name in table)))
KNOWN: t.Mapping[str, frozenset[str]] = {prefix: frozenset(name[len(prefix) :] for name in _NAMES if name.startswith(prefix)) for prefix in _PREFIXES}
# Variables without a role prefix, whose prefixes variables of others may share.
PLAIN = frozenset(name for name in _NAMES if not name.startswith(_PREFIXES))
# Variables that roles and playbooks set for others. A later playbook of the same run finds them.
PUBLISHED = frozenset(
    (
        *("rdma_pending", "rdma_report", "rdma_site", "node_service_failure", "node_service_outcome", "ansible_python_interpreter"),
        *("%s_%s" % (role, what) for role in ROLES for what in ("outcome", "foreseen")),
    ),
)
# In this variable a site lists its own variables that begin like those of the collection.
OWN = "rdma_own_variables"

# The similarity of names that differ by one or two characters.
_ALIKE = 0.8
# The similarity at which a name is worth mentioning: `ipoib_ifaces` and `ipoib_interfaces`.
_REMOTELY_ALIKE = 0.5
_MENTIONED = 3
# Former prefixes of renamed roles. If they were ignored, the declarations would silently be given up.
_FORMER: t.Mapping[str, str] = {"fabric_check_": "node_check_"}
# The main variable of a role.
_MAIN = ("load", "interfaces", "source", "devices", "method", "links", "fabrics", "state")
# Two errors in one name are less likely than a name of the user's own.
_VERY_ALIKE = 0.9
_ABBREVIATION = 3
# The variable may be a misspelt secret, so its value is not shown.
_UNKNOWN = Unshown("unknown")


def _one_slip(found: str, known: str) -> bool:
    """Whether they differ by one wrong, missing or superfluous character, or by two swapped neighbours."""
    while found and known and found[0] == known[0]:
        found, known = found[1:], known[1:]
    while found and known and found[-1] == known[-1]:
        found, known = found[:-1], known[:-1]
    return max(len(found), len(known)) == 1 or (len(found) == 2 and found == known[::-1])


def _behind_near_prefix(name: str) -> str:
    """The variable whose prefix is misspelt, as in `ipoip_interfaces`."""
    for prefix, names in KNOWN.items():
        # Nearly all names of a site end here: this runs for each name of each host. A digit is intentional: ipoib2_interfaces.
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
    """The variable of which `name` is a misspelling; "" where it is correct, or no name of this collection.

    Prefix and rest are compared separately. Otherwise any two names of a role would be similar.
    """
    if not name or name in PLAIN:
        return ""
    for former, prefix in _FORMER.items():
        if name.startswith(former) and name[len(former) :] in KNOWN[prefix]:
            return prefix + name[len(former) :]
    # The bare name of a role, as if it declared the main variable of the role.
    if name + "_" in _PREFIXES and name + "_" != SITE:
        known = KNOWN[name + "_"]
        return name + "_" + next((rest for rest in _MAIN if rest in known), min(known))
    for plain_name in PLAIN:
        # With an additional letter it is another word: "fabrics".
        if len(name) == len(plain_name) and _one_slip(name, plain_name):
            return plain_name
    for prefix, names in KNOWN.items():
        if not name.startswith(prefix):
            continue
        rest = name[len(prefix) :]
        if rest in names:
            return ""
        # A variable of the whole site with the prefix of a role.
        if rest in KNOWN[SITE]:
            return SITE + rest
        near = difflib.get_close_matches(rest, sorted(names), n=1, cutoff=_ALIKE)
        near = near or [known for known in sorted(names) if len(rest) >= _ABBREVIATION and known.startswith(rest)]
        return prefix + near[0] if near else ""
    return _behind_near_prefix(name)


def _nearest(name: str) -> list[str]:
    """The most similar variables with the same prefix; if none is similar, all of them."""
    for prefix, names in KNOWN.items():
        if name.startswith(prefix):
            near = difflib.get_close_matches(name[len(prefix) :], sorted(names), n=_MENTIONED, cutoff=_REMOTELY_ALIKE)
            return [prefix + rest for rest in near or sorted(names)]
    return []


def is_known(name: str) -> bool:
    """Whether a name is a variable of the collection, or one that its roles publish."""
    return name in PLAIN or name in PUBLISHED or any(name.startswith(prefix) and name[len(prefix) :] in names for prefix, names in KNOWN.items())


def concerns(name: str) -> bool:
    """Whether a name is a variable of the collection, or begins like one or nearly like one. Linear in the names of a host."""
    return name in PLAIN or name.startswith(_PREFIXES) or meant(name) != ""


def own_names(value: t.Any) -> frozenset[str]:
    """The names in `OWN`. A malformed value contains none: `own_problems` reports it."""
    return frozenset(name for name in value if isinstance(name, str)) if isinstance(value, (list, tuple)) else frozenset()


def own_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of `OWN`."""
    value = variables.get(OWN, [])
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return []
    return [Problem(OWN, value, "a list of names of variables", "your own variables whose names begin like those of the collection")]


def unknown(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Variables that begin like those of the collection and are unknown. If such a misspelling were ignored, its declaration would silently be given up.

    Their values are not examined.
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
    """Variables that begin with `prefix` and resemble those of a playbook. Sites use the prefix as well, so dissimilar names belong to the user."""
    own = own_names(variables.get(OWN))
    rests = sorted(name[len(prefix) :] for name in PLAIN if name.startswith(prefix))
    found = []
    for name in sorted(variables):
        if name.startswith(prefix) and name not in own and not is_known(name):
            found += [_slip(name, prefix + near) for near in difflib.get_close_matches(name[len(prefix) :], rests, n=1, cutoff=_ALIKE)]
    return found


def _slip(name: str, allowed: str) -> Problem:
    return Problem(name, _UNKNOWN, allowed, "this collection has no variable %s; if it is your own, list it in %s" % (name, OWN))
