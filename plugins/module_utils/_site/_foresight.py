# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the roles would refuse on a host, from one look at it: so that it is known before anything is changed on any host. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._hosts import fold
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _concern as ipoib
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found as IpoibFound
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _concern as kernel_modules
from ansible_collections.rdma.ofed.plugins.module_utils._schema import _ipoib, _kernel_modules

_ROLES = ("ofed", "kernel_modules", "soft_rdma", "opensm", "ipoib", "gpudirect", "fabric_check")


class Concern(t.NamedTuple):
    """A role whose refusals follow from the look. Its name is that of the look, of the tag, and the prefix of the variables."""

    seen: type
    """The form of what the look found."""
    options: t.Mapping[str, t.Any]
    """The argument specification of its module."""
    declared: t.Mapping[str, t.Mapping[str, t.Any]]
    """The variables of the role, with their defaults."""
    refusals: t.Callable[[t.Mapping[str, t.Any], t.Any], t.Sequence[str]]
    """Options of the module and what the look found -> what the module would refuse, in words."""
    elsewhere: t.Mapping[str, str] = {}
    """The options that get a variable without the prefix of the role."""


CONCERNS: t.Mapping[str, Concern] = {
    "kernel_modules": Concern(kernel_modules.Seen, _kernel_modules.OPTIONS, _kernel_modules.VARIABLES, kernel_modules.refusals),
    "ipoib": Concern(IpoibFound, _ipoib.OPTIONS, _ipoib.VARIABLES, ipoib.refusals, {"allow_removal": "rdma_allow_removal"}),
}


def arguments(name: str, variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What the role hands to its module."""
    concern = CONCERNS[name]
    named = {option: concern.elsewhere.get(option, "%s_%s" % (name, option)) for option in concern.options}
    values = {**{variable: entry["default"] for variable, entry in concern.declared.items() if "default" in entry}, **variables}
    return {option: values[variable] for option, variable in named.items() if variable in values}


def takes_part(name: str, tags: t.Collection[str], skipped: t.Collection[str]) -> bool:
    """Whether a run with these tags comes to the role. With tags of the user's own, it may."""
    return name not in skipped and (name in tags or not tags or not set(tags) <= {*_ROLES, "always"})


def message(refused: t.Mapping[str, t.Sequence[str]]) -> str:
    """The refusals by host in words: each once, with its hosts. "" where there are none."""
    lines = grouped(refused)
    return "refused, nothing was changed on any host. %s" % "; ".join(lines) if lines else ""


def grouped(found: t.Mapping[str, t.Sequence[str]]) -> list[str]:
    """What was found by host, each once, with its hosts."""
    hosts: dict[str, list[str]] = {}
    for host, texts in found.items():
        for text in texts:
            hosts.setdefault(text, []).append(host)
    return ["%s: %s" % (fold(names), text) for text, names in hosts.items()]
