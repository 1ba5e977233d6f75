# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Made by `make schema` from all argument_specs.yml. Edit there.

from __future__ import annotations

import typing as t

from ._fabric_monitor import VARIABLES as fabric_monitor
from ._gpudirect import VARIABLES as gpudirect
from ._hca_firmware import VARIABLES as hca_firmware
from ._ipoib import VARIABLES as ipoib
from ._ipoib_network import VARIABLES as ipoib_network
from ._kernel_modules import VARIABLES as kernel_modules
from ._node_check import VARIABLES as node_check
from ._node_service import VARIABLES as node_service
from ._ofed import VARIABLES as ofed
from ._opensm import VARIABLES as opensm
from ._site import VARIABLES as site
from ._soft_rdma import VARIABLES as soft_rdma

_TABLES = (
    fabric_monitor,
    gpudirect,
    hca_firmware,
    ipoib,
    ipoib_network,
    kernel_modules,
    node_check,
    node_service,
    ofed,
    opensm,
    soft_rdma,
    site,
)
_EMPTY: t.Mapping[str, t.Any] = {"bool": False, "int": 0, "float": 0, "str": "", "path": "", "raw": "", "list": [], "dict": {}}
DEFAULTS: t.Mapping[str, t.Any] = {
    name: option.get("default", _EMPTY.get(option["type"])) for table in _TABLES for name, option in table.items() if "default" in option or table is site
}
