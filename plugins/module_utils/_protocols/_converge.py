# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Enable and disable upper-layer protocols: look, plan, apply, and look again."""

from __future__ import annotations

import typing as t

from .._concern import IMAGE
from .._distro._registry import by_name
from .._errors import Problem, Unsupported, require_none
from .._facts._machine import read_machine, read_os
from .._facts._ulps import read_record
from .._kmod import _look as kernel
from .._kmod._apply import settle
from .._kmod._check import check, need_modules
from .._kmod._found import Found as KernelModules
from .._kmod._wanted import Wanted as Modules
from .._plan import Plan
from . import _plan as planner
from ._apply import apply
from ._catalogue import PROTOCOLS, modules_of
from ._found import Found
from ._input import VARIABLE, ulp_problems
from ._look import look
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def _named(problem: Problem, wanted: Wanted) -> Problem:
    """The problem of a module, as a problem of the declared protocol."""
    name = next((name for name in wanted.names if problem.value in PROTOCOLS[name].modules), "")
    if not name:
        return problem._replace(variable=VARIABLE)
    hint = "; ".join(words for words in ("%s is its module" % problem.value, problem.hint) if words)
    return Problem(VARIABLE, name, "a protocol whose module is %s" % problem.allowed, hint)


def node_problems(wanted: Wanted, found: Found, modules: KernelModules, *, dry: bool, root: str = "/") -> list[Problem]:
    """What the declared protocols lack on this node. In check mode, packages may still be missing."""
    if dry and wanted.renewed:
        return []
    kernel_wanted = Modules(load=frozenset(modules_of(wanted.names)), load_now=wanted.start)
    need_modules(kernel_wanted, modules)
    wrong = [_named(problem, wanted) for problem in check(kernel_wanted, modules)]
    for name in wanted.names:
        for service in PROTOCOLS[name].services:
            unit = found.unit(service.name)
            if unit.load == "masked":
                wrong.append(Problem(VARIABLE, name, "protocols whose units may run", "%s is masked: systemctl unmask it" % service.name))
            elif not unit.exists and not service.optional and not dry:
                family = by_name(read_os(root).family)
                words = " ".join(family.packages[name]) if family else ""
                wrong.append(
                    Problem(VARIABLE, name, "protocols whose packages are installed", "there is no unit %s; it is in the package %s" % (service.name, words))
                )
    return wrong


def describe(wanted: Wanted, found: Found) -> list[dict[str, t.Any]]:
    """What is known about each declared protocol."""
    return [
        {
            "name": name,
            "modules": {module: module in found.loaded for module in PROTOCOLS[name].modules},
            "services": {service.name: found.unit(service.name).runs for service in PROTOCOLS[name].services},
        }
        for name in wanted.names
    ]


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module."""
    variables = {VARIABLE: module.params["protocols"], "ofed_source": "inbox", IMAGE: module.params.get("image")}
    machine = read_machine(root)
    require_none(ulp_problems(variables, {"machine": machine._asdict()}))
    wanted = Wanted(
        names=tuple(sorted(module.params["protocols"])),
        source=module.params["source"],
        declared_conf=frozenset(module.params["openib_conf"]),
        renewed=module.params["renewed"],
        image=bool(module.params.get("image")),
        start=module.params["start"] and not module.params.get("image"),
    )
    record = read_record(root)
    if record.protocols and not machine.systemd and not wanted.image:
        raise Unsupported("%s can't be turned off: systemd does not run here, and their services are units of it" % ", ".join(sorted(record.protocols)))

    def observe() -> tuple[KernelModules, Found]:
        modules = kernel.look(run, release, load_now=wanted.start, root=root)
        return modules, look(run, wanted, modules, root=root)

    if not wanted.names and not record.protocols:
        return {**Plan().result(), "protocols": []}
    if wanted.start and not module.check_mode and any(name not in record.protocols for name in wanted.names):
        settle(run, root)
    modules, found = observe()
    require_none(node_problems(wanted, found, modules, dry=module.check_mode, root=root))
    todo = planner.plan(wanted, found)
    if todo and not module.check_mode:
        apply(module, run, wanted=wanted, found=found, modules=modules, root=root)
        modules, found = observe()
        planner.plan(wanted._replace(renewed=False), found).require_empty()
    return {**todo.result(planner.pending(wanted, found)), "protocols": describe(wanted, found)}
