# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the steps of the module in order: look, plan, query the fabrics, apply, wait."""

from __future__ import annotations

import os
import typing as t

from .._codes import normal_guid
from .._errors import RdmaError, Refused, Unsupported
from .._facts._ports import read_ports
from .._host._units import systemd_runs
from .._tools._node_names import broken_lines
from .._tools._sminfo import TOOLS
from .._words import some, subject
from ._apply import apply
from ._fabric._found import FabricFound, can_ask, see
from ._fabric._judge import Misplaced, guard, require_one_key, stand_below
from ._fabric._settle import Settled, settle
from ._handover import Handover
from ._lacks import lacks
from ._look import look, virtual_functions
from ._placement import MASTER
from ._plan import plan, require_consent, started, stopped, undeclared
from ._predecessor import dropped_files, fit, inherit
from ._result import result
from ._told._expect import findings
from ._told._hear import explained, hear, sweeps_again, take_back_refused
from ._told._look import mark
from ._wanted import Bound, Wanted, bind, read_wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._facts._ports import Port
    from .._finding import Finding
    from .._host._run import Runner
    from .._plan import Plan
    from .._tools._sminfo import SmInfo
    from ._found import Found
    from ._told._look import Mark

# Subnet managers and diagnostics send management datagrams through ib_umad.
UMAD = "/sys/class/infiniband_mad/abi_version"


def _require_tools(run: Runner) -> None:
    absent = [tool for tool in ("opensm", *TOOLS) if not run.has(tool)]
    if absent:
        raise Unsupported("%s not found on this node: install the packages opensm and infiniband-diags first" % ", ".join(absent))
    if not systemd_runs():
        raise Unsupported("a subnet manager needs systemd, and this node was not booted with it")
    if not os.path.exists(UMAD):
        raise Unsupported("the kernel module ib_umad is not loaded on this node (no %s): run the role kernel_modules first, or modprobe ib_umad" % UMAD)


def require_free(found: Found, bounds: t.Sequence[Bound], ports: t.Sequence[Port]) -> None:
    """Raise Refused where an opensm of other software is bound to the port of an instance that does not run yet."""
    for instance, port in bounds:
        for foreign in found.foreign if instance.unit not in found.running else ():
            if instance.guid in foreign.guids or (not foreign.guids and len([each for each in ports if each.infiniband]) == 1):
                raise Refused(
                    "port %s (port GUID %s) of fabric %s has an opensm that does not belong to this collection: %s, process %d. A port can have only one "
                    "subnet manager. Nothing was changed here. Next: stop and disable it, or leave the fabric to it with opensm_state: unmanaged"
                    % (port.name, instance.guid, instance.fabric, foreign.owner, foreign.pid)
                )


def _each(bounds: t.Sequence[Bound], do: t.Callable[[Bound], object]) -> None:
    """Call `do` for every fabric before an error ends the run, so that one broken fabric does not hide the problems of the next."""
    wrong: list[RdmaError] = []
    for bound in bounds:
        try:
            do(bound)
        except RdmaError as exc:
            wrong.append(exc)
    _raise(wrong)


def _raise(wrong: t.Sequence[RdmaError]) -> None:
    """Raise the errors of several fabrics as one error, if there are any."""
    if len(wrong) > 1:
        kind = Refused if all(isinstance(exc, Refused) for exc in wrong) else RdmaError
        raise kind(". ".join(exc.msg for exc in wrong), **wrong[0].details)
    if wrong:
        raise wrong[0]


def _foresee(bounds: t.Sequence[Bound], seen: t.Mapping[Port, FabricFound], found: Found) -> list[str]:
    """For check mode: raise Refused where the run would. A bare node can't query the fabric yet; that is no failure."""
    reasons = []

    def look_ahead(bound: Bound) -> None:
        try:
            master = guard(bound, seen[bound.port])
            require_one_key(bound, seen[bound.port], found)
        except Refused:
            raise
        except RdmaError:
            return
        if master is not None and bound.instance.role == MASTER:
            reasons.append("the master of fabric %s is %s now (%s)" % (bound.instance.fabric, master.name, master))

    _each(bounds, look_ahead)
    return reasons


