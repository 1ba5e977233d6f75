# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes and clears faults of this node's cards."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence

from cxemu import faults, nvconfig

from . import adapter
from .node import Hca, read_node
from .tree import ROOT


def cards_named(hcas: Sequence[Hca], name: str) -> tuple[Hca, ...]:
    """Return the cards named by RDMA device, by PCI address (domain 0000 optional) or by "all". Raises ValueError if no emulated card matches."""
    emulated = [hca for hca in hcas if hca.type in adapter.MODELS]
    found = [hca for hca in emulated if name in ("all", hca.device, hca.pci, hca.pci.partition(":")[2])]
    if found:
        return tuple({adapter.directory(hca): hca for hca in reversed(found)}.values())
    known = ", ".join("%s (%s)" % (hca.device, hca.pci) for hca in emulated)
    raise ValueError("there is no emulated adapter '%s' here, only: %s" % (name, known or "none"))


def _commands(fault: faults.Fault, hca: Hca, ports: int) -> list[list[str]]:
    profile = nvconfig.read_profile(hca.type)
    return faults.commands(fault, lambda name: nvconfig.codes(name, profile, ports))


def _look() -> None:
    """Tell the agent to check whether a card left the bus or came back."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.connect(ROOT + "/agent.sock")
        line.send(b"look")
        line.recv(32)


def main(arguments: Sequence[str]) -> int:
    if not 2 <= len(arguments) <= 3:
        print("usage: rdmalab-fault ADAPTER KIND[=VALUE] [on|off]", file=sys.stderr)
        return 2
    try:
        hcas = read_node().hcas
        cards = cards_named(hcas, arguments[0])
        fault = faults.parse(*arguments[1:])
        steps = [(adapter.directory(hca), words) for hca in cards for words in _commands(fault, hca, adapter.ports(hcas, hca))]
    except ValueError as exc:
        print("rdmalab-fault: %s" % exc, file=sys.stderr)
        return 1
    for card, words in steps:
        subprocess.run([adapter.CONTROL, card, *words], check=True)
    _look()
    return 0
