# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Look, plan, ask the fabrics, apply, wait: what the module does, in order."""

from __future__ import annotations

import functools
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem, RdmaError, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._apply import apply
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._configure import (
    configured,
    name_reasons,
    named_nodes,
    option_variables,
    read_template,
    require_one_key,
    without_secrets,
)
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import Known, Misplaced, guard
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._handover import announce, bound_to, hand_over, masters, require_successors, without_heir
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import choose_port, problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._instances import MASTER
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan_absent, plan_present, started, stopped
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._settle import settle
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._words import subject

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan

# Management datagrams, which subnet managers and diagnostics talk in, go through ib_umad.
UMAD = "/sys/class/infiniband_mad/abi_version"

SYSTEMD_RUNS = "/run/systemd/system"

OPTIONS = ("port", "port_guid", "priority", "log_file")


class Bound(t.NamedTuple):
    """An instance and the port that it is bound to."""

    instance: Instance
    port: Port
    known: Known
    designated: str


def variables_of(item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """An entry of O(instances) by the names of the role's variables, which are the ones that people write."""
    return {
        "fabric": item["fabric"],
        "opensm_fabrics": {item["fabric"]: {"subnet_prefix": item["subnet_prefix"]}},
        **{"opensm_" + name: item[name] for name in OPTIONS},
    }


def instance_problems(params: t.Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the options, beyond their types."""
    found = problems({"opensm_wait_timeout": params["wait_timeout"], **option_variables(params)})
    seen: set[str] = set()
    for item in params["instances"]:
        found += problems(variables_of(item))
        if item["fabric"] in seen:
            found.append(Problem("instances", item["fabric"], "each fabric once"))
        seen.add(item["fabric"])
    return found


def _bind(params: t.Mapping[str, t.Any], ports: t.Sequence[Port]) -> list[Bound]:
    """Each instance with its port; raises InvalidInput with all that has none."""
    found: list[Bound] = []
    wrong: list[Problem] = []
    for item in params["instances"]:
        try:
            port = ports[choose_port(variables_of(item), [candidate._asdict() for candidate in ports])]
        except InvalidInput as exc:
            wrong += exc.problems
            continue
        holder = next((bound for bound in found if bound.port.name == port.name), None)
        if holder is not None:
            hint = "fabric %s has it: give each fabric its ports with rdma_fabrics" % holder.instance.fabric
            wrong.append(Problem("port of fabric %s" % item["fabric"], port.name, "a port of its own", hint))
        own = frozenset(candidate.port_guid for candidate in ports)
        known = Known(own, frozenset(item["peer_guids"]), tuple(params["known_hosts"]), params["allow_foreign_master"], frozenset(item["other_guids"]))
        instance = Instance(item["fabric"], port.port_guid, item["priority"], item["log_file"] or "", item["role"], item["subnet_prefix"].lower())
        found.append(Bound(instance, port, known, item["designated_host"] or ""))
    if wrong:
        raise InvalidInput(wrong)
    taken = frozenset(bound.port.port_guid for bound in found)
    return [bound._replace(known=bound.known._replace(elsewhere=bound.known.elsewhere | taken - {bound.port.port_guid})) for bound in found]


def _require_tools(run: Runner) -> None:
    absent = [tool for tool in ("opensm", "sminfo", "saquery", "smpquery") if not run.has(tool)]
    if absent:
        raise Unsupported("%s not found on this node: install the packages opensm and infiniband-diags first" % ", ".join(absent))
    if not os.path.isdir(SYSTEMD_RUNS):
        raise Unsupported("a subnet manager can only run where systemd runs: this node was not booted with it")
    if not os.path.exists(UMAD):
        raise Unsupported("the kernel module ib_umad is not loaded on this node (no %s): run the role kernel_modules first, or modprobe ib_umad" % UMAD)


def _each(bounds: t.Sequence[Bound], do: t.Callable[[Bound], object]) -> None:
    """Every fabric has its turn before an error ends the run: what is wrong with one does not keep it from being found on the next."""
    wrong: list[RdmaError] = []
    for bound in bounds:
        try:
            do(bound)
        except RdmaError as exc:
            wrong.append(exc)
    if len(wrong) > 1:
        raise RdmaError(". ".join(exc.msg for exc in wrong), **wrong[0].details)
    if wrong:
        raise wrong[0]


def _foreseen(run: Runner, bounds: t.Sequence[Bound], found: Found) -> list[str]:
    """For check mode: would the run be refused? On a bare node the fabric can't be asked yet, which is no failure."""
    reasons = []

    def look_ahead(bound: Bound) -> None:
        try:
            master = guard(run, bound.port, bound.instance.fabric, bound.known)
            require_one_key(run, bound.instance, bound.port, found, bound.known)
        except Refused:
            raise
        except RdmaError:
            return
        if master is not None and bound.instance.role == MASTER:
            reasons.append("the master of fabric %s is %s now (%s)" % (bound.instance.fabric, master.name, master))

    _each(bounds if run.has("sminfo") and run.has("saquery") else (), look_ahead)
    return reasons


def _kept(run: Runner, plan: Plan, found: Found, ports: t.Sequence[Port], bounds: t.Sequence[Bound], patience: float) -> dict[Change, str]:
    taken = {bound.instance.guid for bound in bounds}
    return without_heir(run, stopped(plan), found, ports, taken, patience)


def _present(module: AnsibleModule, run: Runner) -> dict[str, t.Any]:
    params = module.params
    # A host that runs none may have no port, and needs none.
    ports = read_ports()
    bounds = _bind(params, ports)
    # The run itself sees what was replaced: a restart that came meanwhile, as by a reboot, needs none after it.
    found = look(run, stack_replaced=params["stack_replaced"] and module.check_mode)
    template = read_template(run) if bounds else ""
    bounds = [bound._replace(instance=configured(bound.instance, params, template)) for bound in bounds]
    instances = [bound.instance for bound in bounds]
    node_names = named_nodes(params, found) if bounds else None
    plan = plan_present(found, instances, (), node_names)
    coming = [bound for bound in bounds if bound.instance.unit in started(plan)]
    if module.check_mode:
        return without_secrets({**plan.result(), "reasons": _foreseen(run, bounds, found), "fabrics": _named(bounds)}, instances, found)
    if bounds:
        _require_tools(run)
    _each(coming, lambda bound: guard(run, bound.port, bound.instance.fabric, bound.known))
    _each(bounds, lambda bound: require_one_key(run, bound.instance, bound.port, found, bound.known))
    reasons = name_reasons(found) if bounds else []
    kept = _kept(run, plan, found, ports, bounds, params["wait_timeout"] / 2)
    if kept:
        plan = plan_present(found, instances, [change.subject for change in kept], node_names)
        reasons += ["%s stays as it is: %s. Run this role on the designated host first" % (subject(change), why) for change, why in sorted(kept.items())]

    def before_end(unit: str) -> None:
        hand_over(module, run, unit, bound_to(unit, found, ports, ()), params["wait_timeout"] / 2)

    left = masters(run, stopped(plan), found, ports, {port.port_guid for port in ports} - {bound.instance.guid for bound in bounds})
    apply(module, run, plan, before_end)
    require_successors(run, left, params["wait_timeout"])
    fabrics, notes = _settled(module, run, bounds, found, params["wait_timeout"])
    reasons += notes
    return without_secrets({**plan.result(), "reasons": reasons, "fabrics": fabrics}, instances, found)


def _settled(module: AnsibleModule, run: Runner, bounds: t.Sequence[Bound], found: Found, timeout: float) -> tuple[list[dict[str, t.Any]], list[str]]:
    """The instances in the shape that the module returns, once their fabrics are managed, and what to tell of them."""
    fabrics, notes = _named(bounds), []
    entries = {entry["fabric"]: entry for entry in fabrics}

    def wait(bound: Bound) -> None:
        call = functools.partial(announce, module, run, bound.instance.unit)
        try:
            settled = settle(run, bound.port, bound.instance, bound.known, timeout, call, bound.designated)
        except Misplaced:
            # Cables that nobody could see before there was a subnet manager: it has no business in a fabric of others.
            if bound.instance.unit not in found.running:
                run(["systemctl", "disable", "--now", bound.instance.unit], timeout=120)
            raise
        if settled.note:
            notes.append(settled.note)
        answer = settled.view.answer
        if answer is not None:
            here = answer.guid == bound.instance.guid
            entries[bound.instance.fabric]["master"] = {"port_guid": answer.guid, "lid": answer.lid, "priority": answer.priority, "here": here}

    _each(bounds, wait)
    return fabrics, notes


def _named(bounds: t.Sequence[Bound]) -> list[dict[str, t.Any]]:
    return [
        {
            "fabric": bound.instance.fabric,
            "role": bound.instance.role,
            "unit": bound.instance.unit,
            "port": bound.port.name,
            "port_guid": bound.instance.guid,
            "priority": bound.instance.priority,
        }
        for bound in bounds
    ]


def converge(module: AnsibleModule, run: Runner) -> dict[str, t.Any]:
    """The module's result; raises RdmaError."""
    if module.params["state"] == "present":
        wrong = instance_problems(module.params)
        if wrong:
            raise InvalidInput(wrong)
        return _present(module, run)
    found = look(run)
    plan = plan_absent(found)
    if not module.check_mode:
        apply(module, run, plan)
    return without_secrets({**plan.result(), "fabrics": []}, [], found)