def _entry(bound: Bound, answer: SmInfo | None = None) -> dict[str, t.Any]:
    """An instance in the shape that the module returns, with the master that `answer` names."""
    instance, port = bound
    entry: dict[str, t.Any] = {key: getattr(instance, key) for key in ("fabric", "role", "unit", "priority")}
    entry.update(port=port.name, port_guid=instance.guid, kept_hosts=list(instance.kept_hosts), missing_hosts=list(instance.missing_hosts))
    if answer is not None:
        here = answer.guid == instance.guid
        entry["master"] = {"port_guid": answer.guid, "lid": answer.lid, "priority": answer.priority, "here": here}
    return entry


def _settled(
    run: Runner, bounds: t.Sequence[Bound], *, handover: Handover, found: Found, timeout: float, marks: t.Mapping[str, Mark]
) -> tuple[list[dict[str, t.Any]], list[str]]:
    """Wait until the fabrics are managed. Return the instances in the shape that the module returns, and the notes. `marks`: log positions by unit."""
    ended = list(zip(bounds, settle(run, bounds, timeout=timeout, running=found.running, announce=handover.announce)))
    wrong = [(bound, each) for bound, each in ended if isinstance(each, RdmaError)]
    _raise([each if isinstance(each, Misplaced) else explained(bound, each, since=marks[bound.instance.unit]) for bound, each in wrong])
    settled = [(bound, each) for bound, each in ended if isinstance(each, Settled)]
    return [_entry(bound, each.fabric.answer) for bound, each in settled], [each.note for _bound, each in settled if each.note]


def _heard(
    module: AnsibleModule, run: Runner, bounds: t.Sequence[Bound], *, planned: Plan, found: Found, timeout: float, marks: t.Mapping[str, Mark]
) -> list[Finding]:
    """The findings from the log of each instance once it has read its files. Where opensm refuses new partitions, restore the former and raise RdmaError."""
    told = {bound.instance.unit: hear(run, bound, since=marks[bound.instance.unit], sweeps=sweeps_again(planned, bound), timeout=timeout) for bound in bounds}
    _each(bounds, lambda bound: take_back_refused(module, run, bound, told=told[bound.instance.unit], planned=planned, found=found))
    return [finding for bound in bounds for finding in findings(told[bound.instance.unit])]


def _warn_of_absentees(module: AnsibleModule, bounds: t.Sequence[Bound]) -> None:
    for instance, _port in bounds:
        if instance.kept_hosts:
            text = "fabric %s: nothing is known of %s in this run, so the partitions keep the ports from the last run"
            module.warn(text % (instance.fabric, some(instance.kept_hosts, 5)))
        if instance.missing_hosts:
            text = "fabric %s: the port GUIDs of %s are not known, so they are left out of the partitions. Next: run on all hosts, or set opensm_port_guids"
            module.warn(text % (instance.fabric, some(instance.missing_hosts, 5)))


def _converge_absent(module: AnsibleModule, run: Runner, wanted: Wanted, *, root: str) -> dict[str, t.Any]:
    found = look(run, root, manages=False)
    planned = plan(wanted, found)
    stops = stopped(planned)
    handover = Handover(module, run, found, ports=read_ports(root) if stops else (), patience=wanted.wait_timeout / 2)
    back = started(planned)
    # A subnet manager that comes back manages a fabric after ours. Which one is not known. A unit that only starts instances manages none.
    heirs = [unit for unit in back if "@" in unit] or back
    if not wanted.allow_removal and len(heirs) < len(stops):
        handover.require_heirs(stops)
    reasons = []
    if not module.check_mode:
        apply(module, run, planned, before_end=handover.before_end)
        running = look(run, root, manages=False).running if back else ()
        reasons = ["%s was started again and does not run: see journalctl -u '%s'" % (unit, unit) for unit in back if unit not in running]
    return result(planned, reasons=reasons, recorded=found.recorded)


