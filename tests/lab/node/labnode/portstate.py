# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts a PortInfo attribute to sysfs text, as drivers/infiniband/core/sysfs.c writes it."""

from __future__ import annotations

from typing import NamedTuple

STATES = {0: "NOP", 1: "DOWN", 2: "INIT", 3: "ARMED", 4: "ACTIVE", 5: "ACTIVE_DEFER"}
PHYS_STATES = {
    1: "Sleep",
    2: "Polling",
    3: "Disabled",
    4: "PortConfigurationTraining",
    5: "LinkUp",
    6: "LinkErrorRecovery",
    7: "Phy Test",
}
ACTIVE = 4
WIDTHS = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
# Rate of one lane in units of 100 Mb/s.
SPEEDS = {1: ("SDR", 25), 2: ("DDR", 50), 4: ("QDR", 100)}
EXTENDED_SPEEDS = {1: ("FDR", 140), 2: ("EDR", 250), 4: ("HDR", 500), 8: ("NDR", 1000)}
CAP_EXTENDED_SPEEDS = 1 << 14
LINK_LOCAL = 0xFE80 << 48


class PortState(NamedTuple):
    """The port state that changes while the fabric runs. rate: the sysfs line without its newline."""

    state: int
    phys_state: int
    lid: int
    lmc: int
    sm_lid: int
    sm_sl: int
    cap_mask: int
    gid_prefix: int
    rate: str
    pkeys: tuple[int, ...]


# A port without a cable, or before the first answer of the fabric.
UNPLUGGED = PortState(1, 2, 0, 0, 0, 0, 0, LINK_LOCAL, "10 Gb/sec (4X SDR)", (0xFFFF,))


def rate_text(width: int, speed: int, extended_speed: int) -> str:
    """Convert LinkWidthActive, LinkSpeedActive and LinkSpeedExtActive to the text of "rate".

    >>> rate_text(2, 4, 2)
    '100 Gb/sec (4X EDR)'
    """
    lanes = WIDTHS.get(width, 4)
    name, lane_rate = EXTENDED_SPEEDS.get(extended_speed) or SPEEDS.get(speed) or SPEEDS[1]
    rate = lanes * lane_rate
    return "%d%s Gb/sec (%dX %s)" % (rate // 10, ".5" if rate % 10 else "", lanes, name)


def parse_port_info(info: bytes, pkeys: bytes) -> PortState:
    """Parse a PortInfo attribute (64 bytes, IBA 14.2.5.6) and a P_Key table (big-endian words)."""
    cap_mask = int.from_bytes(info[20:24], "big")
    extended_speed = info[62] >> 4 if cap_mask & CAP_EXTENDED_SPEEDS else 0
    return PortState(
        state=info[32] & 0xF,
        phys_state=info[33] >> 4,
        lid=int.from_bytes(info[16:18], "big"),
        lmc=info[34] & 7,
        sm_lid=int.from_bytes(info[18:20], "big"),
        sm_sl=info[36] & 0xF,
        cap_mask=cap_mask,
        gid_prefix=int.from_bytes(info[8:16], "big") or LINK_LOCAL,
        rate=rate_text(info[31], info[35] >> 4, extended_speed),
        pkeys=tuple(int.from_bytes(pkeys[i : i + 2], "big") for i in range(0, len(pkeys), 2)),
    )


def groups(value: int, count: int) -> str:
    """Format a GUID (4 groups) or GID (8 groups) as sysfs does.

    >>> groups(0x0002C90300001000, 4)
    '0002:c903:0000:1000'
    """
    return ":".join("%04x" % (value >> 16 * (count - 1 - i) & 0xFFFF) for i in range(count))


def port_files(state: PortState, guid: int) -> dict[str, str]:
    """Return the files below ports/N/ that depend on the fabric."""
    files = {
        "state": "%d: %s\n" % (state.state, STATES.get(state.state, "<unknown>")),
        "phys_state": "%d: %s\n" % (state.phys_state, PHYS_STATES.get(state.phys_state, "<unknown>")),
        "lid": "0x%x\n" % state.lid,
        "lid_mask_count": "%d\n" % state.lmc,
        "sm_lid": "0x%x\n" % state.sm_lid,
        "sm_sl": "%d\n" % state.sm_sl,
        "cap_mask": "0x%08x\n" % state.cap_mask,
        "rate": state.rate + "\n",
        "gids/0": groups(state.gid_prefix << 64 | guid, 8) + "\n",
    }
    for index, pkey in enumerate(state.pkeys):
        files["pkeys/%d" % index] = "0x%04x\n" % pkey
    return files
