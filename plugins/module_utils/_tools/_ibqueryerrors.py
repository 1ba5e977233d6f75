# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`ibqueryerrors`: the error counters of all ports of a fabric. Grammar from infiniband-diags, `ibqueryerrors.c`."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal, hexadecimal

_PORT = re.compile(r" {0,8}GUID 0x([0-9a-f]{1,16}) port (ALL|[0-9]{1,3}):")
_COUNTER = re.compile(r" \[([A-Za-z][A-Za-z0-9]{0,40}) == ([0-9]{1,20})( \([0-9.]{1,20}[A-Za-z]{0,3}\))?\]")
_SUMMARY = re.compile(r"## Summary: [0-9]{1,10} nodes checked")
_SILENT = re.compile(r"IB_GSI_PORT_COUNTERS(?:_EXT)? query failed on ")
_PLACE = re.compile(r", Lid ([0-9]{1,5}) port ([0-9]{1,3})\Z")
_HEADS = ("Errors for ", "##")

ALL_PORTS = 255


class PortErrors(t.NamedTuple):
    """The counters of a port that are not zero."""

    port_guid: str
    """Of a switch, whose ports have one GUID."""
    port: int
    counters: tuple[tuple[str, int, bool], ...]
    """Name, value, and whether the counter is one of 64 bits."""


class Errors(t.NamedTuple):
    ports: tuple[PortErrors, ...] = ()
    complete: bool = False
    """Whether the summary is there. Without it, a port that is not listed may have errors."""
    unread: tuple[str, ...] = ()


def _counters(text: str) -> tuple[tuple[str, int, bool], ...] | None:
    """None for anything but counters. Only one of 64 bits is printed in a rounded form, too."""
    found = []
    at = 0
    while at < len(text):
        match = _COUNTER.match(text, at)
        if match is None:
            return None
        found.append((match[1], decimal(match[2], 0), match[3] is not None))
        at = match.end()
    return tuple(found)


def parse_errors(text: str) -> Errors:
    """What it prints with thresholds of zero. `port ALL` is the sum of the ports of a switch, and no port."""
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
    """LID and number of the ports that did not answer; ALL_PORTS for a whole node. The name of the node may have any character."""
    found = []
    for line in stderr.splitlines():
        # A name may look like a place: the last one is meant.
        place = _PLACE.match(line, max(line.rfind(", Lid "), 0)) if _SILENT.search(line) else None
        if place:
            found.append((decimal(place[1], 0), decimal(place[2], 0)))
    return tuple(found)


def command(device: str, port: int, clear: t.Sequence[str] = ()) -> tuple[str, ...]:
    """Asks through a port. Empty files stand for no thresholds and for no names of the site; `clear` is CLEAR_ERRORS, CLEAR_DATA."""
    return ("ibqueryerrors", "-C", device, "-P", str(port), "--threshold-file", "/dev/null", "--node-name-map", "/dev/null", *clear)


CLEAR_ERRORS, CLEAR_DATA = "--clear-errors", "--clear-counts"
