# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of the role on a node. Pure."""

from __future__ import annotations

from .._host._files import HEADER
from . import _settings as places

_UNITS = "/etc/systemd/system/"
SERVICE_PATH, TIMER_PATH = _UNITS + places.SERVICE, _UNITS + places.TIMER
# In the order in which they are written.
FILES = (
    places.SAMPLER,
    places.SAMPLE_CONF,
    SERVICE_PATH,
    TIMER_PATH,
    places.HEALTH,
    places.HEALTH_CONF,
    places.SLURM,
    places.NHC,
)
EXECUTABLE = (places.SAMPLER, places.HEALTH, places.SLURM)


def beginning(text: str) -> str:
    """The lines by which a file is recognised."""
    return "".join(text.splitlines(True)[:2])


def is_ours(text: str) -> bool:
    """Whether a file belongs to this collection, judged by its first line, or by the line after `#!`."""
    return HEADER in beginning(text).splitlines(True)
