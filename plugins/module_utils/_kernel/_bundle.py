# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds, from a bundle of MLNX_OFED, the bundle with modules for one kernel, which all nodes with this kernel can install."""

from __future__ import annotations

import os
import re
import shutil
import typing as t

from .._distro._registry import DISTRIBUTIONS
from .._errors import Problem, Refused, require_none
from .._facts._machine import OperatingSystem, read_os
from .._host import _job as jobs
from .._host._download import digest_of
from .._host._files import under
from .._host._step import Step, script_argv
from .._plan import Change, Kind, Plan
from .._stack import _bundle_place as places
from .._stack._bundle import Place, distro_fits, distro_of, distro_to_tell, parse_name
from .._stack._changes import additions
from .._stack._log import require_success
from .._stack._plan import checking
from .._stack._vendor_input import bundle_problems, mlnx_version
from ._converge import check_prerequisites
from ._look import look
from ._plan import BUILDING, Found, installing, prerequisites, support_argv

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

JOB = "kernel-bundle"
BUILT = "/var/lib/rdma.ofed-built"
"""Not below /var/lib/rdma.ofed, which root alone may be able to read."""
WORK = "/var/lib/rdma.ofed/kernel-bundle"
_KEEPING = "keeping the bundle"
# The exit status of the vendor's script for a bundle that has modules for the kernel.
_HAS_THEM = 30
_NOTHING_TO_BUILD = "the bundle has modules for this kernel already: declare it as ofed_bundle as it is"
_KERNEL = re.compile(r"^[0-9][A-Za-z0-9._+~-]*\Z")


class Wanted(t.NamedTuple):
    """The bundle to be built."""

    version: str
    distro: str
    """As bundles have it; "" where neither name nor node tells."""
    arch: str
    kernel: str
    kmp: bool = False
    tell_distro: bool = False
    """Whether the vendor's script does not recognise the distribution by itself."""

    @property
    def name(self) -> str:
        """Without ending, in the form of the vendor's names."""
        parts = ("MLNX_OFED_LINUX", self.version, self.distro, self.arch, "kver.%s" % self.kernel, "kmp" if self.kmp else "", "ext")
        return "-".join(part for part in parts if part)

    @property
    def path(self) -> str:
        return "%s/%s.tgz" % (BUILT, self.name)


def problems(parameters: t.Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the options, beyond their types."""
    if not parameters["bundle"]:
        return [Problem("bundle", parameters["bundle"], "the path or URL of the vendor's bundle", "the playbook build takes ofed_bundle")]
    given = {"ofed_" + name: parameters[name] for name in ("bundle", "bundle_on", "bundle_checksum", "version")}
    found = [problem._replace(variable=problem.variable.replace("ofed_", "", 1)) for problem in bundle_problems(given)]
    if not found and not mlnx_version(given):
        hint = "" if parameters["version"] else "the name of the bundle does not tell it"
        found.append(Problem("version", parameters["version"], "a release such as 23.10-0.5.5.0", hint))
    if parameters["kernel"] and not _KERNEL.match(parameters["kernel"]):
        found.append(Problem("kernel", parameters["kernel"], "the release of a kernel, as uname -r prints it"))
    return found


def misplaced(bundle: str, system: OperatingSystem, arch: str) -> list[Problem]:
    """The problem with a bundle that was made for other nodes than this one."""
    named = parse_name(bundle)
    if named.arch and named.arch != arch:
        return [Problem("bundle", bundle, "a bundle for %s, which this node is" % arch)]
    if not distro_fits(named.distro, system):
        return [Problem("bundle", bundle, "a bundle for %s, which this node has" % distro_of(system))]
    return []


def wanted_of(parameters: t.Mapping[str, t.Any], system: OperatingSystem, *, running: str, arch: str) -> Wanted:
    """From options that passed `problems`, and did on this node pass `misplaced`."""
    version = mlnx_version({"ofed_version": parameters["version"], "ofed_bundle": parameters["bundle"]})
    distro = parse_name(parameters["bundle"]).distro or distro_of(system)
    known = DISTRIBUTIONS.get(system.id)
    told = bool(distro_to_tell(parameters["bundle"], system))
    return Wanted(version, distro, arch, parameters["kernel"] or running, parameters["kmp"], told or (known is not None and known.rebuild))


def steps(wanted: Wanted, found: Found, place: Place) -> tuple[Step, ...]:
    """The job. The bundle gets its name once it is whole."""
    archive = "%s/%s.tgz" % (WORK, wanted.name)
    argv = support_argv(place.tree, wanted.kernel, work=WORK, name=wanted.name, kmp=wanted.kmp, distro=wanted.distro if wanted.tell_distro else "")
    if not found.distribution.manager.simulates:
        # For RPM, the script names packages of the distribution that it lacks.
        argv = script_argv("installer_run.py", "run", *found.distribution.manager.add, "--", *argv)
    return (
        *place.unpack,
        checking(wanted.version, place),
        *installing(found, prerequisites(found, wanted.kernel)),
        Step(BUILDING + wanted.kernel, argv, directory=place.tree),
        # All users of the node may read it: it holds nothing secret.
        Step(_KEEPING, ("chmod", "0644", "--", archive)),
        Step(_KEEPING, ("mv", "--no-target-directory", "--", archive, wanted.path)),
        *place.clean,
        Step("cleaning up", ("rm", "-rf", "--", WORK), always=True),
    )


def _result(wanted: Wanted, *, changes: t.Sequence[Change] = (), job: jobs.State | None = None, root: str, reasons: t.Sequence[str] = ()) -> dict[str, t.Any]:
    path = under(root, wanted.path)
    checksum = "sha256:" + digest_of(path, "sha256") if os.path.isfile(path) else ""
    told = {"archive": wanted.path, "checksum": checksum, "version": wanted.version, "kernel": wanted.kernel}
    return {**Plan(tuple(changes)).result(reasons=reasons), **told, **({} if job is None else {"job": job.result()})}


def _ended(wanted: Wanted, job: jobs.State, *, root: str) -> dict[str, t.Any]:
    """The result of a job, or of what it has done so far. Raises CommandFailed where it failed."""
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
    """Look, plan, and unless in check mode build. Returns while a job runs, too, and is called again then with the option `attach`."""
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
        words = "kernel: %s is not installed on this node; installed: %s. Run it on a node that has it. Nothing was changed"
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
    """Begin the job, and wait for its end for as long as the module may."""
    places.prepare(place)
    work, built = (under(root, path) for path in (WORK, BUILT))
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work, mode=0o700)
    os.makedirs(built, exist_ok=True)
    os.chmod(built, 0o755)
    memo = {"archive": wanted.path, "changes": [list(change) for change in changes]}
    jobs.start(run, JOB, steps(wanted, found, place), timeout=module.params["timeout"], memo=memo, root=root, scripts=places.SCRIPTS)
    return _ended(wanted, jobs.wait(JOB, module.params["poll"], root), root=root)
