# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Virtual functions (SR-IOV), also as a guest sees them: as separate cards, with the PCI device IDs of virtual functions."""

from __future__ import annotations

import os

from .._foreign import integer
from ._sysfs import attribute

# ConnectX-3, Connect-IB and later, BlueField. https://pci-ids.ucw.cz/read/PC/15b3
_IDS = (0x1002, 0x1004, 0x1012, 0x1014, 0x1016, 0x1018, 0x101A, 0x101C, 0x101E, 0xA2D3)
TYPES = frozenset("MT%d" % number for number in _IDS)
"""Those of RDMA devices."""
_NVIDIA = 0x15B3


def is_virtual(root: str, pci: str) -> bool:
    """Whether a PCI function is a virtual one, of this host or given to this guest."""
    function = os.path.join(root, "sys/bus/pci/devices", pci)
    if os.path.lexists(os.path.join(function, "physfn")):
        return True
    return integer(attribute(function, "vendor")) == _NVIDIA and integer(attribute(function, "device")) in _IDS
