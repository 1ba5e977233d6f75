# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the programs on the node are told, and where their files are. Pure."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import read_table
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER

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
"""It is there while the health check has drained the node."""
SERVICE, TIMER = "rdma-fabric-monitor.service", "rdma-fabric-monitor.timer"
TEXTFILE = "rdma_fabric.prom"


class SampleSettings(t.NamedTuple):
    fabrics: tuple[tuple[str, str], ...]
    """Name, and the port to ask through; "" for the first one with a link."""
    textfile: str
    node_name_map: str
    only_master: bool


class HealthSettings(t.NamedTuple):
    """What is declared of a node."""

    ports: tuple[str, ...] = ()
    """Any form of `_facts/_portname.py`. Without any, one InfiniBand port has to be active."""
    interfaces: tuple[str, ...] = ()
    rate_gbps: float = 0
    """The least rate of each port."""
    slurm_node: str = ""


def text_of(settings: SampleSettings | HealthSettings) -> str:
    return HEADER + json.dumps(settings._asdict(), indent=2, sort_keys=True) + "\n"


def _table(text: str) -> dict[str, t.Any]:
    return read_table("".join(line for line in text.splitlines(True) if not line.startswith("#")))


def _texts(value: t.Any) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


def parse_sample_settings(text: str) -> SampleSettings | None:
    """None for anything that `text_of` did not make."""
    table = _table(text)
    rows, textfile, names, only_master = (table.get(name) for name in SampleSettings._fields)
    fabrics = [_texts(row) for row in rows] if isinstance(rows, list) else []
    pairs = tuple((row[0], row[1]) for row in fabrics if row and len(row) == 2)
    sound = isinstance(textfile, str) and isinstance(names, str) and isinstance(only_master, bool) and len(pairs) == len(fabrics) > 0
    return SampleSettings(pairs, str(textfile), str(names), bool(only_master)) if sound else None


def parse_health_settings(text: str) -> HealthSettings | None:
    """None for anything that `text_of` did not make."""
    table = _table(text)
    ports, interfaces = _texts(table.get("ports")), _texts(table.get("interfaces"))
    rate, node = table.get("rate_gbps"), table.get("slurm_node")
    if ports is None or interfaces is None or not isinstance(rate, (int, float)) or not isinstance(node, str):
        return None
    return HealthSettings(ports, interfaces, rate, node)
