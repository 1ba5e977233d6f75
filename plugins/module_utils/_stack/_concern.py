# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rest of the collection may ask of the stack. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name, due, names_of
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import is_true
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ofed import VARIABLES


def settled(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any], installed: t.Mapping[str, str] | None) -> bool:
    """Whether the role ofed has nothing to do on a node, for sure: it has the stack of its distribution, as declared, and nothing of a vendor.

    `variables` are those of the host, without problems; `facts` its `rdma` facts; `installed` the packages that the look found, with their versions.
    """
    wanted = {**{name: entry["default"] for name, entry in VARIABLES.items()}, **variables}
    stack, machine = facts.get("stack") or {}, facts.get("machine") or {}
    family = by_name((facts.get("os") or {}).get("family"))
    if family is None or (wanted["ofed_state"], wanted["ofed_source"], stack.get("kind")) != ("present", "inbox", "inbox"):
        return False
    if stack.get("protected") or stack.get("ulps") or wanted["ofed_ulps"]:
        return False
    if machine.get("kind") != "container" and any(module.get("differs") for module in facts.get("modules") or ()):
        return False
    purposes = ["core", "tools"] if is_true(wanted["ofed_tools"]) else ["core"]
    return not due(names_of(family, purposes, wanted["ofed_extra_packages"]), "present", installed)
