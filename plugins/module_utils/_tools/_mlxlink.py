# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`mlxlink` and `mstlink`: link, cable and error counters of one port.

Sections are titles underlined with dashes; rows are "key : value" with the colon in column 35 or later. Colour codes
are also printed to pipes. Errors go to standard error, with exit status 1.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import CommandFailed, UnexpectedOutput
from .._foreign import decimal, integer, real

if t.TYPE_CHECKING:
    from .._host._run import Runner

    Sections = dict[str, dict[str, str]]

TOOLS = ("mlxlink", "mstlink")

_TIMEOUT = 60
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The end of a key. Colons within a key are not followed by a blank.
_COLON = re.compile(r":(?=\s|\Z)")
_ERROR = re.compile(r"-E- (.*)")
_SPEEDS = re.compile(r"^(?:(0x[0-9a-fA-F]+)\s*)?\(([^()]*)\)$")
_NUMBER = re.compile(r"^[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_COUNT = re.compile(r"^[0-9]{1,20}")
_BER = re.compile(r"^([0-9]{1,9})[eE](-[0-9]{1,3})$")
# mlxlink prints a rate without any error so far as this power of ten.
_NO_ERRORS = -255
_NOTHING = ("", "N/A")


class Cable(t.NamedTuple):
    """The cable or module in a port. Missing texts are "" and missing numbers None."""

    identifier: str = ""
    """Its form factor: `QSFP28`, `OSFP` ..."""
    type: str = ""
    """`Passive copper cable`, `Optical Module (separated)` ..."""
    technology: str = ""
    vendor: str = ""
    part_number: str = ""
    serial_number: str = ""
    revision: str = ""
    length_m: float | None = None
    """Also None for separate optical modules, which report 0."""
    compliance: str = ""
    firmware: str = ""
    temperature_c: float | None = None


class Counters(t.NamedTuple):
    """Errors since the counters were cleared. Rates are errors per bit; 0 for a rate without any error."""

    minutes: float | None = None
    symbol_errors: int | None = None
    symbol_ber: float | None = None
    effective_errors: int | None = None
    """Errors that remained after FEC."""
    effective_ber: float | None = None
    raw_errors_per_lane: tuple[int, ...] = ()
    raw_ber: float | None = None
    link_downs: int | None = None
    link_recoveries: int | None = None


class Link(t.NamedTuple):
    """One port from the card's point of view."""

    state: str = ""
    """`Active`, `Polling`, `Disable` ..."""
    physical_state: str = ""
    speed: str = ""
    """`IB-EDR`, `100G` ..."""
    width: str = ""
    fec: str = ""
    auto_negotiation: str = ""
    loopback: str = ""
    enabled_speeds: tuple[str, ...] = ()
    cable_speeds: tuple[str, ...] = ()
    opcode: int | None = None
    """0 where the card detects no problem."""
    recommendation: str = ""
    firmware: str = ""
    cable: Cable = Cable()
    counters: Counters = Counters()


def error_of(text: str) -> str:
    """The error of an output without mark and colours; "" where there is none."""
    match = _ERROR.search(_COLOUR.sub("", text))
    return match.group(1).strip() if match else ""


def parse_text(text: str) -> Sections:
    """The sections of an output. Raises UnexpectedOutput where there is none."""
    found: Sections = {}
    rows: dict[str, str] = {}
    previous = ""
    for line in (line.strip() for line in _COLOUR.sub("", text).splitlines()):
        colon = _COLON.search(line, 1)
        if previous and line and not line.strip("-"):
            rows = found.setdefault(previous, {})
        elif colon and found:
            rows[line[: colon.start()].strip()] = line[colon.end() :].strip()
        previous = line
    if not found:
        raise UnexpectedOutput("mlxlink printed %r, which has no section" % text.strip()[:500])
    return found


def _known(value: str) -> str:
    return "" if value in _NOTHING else value


def speeds_of(value: str) -> tuple[str, ...]:
    """Split `0x00000200 (100G_4X,50G_2X)`, in the order of the tool."""
    match = _SPEEDS.match(value.strip())
    return tuple(item.strip() for item in match.group(2).split(",") if _known(item.strip())) if match else ()


def number_of(value: str) -> float | None:
    """The number at the start of a value: `61 [-10..80]` is 61; None where there is none."""
    match = _NUMBER.match(value.strip())
    return real(match.group(0)) if match else None


def count_of(value: str) -> int | None:
    """A count; None where there is none."""
    match = _COUNT.match(value.strip())
    return decimal(match.group(0)) if match else None


def ber_of(value: str) -> float | None:
    """`5E-10`; `15E-255`, which stands for no error, is 0; None where there is none."""
    match = _BER.match(value.strip())
    if match is None:
        return None
    return 0.0 if (integer(match.group(2)) or 0) <= _NO_ERRORS else real(match.group(0))


def _row(rows: t.Mapping[str, str], name: str) -> str:
    """The value of a key, with or without a unit or remark in brackets: these differ between versions."""
    return next((_known(value) for key, value in rows.items() if key == name or key.startswith((name + " [", name + " ("))), "")


def _cable(rows: t.Mapping[str, str]) -> Cable:
    length = number_of(_row(rows, "Transfer Distance"))
    temperature = _row(rows, "Temperature")
    return Cable(
        identifier=_row(rows, "Identifier"),
        type=_row(rows, "Cable Type"),
        technology=_row(rows, "Cable Technology"),
        vendor=_row(rows, "Vendor Name"),
        part_number=_row(rows, "Vendor Part Number"),
        serial_number=_row(rows, "Vendor Serial Number"),
        revision=_row(rows, "Rev"),
        length_m=length if length else None,
        compliance=_row(rows, "Compliance"),
        firmware=_row(rows, "FW Version"),
        # Limits of 0 and 0 mean that the cable has no sensor.
        temperature_c=None if temperature.endswith("[0..0]") else number_of(temperature),
    )


def _counters(rows: t.Mapping[str, str]) -> Counters:
    lanes = [count_of(lane) for lane in _row(rows, "Raw Physical Errors Per Lane").split(",")]
    return Counters(
        minutes=number_of(_row(rows, "Time Since Last Clear")),
        symbol_errors=count_of(_row(rows, "Symbol Errors")),
        symbol_ber=ber_of(_row(rows, "Symbol BER")),
        effective_errors=count_of(_row(rows, "Effective Physical Errors")),
        effective_ber=ber_of(_row(rows, "Effective Physical BER")),
        raw_errors_per_lane=tuple(lane for lane in lanes if lane is not None),
        raw_ber=ber_of(_row(rows, "Raw Physical BER")),
        link_downs=count_of(_row(rows, "Link Down Counter")),
        link_recoveries=count_of(_row(rows, "Link Error Recovery Counter")),
    )


def link_of(sections: Sections) -> Link:
    """The port that the sections describe. A missing section leaves its part empty."""
    link = sections.get("Operational Info", {})
    supported = sections.get("Supported Info", {})
    trouble = sections.get("Troubleshooting Info", {})
    return Link(
        state=_row(link, "State"),
        physical_state=_row(link, "Physical state"),
        speed=_row(link, "Speed"),
        width=_row(link, "Width"),
        fec=_row(link, "FEC"),
        auto_negotiation=_row(link, "Auto Negotiation"),
        loopback=_row(link, "Loopback Mode"),
        enabled_speeds=speeds_of(_row(supported, "Enabled Link Speed")),
        cable_speeds=speeds_of(_row(supported, "Supported Cable Speed")),
        opcode=count_of(_row(trouble, "Status Opcode")),
        recommendation=_row(trouble, "Recommendation"),
        firmware=_row(sections.get("Tool Information", {}), "Firmware Version"),
        cable=_cable(sections.get("Module Info", {})),
        counters=_counters(sections.get("Physical Counters and BER Info", {})),
    )


def query(run: Runner, name: str, device: str, *, port: int) -> Link:
    """Link and cable of one port. Raises CommandFailed with the tool's words.

    `device` is a PCI address. The port number is passed only for devices with several ports: the tool determines that of
    a single port itself.
    """
    argv = [name, "-d", device, *(["-p", str(port)] if port > 1 else []), "-m", "-c"]
    output = run(argv, ok=None, timeout=_TIMEOUT)
    error = error_of(output.stdout + "\n" + output.stderr)
    if error or output.rc != 0:
        text = error or _COLOUR.sub("", output.stderr or output.stdout).strip()
        raise CommandFailed(text or "%s failed with exit status %d" % (" ".join(argv), output.rc), cmd=argv, rc=output.rc)
    return link_of(parse_text(output.stdout))
