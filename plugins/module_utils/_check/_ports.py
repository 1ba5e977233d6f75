# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Declared ports: their notation, and whether the node has them. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem

if t.TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"^[A-Za-z][\w.-]*/[1-9]\d{0,2}\Z")
FORM = "an RDMA device and port as 'rdma link' shows them, such as mlx5_0/1"


def port_problems(variable: str, ports: t.Any, facts: Mapping[str, t.Any] | None = None) -> list[Problem]:
    """What is wrong with a list of ports; also against the node where its `rdma` facts are given."""
    if not isinstance(ports, (list, tuple)):
        return [Problem(variable, ports, "a list, each entry " + FORM)]
    found = []
    for index, name in enumerate(ports):
        where = "%s[%d]" % (variable, index)
        if not isinstance(name, str) or not _NAME.match(name):
            found.append(Problem(where, name, FORM))
        elif facts is not None:
            found += _on_node(where, name, facts)
    return found


def _on_node(where: str, name: str, facts: Mapping[str, t.Any]) -> list[Problem]:
    ports = {str(port.get("name")): port for port in facts.get("ports") or ()}
    infiniband = sorted(known for known, port in ports.items() if port.get("link_layer") == "InfiniBand")
    if not ports:
        return [Problem(where, name, "no port on a node without HCA", "no RDMA device was found on this node; see 'rdma link' and 'lspci -d 15b3:'")]
    if name not in ports:
        return [Problem(where, name, "a port of this node: %s" % ", ".join(infiniband or sorted(ports)))]
    if name not in infiniband:
        return [Problem(where, name, "an InfiniBand port", "its link layer is %s" % ports[name].get("link_layer"))]
    return []
