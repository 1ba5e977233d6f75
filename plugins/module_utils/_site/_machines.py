# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventory names that lead to the same machine: each would get the addresses and the place of the other. Pure; linear in hosts."""

from __future__ import annotations

import typing as t

from .._errors import Problem, Unshown
from .._facts._machine import IDENTITY_FILES
from .._hosts import fold

_SHOWN = 2


def machine_marks(identity: t.Any, facts: t.Mapping[str, t.Any] | None) -> list[str]:
    """What identifies a machine, in words. `identity`: the content of IDENTITY_FILES.

    Containers share the boot ID of their host, and copies of an image share the machine ID, so neither alone identifies a machine. Virtual functions
    may have any GUID.
    """
    values = [str(value).strip() for value in identity] if isinstance(identity, (list, tuple)) else []
    found = ["machine id %s, boot id %s and host name %s" % tuple(values)] if len(values) == len(IDENTITY_FILES) and all(values) else []
    virtual = {hca.get("name") for hca in (facts or {}).get("hcas") or () if hca.get("virtual")}
    for port in (facts or {}).get("ports") or ():
        guid = str(port.get("port_guid") or "")
        if port.get("link_layer") == "InfiniBand" and port.get("device") not in virtual and guid.strip("0x"):
            found.append("port GUID %s" % guid)
    return found


def same_machines(marks: t.Mapping[str, t.Iterable[str]]) -> dict[str, list[Problem]]:
    """The problems by host, from the marks by host: names that share a mark."""
    holders: dict[str, dict[str, None]] = {}
    for host, own in marks.items():
        for mark in own:
            holders.setdefault(str(mark), {})[host] = None
    shared: dict[tuple[str, ...], list[str]] = {}
    for mark, hosts in holders.items():
        if len(hosts) > 1:
            shared.setdefault(tuple(hosts), []).append(mark)
    found: dict[str, list[Problem]] = {}
    for names, own in shared.items():
        more = len(own) - _SHOWN
        hint = "they share %s%s" % (", ".join(own[:_SHOWN]), ", and %d more port GUIDs" % more if more > 0 else "")
        problem = Problem("ansible_host", Unshown("the same machine for %s" % fold(names)), "one machine for each name in the inventory", hint)
        for host in names:
            found.setdefault(host, []).append(problem)
    return found
