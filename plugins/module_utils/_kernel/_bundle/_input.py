# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the options, and derive the bundle to be built. Pure."""

from __future__ import annotations

import re
import typing as t

from ..._distro._registry import DISTRIBUTIONS
from ..._errors import Problem
from ..._facts._machine import OperatingSystem
from ..._stack._bundle import distro_fits, distro_of, distro_to_tell, parse_name
from ..._stack._vendors import bundle_problems, mlnx_version
from ._wanted import Wanted

_KERNEL = re.compile(r"^[0-9][A-Za-z0-9._+~-]*\Z")


def problems(parameters: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the options, beyond their types."""
    if not parameters["bundle"]:
        return [Problem("bundle", parameters["bundle"], "the path or URL of the vendor's bundle", "the playbook build takes ofed_bundle")]
    given = {"ofed_" + name: parameters[name] for name in ("bundle", "bundle_on", "bundle_checksum", "version")}
    found = [problem._replace(variable=problem.variable.replace("ofed_", "", 1)) for problem in bundle_problems(given)]
    if not found and not mlnx_version(given):
        hint = "" if parameters["version"] else "the name of the bundle does not contain it"
        found.append(Problem("version", parameters["version"], "a release such as 23.10-0.5.5.0", hint))
    if parameters["kernel"] and not _KERNEL.match(parameters["kernel"]):
        found.append(Problem("kernel", parameters["kernel"], "the release of a kernel, as uname -r prints it"))
    return found


def misplaced(bundle: str, system: OperatingSystem, arch: str) -> list[Problem]:
    """The problem of a bundle that was made for other nodes than this one."""
    named = parse_name(bundle)
    if named.arch and named.arch != arch:
        return [Problem("bundle", bundle, "a bundle for %s, which this node is" % arch)]
    if not distro_fits(named.distro, system):
        return [Problem("bundle", bundle, "a bundle for %s, which this node has" % distro_of(system))]
    return []


def wanted_of(parameters: t.Mapping[str, t.Any], system: OperatingSystem, *, running: str, arch: str) -> Wanted:
    """Parse options that have passed `problems` and, on this node, `misplaced`."""
    version = mlnx_version({"ofed_version": parameters["version"], "ofed_bundle": parameters["bundle"]})
    distro = parse_name(parameters["bundle"]).distro or distro_of(system)
    known = DISTRIBUTIONS.get(system.id)
    told = bool(distro_to_tell(parameters["bundle"], system))
    return Wanted(version, distro, arch, parameters["kernel"] or running, parameters["kmp"], told or (known is not None and known.rebuild))
