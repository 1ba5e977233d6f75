# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rebuild third-party modules for the stack on disk: look, plan, run a job, and look again. For new kernels, have DKMS build them after the stack."""

from __future__ import annotations

import typing as t

from .._distro._registry import by_name
from .._errors import CommandFailed
from .._facts._dkms_order import Configured, is_hook, order_of, read_configured, wanted
from .._facts._machine import read_os
from .._host import _job as jobs
from .._host._files import apply_file, file_change
from .._plan import Change, Plan, changes_of
from . import _plan as planner
from ._found import Built, Found, Misfit
from ._look import look, read_record, write_record

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

JOB = "third-party-modules"
DEBIANS_DRIVER = "mlnx-ofed-kernel"
_LEFT = '%s is not of this collection, and does not have DKMS build the stack first for a new kernel: add the line BUILD_DEPENDS+=("%s") to it'
_FIT = "%s ended without an error, but %s. Build the module on the installed stack, run depmod, and run this again. Nothing was unloaded"


def _result(changes: t.Iterable[Change], left: t.Sequence[Misfit], *, job: jobs.State | None = None, reasons: t.Sequence[str] = ()) -> dict[str, t.Any]:
    """The result of the module. `left`: what does not fit after the task."""
    return {
        **Plan(tuple(changes)).result([planner.pending(misfit) for misfit in left], [*map(planner.reason, left), *reasons]),
        "modules": [misfit.module.row() for misfit in left],
        **({} if job is None else {"job": job.result()}),
    }


def _given(module: AnsibleModule) -> tuple[Built, ...]:
    return tuple(filter(None, map(Built.of_row, module.params["modules"] or ())))


def _rebuilt(before: t.Iterable[Built], left: t.Sequence[Misfit], by: t.Callable[[Built], str]) -> tuple[Change, ...]:
    """The changes of the modules that fit now."""
    bad = {(misfit.module.name, misfit.module.kernel) for misfit in left}
    return tuple(planner.change(module, by(module)) for module in before if (module.name, module.kernel) not in bad)


def _of_tasks(module: AnsibleModule, found: Found) -> dict[str, t.Any]:
    """The result after the tasks of the site."""
    tasks, given = module.params["tasks"], _given(module)
    if module.check_mode:
        return _result(_rebuilt(given, (), lambda _each: tasks), ())
    if found.misfits:
        raise CommandFailed(_FIT % (tasks, "; ".join(map(planner.reason, found.misfits))), modules=[misfit.module.row() for misfit in found.misfits])
    return _result(_rebuilt(given, (), lambda _each: tasks), ())


def _driver(module: AnsibleModule, found: Configured, root: str) -> str:
    """The source of the stack in DKMS, in check mode once the stack is replaced; "" for none."""
    foreseen = module.params["stack"] if module.check_mode else "kept"
    if foreseen == "dkms" and not found.driver:
        family = by_name(read_os(root).family)
        return DEBIANS_DRIVER if family is not None and family.by_dkms else ""
    return "" if foreseen == "absent" else found.driver


def _ordered(module: AnsibleModule, release: str, root: str) -> tuple[tuple[Change, ...], list[str]]:
    """Have DKMS build the stack first for new kernels. Returns the changes of files, and what is left to the site, in words."""
    if not module.params["dkms"]:
        return (), []
    found = read_configured(root, release)
    driver = _driver(module, found, root)
    # Without its driver, nothing was read of the third-party modules. Those that are foreseen are known.
    found = found._replace(driver=driver) if found.driver or not driver else read_configured(root, release, driver)
    changes = changes_of(*(file_change(path, found.files.get(path, ""), text) for path, text in sorted(wanted(found).items())))
    for change in () if module.check_mode else changes:
        apply_file(module, change, mode=0o755 if is_hook(change.subject) else 0o644, root=root)
    return changes, [_LEFT % (path, driver) for path in order_of(found).foreign]


def _predicted(module: AnsibleModule, found: Found, *, release: str, root: str) -> dict[str, t.Any]:
    by_dkms = [misfit for misfit in found.misfits if misfit.module.source and module.params["dkms"]]
    order, reasons = _ordered(module, release, root)
    changes = _rebuilt([misfit.module for misfit in by_dkms], (), lambda each: each.command)
    return _result((*changes, *order), [misfit for misfit in found.misfits if misfit not in by_dkms], reasons=reasons)


def _start(module: AnsibleModule, run: Runner, *, found: Found, root: str) -> jobs.State | None:
    """Have DKMS rebuild what it manages; None where that is nothing."""
    todo = planner.builds(found) if module.params["dkms"] else ()
    if not todo:
        return None
    memo = {"modules": [misfit.module.row() for misfit in found.misfits]}
    return jobs.start(run, JOB, planner.steps(todo), timeout=module.params["timeout"], memo=memo, root=root)


def _concluded(module: AnsibleModule, run: Runner, *, record: tuple[Built, ...], release: str, root: str) -> dict[str, t.Any]:
    """The result of the job. May return while it runs; the module is then called again with the option `attach`."""
    job = jobs.wait(JOB, module.params["poll"], root)
    if job.running:
        return _result((), (), job=job)
    if job.interrupted:
        raise CommandFailed("%s was interrupted. The next run starts it again; all output is in %s" % (job.stage or "the job", job.log), job=job.result())
    before = [built for built in _of_job(job) if built.source]
    left = _settled(run, record, job, root=root).misfits
    order, reasons = _ordered(module, release, root)
    return _result((*_rebuilt(before, left, lambda each: each.command), *order), left, job=job, reasons=reasons)


def _of_job(job: jobs.State | None) -> list[Built]:
    """The modules for which the last job was started."""
    rows = job.memo.get("modules") if job is not None else None
    return [built for built in map(Built.of_row, rows if isinstance(rows, list) else ()) if built is not None]


def _look(run: Runner, record: tuple[Built, ...], job: jobs.State | None, *, root: str) -> Found:
    """Look at the recorded modules. The job may have ended while DKMS had forgotten their sources."""
    return look(run, record, root, tried={built.source for built in _of_job(job)} & {built.source for built in record} - {""})


def _settled(run: Runner, record: tuple[Built, ...], job: jobs.State | None, *, root: str) -> Found:
    """Look at the recorded modules. The record is kept as long as one of them does not fit; a damaged one goes as well."""
    found = _look(run, record, job, root=root)
    if not found.misfits:
        write_record((), root)
    return found


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan and, outside of check mode, apply. In check mode, the stack that is looked at may still be to come. `release`: the running kernel."""
    record, job = read_record(root), jobs.read_job(JOB, root)
    if module.check_mode:
        foreseen = _given(module)
        found = Found(foreseen, tuple(map(Misfit, foreseen))) if foreseen else _look(run, record, job, root=root)
        return _of_tasks(module, found) if module.params["tasks"] else _predicted(module, found, release=release, root=root)
    if job is not None and (job.running or module.params["attach"] == job.id):
        return _concluded(module, run, record=record, release=release, root=root)
    found = _settled(run, record, job, root=root)
    if module.params["tasks"]:
        return _of_tasks(module, found)
    if _start(module, run, found=found, root=root) is not None:
        return _concluded(module, run, record=record, release=release, root=root)
    order, reasons = _ordered(module, release, root)
    return _result(order, found.misfits, reasons=reasons)
