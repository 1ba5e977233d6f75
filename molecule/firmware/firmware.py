# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards of a lab node, inspected with standard tools, and modules run on them."""

from __future__ import annotations

import contextlib
import os
import typing as t

import tasks
from tasks import Result, Task, module, shell

Host = t.Any

CONNECTX5, CONNECTX6, CONNECTX7 = "MT_0000000008", "MT_0000000223", "MT_0000000838"


def run(hosts: t.Sequence[Host], *steps: Task) -> list[list[Result]]:
    """Run tasks on each of these nodes in parallel. Returns their results, including failed ones."""
    names = [host.backend.host for host in hosts]
    found = tasks.run(os.environ["MOLECULE_INVENTORY_FILE"], names, steps)
    return [found[name] for name in names]


def configure(check: bool = False, **entry: t.Any) -> Task:
    return module("mlxconfig", check, devices=[entry], allow_container=True)


RESTORE = module("mlxconfig", allow_container=True, devices="{{ hca_firmware_config }}", missing="ignore")
"""Restores what the inventory declares."""


def fault(adapter: str, kind: str) -> Task:
    """Set a fault of a card, or clear all with `none`."""
    return shell("/opt/lab/bin/rdmalab-fault %s %s" % (adapter, kind))


def declared(host: Host) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", host.ansible.get_variables())


def card(host: Host, psid: str) -> str:
    """Return the first PCI function of the node's card with this PSID."""
    names = host.check_output("grep -l %s /sys/class/infiniband/*/board_id", psid).splitlines()
    return min(host.check_output("basename $(readlink -f %s)", name.replace("board_id", "device")) for name in names)


def slot(hosts: t.Sequence[Host], psid: str) -> str:
    """Return the PCI address of that card, which must be the same on all nodes."""
    (pci,) = {card(host, psid) for host in hosts}
    return pci


def _query(pci: str, names: t.Sequence[str]) -> str:
    return "mstconfig -d %s -e query %s" % (pci, " ".join("'%s'" % name for name in names))


def query(pci: str, *names: str) -> Task:
    return shell(_query(pci, names))


def rows(host: Host, pci: str, *names: str) -> dict[str, tuple[str, str, str]]:
    """Return the tool's output for parameters: default, current and next value by name."""
    return parsed(host.check_output(_query(pci, names)))


def parsed(output: str) -> dict[str, tuple[str, str, str]]:
    found = [line.replace("*", " ").replace(" RO ", " ").split() for line in output.splitlines()]
    return {words[0]: (words[1], words[2], words[3]) for words in found if len(words) == 4 and words[0].isupper()}


def flash(host: Host, pci: str) -> dict[str, str]:
    """Return the tool's output for the card's firmware, by key."""
    lines = host.check_output("mstflint -d %s query", pci).splitlines()
    return {key.strip(): value.strip() for key, separator, value in (line.partition(":") for line in lines) if separator}


def emulation(host: Host, pci: str) -> dict[str, str]:
    """Return the state of the emulated card itself."""
    return dict(line.split("=", 1) for line in host.check_output("cxemu-ctl %s show", pci).splitlines())


@contextlib.contextmanager
def broken(host: Host, adapter: str, fault: str) -> t.Iterator[None]:
    """Give a card a fault; clear it afterwards."""
    host.check_output("/opt/lab/bin/rdmalab-fault %s %s", adapter, fault)
    try:
        yield
    finally:
        host.check_output("/opt/lab/bin/rdmalab-fault %s none", adapter)
