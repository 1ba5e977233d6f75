# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Builds, from a bundle of MLNX_OFED, the bundle with modules for one kernel, which all nodes with this kernel can install."""

from __future__ import annotations

import os
import re
import shutil
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Problem, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_os
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._download import digest_of
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State, Step
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._build import BUILDING, headers_of, support_argv
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._converge import check_prerequisites
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._found import TOOLS, Found
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _bundle_place as places
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import Missing, Place, distro_of, parse_name
from ansible_collections.rdma.ofed.plugins.module_utils._stack._failure import reason
from ansible_collections.rdma.ofed.plugins.module_utils._stack._plan import checking
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import bundle_problems, mlnx_version

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

JOB = "kernel-bundle"
BUILT = "/var/lib/rdma.ofed/built"
WORK = "/var/lib/rdma.ofed/kernel-bundle"
_KEEPING = "keeping the bundle"
# The exit status of the vendor's script for a bundle that has modules for the kernel.
_HAS_THEM = 30
_KERNEL = re.compile(r"^[0-9][A-Za-z0-9._+~-]*\Z")


class Wanted(t.NamedTuple):
    """The bundle to be built."""

    version: str
    distro: str
    """As bundles have it; "" where neither name nor node tells."""
    arch: str
    kernel: str
    kmp: bool = False

    @property
    def name(self) -> str:
        """Without ending, in the form of the vendor's names."""
        return "-".join(part for part in ("MLNX_OFED_LINUX", self.version, self.distro, self.arch, "kver.%s" % self.kernel, "ext") if part)

    @property
    def path(self) -> str:
        return "%s/%s.tgz" % (BUILT, self.name)


