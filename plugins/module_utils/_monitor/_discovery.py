# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the monitoring that the collection has set up by declarations. Pure."""

from __future__ import annotations

import re
import typing as t

from .._concern import Discovery, Subject
from .._discovered import Joined, Left, Reading, Value, together
from .._facts._port_rows import fabric_ports
from .._foreign import decimal
from .._opensm._fabrics import DEFAULT_FABRIC
from .._opensm._found import Whole
from .._opensm._running import managers_of
from .._record import decode
from .._schema._fabric_monitor import OPTIONS
from . import _settings as places
from ._files import FILES, TIMER_PATH, is_ours
from ._found import Installed
from ._input import NHC_CHECK, SLURM_CHECK, interface_names, problems

_INTERVAL = re.compile(r"^OnUnitActiveSec=([0-9]{1,9})$", re.MULTILINE)
_FOREIGN = "it does not belong to the collection, and the role fabric_monitor does not replace it: move it away, or set fabric_monitor_state: absent"
_CHANGED = "it has values that the role does not write (%s): run rdma.ofed.monitor to write it again"
_DEFAULTS: t.Mapping[str, t.Any] = {name: entry.get("default", False) for name, entry in OPTIONS.items()}


def _text(found: Installed, path: str) -> str:
    """The content of a file of the role; "" for one of others."""
    text = found.files.get(path, "")
    return text if is_ours(text) else ""


def _declared(options: t.Mapping[str, t.Any], path: str, variables: t.Mapping[str, str]) -> Reading:
    """Options of the module as variables; `variables` has the names of those that differ."""
    wrong = problems({**_DEFAULTS, **options})
    if wrong:
        return Reading((), [Left(path, _CHANGED % ", ".join(problem.variable for problem in wrong))])
    return Reading([Value(variables.get(name, "fabric_monitor_" + name), value, path) for name, value in options.items()])


def _sample(subject: Subject) -> Reading:
    settings = places.parse_sample_settings(_text(subject.found, places.SAMPLE_CONF))
    if settings is None:
        return Reading()
    options: dict[str, t.Any] = {
        "only_master": settings.only_master,
        "textfile_dir": settings.textfile.rpartition("/")[0],
        "node_name_map": settings.node_name_map,
    }
    interval = _INTERVAL.search(_text(subject.found, TIMER_PATH))
    if interval:
        options["interval"] = decimal(interval[1], 0)
    if settings.fabrics != ((DEFAULT_FABRIC, ""),) or len(fabric_ports(subject.facts)) > 1:
        # With one port in the default fabric, that is the default.
        options["fabrics"] = {name: [port] if port else [] for name, port in settings.fabrics}
    return _declared(options, places.SAMPLE_CONF, {})


def _health(subject: Subject) -> Reading:
    settings = places.parse_health_settings(_text(subject.found, places.HEALTH_CONF))
    checks = [name for name, path in ((NHC_CHECK, places.NHC), (SLURM_CHECK, places.SLURM)) if _text(subject.found, path)]
    if settings is None or not checks:
        return Reading()
    rate = settings.rate_gbps
    options: dict[str, t.Any] = {"health_checks": checks, "rate_gbps": round(rate) if rate % 1 == 0 else rate}
    if settings.ports or len(fabric_ports(subject.facts)) > 1:
        options["ports"] = list(settings.ports)
    if settings.interfaces:
        options["interfaces"] = list(interface_names(settings.interfaces))
    if SLURM_CHECK in checks and settings.slurm_node != subject.host.partition(".")[0]:
        options["slurm_node"] = settings.slurm_node
    names = {name: "fabric_monitor_health_" + name for name in ("rate_gbps", "ports", "interfaces")}
    return _declared(options, places.HEALTH_CONF, {**names, "slurm_node": "rdma_slurm_node"})


def read(subject: Subject) -> Reading:
    """The declarations of one host, except which hosts sample."""
    foreign = [Left(path, _FOREIGN) for path in FILES if path in subject.found.files and not _text(subject.found, path)]
    return together([_sample(subject), _health(subject), Reading((), foreign)])


def _manages(subject: Subject) -> bool:
    """Whether the host is in the group of hosts with subnet managers, by what a discovery finds."""
    try:
        whole = decode(Whole, subject.recall("opensm"))
    except (TypeError, ValueError):
        return False
    return bool(managers_of(whole, subject.host, subject.facts))


def join(subjects: t.Sequence[Subject]) -> Joined:
    """Which hosts sample. By default, those with subnet managers do."""
    samples = {subject.host: bool(_text(subject.found, places.SAMPLE_CONF)) for subject in subjects}
    if not any(samples.values()) or samples == {subject.host: _manages(subject) for subject in subjects}:
        return Joined()
    return Joined({host: [Value("fabric_monitor_sampler", own, places.SAMPLE_CONF if own else "no sampler")] for host, own in samples.items()})


DISCOVERY = Discovery(read, join, hints={}, seen=Installed)
