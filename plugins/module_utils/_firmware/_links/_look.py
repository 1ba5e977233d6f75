# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Query the links and cables of a node's ports, and find their problems."""

from __future__ import annotations

import fnmatch
import re
import typing as t

from ..._errors import InvalidInput, Problem, RdmaError, Unsupported
from ..._facts._portname import named_ports
from ..._facts._ports import read_hcas, read_ports
from ..._facts._virtual import is_virtual
from ..._finding import Code, Finding, Topic
from ..._host._run import first_tool
from ..._record import as_data
from ..._tools import _mlxlink
from ..._tools._smpquery import SPEEDS
from ..._tools._speeds import INFINIBAND, rank
from .._devices import each

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from ..._tools._mlxlink import Cable, Link

# The letter after the hyphen of an NVIDIA part number says what a LinkX cable or module is made and tested for: `MCP1600-C001E30N` is for 100 Gb/s
# Ethernet, `MCP1600-E001E30` for EDR. Cables with E, H and N are for InfiniBand; NVIDIA lists them for Ethernet, too, or for both.
# The part numbers of other vendors do not tell the protocol.
_LINKX = re.compile(r"^M(?:CP|CA|FA|FS|MA|MS)[0-9A-Z]{4}-([A-Z])[0-9A-Z]")
_LINKX_ETHERNET: t.Mapping[str, str] = {"A": "25GbE", "C": "100GbE", "V": "200GbE", "W": "400GbE"}


class Limits(t.NamedTuple):
    """The limits that a site accepts."""

    part_numbers: tuple[str, ...] = ()
    """Shell patterns of accepted part numbers; if empty, all are accepted except those for Ethernet only in an InfiniBand port."""
    effective_ber: float = 1e-12
    min_speed: str = ""
    """The minimum speed of cables and links; "" for the fastest that port and cable support."""


class QueriedPort(t.NamedTuple):
    """One port to query."""

    name: str
    """`mlx5_0/1`."""
    device: str
    port: int
    pci: str
    port_guid: str = ""
    """The port GUID; "" for a port without InfiniBand, whose GID is derived from its MAC address."""


def fastest(speeds: t.Iterable[str], kind: int) -> str:
    """The fastest of some speeds of one kind; "" where there is none."""
    ranked = [(found, speed) for speed in speeds for found in [rank(speed)] if found and found[0] == kind]
    return max(ranked)[1] if ranked else ""


def describe_cable(cable: Cable) -> str:
    """`FS Q28-PC03, Passive copper cable, 3 m, serial S2202655321-1`; "" where the port has no cable."""
    name = " ".join(part for part in (cable.vendor, cable.part_number) if part)
    length = "%g m" % cable.length_m if cable.length_m else ""
    serial = "serial %s" % cable.serial_number if cable.serial_number else ""
    return ", ".join(part for part in (name or cable.identifier, cable.type, length, serial) if part)


def _kind(*speeds: str) -> int | None:
    """The kind of the first speed that has one."""
    return next((found[0] for speed in speeds for found in [rank(speed)] if found), None)


def of_link(code: Code, found: str, port: str = "") -> Finding:
    """A finding about the link of a port; `found` says in words what was found."""
    return Finding(code, Topic.PORT, port, found=found)


def _slower(link: Link, min_speed: str) -> list[Finding]:
    """Findings about a cable or a link that is slower than required."""
    kind = _kind(link.speed, *link.enabled_speeds, *link.cable_speeds, min_speed) or INFINIBAND
    # A minimum speed of the other kind says nothing about this port.
    min_speed = min_speed if (rank(min_speed) or (kind,))[0] == kind else ""
    port, cable = fastest(link.enabled_speeds, kind), fastest(link.cable_speeds, kind)
    now, wanted, able = rank(link.speed), rank(min_speed or port), rank(cable)
    found = []
    if wanted and able and able < wanted:
        limit = "%s is wanted" % min_speed if min_speed else "the port is set to up to %s" % port
        found.append(of_link(Code.CABLE_SLOW, "the cable does %s at most, %s" % (cable, limit)))
    least = wanted if min_speed else min((speed for speed in (wanted, able) if speed), default=None)
    if now and least and now[0] == least[0] and now < least and link.state == "Active":
        expected = "%s is wanted" % min_speed if min_speed else "port and cable are capable of %s" % (port if least == wanted else cable)
        found.append(of_link(Code.LINK_DEGRADED, "it runs at %s, %s" % (link.speed, expected)))
    return found


def ethernet_rate(part_number: str) -> str:
    """`MCP1600-C001E30N` -> `100GbE`; "" for a cable that is not known to be for Ethernet only."""
    match = _LINKX.match(part_number.strip().upper())
    return _LINKX_ETHERNET.get(match.group(1), "") if match else ""


