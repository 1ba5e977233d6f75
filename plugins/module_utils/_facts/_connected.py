# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether an adapter supports connected mode: according to its driver, even before ib_ipoib is loaded, and to what its interface announces."""

from __future__ import annotations

import re
import typing as t

from .._foreign import hexadecimal

# First byte of the hardware address (RFC 4391, 9.1.1): the interface supports connected mode.
_RC_CAPABLE = 0x80
HWADDR = re.compile(r"^[0-9a-f]{2}(:[0-9a-f]{2}){19}$")
_CONNECT_IB = "MT4113"
_ENHANCED = ("mlx5_core", "mlx5_core.sf")
_CLASSIC = ("mlx4_core", "ib_mthca", "ib_qib")
_NOT_ANNOUNCED = "either the driver uses Enhanced IPoIB, or ib_ipoib of this kernel is built without connected mode (CONFIG_INFINIBAND_IPOIB_CM)"


class Capability(t.NamedTuple):
    """The answer and its evidence; None where only the loaded ib_ipoib can tell."""

    capable: bool | None
    reason: str


def of_driver(driver: str, hca_type: str, refused: str = "") -> Capability:
    """The known capability of an InfiniBand port's driver. `refused` is `_stack.connected_refused`."""
    if refused:
        return Capability(False, refused)
    if driver in _CLASSIC or hca_type == _CONNECT_IB:
        return Capability(True, "adapters on %s (%s) support connected mode" % (driver, hca_type))
    if driver in _ENHANCED:
        return Capability(False, "adapters on %s (%s) use Enhanced IPoIB, which is datagram only" % (driver, hca_type))
    return Capability(None, "not known for driver %s before ib_ipoib is loaded" % (driver or "(none)"))


def silent_cause(driver: str, hca_type: str) -> str:
    """Why an interface does not announce connected mode; "" where its driver gives no reason."""
    if driver in _CLASSIC or hca_type == _CONNECT_IB:
        return "ib_ipoib of this kernel is built without connected mode (CONFIG_INFINIBAND_IPOIB_CM), which adapters on %s support" % driver
    return "the driver uses Enhanced IPoIB, which is datagram only" if driver in _ENHANCED else ""


def connected_capability(hwaddr: str, mode: str, refused: str = "", *, cause: str = "") -> tuple[bool, str]:
    """Whether this IPoIB interface supports connected mode, and the evidence.

    `refused`: why the stack forbids it altogether. `cause`: why the hardware address does not announce connected mode.
    """
    if mode == "connected":
        return True, "it is in connected mode"
    if refused:
        return False, refused
    hwaddr = hwaddr.strip().lower()
    if not HWADDR.match(hwaddr):
        return False, "its hardware address, which shows whether the port is capable of it, can't be read"
    if hexadecimal(hwaddr[:2], 0) & _RC_CAPABLE:
        return True, "its hardware address starts with %s: the port announces connected mode" % hwaddr[:2]
    return False, "its hardware address starts with %s: %s" % (hwaddr[:2], cause or _NOT_ANNOUNCED)
