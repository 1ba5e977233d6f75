# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One call of the module fabric_check: look until the node is as declared or the time is over, and the outcome."""

from __future__ import annotations

import os
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._check._findings import checked_ports, fabric_port, findings, interfaces, is_designated, short
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import problems, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._look import look, look_at_adapters
from ansible_collections.rdma.ofed.plugins.module_utils._check._table import KEYS, UNKNOWN
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, require_none
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Finding, Topic
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Found, Wanted
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# Seconds between two looks. opensm needs seconds to bring a port up: a shorter pause only makes load.
PAUSE = 2.0


class Outcome(t.NamedTuple):
    """What the module reports of its node."""

    wanted: Wanted
    found: Found
    findings: tuple[Finding, ...]

    def result(self) -> dict[str, t.Any]:
        """In the shape that the module returns and _table.py reads."""
        master, stack = self.found.master, self.found.stack
        return {
            "deviations": [_words.result(finding) for finding in self.findings],
            "deviation_lines": _words.lines(self.findings),
            "rows": table_rows(self.wanted, self.found, self.findings),
            "fabric": self.wanted.fabric,
            "master_guid": master.guid if master else "",
            "adapters": [dict(card._asdict()) for card in self.found.cards],
            "stack": {"kind": stack.kind, "version": stack.ofed_version or stack.version} if stack else {},
        }


def judge(wanted: Wanted, found: Found) -> Outcome:
    return Outcome(wanted, found, tuple(findings(wanted, found)))


def until_ok(look: t.Callable[[], Outcome], wait: float, *, clock: t.Callable[[], float], sleep: t.Callable[[float], None]) -> tuple[Outcome, float]:
    """Look until all findings that are left are lasting, or `wait` seconds are over. Returns the last outcome and the seconds that it took."""
    start = clock()
    while True:
        outcome = look()
        waited = clock() - start
        if all(finding.lasting for finding in outcome.findings) or waited + PAUSE > wait:
            return outcome, waited
        sleep(PAUSE)


# The objects that a row of the table stands for.
OF_ROWS = (Topic.PORT, Kind.INTERFACE)


def table_rows(wanted: Wanted, found: Found, deviations: t.Sequence[Finding]) -> list[dict[str, str]]:
    """One row for each declared interface with the port under it, and for each checked port without a declared interface."""
    ports = {port.name: port for port in found.ports}
    netdevs = {netdev.name: netdev for netdev in found.netdevs}
    names = [item.name for item in interfaces(wanted, found) if item.present]
    pairs = [(netdevs[name].port if name in netdevs else "", name) for name in names]
    covered = {port for port, _name in pairs}
    pairs += [(port, "") for port in checked_ports(wanted, found) if port not in covered]
    if not pairs:
        port = fabric_port(wanted, found)
        pairs = [(port.name if port else "", "")]
    subjects = {finding.subject for finding in deviations if finding.kind in OF_ROWS}
    # A finding about the node as a whole makes each of its rows bad: no row of a bad node may read OK.
    whole_node = any(finding.kind not in OF_ROWS for finding in deviations) or bool(subjects - {name for pair in pairs for name in pair})
    manager = _sm_column(wanted, found)
    rows = []
    for port_name, name in sorted(pairs):
        bad = whole_node or port_name in subjects or name in subjects
        cells = {"port": port_name, "interface": name, "sm": manager, "result": "BAD" if bad else "OK"}
        rows.append(_row(cells, ports.get(port_name), netdevs.get(name)))
    return rows


def _row(cells: dict[str, str], port: Port | None, netdev: Netdev | None) -> dict[str, str]:
    """All cells but the name of the host, which the table knows."""
    if port is not None:
        cells.update(state=port.state, rate=port.rate.split(" (")[0])
        if port.phys_state == "LinkUp":
            # Without a link, the kernel shows those from before.
            cells.update(lid=str(port.lid), sm_lid=str(port.sm_lid))
    if netdev is not None:
        cells.update(mode=netdev.mode, mtu=str(netdev.mtu), addresses=" ".join(netdev.addresses))
    return {key: cells.get(key) or UNKNOWN for key in KEYS[1:]}


def _sm_column(wanted: Wanted, found: Found) -> str:
    """`master` on the node that holds the master, else the name of the master."""
    if found.master is None:
        return ""
    if any(port.port_guid == found.master.guid for port in found.ports):
        return "master"
    return wanted.designated_host if is_designated(wanted, found, found.master) else short(found.master)


def settled(
    run: Runner,
    wanted: Wanted,
    release: str,
    *,
    wait: float,
    clock: t.Callable[[], float] = time.monotonic,
    sleep: t.Callable[[float], None] = time.sleep,
    root: str = "/",
) -> tuple[Outcome, float]:
    """The outcome once nothing is left that waiting could mend, or `wait` seconds are over; with the seconds that it took.

    Links, cables and firmware are read at the end, and once: it takes the tools seconds for each adapter, in which the rest of a look grows old.
    """
    outcome, waited = until_ok(lambda: judge(wanted, look(run, wanted, release, environ=os.environ, root=root)), wait, clock=clock, sleep=sleep)
    if wanted.links is None and wanted.firmware is None:
        return outcome, waited
    return judge(wanted, look_at_adapters(run, wanted, outcome.found, root=root)), waited


def check(module: AnsibleModule, run: Runner, release: str) -> dict[str, t.Any]:
    """The result of the module. Raises RdmaError, with the result as its details, for findings that shall be a failure."""
    require_none(problems(module.params))
    wanted = wanted_of(module.params)
    wait = 0 if module.check_mode else module.params["wait"]
    outcome, waited = settled(run, wanted, release, wait=wait)
    result = {**outcome.result(), "waited": round(waited, 1)}
    if outcome.findings and module.params["fail"]:
        raise RdmaError("not as declared: %s" % "; ".join(result["deviation_lines"]), **result)
    return {"changed": False, "ok": not outcome.findings, **result}
