# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The selectors of adapters in an entry of an option, and the firmware parameters that the entry declares for them.

The role hca_firmware declares the same, and `make schema` compares the two.
"""

from __future__ import annotations

_SELECTORS = r"""
    suboptions:
      all:
        description: All adapters of the node. It excludes the other selectors.
        type: bool
        default: false
      pci:
        description: The PCI address of a function of the adapter, with or without domain.
        type: str
      psid:
        description: The PSID, the identity of board and firmware. It can be read only while a driver is loaded.
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
# OPTION stands for the option that contains the key.
_PARAMETERS = r"""
      state:
        description:
          - V(present) gives O(OPTION[].parameters) their values.
          - V(default) gives O(OPTION[].names) their defaults. Without names, it does so with all parameters except
            those in O(OPTION[].parameters).
        type: str
        choices: [present, default]
        default: present
      parameters:
        description:
          - Parameters and their values. A value is the name or the number of an enumeration, a number (decimal, or
            hexadecimal with C(0x)), or a boolean. Digits are decimal also for bit masks.
          - An element of an array is V(NAME[2]), a range of them V(NAME[0..3]), with one value for all or a list.
          - A parameter that exists only while another one is set can be declared together with it.
        type: dict
        default: {}
      names:
        description: The parameters that O(OPTION[].state=default) resets.
        type: list
        elements: str
        default: []
"""
_COMMON = r"""
  missing:
    description: Whether an entry of O(devices) that matches no adapter of the node fails or is ignored.
    type: str
    choices: [fail, ignore]
    default: fail
  allow_container:
    description: Whether to work from a container or chroot, where the adapters are those of the host.
    type: bool
    default: false
  lock_timeout:
    description: How long to wait for another process of this collection that uses an adapter, in seconds.
    type: int
    default: 120
notes:
  - An adapter that can't be queried stops no other one. The others are done, and the module fails in the end, with the result of them. RV(unread) names it.
"""


class ModuleDocFragment:
    """The keys of entries, whose option is in the module, and further options. Typed, because ansible-test takes an untyped fragment for a literal."""

    IMAGES: str = "options:\n  devices:" + _SELECTORS + _COMMON
    CONFIG: str = "options:\n  devices:" + _SELECTORS + _PARAMETERS.replace("OPTION", "devices") + _COMMON
    CHECKED: str = "options:\n  hca_firmware_devices:%s\n  hca_firmware_config:%s" % (
        _SELECTORS,
        _SELECTORS + _PARAMETERS.replace("OPTION", "hca_firmware_config"),
    )
