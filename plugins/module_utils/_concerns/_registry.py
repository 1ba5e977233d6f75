# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The concerns of the collection, in the order of a run. The looks are in `_looks.py`: every file that a module imports is sent to the node."""

from __future__ import annotations

import typing as t

from .._check._concern import CONCERN as _check
from .._concern import Concern, Specification
from .._firmware._concern import CONCERN as _firmware
from .._gpudirect._concern import CONCERN as _gpudirect
from .._ipnet._concern import CONCERN as _ipnet
from .._ipoib._concern import CONCERN as _ipoib
from .._kmod._concern import CONCERN as _kmod
from .._monitor._concern import CONCERN as _monitor
from .._opensm._concern import CONCERN as _opensm
from .._packages._concern import CONCERN as _packages
from .._schema import _node_service, _site
from .._softrdma._concern import CONCERN as _softrdma
from .._stack._concern import CONCERN as _stack

_ALL = (_packages, _stack, _kmod, _firmware, _softrdma, _opensm, _ipoib, _ipnet, _gpudirect, _monitor, _check)
CONCERNS: t.Mapping[str, Concern] = {concern.name: concern for concern in _ALL}
ROLES = tuple(concern.name for concern in _ALL if concern.variables)
"""The concerns that have a role."""
SITE = "rdma_"
TABLES: t.Mapping[str, Specification] = {
    **{name + "_": CONCERNS[name].variables for name in ROLES},
    "node_service_": _node_service.VARIABLES,
    SITE: _site.VARIABLES,
}
"""The variables by the prefix of their names. Some variables have no prefix."""
