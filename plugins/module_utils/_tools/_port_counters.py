# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`perfquery`: all counters of single ports; `ibqueryerrors`: the error counters of all ports of a fabric. Pure.

Grammar from infiniband-diags, `perfquery.c` and `ibqueryerrors.c`.
"""

from __future__ import annotations

import re
import typing as t

from .._foreign import decimal, hexadecimal

_TITLE = re.compile(r"# Port (extended )?counters: Lid ([0-9]{1,5}) port ([0-9]{1,3}) \(CapMask: 0x([0-9A-Fa-f]{1,8})[ )]")
_COUNTER = re.compile(r"([A-Za-z][A-Za-z0-9]{0,40}):\.{0,60}(0x[0-9A-Fa-f]{1,16}|[0-9]{1,20})\s*\Z")

# Bits of CapMask: whether the port supports PortXmitWait and QP1Dropped.
_HAS_WAIT, _HAS_QP1 = 0x1000, 0x8000
# Bits of CounterSelect and CounterSelect2: all errors, PortXmitWait, QP1Dropped.
_ERRORS, _WAIT, _QP1 = 0xFFF, 0x10000, 0x20000
# Error counters among the extended ones. The tool adds PortXmitWait and QP1Dropped where the port has them.
EXTENDED_ERRORS = 0xFFF0000
_PORT = re.compile(r" {0,8}GUID 0x([0-9a-f]{1,16}) port (ALL|[0-9]{1,3}):")
_ERROR_COUNTER = re.compile(r" \[([A-Za-z][A-Za-z0-9]{0,40}) == ([0-9]{1,20})( \([0-9.]{1,20}[A-Za-z]{0,3}\))?\]")
_SUMMARY = re.compile(r"## Summary: [0-9]{1,10} nodes checked")
_SILENT = re.compile(r"IB_GSI_PORT_COUNTERS(?:_EXT)? query failed on ")
_PLACE = re.compile(r", Lid ([0-9]{1,5}) port ([0-9]{1,3})\Z")
_HEADS = ("Errors for ", "##")

ALL_PORTS = 255
CLEAR_ERRORS, CLEAR_DATA = "--clear-errors", "--clear-counts"


class PortCounters(t.NamedTuple):
    """One counter attribute of a port."""

    lid: int
    port: int
    extended: bool
    """Whether the counters have 64 bits."""
    abilities: int
    """CapMask."""
    counters: t.Mapping[str, int]


class Listing(t.NamedTuple):
    ports: tuple[PortCounters, ...] = ()
    unread: tuple[str, ...] = ()


def parse_counters(text: str) -> Listing:
    """Parse the output of `perfquery` for one or several ports."""
    ports: list[PortCounters] = []
    unread: list[str] = []
    counters: dict[str, int] | None = None
    for line in text.splitlines():
        title = _TITLE.match(line)
        counter = _COUNTER.match(line)
        if title:
            counters = {}
            ports.append(PortCounters(decimal(title[2], 0), decimal(title[3], 0), title[1] is not None, hexadecimal(title[4], 0), counters))
        elif line.startswith("#"):
            # The counters after this line are not those of a port.
            counters = None
        elif counter and counters is not None:
            # A value that is not decimal is a counter selection and no counter.
            value = decimal(counter[2])
            if value is not None:
                counters[counter[1]] = value
        elif line.strip() and counter is None:
            unread.append(line)
    return Listing(tuple(ports), tuple(unread))


def _command(device: str, port: int, options: t.Sequence[str], *, lid: int, numbers: t.Sequence[int]) -> tuple[str, ...]:
    return ("perfquery", "-C", device, "-P", str(port), *options, str(lid), ",".join(map(str, numbers)))


def perfquery(device: str, port: int, *, extended: bool, lid: int, numbers: t.Sequence[int]) -> tuple[str, ...]:
    """Query, through a port, the ports of one LID."""
    return _command(device, port, ("-x", "-l") if extended else ("-l",), lid=lid, numbers=numbers)


def error_mask(abilities: int) -> int:
    return _ERRORS | (_WAIT if abilities & _HAS_WAIT else 0) | (_QP1 if abilities & _HAS_QP1 else 0)


def clear(device: str, port: int, *, extended: bool, lid: int, numbers: t.Sequence[int], mask: int) -> tuple[str, ...]:
    """Clear the counters that the mask selects; 0 for all."""
    return (*_command(device, port, ("-x", "-R") if extended else ("-R",), lid=lid, numbers=numbers), *(("0x%x" % mask,) if mask else ()))


class PortErrors(t.NamedTuple):
    """The counters of a port that are not zero."""

    port_guid: str
    """Port GUID; a switch has one for all of its ports."""
    port: int
    counters: tuple[tuple[str, int, bool], ...]
    """Name, value, and whether the counter has 64 bits."""


class Errors(t.NamedTuple):
    ports: tuple[PortErrors, ...] = ()
    complete: bool = False
    """Whether the summary is present. Without it, a port that is not listed may have errors."""
    unread: tuple[str, ...] = ()


def _counters(text: str) -> tuple[tuple[str, int, bool], ...] | None:
    """Parse counters; None for anything else. Only 64-bit counters are also printed in a rounded form."""
    found = []
    at = 0
    while at < len(text):
        match = _ERROR_COUNTER.match(text, at)
        if match is None:
            return None
        found.append((match[1], decimal(match[2], 0), match[3] is not None))
        at = match.end()
    return tuple(found)


def parse_errors(text: str) -> Errors:
    """Parse the output of `ibqueryerrors` with zero thresholds. `port ALL` is the sum over the ports of a switch, and no port."""
    ports: list[PortErrors] = []
    unread: list[str] = []
    complete = False
    for line in text.splitlines():
        head = _PORT.match(line)
        if head is None:
            complete = complete or _SUMMARY.match(line) is not None
            if line.strip() and not line.startswith(_HEADS):
                unread.append(line)
            continue
        counters = _counters(line[head.end() :].rstrip())
        if counters is None:
            unread.append(line)
        elif head[2] != "ALL":
            ports.append(PortErrors("0x%016x" % hexadecimal(head[1], 0), decimal(head[2], 0), counters))
    return Errors(tuple(ports), complete, tuple(unread))


def parse_silent(stderr: str) -> tuple[tuple[int, int], ...]:
    """LID and number of the ports that did not answer; ALL_PORTS for a whole node. The node name may contain any character."""
    found = []
    for line in stderr.splitlines():
        # A name may imitate a place: the last one counts.
        place = _PLACE.match(line, max(line.rfind(", Lid "), 0)) if _SILENT.search(line) else None
        if place:
            found.append((decimal(place[1], 0), decimal(place[2], 0)))
    return tuple(found)


def ibqueryerrors(device: str, port: int, clear: t.Sequence[str] = ()) -> tuple[str, ...]:
    """Query the whole fabric through a port. Empty files mean no thresholds and no names of the site; `clear` is CLEAR_ERRORS, CLEAR_DATA."""
    return ("ibqueryerrors", "-C", device, "-P", str(port), "--threshold-file", "/dev/null", "--node-name-map", "/dev/null", *clear)
