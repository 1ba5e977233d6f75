# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`perfquery`: all counters of single ports. Grammar from infiniband-diags, `perfquery.c`."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal, hexadecimal

_TITLE = re.compile(r"# Port (extended )?counters: Lid ([0-9]{1,5}) port ([0-9]{1,3}) \(CapMask: 0x([0-9A-Fa-f]{1,8})[ )]")
_COUNTER = re.compile(r"([A-Za-z][A-Za-z0-9]{0,40}):\.{0,60}(0x[0-9A-Fa-f]{1,16}|[0-9]{1,20})\s*\Z")

# Bits of CapMask: whether the port has PortXmitWait and QP1Dropped.
_HAS_WAIT, _HAS_QP1 = 0x1000, 0x8000
# Bits of CounterSelect and CounterSelect2: all errors, PortXmitWait, QP1Dropped.
_ERRORS, _WAIT, _QP1 = 0xFFF, 0x10000, 0x20000
# Errors among the extended counters. PortXmitWait and QP1Dropped are added by the tool where the port has them.
_EXTENDED_ERRORS = 0xFFF0000


class PortCounters(t.NamedTuple):
    """One attribute of a port."""

    lid: int
    port: int
    extended: bool
    """64 bits."""
    abilities: int
    """CapMask."""
    counters: t.Mapping[str, int]


class Listing(t.NamedTuple):
    ports: tuple[PortCounters, ...] = ()
    unread: tuple[str, ...] = ()


def parse_counters(text: str) -> Listing:
    """What it prints of one or of several ports."""
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
            # The counters below it are others than those of a port.
            counters = None
        elif counter and counters is not None:
            # What is not decimal selects counters, and is none.
            value = decimal(counter[2])
            if value is not None:
                counters[counter[1]] = value
        elif line.strip() and counter is None:
            unread.append(line)
    return Listing(tuple(ports), tuple(unread))


def _command(device: str, port: int, options: t.Sequence[str], lid: int, numbers: t.Sequence[int]) -> tuple[str, ...]:
    return ("perfquery", "-C", device, "-P", str(port), *options, str(lid), ",".join(map(str, numbers)))


def command(device: str, port: int, *, extended: bool, lid: int, numbers: t.Sequence[int]) -> tuple[str, ...]:
    """Asks through a port about ports of one LID."""
    return _command(device, port, ("-x", "-l") if extended else ("-l",), lid, numbers)


def error_mask(abilities: int) -> int:
    return _ERRORS | (_WAIT if abilities & _HAS_WAIT else 0) | (_QP1 if abilities & _HAS_QP1 else 0)


def clear(device: str, port: int, *, lid: int, numbers: t.Sequence[int], mask: int) -> tuple[str, ...]:
    """Sets those counters to zero that the mask selects; 0 for all."""
    return (*_command(device, port, ("-R",), lid, numbers), *(("0x%x" % mask,) if mask else ()))


def clear_extended(device: str, port: int, *, lid: int, numbers: t.Sequence[int], data: bool) -> tuple[str, ...]:
    """Sets counters of 64 bits to zero: errors, and with `data` the others, too."""
    return (*_command(device, port, ("-x", "-R"), lid, numbers), *(() if data else ("0x%x" % _EXTENDED_ERRORS,)))
