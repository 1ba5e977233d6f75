# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`smpquery` and `vendstat`: what a node of the fabric reports about itself and its ports. `ibportstate` changes a port.

Grammar from infiniband-diags, `smpquery.c` and `vendstat.c`, and `mad_dump_*` of libibmad. `ibportstate query` shows the same as
`smpquery portinfo`, but also fails where the other end of the cable does not answer.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal, hexadecimal

if t.TYPE_CHECKING:
    from .._host._run import Runner

# Dots pad to a fixed width, so more of them precede a short description.
_DESCRIPTION = re.compile(r"^Node Description:\.*(.*)$", re.M)
_VERSION = re.compile(r"^fw_version: *([0-9.]+)$", re.MULTILINE)
_PSID = re.compile(r"^fw_psid: *'([^'\n]*)'$", re.MULTILINE)

_PKEYS = re.compile(r"^ *\d+:((?: 0x[0-9a-fA-F]{4})+) *$", re.MULTILINE)

PORT_SETTER = "ibportstate"
DISABLED = "Disabled"

_LINE = re.compile(r"^(?P<key>[A-Za-z][A-Za-z0-9]{0,39}):(?P<value>[^\n]*)$", re.M)
# A libibmad that is older than a speed prints the bits.
_UNNAMED = re.compile(r"\bundefined \(([0-9]{1,4})\)")
_EXTENDED = re.compile(r"^# MLNX ext Port info", re.M)
# Signalling rate of a lane in Gb/s, slowest first.
LANE_GBPS = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.3125,
    "FDR": 14.0625,
    "EDR": 25.78125,
    "HDR": 53.125,
    "NDR": 106.25,
    "XDR": 212.5,
}
SPEEDS = tuple(LANE_GBPS)
# As libibmad prints them; it has no number for FDR10.
GBPS = {str(gbps): speed for speed, gbps in LANE_GBPS.items() if speed != "FDR10"}

# Bits of PortInfo. The extended speeds have two fields of their own, and FDR10 is in a vendor-specific query.
_WIDTH_BITS = {"1X": 1, "2X": 16, "4X": 2, "8X": 4, "12X": 8}
_SPEED_BITS = {"SDR": 1, "DDR": 2, "QDR": 4}
_EXTENDED_BITS = {"FDR": 1, "EDR": 2, "HDR": 4, "NDR": 8}
_SECOND_BITS = {"XDR": 1}
_SPEED_FIELDS = (("LinkSpeed%s", _SPEED_BITS), ("LinkSpeedExt%s", _EXTENDED_BITS), ("LinkSpeedExt%s2", _SECOND_BITS))
# ibportstate takes both fields of extended speeds as one number.
_SECOND_FIELD = 5
NO_EXTENDED_SPEED = 30
LEAST_SPEED = "SDR"
"""No port can disable it: the specification has no value for that."""


def parse_node_description(stdout: str) -> str:
    """The node description, `node1 mlx5_0`; "" where there is none."""
    match = _DESCRIPTION.search(stdout)
    return match.group(1).strip() if match else ""


def answer(run: Runner, device: str, port: int, *, lid: int) -> str | None:
    """The node description of the node at `lid`; None if it does not answer."""
    output = run(["smpquery", "-C", device, "-P", str(port), "nodedesc", str(lid)], ok=None, timeout=20)
    return parse_node_description(output.stdout) if output.rc == 0 else None


def pkeys_query(device: str, port: int, guid: str) -> list[str]:
    """The command that shows the P_Key table of a port by its GUID, through `port` of `device`."""
    return ["smpquery", "-C", device, "-P", str(port), "-G", "pkeys", guid]


def parse_pkeys(stdout: str) -> list[int]:
    """The used entries of a P_Key table: `   0: 0xffff 0x8001 0x0000 ...`."""
    rows = (match[1].split() for match in _PKEYS.finditer(stdout))
    return [pkey for row in rows for pkey in (hexadecimal(word, 0) for word in row) if pkey]


class SwitchFirmware(t.NamedTuple):
    """The firmware of an NVIDIA switch, as reported in a vendor-specific datagram."""

    version: str
    psid: str


