# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program that checks whether a node is as declared, for NHC and Slurm. It reads only sysfs, and is no Ansible module."""

from __future__ import annotations

import os
import re
import sys
import typing as t

from .._errors import RdmaError
from .._facts._portname import find
from .._facts._ports import Port, read_ports
from .._facts._sysfs import attribute
from .._host._files import read_text, under, write_text
from .._host._run import PlainRunner, Runner
from ._settings import DRAINED, HEALTH_CONF, HealthSettings, parse_health_settings

# An option: drain the node in Slurm when something is wrong, and resume it when nothing is.
SLURM = "--slurm"
REASON = "rdma.ofed health:"
# The scheduler kills a check after a minute.
_SECONDS = 20.0
_STATE = re.compile(r"\bState=([A-Z_+*$~#!%@^-]+)")
_REASON = re.compile(r"\bReason=([^\n]*)")
_DRAIN, _DOWN = "DRAIN", "DOWN"
_UP = "up"


def _wrong(name: str, port: Port | None, rate: float) -> str:
    """What is wrong with a declared port; "" for nothing."""
    if port is None:
        return "port %s is missing" % name
    if port.state != "ACTIVE":
        return "port %s is %s (%s)" % (name, port.state or "unknown", port.phys_state or "unknown")
    return "port %s has %g Gb/s instead of %g" % (name, port.rate_gbps, rate) if port.rate_gbps < rate else ""


def problems(settings: HealthSettings, root: str = "/") -> list[str]:
    """Everything that is not as declared, in words."""
    ports = read_ports(root)
    rows = {port.name: port for port in ports}
    facts = [port._asdict() for port in ports]
    found = []
    for name in settings.ports:
        row = find(name, facts)
        found.append(_wrong(name, rows[row["name"]] if row else None, settings.rate_gbps))
    if not settings.ports and not any(port.in_fabric and not _wrong("", port, settings.rate_gbps) for port in ports):
        found.append("no InfiniBand port is active%s" % (" with %g Gb/s" % settings.rate_gbps if settings.rate_gbps else ""))
    for name in settings.interfaces:
        state = attribute(root, "sys/class/net", name, "operstate")
        if state != _UP:
            found.append("interface %s is %s" % (name, state or "missing"))
    return [text for text in found if text]


class NodeInSlurm(t.NamedTuple):
    states: frozenset[str]
    reason: str


def parse_node(text: str) -> NodeInSlurm:
    """Parse `scontrol show node`: `State=IDLE+DRAIN ...` and `Reason=... [root@2026-01-01T00:00:00]`."""
    state, reason = _STATE.search(text), _REASON.search(text)
    names = re.split(r"[^A-Z]+", state[1]) if state else []
    return NodeInSlurm(frozenset(name for name in names if name), reason[1].strip() if reason else "")


def tell_slurm(run: Runner, node: str, wrong: t.Sequence[str], *, root: str = "/") -> None:
    """Drain a node that is in service, or resume a node that this check has drained. Raises RdmaError.

    While nothing is wrong and nothing was wrong before, the scheduler is not queried.
    """
    marker = under(root, DRAINED)
    if not wrong and not os.path.exists(marker):
        return
    found = parse_node(run(["scontrol", "show", "node", node], timeout=_SECONDS).stdout)
    is_out = not found.states.isdisjoint((_DRAIN, _DOWN))
    if wrong and not is_out:
        # Write the marker first: a node drained without it would stay drained. It is empty, so two checks may write it at the same time.
        write_text(marker, "")
        run(["scontrol", "update", "nodename=" + node, "state=drain", "reason=%s %s" % (REASON, "; ".join(wrong))], timeout=_SECONDS)
    elif not wrong:
        if _DRAIN in found.states and found.reason.startswith(REASON):
            run(["scontrol", "update", "nodename=" + node, "state=resume"], timeout=_SECONDS)
        os.unlink(marker)


def main() -> int:
    settings = parse_health_settings(read_text(HEALTH_CONF))
    if settings is None:
        sys.stdout.write("%s can't be read: run the role rdma.ofed.fabric_monitor again\n" % HEALTH_CONF)
        return 2
    wrong = problems(settings)
    if wrong:
        sys.stdout.write("%s\n" % "; ".join(wrong))
    if SLURM not in sys.argv[1:]:
        return 1 if wrong else 0
    try:
        tell_slurm(PlainRunner(), settings.slurm_node, wrong)
    except (RdmaError, OSError) as exc:
        sys.stderr.write("%s\n" % exc)
        return 1
    return 0
