# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of `lab status`."""

from __future__ import annotations

import typing as t

from . import _fabric
from ._cluster import running_topology, together
from ._docker import docker, inspect
from ._settings import Settings
from ._topology import Node

COLUMNS = ("node", "container", "systemd", "port", "state", "LID", "SM LID", "ib0", "subnet manager")

# One line per fact, "what|...".
PROBE = """
echo "systemd|$(systemctl is-system-running)"
for p in /sys/class/infiniband/*/ports/*; do
    test -e "$p/state" || continue
    d=${p#/sys/class/infiniband/}
    echo "port|${d%%/*}/${p##*/}|$(cat $p/state)|$(cat $p/phys_state)|$(cat $p/lid)|$(cat $p/sm_lid)"
done
echo "ib0|$(ip -brief address show ib0 2>/dev/null)"
pgrep -x opensm >/dev/null && echo "opensm|runs"
"""


class Port(t.NamedTuple):
    name: str
    state: str
    lid: int
    sm_lid: int


class Report(t.NamedTuple):
    """A node's report on itself."""

    node: str
    container: str
    systemd: str = "-"
    ports: tuple[Port, ...] = ()
    ib0: str = "-"
    opensm: bool = False


def parse_probe(node: str, container: str, text: str) -> Report:
    report = Report(node, container)
    for line in text.splitlines():
        what, *rest = line.split("|")
        if what == "systemd":
            report = report._replace(systemd=rest[0] or "-")
        elif what == "opensm":
            report = report._replace(opensm=True)
        elif what == "ib0" and rest[0].split():
            # "ib0 UP 10.20.0.1/24 fe80::.../64"
            _, state, *addresses = rest[0].split()
            report = report._replace(ib0=" ".join([state.lower(), *[a for a in addresses if not a.startswith("fe80:")]]))
        elif what == "port" and len(rest) == 5:
            name, state, physical, lid, sm_lid = rest
            words = "%s/%s" % (state.partition(":")[2].strip() or state, physical.partition(":")[2].strip() or physical)
            report = report._replace(ports=(*report.ports, Port(name, words, int(lid or "0", 0), int(sm_lid or "0", 0))))
    return report


def rows(reports: t.Sequence[Report]) -> list[tuple[str, ...]]:
    """Return one row per port. A node whose LID is the SM LID of all ACTIVE ports of the lab is the master."""
    table: list[tuple[str, ...]] = []
    for report in reports:
        for index, port in enumerate(report.ports or (Port("-", "-", 0, 0),)):
            master = port.lid and port.lid == port.sm_lid
            role = "master" if master and report.opensm else ("runs" if report.opensm and not index else ("stale master" if master else ""))
            head = (report.node, report.container, report.systemd) if index == 0 else ("", "", "")
            table.append((*head, port.name, port.state, str(port.lid or "-"), str(port.sm_lid or "-"), report.ib0 if index == 0 else "", role))
    return table


def layout(table: t.Sequence[t.Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in table)


def status(settings: Settings) -> str:
    topology = running_topology(settings)
    found = inspect([settings.simulator, *(settings.container(node.name) for node in topology.nodes)])

    def state(container: str) -> str:
        return str(found[container]["State"]["Status"]) if container in found else "missing"

    def probe(node: Node) -> Report:
        container = settings.container(node.name)
        running = state(container) == "running"
        return parse_probe(node.name, state(container), docker("exec", container, "sh", "-c", PROBE, check=False) if running else "")

    text = layout([COLUMNS, *rows(together(probe, topology.nodes))])
    simulator = state(settings.simulator)
    text += "\nsimulator %s: %s" % (settings.simulator, simulator)
    if simulator == "running":
        delay = _fabric.console(settings, "slow").strip()
        text += "" if delay in ("", "0") else ", slow by %s ms" % delay
    return text + "\ninventory: %s\n" % settings.inventory
