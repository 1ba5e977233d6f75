# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ways to name an adapter, for modules with an option C(devices)."""

from __future__ import annotations


class ModuleDocFragment:
    """A module says what its C(devices) are; the options of an entry come from here."""

    DOCUMENTATION = r"""
options:
  devices:
    suboptions:
      all:
        description: Take all adapters of the node. It excludes the other selectors.
        type: bool
        default: false
      pci:
        description: The PCI address of a function of the adapter, with or without domain.
        type: str
      psid:
        description: The PSID, the identity of board and firmware. It can be read only with a driver loaded.
        type: str
      part_number:
        description: The part number in the card's vital product data, such as V(MCX556A-ECAT).
        type: str
      type:
        description: The type, as V(ConnectX-7), V(ConnectX7) or V(MT4129).
        type: str
      guid:
        description: The node GUID, or the GUID of a port. Write it in quotes.
        type: str
      netdev:
        description: The name of a network interface of the adapter.
        type: str
      rdma:
        description: The name of an RDMA device of the adapter, such as V(mlx5_0).
        type: str
"""

    # Options of an entry are merged by no tool: those of rdma.ofed.mlxconfig stand behind the selectors. The annotation
    # keeps checks away that read a text out of the source, which this one is not.
    CONFIGURATION: str = (
        DOCUMENTATION
        + r"""
      state:
        description:
          - V(present) gives O(devices[].parameters) their values.
          - V(default) gives O(devices[].names) their defaults. Without names, it does so with all parameters but those in
            O(devices[].parameters).
        type: str
        choices: [present, default]
        default: present
      parameters:
        description:
          - Parameters and their values. A value is the name or the number of an enumeration, a number (decimal, or hex
            with C(0x)), or a boolean. Digits are decimal also for bit masks.
          - An element of an array is V(NAME[2]), a range of them V(NAME[0..3]), with one value for all or a list.
          - A parameter that exists only while another one is set can be declared together with it.
        type: dict
        default: {}
      names:
        description: The parameters that O(devices[].state=default) means.
        type: list
        elements: str
        default: []
"""
    )
