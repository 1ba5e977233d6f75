# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the way to the memory of GPUs by declarations. Pure."""

from __future__ import annotations

from .._concern import Discovery, Subject
from .._discovered import Left, Reading, Value
from .._foreign import part, rows_of
from ._found import LEGACY, PEERMEM

_NO_MODULE = "no module for their memory is loaded. DMA-BUF needs none: if programs use it, declare gpudirect_method: dmabuf"


def read(subject: Subject) -> Reading:
    """The declarations of one host."""
    found = part(subject.facts, "gpu")
    loaded = [str(row.get("name")) for row in rows_of(found, "peers") if row.get("loaded")]
    methods = [name for name in (PEERMEM, LEGACY) if name in loaded]
    devices = rows_of(found, "devices")
    if methods:
        both = ["%s and %s are both loaded: one of them is in vain" % tuple(methods)] if methods[1:] else []
        return Reading([Value("gpudirect_method", methods[0], "the module %s is loaded" % methods[0])], (), both)
    return Reading((), [Left("GPUs (%d)" % len(devices), _NO_MODULE)] if devices else [])


DISCOVERY = Discovery(read)
