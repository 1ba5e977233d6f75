# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The looks of the concerns, by concern name. A look imports no planner, because every imported file is sent to the node."""

from __future__ import annotations

import typing as t

from .._check._live._look import seen as _check
from .._facts._shared import seen_stack as _stack
from .._firmware._look import seen as _firmware
from .._gpudirect._look import seen as _gpudirect
from .._host._node import Look
from .._ipnet._look import seen as _ipnet
from .._ipoib._look import seen as _ipoib
from .._kmod._look import seen as _kmod
from .._monitor._look import seen as _monitor
from .._opensm._look import seen as _opensm
from .._packages._look import seen as _packages

LOOKS: t.Mapping[str, Look] = {
    "packages": _packages,
    "ofed": _stack,
    "kernel_modules": _kmod,
    "hca_firmware": _firmware,
    "opensm": _opensm,
    "ipoib": _ipoib,
    "ipoib_network": _ipnet,
    "gpudirect": _gpudirect,
    "fabric_monitor": _monitor,
    "node_check": _check,
}
