# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Give the kernel that boots next the vendor's driver: look, plan, run a job, and look again when it has ended."""

from __future__ import annotations

import os
import shutil
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import CHECKED
from ansible_collections.rdma.ofed.plugins.module_utils._host import _initramfs as initramfs
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State, Step
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _build as building
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _packages as script
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._build import KernelPlan
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._found import Found, lacking, unsigned
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _bundle_place as places
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import Missing, Place
from ansible_collections.rdma.ofed.plugins.module_utils._stack._failure import reason
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import bundle_problems

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Manager

JOB = "kernel-policy"
_SCRIPTS = {**places.SCRIPTS, building.SCRIPT: script}


def _refresh(run: Runner, found: Found, root: str) -> tuple[Step, ...]:
    """Rebuild the initramfs that holds modules of the former driver, which would be loaded first. DKMS may have rebuilt it already."""
    builder = initramfs.builder_of(run)
    if builder is None:
        return ()
    images = initramfs.images_with(run, builder, images=initramfs.installed_images([found.target], root), modules=CHECKED)
    return tuple(Step("rebuilding %s" % image.path, initramfs.build_argv(builder, image)) for image in images)


def check_prerequisites(run: Runner, manager: Manager, names: t.Sequence[str], *, check_mode: bool) -> list[str]:
    """Refuse packages that the package manager can't install, before anything starts. Check mode does not refresh the package lists, and returns a reason."""
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


def _result(changes: t.Iterable[Change], target: str, *, job: State | None = None, reasons: t.Sequence[str] = ()) -> dict[str, t.Any]:
    return {**Plan(tuple(changes)).result(reasons=reasons), "kernel": target, **({} if job is None else {"job": job.result()})}


def _ended(job: State) -> dict[str, t.Any]:
    """The result with the changes that a job was begun for."""
    return _result((Change.of_row(row) for row in job.memo["changes"]), job.memo["target"], job=job)


def _conclude(run: Runner, job: State, *, running: str, root: str) -> Found:
    """Look again. Raises CommandFailed where the job failed."""
    if job.interrupted or job.failed:
        places.tidy(root)
    if job.interrupted:
        raise CommandFailed("%s was interrupted. The next run begins it again; all output is in %s" % (job.stage or "the job", job.log), job=job.result())
    if job.failed:
        raise CommandFailed("%s failed, %s. All output is in %s" % (job.failed, reason(JOB, job, root), job.log), job=job.result())
    if job.memo["bundle"]:
        places.forget(root)
    return look(run, running, root)


def _finish(job: State, found: Found, left: Plan) -> dict[str, t.Any]:
    """The result of a job that did what this run wants."""
    if left:
        words = "%s ended without an error, and it is still so that %s. All output is in %s"
        raise CommandFailed(words % (job.memo["last"], lacking(found) or left.changes[0].words(), job.log), job=job.result())
    if unsigned(found):
        raise Refused(unsigned(found), changed=True, job=job.result())
    return _ended(job)


def _start(module: AnsibleModule, run: Runner, *, found: Found, todo: KernelPlan, place: Place, root: str) -> State:
    """Begin the job, and wait for its end for as long as the module may."""
    policy = module.params["policy"]
    extra = _refresh(run, found, root) if policy == "build" else ()
    memo = {
        "policy": policy,
        "target": found.target,
        "bundle": todo.way == "bundle",
        "changes": [list(change) for change in todo.plan.changes],
        "last": todo.steps[-1].stage if policy != "build" else building.BUILDING + found.target,
    }
    places.prepare(place)
    work = os.path.join(root, building.WORK.lstrip("/"))
    # An earlier run that failed has left its logs there, and its half of the work.
    shutil.rmtree(work, ignore_errors=True)
    if todo.way in ("bundle", "doca"):
        os.makedirs(work, mode=0o700)
    jobs.start(run, JOB, (*todo.steps, *extra), timeout=module.params["timeout"], memo=memo, root=root, scripts=_SCRIPTS)
    return jobs.wait(JOB, module.params["poll"], root)


def converge(module: AnsibleModule, run: Runner, running: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, and unless in check mode apply. Returns while a job runs, too, and is called again then with the option `attach`."""
    parameters, policy, has_bundle = module.params, module.params["policy"], bool(module.params["bundle"])
    job = jobs.read_job(JOB, root)
    if job is not None and (module.check_mode or (not job.running and parameters["attach"] != job.id)):
        job = None
    if job is not None:
        job = jobs.wait(JOB, parameters["poll"], root)
        if job.running:
            return _ended(job)
    concluded = None if job is None else _conclude(run, job, running=running, root=root)
    wrong = bundle_problems({"ofed_" + name: parameters[name] for name in ("bundle", "bundle_on", "bundle_checksum")}, None) if has_bundle else []
    if wrong:
        raise InvalidInput(wrong)
    found = look(run, running, root) if concluded is None else concluded
    todo = plan(policy, found, has_bundle=has_bundle)
    # A job that an earlier run began for another policy was only waited for.
    if job is not None and (not todo.plan or job.memo["policy"] == policy):
        return _finish(job, found, todo.plan)
    if not todo.plan:
        if unsigned(found):
            raise Refused(unsigned(found))
        return _result((), found.target)
    place = places.locate(run, parameters, version=building.release_of(found), root=root) if todo.way == "bundle" else Place("")
    needed = place.result() if isinstance(place, Missing) else {}
    if needed and not module.check_mode:
        return {**_result((), found.target), **needed}
    reasons = check_prerequisites(run, found.distribution.manager, todo.prerequisites, check_mode=module.check_mode)
    if module.check_mode or isinstance(place, Missing):
        return {**_result(todo.plan.changes, found.target, reasons=reasons), **needed}
    job = _start(module, run, found=found, todo=plan(policy, found, has_bundle=has_bundle, place=place), place=place, root=root)
    if job.running:
        return _ended(job)
    found = _conclude(run, job, running=running, root=root)
    return _finish(job, found, plan(policy, found, has_bundle=has_bundle).plan)