def problems(parameters: t.Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the options, beyond their types."""
    given = {"ofed_" + name: parameters[name] for name in ("bundle", "bundle_on", "bundle_checksum", "version")}
    found = [problem._replace(variable=problem.variable.replace("ofed_", "", 1)) for problem in bundle_problems(given, None)]
    if not found and not mlnx_version(given):
        found.append(Problem("version", parameters["version"], "a release such as 23.10-0.5.5.0", "the name of the bundle does not tell it"))
    if parameters["kernel"] and not _KERNEL.match(parameters["kernel"]):
        found.append(Problem("kernel", parameters["kernel"], "the release of a kernel, as uname -r prints it"))
    return found


def wanted_of(parameters: t.Mapping[str, t.Any], *, running: str, arch: str, distro: str) -> Wanted:
    """From options that passed `problems`; `distro` is that of the node, in the words of bundles."""
    version = mlnx_version({"ofed_version": parameters["version"], "ofed_bundle": parameters["bundle"]})
    return Wanted(version, parse_name(parameters["bundle"]).distro or distro, arch, parameters["kernel"] or running, parameters["kmp"])


def prerequisites(found: Found, kernel: str) -> tuple[str, ...]:
    """The packages that the build takes and the node lacks. Raises Refused for a kernel that is not there, or whose headers can't be installed by name."""
    if not any(one.release == kernel for one in found.kernels):
        there = ", ".join(one.release for one in found.kernels) or "none"
        raise Refused("kernel: %s is not installed on this node; installed: %s. Run it on a node that has it. Nothing was changed" % (kernel, there))
    return (*headers_of(found, kernel), *(tool for tool in TOOLS if tool not in found.tools))


def steps(wanted: Wanted, found: Found, place: Place) -> tuple[Step, ...]:
    """The job. The bundle gets its name once it is whole."""
    needed = prerequisites(found, wanted.kernel)
    first = (Step("installing " + ", ".join(needed), (*found.distribution.manager.add, *needed)),) if needed else ()
    argv = support_argv(place.tree, wanted.kernel, work=WORK, name=wanted.name, kmp=wanted.kmp, distro=wanted.distro)
    return (
        *place.unpack,
        checking(wanted.version, place),
        *first,
        Step(BUILDING + wanted.kernel, argv, directory=place.tree),
        Step(_KEEPING, ("mv", "--no-target-directory", "--", "%s/%s.tgz" % (WORK, wanted.name), wanted.path)),
        *place.clean,
        Step("cleaning up", ("rm", "-rf", "--", WORK), always=True),
    )


def _result(wanted: Wanted, *, changes: t.Sequence[Change] = (), job: State | None = None, root: str, reasons: t.Sequence[str] = ()) -> dict[str, t.Any]:
    path = os.path.join(root, wanted.path.lstrip("/"))
    checksum = "sha256:" + digest_of(path, "sha256") if os.path.isfile(path) else ""
    told = {"archive": wanted.path, "checksum": checksum, "version": wanted.version, "kernel": wanted.kernel}
    return {**Plan(tuple(changes)).result(reasons=reasons), **told, **({} if job is None else {"job": job.result()})}


def _check(job: State, root: str) -> None:
    """Raises CommandFailed or Refused where the job has not done its work."""
    if job.interrupted or job.failed:
        places.tidy(root)
    if job.interrupted:
        raise CommandFailed("%s was interrupted. The next run begins it again; all output is in %s" % (job.stage or "the job", job.log), job=job.result())
    if job.failed and job.rc == _HAS_THEM:
        raise Refused("bundle: it has modules for this kernel already. Declare it as ofed_bundle as it is; nothing was built", job=job.result())
    if job.failed:
        raise CommandFailed("%s failed, %s. All output is in %s" % (job.failed, reason(JOB, job, root), job.log), job=job.result())
    places.forget(root)


def converge(module: AnsibleModule, run: Runner, running: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, and unless in check mode build. Returns while a job runs, too, and is called again then with the option `attach`."""
    parameters = module.params
    wrong = problems(parameters)
    if wrong:
        raise InvalidInput(wrong)
    system = read_os(root)
    wanted = wanted_of(parameters, running=running, arch=os.uname().machine, distro=distro_of(system.id, system.version))
    change = Change(Kind.FILE, wanted.path, "", "", wanted.name)
    job = jobs.read_job(JOB, root)
    if job is not None and not module.check_mode and (job.running or parameters["attach"] == job.id):
        job = jobs.wait(JOB, parameters["poll"], root)
        if not job.running:
            _check(job, root)
        if job.running or job.memo["archive"] == wanted.path:
            return _result(wanted, changes=[change], job=job, root=root)
    if os.path.isfile(os.path.join(root, wanted.path.lstrip("/"))):
        return _result(wanted, root=root)
    found = look(run, running, root)
    needed = prerequisites(found, wanted.kernel)
    place = places.locate(run, parameters, version=wanted.version, root=root)
    missing = place.result() if isinstance(place, Missing) else {}
    if missing and not module.check_mode:
        return {**_result(wanted, root=root), **missing}
    reasons = check_prerequisites(run, found.distribution.manager, needed, check_mode=module.check_mode)
    if module.check_mode or isinstance(place, Missing):
        return {**_result(wanted, changes=[change], reasons=reasons, root=root), **missing}
    return _built(module, run, wanted=wanted, found=found, place=place, change=change, root=root)


def _built(module: AnsibleModule, run: Runner, *, wanted: Wanted, found: Found, place: Place, change: Change, root: str) -> dict[str, t.Any]:
    """Begin the job, and wait for its end for as long as the module may."""
    places.prepare(place)
    work, built = (os.path.join(root, path.lstrip("/")) for path in (WORK, BUILT))
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work, mode=0o700)
    # Whoever logs in may fetch the bundle, which holds nothing secret.
    os.makedirs(built, mode=0o755, exist_ok=True)
    memo = {"archive": wanted.path}
    jobs.start(run, JOB, steps(wanted, found, place), timeout=module.params["timeout"], memo=memo, root=root, scripts=places.SCRIPTS)
    job = jobs.wait(JOB, module.params["poll"], root)
    if not job.running:
        _check(job, root)
    return _result(wanted, changes=[change], job=job, root=root)
