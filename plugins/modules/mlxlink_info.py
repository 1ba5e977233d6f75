#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mlxlink_info
short_description: Reports links and cables of NVIDIA adapters, and their faults
version_added: 1.0.0
description:
  - Reads link, cable and error counters of every port with C(mlxlink) of MFT or C(mstlink) of mstflint, whichever is installed.
  - Reports wrong cables. A cable that is too slow, that has an undeclared part number, or that the firmware objects to is a problem,
    which names the port, the part number, the length and the serial number.
  - A port that the tool can't read is returned with an error, and does not make the module fail.
extends_documentation_fragment:
  - rdma.ofed.attributes.info
options:
  ports:
    description:
      - The ports, by PCI address and number, such as V(0000:03:00.0/1), by port GUID, or by device and number, such as V(mlx5_0/1).
      - The default is all ports of all adapters. Virtual functions have none.
    type: list
    elements: str
    default: []
  part_numbers:
    description:
      - The part numbers of the cables that the site uses, as shell patterns such as V(MCP1600-E*).
      - By default, all are accepted in an InfiniBand port, except those that NVIDIA makes for Ethernet only, such as V(MCP1600-C001E30N).
    type: list
    elements: str
    default: []
  min_speed:
    description:
      - The speed that cables and links must support, such as V(EDR) or V(100G).
      - By default, a cable must support the speed that its port is set to, and a link must run as fast as port and cable support.
    type: str
    default: ""
  max_effective_ber:
    description: The bit error rate after error correction above which a port is a problem.
    type: float
    default: 1.0e-12
notes:
  - Run it as root.
  - The counters start when they are cleared, which was RV(ports[].counters.minutes) ago.
"""

EXAMPLES = r"""
- name: Read links and cables
  rdma.ofed.mlxlink_info:
    part_numbers: ["MCP1600-E*", "MFA1A00-E*"]
    min_speed: EDR
  register: links

- name: Stop where a cable is wrong, or could not be read
  ansible.builtin.assert:
    that: links.problems + links.errors == []
    fail_msg: "{{ (links.problems + links.errors) | join('; ') }}"
"""

RETURN = r"""
problems:
  description: The problems of all ports and their cables, in words.
  returned: success
  type: list
  elements: str
  sample: ["mlx5_0/1: the cable does FDR at most, the port is set to up to EDR; cable: Mellanox MC2207130-002, Passive copper cable, 2 m, serial X1"]
errors:
  description: The ports that could not be read, and why.
  returned: success
  type: list
  elements: str
  sample: ["mlx5_1/1: FW burnt on device does not support generic access register"]
ports:
  description: Every port. Texts are empty and numbers null where the tool does not report them.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The port, as rdma(8) names it.
      type: str
    device:
      description: Its RDMA device.
      type: str
    port:
      description: Its number.
      type: int
    port_guid:
      description: Its port GUID, by which a subnet manager and RV(rdma.ofed.ib_counters#module:ports) know it; empty for an Ethernet port.
      type: str
    pci:
      description: Its PCI function.
      type: str
    error:
      description: Why the port could not be read; empty where it could.
      type: str
    problems:
      description: Its problems, in words.
      type: list
      elements: str
    codes:
      description:
        - What kind of problem each of them is.
        - V(link_diagnosis) where the firmware names a cause, V(cable_undeclared) where the part number is none of O(part_numbers), V(cable_for_ethernet) where
          the cable in an InfiniBand port is for Ethernet alone, V(cable_slow), V(link_degraded), or V(bit_errors) beyond O(max_effective_ber).
      type: list
      elements: str
    state:
      description: Such as V(Active), V(Polling), V(Disable).
      type: str
    physical_state:
      description: Such as V(LinkUp), V(ETH_AN_FSM_ENABLE).
      type: str
    speed:
      description: Such as V(IB-EDR), V(100G).
      type: str
    width:
      description: Such as V(4x).
      type: str
    fec:
      description: The error correction in use.
      type: str
    auto_negotiation:
      description: Such as V(ON).
      type: str
    loopback:
      description: Such as V(No Loopback).
      type: str
    enabled_speeds:
      description: The speeds that are enabled on the port.
      type: list
      elements: str
    cable_speeds:
      description: The speeds that the cable supports.
      type: list
      elements: str
    opcode:
      description: The firmware's diagnosis; 0 for none.
      type: int
    recommendation:
      description: The firmware's diagnosis in words.
      type: str
    firmware:
      description: The running firmware of the adapter.
      type: str
    cable:
      description: The cable or module.
      type: dict
      contains:
        identifier:
          description: Its form factor, such as V(QSFP28).
          type: str
        type:
          description: Such as V(Passive copper cable).
          type: str
        technology:
          description: Such as V(1310 nm DFB laser).
          type: str
        vendor:
          description: The vendor.
          type: str
        part_number:
          description: The vendor's part number.
          type: str
        serial_number:
          description: The maker's serial number.
          type: str
        revision:
          description: Its revision.
          type: str
        length_m:
          description: Its length in metres; null for modules without a fixed cable.
          type: float
        compliance:
          description: The standards that it follows.
          type: str
        firmware:
          description: Firmware of an active cable or module.
          type: str
        temperature_c:
          description: Its temperature.
          type: float
    counters:
      description: Errors since the counters were cleared. Rates are errors per bit.
      type: dict
      contains:
        minutes:
          description: How long ago the counters were cleared.
          type: float
        symbol_errors:
          description: InfiniBand only.
          type: int
        symbol_ber:
          description: InfiniBand only.
          type: float
        effective_errors:
          description: Errors that remained after error correction.
          type: int
        effective_ber:
          description: Their rate; 0 where there was none.
          type: float
        raw_errors_per_lane:
          description: Errors before error correction.
          type: list
          elements: int
        raw_ber:
          description: Their rate.
          type: float
        link_downs:
          description: How often the link went down.
          type: int
        link_recoveries:
          description: How often the link had to recover.
          type: int
"""

from ..module_utils._firmware._links._look import look
from ..module_utils._host._answer import answer
from ..module_utils._schema._mlxlink_info import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: look(run, module.params))


if __name__ == "__main__":
    main()
