# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that select a fabric and nodes of it."""

from __future__ import annotations

_PORT = r"""
requirements:
  - infiniband-diags
  - root, and the kernel module C(ib_umad)
options:
  port:
    description:
      - The port of this host to reach the fabric through, by PCI address and number, such as V(0000:03:00.0/1), by port GUID, or by device
        and number, such as V(mlx5_0/1). The default is the first InfiniBand port with a link.
    type: str
    default: ""
  node_name_map:
    description: The file with names of nodes by node GUID, in the format of the diagnostics. It may be absent.
    type: path
    default: /etc/rdma/ib-node-name-map
"""
_NODES = r"""
  hosts:
    description:
      - Take only nodes of these names, with or without a domain. A node is known by its name in O(node_name_map), by its node description, and
        by the first word of each.
      - Nodes that O(hosts), O(guids) or O(lids) name are taken. Without any of these, all are.
    type: list
    elements: str
    default: []
  guids:
    description: Take only nodes with these node, port or system GUIDs. Quote them.
    type: list
    elements: str
    default: []
  lids:
    description: Take only nodes with these LIDs.
    type: list
    elements: int
    default: []
"""


class ModuleDocFragment:
    """The fragments are typed, because ansible-test takes an untyped one for a literal."""

    # For modules that look at a whole fabric or at some of its nodes.
    DOCUMENTATION: str = _PORT + _NODES

    PORT: str = _PORT
