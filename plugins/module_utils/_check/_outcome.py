# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of a check: the findings and the rows of the table. Pure."""

from __future__ import annotations

import typing as t

from .._accepted import Spot, counts, match
from .._expectations import EXPECTATIONS
from .._finding import Finding, Severity, Topic
from .._plan import Kind
from . import _words
from ._expect import cards_of, checked_ports, fabric_of_port, fabric_port, findings
from ._managers import is_designated, short
from ._table import BAD, GOOD, KEYS, NOTED, UNKNOWN

if t.TYPE_CHECKING:
    from .._facts._netdevs import Netdev
    from .._facts._ports import Port
    from ._found import Found
    from ._types import Fabric
    from ._wanted import Wanted


class Outcome(t.NamedTuple):
    """What the module reports about its node."""

    wanted: Wanted
    found: Found
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The errors that are not accepted: with any of them, the node is not as declared."""
        return tuple(finding for finding in self.findings if finding.severity == Severity.ERROR and not counts(self._accepted(finding)))

    def _accepted(self, finding: Finding) -> dict[str, t.Any] | None:
        """The entry with which the site accepts a finding, or accepted it until the entry expired."""
        entry = match(self.wanted.accepted, finding.code.value, [_spot(finding, self.wanted.host, self.found)], today=self.wanted.today)
        return entry.result(self.wanted.today) if entry is not None else None

    def _deviation(self, finding: Finding) -> dict[str, t.Any]:
        """The finding in the shape of an entry of `deviations`."""
        accepted = self._accepted(finding)
        return {**_words.result(finding), **({"accepted": accepted} if accepted is not None else {})}

    def _fabric(self, fabric: Fabric) -> dict[str, str]:
        """The fabric in the shape of an entry of `fabrics`."""
        master = self.found.live.manager(fabric.fabric).master
        return {"fabric": fabric.fabric, "master_guid": master.guid if master else "", "designated_host": fabric.designated_host}

    def result(self, waited: float = 0.0) -> dict[str, t.Any]:
        """The result in the shape that the module returns and _table.py reads. `waited` is in seconds."""
        returned: dict[str, t.Any] = {}
        for each in EXPECTATIONS:
            returned.update(each.result(self.found.concerns.get(each.name)))
        return {
            "deviations": [self._deviation(finding) for finding in self.findings],
            "deviation_lines": [line.text for line in _words.by_object(map(self._deviation, self.errors))],
            "rows": table_rows(self.wanted, self.found, [each for each in self.findings if each.severity != Severity.NOTICE], errors=self.errors),
            "fabrics": [self._fabric(fabric) for fabric in self.wanted.fabrics],
            "adapters": [dict(card._asdict()) for card in cards_of(self.wanted, self.found)],
            **returned,
            "ok": not self.errors,
            "waited": round(waited, 1),
        }


def judge(wanted: Wanted, found: Found) -> Outcome:
    return Outcome(wanted, found, tuple(findings(wanted, found)))


# The objects that have a row in the table.
OF_ROWS = (Topic.PORT, Kind.INTERFACE)


def _spot(finding: Finding, host: str, found: Found) -> Spot:
    """Where a finding is: the names of the host, and those of the port or adapter that it is about."""
    names = {host, host.partition(".")[0]} - {""}
    ports = {finding.subject} if finding.kind in (Topic.PORT, Topic.ADAPTER, Topic.INTERRUPTS) and finding.subject else set()
    for port in found.live.ports:
        if port.name in ports:
            ports.update((port.port_guid, "%s/%d" % (port.pci, port.port)))
    return Spot(frozenset(map(str.lower, names)), frozenset(map(str.lower, ports)))


def table_rows(wanted: Wanted, found: Found, deviations: t.Sequence[Finding], *, errors: t.Sequence[Finding] | None = None) -> list[dict[str, str]]:
    """One row for each declared interface with the port under it, and for each checked port without a declared interface.

    `errors`: the errors that are not accepted; None counts all of them as errors.
    """
    errors = deviations if errors is None else errors
    ports = {port.name: port for port in found.live.ports}
    netdevs = {netdev.name: netdev for netdev in found.live.netdevs}
    names = [interface.name for interface in wanted.interfaces(found)]
    pairs = [(netdevs[name].port if name in netdevs else "", name) for name in names]
    covered = {port for port, _name in pairs}
    pairs += [(port, "") for port in checked_ports(wanted, found) if port not in covered]
    if not pairs:
        asked = [fabric_port(wanted, found, fabric) for fabric in wanted.fabrics]
        pairs = [(port.name if port else "", "") for port in asked]
    named = {name for pair in pairs for name in pair}
    results = [(_concerned(errors, named), BAD), (_concerned(deviations, named), NOTED)]
    rows = []
    for port_name, name in sorted(pairs):
        result = next((word for subjects, word in results if subjects is None or {port_name, name} & subjects), GOOD)
        port = ports.get(port_name)
        fabric = fabric_of_port(wanted, port)
        cells = {"port": port_name, "interface": name, "sm": _sm_column(wanted, found, fabric) if fabric else "", "result": result}
        rows.append({**_row(cells, port, netdevs.get(name)), "fabric": fabric.fabric if fabric else ""})
    return rows


def _concerned(findings: t.Sequence[Finding], named: t.Collection[str]) -> set[str] | None:
    """The ports and interfaces of rows that have findings; None where a finding is about the whole node: then no row may read OK."""
    subjects = {finding.subject for finding in findings if finding.kind in OF_ROWS}
    return None if any(finding.kind not in OF_ROWS for finding in findings) or subjects - set(named) else subjects


def _row(cells: dict[str, str], port: Port | None, netdev: Netdev | None) -> dict[str, str]:
    """All cells except the host name, which the table adds."""
    if port is not None:
        cells.update(state=port.state, rate=port.rate.split(" (")[0])
        if port.phys_state == "LinkUp":
            # Without a link, the kernel still shows the previous LIDs.
            cells.update(lid=str(port.lid), sm_lid=str(port.sm_lid))
    if netdev is not None:
        cells.update(mode=netdev.mode, mtu=str(netdev.mtu), addresses=" ".join(netdev.addresses))
    row = {key: cells.get(key) or UNKNOWN for key in KEYS[1:]}
    # Not shown, like the fabric: they serve to compare the hosts of one IPoIB subnet.
    return {**row, "pkey": netdev.pkey} if netdev is not None else row


def _sm_column(wanted: Wanted, found: Found, fabric: Fabric) -> str:
    """`master` on the node that holds the master, else the name of the master. Where its identity is unknown, the cell says so."""
    master = found.live.manager(fabric.fabric).master
    if master is None:
        return ""
    if any(port.port_guid == master.guid for port in found.live.ports):
        return "master"
    known = is_designated(fabric, found.live, master, host=wanted.host)
    if known is None and fabric.designated_host:
        return "%s, not judged" % short(master)
    return fabric.designated_host if known else short(master)
