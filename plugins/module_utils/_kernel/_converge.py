# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Sees to it that the kernel that boots next has the vendor's driver."""

from __future__ import annotations

import os
import shutil
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import CHECKED
from ansible_collections.rdma.ofed.plugins.module_utils._host import _initramfs as initramfs
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State, Step
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _build as building
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _packages as script
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _plan as plan
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._found import Found, lacking, unsigned
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _bundle_place as places
from ansible_collections.rdma.ofed.plugins.module_utils._stack._draft import Place
from ansible_collections.rdma.ofed.plugins.module_utils._stack._fetch import bundle
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import bundle_problems

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._manager import Manager

JOB = "kernel-policy"
_SCRIPTS = {**places.SCRIPTS, building.SCRIPT: script}
_LINES = 8


def _refresh(run: Runner, found: Found, root: str) -> tuple[Step, ...]:
    """The initramfs with modules of the driver that was: they would be loaded first. DKMS may have built it anew already."""
    builder = initramfs.builder_of(run)
    if builder is None:
        return ()
    images = initramfs.images_with(run, builder, initramfs.installed_images([found.target], root), CHECKED)
    return tuple(
        Step("building %s anew" % image.path, tuple(part.format(release=image.release, path=image.path) for part in builder.build)) for image in images
    )


def _check_prerequisites(run: Runner, manager: Manager, names: t.Sequence[str], check_mode: bool) -> list[str]:
    """Can the package manager install them? What it can't is told before anything starts; in check mode, the package lists stay as old as they are."""
    if not names:
        return []
    absent = manager.unavailable(run, names)
    if absent and manager.lists_age and not check_mode:
        run(manager.update_argv(), ok=None, timeout=600)
        absent = manager.unavailable(run, names)
    if not absent:
        return []
    words = "building the driver needs %s, which %s can't install" % (", ".join(absent), manager.name)
    if check_mode and manager.lists_age:
        return [words + " from the package lists of now; the run reads them anew"]
    raise Refused("%s: install it, or let its repository be known to the node. Nothing was changed" % words)


def _failed(job: State, root: str) -> CommandFailed:
    if job.interrupted:
        return CommandFailed("%s was interrupted. The next run begins it anew; all output is in %s" % (job.stage or "the job", job.log), job=job.result())
    # What the stage itself has said, without its command line.
    output = ("\n" + jobs.read_log(JOB, root)).rpartition("\n==> ")
    lines = [line.strip() for line in output[2].splitlines()[1 if output[1] else 0 :] if line.strip()][-_LINES:]
    said = "it did not end in time; raise ofed_timeout" if job.rc == TIMED_OUT else "exit status %d: %s" % (job.rc, " | ".join(lines))
    return CommandFailed("%s failed, %s. All output is in %s" % (job.failed, said, job.log), job=job.result())


def _result(changes: t.Sequence[Change], target: str, job: State | None = None, reasons: t.Sequence[str] = ()) -> dict[str, t.Any]:
    result = {**Plan(tuple(changes)).result(reasons=reasons), "kernel": target}
    if job is not None:
        result["job"] = job.result()
    return result


def _ended(module: AnsibleModule, run: Runner, running: str, job: State, root: str) -> dict[str, t.Any]:
    """The outcome of a job, and what the node says to it."""
    if job.interrupted or job.failed:
        places.tidy(root)
        raise _failed(job, root)
    if job.memo["bundle"]:
        places.forget(root)
    found = look(run, running, root)
    left = plan.draft_of(module.params["policy"], found, bool(module.params["bundle"])).plan
    if left and job.memo["policy"] != module.params["policy"]:
        # It was begun by an earlier run, for something else.
        module.params["attach"] = ""
        return converge(module, run, running, root)
    if left:
        words = "%s ended without an error, and it is still so that %s. All output is in %s"
        raise CommandFailed(words % (job.memo["last"], lacking(found) or left.changes[0].words(), job.log), job=job.result())
    if unsigned(found):
        raise Refused(unsigned(found), changed=True, job=job.result())
    return _result([Change.of_row(row) for row in job.memo["changes"]], found.target, job)


def _follow(module: AnsibleModule, run: Runner, running: str, root: str) -> dict[str, t.Any]:
    job = jobs.wait(JOB, module.params["poll"], root)
    if job is None:
        raise CommandFailed("the job has vanished from /%s" % jobs.JOBS)
    if job.running:
        return _result([Change.of_row(row) for row in job.memo["changes"]], job.memo["target"], job)
    return _ended(module, run, running, job, root)


def _start(module: AnsibleModule, run: Runner, running: str, found: Found, draft: plan.Draft, place: Place, root: str) -> dict[str, t.Any]:
    policy = module.params["policy"]
    extra = _refresh(run, found, root) if policy == "build" else ()
    memo = {
        "policy": policy,
        "target": found.target,
        "bundle": draft.way == "bundle",
        "changes": [list(change) for change in draft.plan.changes],
        "last": draft.steps[-1].stage if policy != "build" else building.BUILDING + found.target,
    }
    places.prepare(place)
    work = os.path.join(root, building.WORK.lstrip("/"))
    # An earlier run that failed has left its logs there, and its half of the work.
    shutil.rmtree(work, ignore_errors=True)
    if draft.way in ("bundle", "doca"):
        os.makedirs(work, mode=0o700)
    jobs.start(run, JOB, (*draft.steps, *extra), module.params["timeout"], memo, root, _SCRIPTS)
    return _follow(module, run, running, root)


def converge(module: AnsibleModule, run: Runner, running: str, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again. Returns while a job runs, too, and is called again then with C(attach)."""
    parameters = module.params
    job = jobs.read_job(JOB, root)
    if job is not None and not module.check_mode and (job.running or parameters["attach"] == job.id):
        return _follow(module, run, running, root)
    has_bundle = bool(parameters["bundle"])
    wrong = bundle_problems({"ofed_" + name: parameters[name] for name in ("bundle", "bundle_on", "bundle_checksum")}, None) if has_bundle else []
    if wrong:
        raise InvalidInput(wrong)
    found = look(run, running, root)
    draft = plan.draft_of(parameters["policy"], found, has_bundle)
    if not draft.plan:
        if unsigned(found):
            raise Refused(unsigned(found))
        return _result((), found.target)
    place = Place("")
    needed: dict[str, str] = {}
    if draft.way == "bundle":
        place, needed = bundle(module, run, building.release_of(found), root)
        if needed and not module.check_mode:
            return {**_result((), found.target), **needed}
    reasons = _check_prerequisites(run, found.distribution.manager, draft.prerequisites, module.check_mode)
    if module.check_mode:
        return {**_result(draft.plan.changes, found.target, reasons=reasons), **needed}
    return _start(module, run, running, found, plan.draft_of(parameters["policy"], found, has_bundle, place), place, root)
