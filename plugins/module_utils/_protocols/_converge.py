# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turn upper-layer protocols on and off: look, plan, apply, and look again."""

from __future__ import annotations

import os
import typing as t

from .._distro._registry import by_name
from .._errors import Problem, Unsupported, require_none
from .._facts._machine import read_machine, read_os
from .._facts._ulps import RECORD, Record, read_record, record_text
from .._host._files import apply_file, file_change, read_text, under
from .._host._units import Systemd, show_units
from .._kmod import _look as kernel
from .._kmod._apply import load, settle
from .._kmod._check import check, need_modules
from .._kmod._config import ULPS_PATH, load_text
from .._kmod._found import Found as KernelModules
from .._kmod._plan import is_loaded
from .._kmod._wanted import Wanted as Modules
from .._plan import Plan
from .._tools import _openibd
from . import _plan as planner
from ._catalogue import PROTOCOLS, modules_of
from ._found import Found
from ._input import VARIABLE, ulp_problems
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def look(run: Runner, wanted: Wanted, modules: KernelModules, *, root: str = "/") -> Found:
    record = read_record(root)
    return Found(
        record=record,
        units=show_units(run, planner.unit_names(wanted, record)),
        loaded=frozenset(name for name in modules_of(wanted.names) if is_loaded(modules.catalogue.resolve(name) or name, modules)),
        load_text=read_text(under(root, ULPS_PATH)),
        conf_text=read_text(under(root, _openibd.PATH)),
    )


def _named(problem: Problem, wanted: Wanted) -> Problem:
    """What is wrong with a module, as what is wrong with the protocol that was declared."""
    name = next((name for name in wanted.names if problem.value in PROTOCOLS[name].modules), "")
    if not name:
        return problem._replace(variable=VARIABLE)
    hint = "; ".join(words for words in ("%s is its module" % problem.value, problem.hint) if words)
    return Problem(VARIABLE, name, "a protocol whose module is %s" % problem.allowed, hint)


def node_problems(wanted: Wanted, found: Found, modules: KernelModules, *, dry: bool, root: str = "/") -> list[Problem]:
    """What the declared protocols lack on this node. In check mode, packages may still be to come."""
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
                wrong.append(Problem(VARIABLE, name, "protocols whose packages are installed", "there is no unit %s; it comes with %s" % (service.name, words)))
    return wrong


def apply(module: AnsibleModule, run: Runner, *, wanted: Wanted, found: Found, modules: KernelModules, root: str = "/") -> None:
    """Make the node as wanted. The record is ahead of what is turned on, and behind what is turned off."""

    def write(path: str, before: str, after: str) -> None:
        change = file_change(path, before, after)
        if change is not None:
            apply_file(module, change, backup=path == _openibd.PATH, root=root)

    def write_record(record: Record) -> None:
        write("/" + RECORD, read_text(os.path.join(root, RECORD)), record_text(record))

    write_record(planner.record_meanwhile(wanted, found))
    # srp_daemon starts on one port after the other: it takes its time.
    systemd = Systemd(run)
    systemd.disable_and_stop(*planner.units_off(wanted, found))
    write(ULPS_PATH, found.load_text, load_text(modules_of(wanted.names)))
    if found.conf_text:
        write(_openibd.PATH, found.conf_text, _openibd.edited(found.conf_text, planner.conf_values(wanted, found)))
    missing = sorted({modules.catalogue.resolve(name) or name for name in modules_of(wanted.names) if name not in found.loaded})
    if wanted.start and missing:
        load(run, missing, modules, root=root)
    services = [service for name in wanted.names for service in PROTOCOLS[name].services if found.unit(service.name).exists]
    systemd.enable(*(service.name for service in services if not planner.is_enabled(found.unit(service.name))))
    systemd.start(*(service.name for service in services if planner.runs(service, wanted, found) and not found.unit(service.name).runs))
    write_record(planner.record_after(wanted, found))


def describe(wanted: Wanted, found: Found) -> list[dict[str, t.Any]]:
    """What is known of each declared protocol."""
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
    variables = {VARIABLE: module.params["protocols"], "ofed_source": "inbox"}
    machine = read_machine(root)
    require_none(ulp_problems(variables, {"machine": machine._asdict()}))
    wanted = Wanted(
        names=tuple(sorted(module.params["protocols"])),
        source=module.params["source"],
        declared_conf=frozenset(module.params["openib_conf"]),
        renewed=module.params["renewed"],
        start=module.params["start"],
    )
    record = read_record(root)
    if record.protocols and not machine.systemd:
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
