# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the upper-layer protocols of a node."""

from __future__ import annotations

import typing as t

from .._facts._ulps import read_record
from .._host._files import read_text, under
from .._host._units import show_units
from .._kmod._config import ULPS_PATH
from .._kmod._found import Found as KernelModules
from .._kmod._plan import is_loaded
from .._tools import _openibd
from . import _plan as planner
from ._catalogue import modules_of
from ._found import Found
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from .._host._run import Runner


def look(run: Runner, wanted: Wanted, modules: KernelModules, *, root: str = "/") -> Found:
    record = read_record(root)
    return Found(
        record=record,
        units=show_units(run, planner.unit_names(wanted, record)),
        loaded=frozenset(name for name in modules_of(wanted.names) if is_loaded(modules.catalogue.resolve(name) or name, modules)),
        load_text=read_text(under(root, ULPS_PATH)),
        conf_text=read_text(under(root, _openibd.PATH)),
    )
