# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build, from an MLNX_OFED bundle, the bundle with modules for one kernel, which all nodes with this kernel can install."""

from __future__ import annotations

import os
import shutil
import typing as t

from ..._errors import Refused, require_none
from ..._facts._machine import read_os
from ..._host import _job as jobs
from ..._host._download import digest_of
from ..._host._files import under
from ..._plan import Change, Kind, Plan
from ..._stack import _bundle_place as places
from ..._stack._bundle import Place
from ..._stack._changes import additions
from ..._stack._log import require_success
from .._converge import check_prerequisites
from .._found import Found
from .._look import look
from .._plan import BUILDING, prerequisites
from ._input import misplaced, problems, wanted_of
from ._plan import WORK, steps
from ._wanted import BUILT, Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._host._run import Runner

JOB = "kernel-bundle"
# The exit status of the vendor's script if a bundle already has modules for the kernel.
_HAS_THEM = 30
_NOTHING_TO_BUILD = "the bundle already has modules for this kernel: declare it as ofed_bundle unchanged"


def _result(wanted: Wanted, *, changes: t.Sequence[Change] = (), job: jobs.State | None = None, root: str, reasons: t.Sequence[str] = ()) -> dict[str, t.Any]:
    path = under(root, wanted.path)
    checksum = "sha256:" + digest_of(path, "sha256") if os.path.isfile(path) else ""
    told = {"archive": wanted.path, "checksum": checksum, "version": wanted.version, "kernel": wanted.kernel}
    return {**Plan(tuple(changes)).result(reasons=reasons), **told, **({} if job is None else {"job": job.result()})}


def _ended(wanted: Wanted, job: jobs.State, *, root: str) -> dict[str, t.Any]:
    """The result of a finished or running job. Raises CommandFailed where it failed."""
    changes = [Change.of_row(row) for row in job.memo["changes"]]
    if job.running:
        return _result(wanted, changes=changes, job=job, root=root)
    if job.finished and job.rc == _HAS_THEM and job.failed.startswith(BUILDING):
        places.tidy(root)
        return _result(wanted, changes=changes[:-1], reasons=[_NOTHING_TO_BUILD], job=job, root=root)
    require_success(JOB, job, root)
    places.forget(root)
    return _result(wanted, changes=changes, job=job, root=root)


def converge(module: AnsibleModule, run: Runner, running: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan and, outside of check mode, build. May return while a job runs; it is then called again with the option `attach`."""
    parameters = module.params
    system, arch = read_os(root), os.uname().machine
    require_none(problems(parameters) or misplaced(parameters["bundle"], system, arch))
    wanted = wanted_of(parameters, system, running=running, arch=arch)
    if parameters["state"] == "query":
        return _result(wanted, root=root)
    built = Change(Kind.FILE, wanted.path, "", "", wanted.name)
    job = jobs.read_job(JOB, root)
    if job is not None and not module.check_mode and (job.running or parameters["attach"] == job.id):
        job = jobs.wait(JOB, parameters["poll"], root)
        if job.running or job.memo["archive"] == wanted.path:
            return _ended(wanted, job, root=root)
    if os.path.isfile(under(root, wanted.path)):
        return _result(wanted, root=root)
    found = look(run, running, root)
    there = [kernel.release for kernel in found.kernels]
    if wanted.kernel not in there:
        words = "kernel: %s is not installed on this node; installed: %s. Run it on a node that has this kernel. Nothing was changed"
        raise Refused(words % (wanted.kernel, ", ".join(there) or "none"))
    needed = prerequisites(found, wanted.kernel)
    place, missing = places.locate(run, parameters, version=wanted.version, root=root)
    if missing and not module.check_mode:
        return {**_result(wanted, root=root), **missing}
    changes = (*additions(needed), built)
    reasons = check_prerequisites(run, found.distribution.manager, needed, check_mode=module.check_mode)
    if module.check_mode or place is None:
        return {**_result(wanted, changes=changes, reasons=reasons, root=root), **missing}
    return _built(module, run, wanted=wanted, found=found, place=place, changes=changes, root=root)


def _built(module: AnsibleModule, run: Runner, *, wanted: Wanted, found: Found, place: Place, changes: t.Sequence[Change], root: str) -> dict[str, t.Any]:
    """Start the job, and wait for its end for as long as the module may."""
    places.prepare(place)
    work, built = (under(root, path) for path in (WORK, BUILT))
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work, mode=0o700)
    os.makedirs(built, exist_ok=True)
    os.chmod(built, 0o755)
    memo = {"archive": wanted.path, "changes": [list(change) for change in changes]}
    jobs.start(run, JOB, steps(wanted, found, place), timeout=module.params["timeout"], memo=memo, root=root, scripts=places.SCRIPTS)
    return _ended(wanted, jobs.wait(JOB, module.params["poll"], root), root=root)
