# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of the programs on the node, and the paths of their files. Pure."""

from __future__ import annotations

import json
import typing as t

from .._foreign import read_table
from .._host._files import HEADER
from .._record import read_row

PROGRAMS = "/usr/local/lib/rdma-ofed"
SAMPLER = PROGRAMS + "/fabric-sample"
HEALTH = PROGRAMS + "/health-check"
SLURM = PROGRAMS + "/slurm-health-check"
SETTINGS = "/etc/rdma-ofed"
SAMPLE_CONF = SETTINGS + "/fabric-sample.conf"
HEALTH_CONF = SETTINGS + "/health-check.conf"
NHC = "/etc/nhc/scripts/rdma_ofed.nhc"
KEPT = "/var/lib/rdma-ofed"
STATES = KEPT + "/fabric-sample.json"
DRAINED = KEPT + "/health-drained"
"""Exists while the node is drained by the health check."""
SERVICE, TIMER = "rdma-fabric-monitor.service", "rdma-fabric-monitor.timer"
TEXTFILE = "rdma_fabric.prom"


class SampleSettings(t.NamedTuple):
    fabrics: t.Tuple[t.Tuple[str, str], ...]
    """Name of the fabric, and the port to query it through; "" for the first one with a link."""
    textfile: str
    node_name_map: str
    only_master: bool


class HealthSettings(t.NamedTuple):
    """What is declared about a node."""

    ports: t.Tuple[str, ...] = ()
    """In any form of `_facts/_portname.py`. If empty, one InfiniBand port has to be active."""
    interfaces: t.Tuple[str, ...] = ()
    rate_gbps: float = 0
    """The minimum rate of each port."""
    slurm_node: str = ""


def text_of(settings: SampleSettings | HealthSettings) -> str:
    return HEADER + json.dumps(settings._asdict(), indent=2, sort_keys=True) + "\n"


def _table(text: str) -> dict[str, t.Any]:
    return read_table("".join(line for line in text.splitlines(True) if not line.startswith("#")))


def parse_sample_settings(text: str) -> SampleSettings | None:
    """Parse settings; None for anything that `text_of` did not create."""
    found = read_row(SampleSettings, _table(text))
    return found if found and found.fabrics else None


def parse_health_settings(text: str) -> HealthSettings | None:
    """Parse settings; None for anything that `text_of` did not create."""
    return read_row(HealthSettings, _table(text))
