# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads from a node what the inventory declares. Changes nothing and decides nothing."""

from __future__ import annotations

import typing as t

from .._gpudirect._look import look as look_at_gpus
from .._ipoib._look import look_whole as look_at_interfaces
from .._kmod._look import look as look_at_modules
from ._findings import checked_ports, scope_of
from ._live_look import look as look_live
from ._live_look import read_parts
from ._types import Found

if t.TYPE_CHECKING:
    from .._host._run import Runner
    from ._types import Wanted


def look(run: Runner, wanted: Wanted, release: str, *, environ: t.Mapping[str, str], root: str = "/") -> Found:
    """`release` is the running kernel. What can't be read comes out as missing, with the reason."""
    ipoib = look_at_interfaces(run, environ, root) if wanted.ipoib is not None else None
    found = Found(
        live=read_parts(run, ipoib, root),
        ipoib=ipoib,
        kmod=look_at_modules(run, release, options=wanted.kmod.options, load_now=wanted.kmod.load_now, root=root) if wanted.kmod is not None else None,
        gpus=look_at_gpus(run, release, root=root) if wanted.gpus is not None else None,
    )
    scope = scope_of(wanted)._replace(ports=checked_ports(wanted, found))
    return found._replace(live=look_live(run, scope, found.live, root=root))
