# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program that samples the fabrics of a host for node_exporter. The timer runs it; it is no Ansible module."""

from __future__ import annotations

import os
import sys
import time
import traceback
import typing as t

from .._errors import RdmaError
from .._fabric._counters._look import CounterAsking
from .._fabric._counters._types import spots_of
from .._fabric._gap import Code, Gap, gaps_of
from .._facts._asked import asked_port
from .._facts._ports import read_ports
from .._host._files import HEADER, read_text, under, write_text
from .._host._run import PlainRunner, Runner
from .._tools._sminfo import masters
from ._metrics import METRICS, State, View, next_state, parse_states, render, samples_of, written
from ._settings import SAMPLE_CONF, STATES, SampleSettings, parse_sample_settings

# An option: write that the sample failed because the service was killed.
STOPPED = "--stopped"


class Host(t.NamedTuple):
    """The host that the program runs on."""

    run: Runner
    root: str = "/"
    now: t.Callable[[], float] = time.time


def look_at(host: Host, settings: SampleSettings, *, fabric: str, port_name: str) -> View:
    """Query who is master and, unless that is another host, everything else."""
    begun = host.now()

    def seen(**found: t.Any) -> View:
        ended = host.now()
        return View(fabric, ended, max(ended - begun, 0), **found)

    port = asked_port(port_name, host.root)
    if port is None:
        return seen(gaps=(Gap(Code.NO_PORT),))
    asking = CounterAsking(host.run, port)
    managers = asking.managers()
    if managers is None and Gap(Code.NO_SUBNET_MANAGER) in asking.gaps:
        managers = ()
    guids = masters(managers)
    if settings.only_master and guids and not any(port.port_guid in guids for port in read_ports(host.root)):
        return seen(sampled=False, managers=managers, gaps=tuple(asking.gaps))
    subnet = asking.subnet(under(host.root, settings.node_name_map))
    spots = spots_of(subnet)
    counters = asking.whole_fabric(spots) if subnet.nodes else None
    counts = counters.counts if counters else None
    return seen(managers=managers, subnet=subnet, spots=spots, counts=counts, gaps=(*asking.gaps, *subnet.gaps))


def _attempt(host: Host, settings: SampleSettings, *, fabric: str, port_name: str) -> View:
    """Look at one fabric. A failure is recorded in the file, and does not affect the other fabrics."""
    try:
        return look_at(host, settings, fabric=fabric, port_name=port_name)
    except Exception as exc:
        if not isinstance(exc, (RdmaError, OSError)):
            traceback.print_exc()
        return _failed(host, fabric, str(exc))


def _failed(host: Host, fabric: str, why: str) -> View:
    return View(fabric, host.now(), gaps=gaps_of(Code.FAILED, "", [why]))


def sample(host: Host, settings: SampleSettings, *, stopped: bool = False) -> list[View]:
    """Look at all fabrics and write the file; with `stopped`, write that the samples failed."""
    path = under(host.root, STATES)
    states = parse_states(read_text(path))
    looks = [
        _failed(host, fabric, "killed") if stopped else _attempt(host, settings, fabric=fabric, port_name=port_name) for fabric, port_name in settings.fabrics
    ]
    after = {look.fabric: next_state(states.get(look.fabric, State()), look) for look in looks}
    write_text(path, written(after), 0o600)
    write_text(under(host.root, settings.textfile), HEADER + render(METRICS, samples_of(looks, after)), 0o644)
    return looks


def main() -> int:
    """Problems are written both to the journal and to the file."""
    stopped = STOPPED in sys.argv[1:]
    if stopped and os.environ.get("SERVICE_RESULT") == "success":
        return 0
    settings = parse_sample_settings(read_text(SAMPLE_CONF))
    if settings is None:
        sys.stderr.write("%s can't be read: run the role rdma.ofed.fabric_monitor again\n" % SAMPLE_CONF)
        return 2
    for look in sample(Host(PlainRunner()), settings, stopped=stopped):
        for problem in look.gaps:
            sys.stderr.write("fabric %s: %s %s: %s\n" % (look.fabric, problem.code.value, problem.tool, "; ".join(problem.examples)))
    return 0
