# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the options of the monitor, and derive its files. Pure."""

from __future__ import annotations

import math
import re
import typing as t

from .._errors import Problem, label
from .._facts._portname import form_problems
from .._foreign import decimal
from .._ipoib._wanted import child_name, is_name, parse_pkey
from .._schema._fabric_monitor import VARIABLES
from .._schema._values import value_problems
from ._settings import TEXTFILE, HealthSettings, SampleSettings
from ._wanted import Wanted

NHC_CHECK, SLURM_CHECK = "nhc", "slurm"
# A sample of a large fabric takes a minute, and Prometheus drops samples older than five.
_INTERVALS = (60, 3600)
# The name serves as a label only, and is no part of a path.
_FABRIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}\Z")
_PATH = re.compile(r"/[A-Za-z0-9_./+-]+\Z")


def _fabric_problems(name: t.Any, ports: t.Any) -> list[Problem]:
    where = "fabrics.%s" % label(name)
    if not isinstance(name, str) or not _FABRIC.match(name):
        return [Problem(where, name, "a name of letters, digits, _, . and -")]
    if not isinstance(ports, (list, tuple)):
        return [Problem(where, ports, "a list of ports")]
    return [problem for index, port in enumerate(ports) for problem in form_problems("%s[%d]" % (where, index), port)]


def problems(options: t.Mapping[str, t.Any]) -> list[Problem]:
    """All problems of the options of the module."""
    found = [problem for name, ports in options["fabrics"].items() for problem in _fabric_problems(name, ports)]
    found += [problem for index, port in enumerate(options["ports"]) for problem in form_problems("ports[%d]" % index, port)]
    if options["sampler"] and not options["fabrics"]:
        found.append(Problem("fabrics", {}, "at least one fabric where the sampler runs"))
    if not _INTERVALS[0] <= options["interval"] <= _INTERVALS[1]:
        found.append(Problem("interval", options["interval"], "%d to %d seconds" % _INTERVALS))
    for name in ("textfile_dir", "node_name_map"):
        if not _PATH.match(options[name]):
            found.append(Problem(name, options[name], "an absolute path of letters, digits and _ . + -"))
    if options["rate_gbps"] < 0 or not math.isfinite(options["rate_gbps"]):
        found.append(Problem("rate_gbps", options["rate_gbps"], "a rate in Gb/s, 0 for any"))
    return found


def role_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the role's variables that are set."""
    found = value_problems(VARIABLES, variables)
    name = "fabric_monitor_interval"
    seconds = decimal(str(variables.get(name, _INTERVALS[0])))
    if isinstance(variables.get(name), bool) or seconds is None or not _INTERVALS[0] <= seconds <= _INTERVALS[1]:
        found.append(Problem(name, variables[name], "%d to %d seconds" % _INTERVALS))
    return found


def interface_names(interfaces: t.Iterable[t.Any]) -> tuple[str, ...]:
    """Names of the interfaces in `ipoib_interfaces`, without those identified only by their port."""
    found = []
    for item in interfaces:
        row = item if isinstance(item, dict) else {"name": item}
        pkey = parse_pkey(row.get("pkey"))
        name = row.get("name") or (child_name(str(row["parent"]), pkey) if row.get("parent") and pkey is not None else "")
        if is_name(name):
            found.append(str(name))
    return tuple(found)


def wanted_of(options: t.Mapping[str, t.Any]) -> Wanted:
    """Parse options that have passed `problems`."""
    if options["state"] == "absent":
        return Wanted()
    textfile = "%s/%s" % (options["textfile_dir"].rstrip("/"), TEXTFILE)
    fabrics = tuple((str(name), str(ports[0]) if ports else "") for name, ports in sorted(options["fabrics"].items()))
    sample = SampleSettings(fabrics, textfile, options["node_name_map"], options["only_master"]) if options["sampler"] else None
    ports = tuple(str(port) for port in options["ports"])
    health = HealthSettings(ports, interface_names(options["interfaces"]), options["rate_gbps"], options["slurm_node"])
    return Wanted(sample, options["interval"], health if options["health_checks"] else None, frozenset(options["health_checks"]))
