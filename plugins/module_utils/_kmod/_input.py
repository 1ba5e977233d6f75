# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate what is declared about kernel modules, without a look at a node."""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem
from .._facts import _rails as rails
from .._schema._kernel_modules import VARIABLES
from .._schema._values import value_problems
from ._limits import RESOURCES, forms, is_declaration
from ._names import NAME, canonical

# Modules that no longer exist and that old instructions still name.
GONE: t.Mapping[str, str] = {
    "ib_sdp": "no supported kernel or driver stack has SDP any longer; use TCP over IPoIB, or preload rsockets (librspreload)",
}

# Characters with a special meaning in modprobe.d can't be part of a value.
_VALUE = re.compile(r"^[^\s\"'#\\]*$")
_ARGUMENT = re.compile(r"^[A-Za-z0-9_.-]+(?:=[^\s\"'$`\\]+)?$")
_PARAMETER = re.compile(r"^[A-Za-z0-9_]+$")


def value_text(value: t.Any) -> str:
    """The value of a parameter as the kernel reads it."""
    return ("1" if value else "0") if isinstance(value, bool) else str(value)


def _name_problems(variable: str, name: t.Any) -> list[Problem]:
    if not isinstance(name, str) or not NAME.match(name):
        return [Problem(variable, name, "the name of a kernel module: letters, digits, _ and -")]
    if canonical(name) in GONE:
        return [Problem(variable, name, "a module that exists", GONE[canonical(name)])]
    return []


def _load_problems(variable: str, load: t.Any) -> list[Problem]:
    if not isinstance(load, (list, tuple)):
        return [Problem(variable, load, "a list of module names")]
    return [problem for index, name in enumerate(load) for problem in _name_problems("%s[%d]" % (variable, index), name)]


def _options_problems(variable: str, options: t.Any) -> list[Problem]:
    form = "a mapping of module names to a mapping of parameters to values, such as {ib_ipoib: {send_queue_size: 512}}"
    if not isinstance(options, dict):
        return [Problem(variable, options, form)]
    found: list[Problem] = []
    spellings: dict[str, str] = {}
    for module, parameters in options.items():
        where = "%s.%s" % (variable, module)
        found.extend(_name_problems(where, module))
        if isinstance(module, str) and spellings.setdefault(canonical(module), module) != module:
            found.append(Problem(where, parameters, "one entry for a module", "%s is the same module" % spellings[canonical(module)]))
        if not isinstance(parameters, dict):
            found.append(Problem(where, parameters, "a mapping of parameters to values"))
            continue
        for parameter, value in parameters.items():
            found.extend(_parameter_problems("%s.%s" % (where, parameter), parameter, value))
    return found


def _parameter_problems(variable: str, parameter: t.Any, value: t.Any) -> list[Problem]:
    if not isinstance(parameter, str) or not _PARAMETER.match(parameter):
        return [Problem(variable, parameter, "the name of a parameter: letters, digits and _")]
    if not isinstance(value, (bool, int, str)):
        return [Problem(variable, value, "a number, a string or a boolean", "an array is written as one string, such as '2,2'")]
    if value == "" or not _VALUE.match(value_text(value)):
        return [Problem(variable, value, "a value without blanks, quotes, # and backslashes, and not an empty one")]
    return []


def _cmdline_problems(variable: str, arguments: t.Any) -> list[Problem]:
    form = "a list of arguments of the kernel command line, such as rd.neednet=1 or ip=ib0:dhcp"
    if not isinstance(arguments, list):
        return [Problem(variable, arguments, form)]
    hint = "each one without blanks, quotes, $ and backslashes"
    return [
        Problem("%s[%d]" % (variable, number), argument, form, hint)
        for number, argument in enumerate(arguments)
        if not isinstance(argument, str) or not _ARGUMENT.match(argument)
    ]


def _limit_problems(variable: str, value: t.Any) -> list[Problem]:
    resource = next(each for each in RESOURCES.values() if each.variable == variable)
    return [] if is_declaration(value, resource) else [Problem(variable, value, forms(resource))]


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """All problems of the variables of the role kernel_modules.

    What only the node's kernel knows (whether the module exists and has that parameter) is checked by the module, before
    it changes anything.
    """
    checks = {
        "kernel_modules_load": _load_problems,
        "kernel_modules_initramfs_drivers": _load_problems,
        "kernel_modules_initramfs_cmdline": _cmdline_problems,
        "kernel_modules_options": _options_problems,
        **dict.fromkeys((resource.variable for resource in RESOURCES.values()), _limit_problems),
    }
    found = [problem for variable, check in checks.items() if variable in variables for problem in check(variable, variables[variable])]
    found += rails.problems(variables.get("kernel_modules_rails"))
    # What only the node shows.
    found += [] if facts is None else rails.shared(variables.get(rails.VARIABLE), facts)
    return found + value_problems(VARIABLES, variables)


def undecided(options: t.Mapping[str, t.Any]) -> list[Problem]:
    """The problem of rails that are not named one by one. `options`: those of the module."""
    if options.get("rails") != rails.PCI_ORDER:
        return []
    hint = "the adapters of the host are not known: run rdma.ofed.rdma_facts before, as the playbook rdma.ofed.site does"
    return [Problem(rails.VARIABLE, options["rails"], "a mapping", hint)]