def _converge_present(module: AnsibleModule, run: Runner, wanted: Wanted, *, root: str) -> dict[str, t.Any]:
    # A host without a subnet manager may have no InfiniBand port, and needs none.
    ports = read_ports(root)
    bounds = bind(wanted.instances, ports)
    # The look itself detects a replaced program. After a restart in between, such as a reboot, no second restart is needed.
    found = look(run, root, stack_replaced=module.params["stack_replaced"] and module.check_mode, template=bool(bounds), manages=bool(bounds))
    found.require_maskable()
    # Before the first change. Each attribute is queried only when a plan reads it.
    seen = {bound.port: see(run, bound.port) for bound in bounds}
    bounds = [stand_below(bound, seen[bound.port], found) for bound in bounds]
    owned = {normal_guid(guid) for guids in (module.params.get("known_guids") or {}).values() for guid in guids}
    bounds = [bound._replace(instance=bound.instance.recalling(found.files, owned)) for bound in bounds]
    _warn_of_absentees(module, bounds)
    wanted = inherit(wanted._replace(instances=tuple(bound.instance for bound in bounds)), found)
    for words in dropped_files(found):
        module.warn(words)
    fitted = [fit(instance, found.template) for instance in wanted.instances]
    for instance, misfits in fitted:
        if misfits:
            text = "fabric %s: the installed opensm does not accept settings of the former subnet manager, so opensm_adopt can't keep them: %s"
            module.warn(text % (instance.fabric, "; ".join("%s: %s" % pair for pair in misfits.items())))
    wanted = wanted._replace(instances=tuple(instance for instance, _misfits in fitted))
    require_consent(wanted, found)
    require_free(found, bounds, ports)
    bounds = [bound._replace(instance=instance) for bound, instance in zip(bounds, wanted.instances)]
    planned = plan(wanted, found)
    declared = {guid for instance, _port in bounds for guid in (instance.guid, *instance.known.elsewhere)}
    lost = undeclared(stopped(planned), found, ports=ports, declared=declared) if bounds else {}
    handover = Handover(module, run, found, ports=ports, patience=wanted.wait_timeout / 2)
    if module.check_mode:
        if can_ask(run) and not wanted.allow_removal:
            handover.require_declared(lost)
        return result(
            planned,
            reasons=(_foresee(bounds, seen, found) if can_ask(run) else []) + found.left_alone,
            fabrics=[_entry(bound) for bound in bounds],
            recorded=found.recorded,
            instances=wanted.instances,
        )
    if bounds:
        _require_tools(run)
    coming = started(planned)
    _each([bound for bound in bounds if bound.instance.unit in coming], lambda bound: guard(bound, seen[bound.port]))
    _each(bounds, lambda bound: require_one_key(bound, seen[bound.port], found))
    reasons = lacks(found.template, [bound.port for bound in bounds], virtual_functions(ports)) if bounds else []
    reasons += ["the tools ignore the whole map of node names: %s" % line for line in broken_lines(found.node_names)] if bounds else []
    taken = {bound.instance.guid for bound in bounds}
    if not wanted.allow_removal:
        handover.require_declared(lost)
    reasons += found.left_alone
    kept = handover.without_heir([stop for stop in stopped(planned) if stop not in lost], taken)
    if kept:
        planned = plan(wanted, found, [change.subject for change in kept])
        reasons += ["%s is left unchanged: %s. Run this role on the designated host first" % (subject(change), why) for change, why in sorted(kept.items())]
    port_of = {instance.unit: port for instance, port in bounds}
    marks = {bound.instance.unit: mark(bound.instance.log) for bound in bounds}
    with handover.followed(stopped(planned), taken, timeout=wanted.wait_timeout):
        apply(module, run, planned, before_end=handover.before_end, around_start=lambda unit: handover.joining(unit, port_of[unit]))
    fabrics, notes = _settled(run, bounds, handover=handover, found=found, timeout=wanted.wait_timeout, marks=marks)
    heard = _heard(module, run, bounds, planned=planned, found=found, timeout=wanted.wait_timeout, marks=marks)
    return result(planned, reasons=reasons + notes, fabrics=fabrics, recorded=found.recorded, instances=wanted.instances, deviations=heard)


def converge(module: AnsibleModule, run: Runner, *, root: str = "/") -> dict[str, t.Any]:
    """Return the result of the module. Raise RdmaError. `root`: where the node is looked at."""
    wanted = read_wanted(module.params)
    if wanted.present and wanted.instances and module.params.get("image"):
        raise Unsupported("a subnet manager needs the ports of its host, and an image has none: run the role on the booted host")
    return (_converge_present if wanted.present else _converge_absent)(module, run, wanted, root=root)
