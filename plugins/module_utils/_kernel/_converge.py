# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Provide the vendor's driver for the kernel that boots next: look, plan, run a job, and look again after it has ended."""

from __future__ import annotations

import os
import shutil
import typing as t

from .._errors import CommandFailed, Refused, require_none
from .._facts._modules import CHECKED
from .._host import _initramfs as initramfs
from .._host import _job as jobs
from .._host._files import under
from .._plan import Change, Plan
from .._stack import _bundle_place as places
from .._stack._bundle import Place
from .._stack._log import require_success
from .._stack._vendors import bundle_problems
from . import _packages as script
from . import _plan as planner
from ._found import Found
from ._look import look

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner
    from .._tools._packages import Manager

JOB = "kernel-policy"
_SCRIPTS = {**places.SCRIPTS, planner.SCRIPT: script}


def check_prerequisites(run: Runner, manager: Manager, names: t.Sequence[str], *, check_mode: bool) -> list[str]:
    """Refuse packages that can't be installed, before anything starts. Check mode does not refresh the package lists, and returns a reason instead."""
    if not names:
        return []
    absent = manager.unavailable(run, names)
    if absent and manager.lists_age and not check_mode:
        run(manager.update, ok=None, timeout=600)
        absent = manager.unavailable(run, names)
    if not absent:
        return []
    words = "building the driver needs %s, which %s can't install" % (", ".join(absent), manager.name)
    if check_mode and manager.lists_age:
        return [words + " from the current package lists; the run refreshes them"]
    raise Refused("%s: install it, or configure its repository on the node. Nothing was changed" % words)


def _result(changes: t.Iterable[Change], target: str, *, job: jobs.State | None = None, reasons: t.Sequence[str] = ()) -> dict[str, t.Any]:
    return {**Plan(tuple(changes)).result(reasons=reasons), "kernel": target, **({} if job is None else {"job": job.result()})}


def _ended(job: jobs.State) -> dict[str, t.Any]:
    """The result with the changes for which a job was started."""
    return _result((Change.of_row(row) for row in job.memo["changes"]), job.memo["target"], job=job)


def _conclude(job: jobs.State, root: str) -> None:
    """Raise CommandFailed where the job failed. After a success, remove its bundle."""
    require_success(JOB, job, root)
    if job.memo["bundle"]:
        places.forget(root)


def _finish(job: jobs.State, found: Found, left: planner.KernelPlan) -> dict[str, t.Any]:
    """The result of a job that did what this run wants."""
    if left.plan:
        words = "%s ended without an error, but still %s. All output is in %s"
        raise CommandFailed(words % (job.memo["last"], planner.lacking(found) or left.plan.changes[0].words(), job.log), job=job.result())
    if planner.unsigned(found):
        raise Refused(planner.unsigned(found), changed=True, job=job.result())
    return {**_ended(job), "reasons": list(left.reasons)}


def _start(module: AnsibleModule, run: Runner, *, found: Found, todo: planner.KernelPlan, place: Place, root: str) -> jobs.State:
    """Start the job, and wait for its end for as long as the module may."""
    policy = module.params["policy"]
    # At boot, modules of the former driver in an image would be loaded first. DKMS may have rebuilt the image already.
    images = initramfs.holding(run, [found.target], CHECKED, root=root) if policy == "build" else ()
    memo = {
        "policy": policy,
        "target": found.target,
        "bundle": todo.way == "bundle",
        "changes": [list(change) for change in todo.plan.changes],
        "last": todo.steps[-1].stage if policy != "build" else planner.BUILDING + found.target,
    }
    places.prepare(place)
    work = under(root, planner.WORK)
    # A failed run has left its logs and partial results there.
    shutil.rmtree(work, ignore_errors=True)
    if todo.way in ("bundle", "doca"):
        os.makedirs(work, mode=0o700)
    jobs.start(run, JOB, (*todo.steps, *initramfs.rebuilding(run, images)), timeout=module.params["timeout"], memo=memo, root=root, scripts=_SCRIPTS)
    return jobs.wait(JOB, module.params["poll"], root)


def converge(module: AnsibleModule, run: Runner, running: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan and, outside of check mode, apply. May return while a job runs; it is then called again with the option `attach`."""
    parameters, policy, has_bundle = module.params, module.params["policy"], bool(module.params["bundle"])
    job = jobs.read_job(JOB, root)
    if job is not None and (module.check_mode or (not job.running and parameters["attach"] != job.id)):
        job = None
    if job is not None:
        job = jobs.wait(JOB, parameters["poll"], root)
        if job.running:
            return _ended(job)
        _conclude(job, root)
    if has_bundle:
        require_none(bundle_problems({"ofed_" + name: parameters[name] for name in ("bundle", "bundle_on", "bundle_checksum")}))
    found = look(run, running, root)
    todo = planner.plan(policy, found, has_bundle=has_bundle)
    # If an earlier run started the job for another policy, this run only waited for it.
    if job is not None and (not todo.plan or job.memo["policy"] == policy):
        return _finish(job, found, todo)
    if not todo.plan:
        if planner.unsigned(found):
            raise Refused(planner.unsigned(found))
        return _result((), found.target, reasons=todo.reasons)
    place, needed = places.locate(run, parameters, version=planner.release_of(found), root=root) if todo.way == "bundle" else (Place(""), {})
    if needed and not module.check_mode:
        return {**_result((), found.target), **needed}
    reasons = check_prerequisites(run, found.distribution.manager, todo.prerequisites, check_mode=module.check_mode)
    if module.check_mode or place is None:
        return {**_result(todo.plan.changes, found.target, reasons=[*todo.reasons, *reasons]), **needed}
    job = _start(module, run, found=found, todo=planner.plan(policy, found, has_bundle=has_bundle, place=place), place=place, root=root)
    if job.running:
        return _ended(job)
    _conclude(job, root)
    found = look(run, running, root)
    return _finish(job, found, planner.plan(policy, found, has_bundle=has_bundle))
