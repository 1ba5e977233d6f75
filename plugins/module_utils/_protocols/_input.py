# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate declared upper-layer protocols. Pure."""

from __future__ import annotations

import typing as t

from .._concern import IMAGE
from .._distro._family import EXTRA_MODULES
from .._distro._registry import packages_by_family
from .._errors import Problem, did_you_mean
from .._foreign import is_true, part
from ._catalogue import ALIASES, GONE, NAMES, PROTOCOLS, TARGETS, Protocol

VARIABLE = "ofed_ulps"


def _name_problem(where: str, name: t.Any) -> Problem | None:
    if isinstance(name, str) and name in NAMES:
        return None
    low = name.lower() if isinstance(name, str) else ""
    hint = GONE.get(low) or did_you_mean(ALIASES.get(low, low), NAMES)
    if low in TARGETS:
        hint = "these are the initiators; configure a storage target with its own tools, and load its module with kernel_modules_load"
    return Problem(where, name, ", ".join(NAMES), hint)


def name_problems(value: t.Any) -> list[Problem]:
    if not isinstance(value, (list, tuple)):
        return [Problem(VARIABLE, value, "a list of names out of %s" % ", ".join(NAMES))]
    found = [_name_problem("%s[%d]" % (VARIABLE, index), name) for index, name in enumerate(value)]
    twice = [index for index, name in enumerate(value) if name in value[:index]]
    found += [Problem("%s[%d]" % (VARIABLE, index), value[index], "each name once") for index in twice]
    return [problem for problem in found if problem]


def _inbox_problems(protocol: Protocol, facts: t.Mapping[str, t.Any] | None) -> list[Problem]:
    """The problem of a protocol whose modules the running kernel lacks. What the facts do not tell, the module checks on the node."""
    kernels = part(facts, "kernels").get("installed")
    running = [kernel for kernel in kernels if isinstance(kernel, dict) and kernel.get("running")] if isinstance(kernels, list) else []
    known = running[0].get("modules") if running else None
    lacking = [module for module in protocol.modules if isinstance(known, dict) and known.get(module) is False]
    if not lacking:
        return []
    hint = "kernel %s does not have %s; install a kernel or a package of its modules that has it (%s), or remove %s from ofed_ulps"
    words = hint % (running[0].get("release", ""), ", ".join(lacking), packages_by_family(EXTRA_MODULES), protocol.name)
    return [Problem(VARIABLE, protocol.name, "protocols that the running kernel has modules for", words)]


def ulp_problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Problems of the declared protocols, regardless of a vendor's stack."""
    value = variables.get(VARIABLE)
    if value is None:
        return []
    found = name_problems(value)
    if found or not value or variables.get("ofed_state", "present") == "absent":
        return found
    if part(facts, "machine").get("systemd") is False and not is_true(variables.get(IMAGE)):
        found.append(Problem(VARIABLE, list(value), "nothing on a node without systemd", "their services are units of systemd"))
    if variables.get("ofed_source", "inbox") == "inbox":
        found += [problem for name in value for problem in _inbox_problems(PROTOCOLS[name], facts)]
    return found