def _cable_problems(link: Link, limits: Limits) -> list[Finding]:
    """Findings about a cable that the site does not accept or that does not suit the kind of port."""
    number = link.cable.part_number
    if limits.part_numbers:
        # A declared part number is accepted, whatever it stands for.
        if not describe_cable(link.cable) or any(fnmatch.fnmatchcase(number, pattern) for pattern in limits.part_numbers):
            return []
        return [of_link(Code.CABLE_UNDECLARED, "the part number of its cable is none of %s" % ", ".join(limits.part_numbers))]
    rate = ethernet_rate(number)
    if not rate or _kind(link.speed, *link.enabled_speeds) != INFINIBAND:
        return []
    return [of_link(Code.CABLE_FOR_ETHERNET, "by its part number, the cable is for Ethernet (%s), and the port is InfiniBand" % rate)]


def problems_of(link: Link, limits: Limits) -> list[Finding]:
    """The problems of one port, each with the cable and without a subject."""
    cable = describe_cable(link.cable)
    found = []
    if link.opcode:
        found.append(of_link(Code.LINK_DIAGNOSIS, "%s (opcode %d)" % (link.recommendation or "the card reports a problem", link.opcode)))
    found += [*_cable_problems(link, limits), *_slower(link, limits.min_speed)]
    ber = link.counters.effective_ber
    if ber is not None and ber > limits.effective_ber:
        text = "%g of the bits are wrong after error correction, allowed: %g" % (ber, limits.effective_ber)
        found.append(of_link(Code.BIT_ERRORS, text))
    return [problem._replace(found="%s%s" % (problem.found, "; cable: %s" % cable if cable else "")) for problem in found]


def targets(root: str, names: t.Sequence[str]) -> tuple[QueriedPort, ...]:
    """The ports to query: the named ones, or all ports of the node's own adapters. Raises InvalidInput with every unknown name."""
    hcas = {hca.name: hca for hca in read_hcas(root) if hca.pci and not is_virtual(root, hca.pci)}
    ports = [port for port in read_ports(root) if port.device in hcas]
    known = {port.name: QueriedPort(port.name, port.device, port.port, hcas[port.device].pci, port.port_guid if port.infiniband else "") for port in ports}
    facts = [port._asdict() for port in ports]
    wanted = {"ports[%d]" % index: name for index, name in enumerate(names)}
    chosen = named_ports(wanted, facts, none="nothing: this node has no port of an adapter")
    own = [port.name for port in ports if not port.apart]
    return tuple(known[name] for name in (dict.fromkeys(str(port["name"]) for port in chosen) if chosen else own))


class Answer(t.NamedTuple):
    """The answer of the tool for one port."""

    port: QueriedPort
    link: Link
    problems: tuple[Finding, ...] = ()
    error: str = ""
    """The tool's message where it could not read the link; the link is empty then."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (of_link(Code.LINK_UNREAD, self.error, self.port.name),) if self.error else self.problems

    def result(self) -> dict[str, t.Any]:
        """The answer in the shape of an entry of `ports`."""
        words = {"problems": [problem.found for problem in self.problems], "codes": [problem.code.value for problem in self.problems]}
        return {**as_data(self.link), **self.port._asdict(), "error": self.error, **words}


def _ask(run: Runner, name: str, port: QueriedPort, *, limits: Limits) -> Answer:
    try:
        link = _mlxlink.query(run, name, port.pci, port=port.port)
    except RdmaError as exc:
        return Answer(port, _mlxlink.Link(), error=exc.msg)
    return Answer(port, link, tuple(problem._replace(subject=port.name) for problem in problems_of(link, limits)))


def ask(run: Runner, names: t.Sequence[str], limits: Limits, *, root: str = "/") -> list[Answer]:
    """Query the named ports, or all. `run` has to be thread-safe. Raises InvalidInput, and Unsupported without a tool."""
    if limits.min_speed and rank(limits.min_speed) is None:
        raise InvalidInput([Problem("min_speed", limits.min_speed, "one of %s, or a speed of Ethernet such as 100G" % ", ".join(SPEEDS))])
    wanted = targets(root, names)
    name = first_tool(run, _mlxlink.TOOLS)
    if wanted and not name:
        raise Unsupported("neither %s is installed on this node: install the package mstflint" % " nor ".join(_mlxlink.TOOLS))
    # Cards are queried in parallel, and the functions of one card one after the other, because they share a semaphore.
    cards: dict[str, list[QueriedPort]] = {}
    for target in wanted:
        cards.setdefault(target.pci.rpartition(".")[0], []).append(target)
    answers = each(lambda ports: {port: _ask(run, name, port, limits=limits) for port in ports}, list(cards.values()))
    return [answer[port] for port in wanted for answer in answers if port in answer]


def look(run: Runner, options: t.Mapping[str, t.Any], root: str = "/") -> dict[str, t.Any]:
    """The result of the module: every port with its problems. A port that can't be queried is an entry with an error, and no failure."""
    limits = Limits(tuple(options["part_numbers"]), options["max_effective_ber"], options["min_speed"])
    answers = ask(run, options["ports"], limits, root=root)
    found = ["%s: %s" % (answer.port.name, problem.found) for answer in answers for problem in answer.problems]
    errors = ["%s: %s" % (answer.port.name, answer.error) for answer in answers if answer.error]
    return {"changed": False, "ports": [answer.result() for answer in answers], "problems": found, "errors": errors}