def parse_vendstat(text: str) -> SwitchFirmware:
    """Parse `vendstat -N LID`. Raises UnexpectedOutput."""
    version, psid = _VERSION.search(text), _PSID.search(text)
    if version is None:
        raise UnexpectedOutput("vendstat printed %r, which has no version of a firmware" % text.strip()[:200])
    return SwitchFirmware(version[1], psid[1].strip() if psid else "")


def vendstat_command(device: str, port: int, lid: int) -> tuple[str, ...]:
    """Query the switch at a LID."""
    return ("vendstat", "-C", device, "-P", str(port), "-N", str(lid))


class PortSettings(t.NamedTuple):
    """The settings of one port. Widths and speeds are in ascending order."""

    state: str
    phys_state: str
    widths: tuple[str, ...] = ()
    """The enabled widths."""
    speeds: tuple[str, ...] = ()
    """The enabled speeds, without FDR10."""
    supported_widths: tuple[str, ...] = ()
    supported_speeds: tuple[str, ...] = ()
    width: str = ""
    """The active width; "" while the port is down."""
    speed: str = ""

    @property
    def is_disabled(self) -> bool:
        return self.phys_state == DISABLED


def port_query(device: str, port: int, place: tuple[int, int]) -> list[str]:
    """The command that shows a port, through `port` of `device`; `place` is the LID of the node and the number of its port."""
    return ["smpquery", "-C", device, "-P", str(port), "portinfo", *map(str, place)]


def port_setting(device: str, port: int, place: tuple[int, int], *, words: t.Sequence[str]) -> list[str]:
    """The command that changes a port, likewise."""
    return [PORT_SETTER, "-C", device, "-P", str(port), *map(str, place), *words]


def speed_calls(speeds: t.Collection[str]) -> tuple[tuple[str, ...], ...]:
    """The settings that enable exactly these speeds, each as two words. The first is the one that a tool without XDR refuses."""
    plain = sum(_SPEED_BITS.get(speed, 0) for speed in speeds)
    extended = sum(_EXTENDED_BITS.get(speed, 0) for speed in speeds) or NO_EXTENDED_SPEED
    extended |= sum(_SECOND_BITS.get(speed, 0) for speed in speeds) << _SECOND_FIELD
    return (("espeed", str(extended)), ("speed", str(plain)))


def width_calls(widths: t.Collection[str]) -> tuple[tuple[str, ...], ...]:
    """The settings that enable exactly these widths, likewise."""
    return (("width", str(sum(_WIDTH_BITS.get(width, 0) for width in widths))),)


def parse_port(stdout: str) -> PortSettings:
    """Parse `smpquery portinfo` and `ibportstate query`. Raises UnexpectedOutput where there is no state."""
    # The lines that follow, of the vendor-specific query, have the same names.
    own = _EXTENDED.split(stdout, maxsplit=1)[0]
    values: dict[str, str] = {}
    for match in _LINE.finditer(own):
        values.setdefault(match["key"], match["value"].lstrip(".").strip())
    if not values.get("PhysLinkState"):
        raise UnexpectedOutput("smpquery printed %r, which is not the state of a port" % stdout.strip()[:200])

    def widths(what: str) -> tuple[str, ...]:
        named = values.get("LinkWidth" + what, "").split()
        return tuple(width for width in _WIDTH_BITS if width in named)

    def speeds(what: str) -> tuple[str, ...]:
        """`2.5 Gbps or 5.0 Gbps` -> SDR, DDR. The extended speeds are higher."""
        found: set[str] = set()
        for form, bits in _SPEED_FIELDS:
            text = values.get(form % what, "")
            unnamed = _UNNAMED.search(text)
            # A number of its own means that all extended speeds are disabled.
            number = decimal(unnamed[1], 0) if unnamed else 0
            words = text.split()
            found.update(speed for speed, bit in bits.items() if number & bit and number != NO_EXTENDED_SPEED)
            found.update(GBPS[word] for word in words if GBPS.get(word) in bits)
        return tuple(speed for speed in SPEEDS if speed in found)

    is_up = values["PhysLinkState"] == "LinkUp"
    return PortSettings(
        values.get("LinkState", ""),
        values["PhysLinkState"],
        widths("Enabled"),
        speeds("Enabled"),
        widths("Supported"),
        speeds("Supported"),
        "".join(widths("Active")[:1]) if is_up else "",
        "".join(speeds("Active")[-1:]) if is_up else "",
    )
