# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The expectations of the concerns, in the order of their findings."""

from __future__ import annotations

from ._firmware._expect import CABLES, FIRMWARE
from ._gpudirect._expect import EXPECTATION as _gpudirect
from ._ipnet._expect import EXPECTATION as _ipnet
from ._ipoib._expect import EXPECTATION as _ipoib
from ._kmod._expect import EXPECTATION as _kmod
from ._stack._expect import EXPECTATION as _stack

EXPECTATIONS = (_stack, CABLES, FIRMWARE, _ipoib, _ipnet, _kmod, _gpudirect)
