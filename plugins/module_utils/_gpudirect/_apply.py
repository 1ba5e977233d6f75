# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Apply a plan.

Builds take minutes, so they run as jobs that outlive the connection: that of the GPU driver with DKMS, and that of nv_peer_mem from its source.
"""

from __future__ import annotations

import os
import typing as t

from .._distro._registry import FAMILIES, by_name
from .._errors import CommandFailed
from .._facts._gpu import UNIT_PATH, read_gpu
from .._host import _job as jobs
from .._host._download import inherited
from .._host._files import apply_file
from .._host._run import TIMED_OUT
from .._host._step import Step
from .._host._units import NO, Systemd
from .._plan import Change, Kind, Plan
from . import _legacy as legacy
from . import _legacy_build as script
from . import _plan
from ._found import LEGACY, PEERMEM, Found
from ._symptoms import explain
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

# The name of a job is also that of its unit; rdma-ofed-gpudirect.service is taken by the unit that loads the module.
JOB = "gpudirect-build"
TRIAL = "/var/lib/rdma.ofed/gpu_driver"
_GRACE_SECONDS = 30
_LINES = 6
_ANY = tuple(range(256))
_LOAD_SECONDS = 180
_STILL_EMPTY = (
    "the GPU driver was rebuilt for kernel %s, and its nvidia_peermem still does not match the RDMA stack. Its build looks for Module.symvers of "
    "the stack below /usr/src/ofa_kernel: install the development files of the stack (mlnx-ofed-kernel-dkms, mlnx-ofa_kernel-devel), and try again"
)


def load(run: Runner, module: str, file: str) -> None:
    """Run modprobe. A failure is explained with the kernel's messages."""
    before = run(["dmesg"], ok=None).stdout if run.has("dmesg") else ""
    output = run(["modprobe", file], ok=None, timeout=_LOAD_SECONDS)
    if output.rc == 0:
        return
    after = run(["dmesg"], ok=None).stdout if run.has("dmesg") else ""
    # Messages of earlier attempts, perhaps with another stack, would mislead.
    log = after[len(before) :] if after.startswith(before) else after
    raise CommandFailed(explain(module, output.stderr or output.stdout, log), cmd=["modprobe", file], **output._asdict())


def apply(module: AnsibleModule, run: Runner, found: Found, *, wanted: Wanted, todo: Plan, root: str) -> None:
    """Make the changes in their order: nothing that could not be loaded now is kept for the next boot."""
    timeout, family, driver = module.params["timeout"], by_name(found.family) or FAMILIES[0], found.gpu.driver
    for change in todo.changes:
        if change.kind == Kind.FILE:
            apply_file(module, change, root=root)
            if change.subject == UNIT_PATH:
                Systemd(run).daemon_reload()
        elif change.kind == Kind.KERNEL:
            # The loaded driver stays as it is: only nvidia_peermem is loaded from this build.
            _work(run, rebuild_steps(driver.dkms, found.kernel, not driver.unbuilt), timeout=timeout, root=root)
            peer = read_gpu(run, found.kernel, root).peer(PEERMEM)
            if not peer.linked or peer.other_build:
                raise CommandFailed(_STILL_EMPTY % found.kernel)
        elif change.is_about(Kind.PACKAGE) and change.after == _plan.ABSENT:
            if found.gpu.peer(LEGACY).loaded:
                # On Debian, the package's own script leaves the module loaded.
                run(["rmmod", LEGACY])
            run([*family.manager.erase, *found.packages], timeout=300)
        elif change.kind == Kind.PACKAGE:
            install = (*family.manager.add, *found.missing_tools) if found.missing_tools else ()
            stamp = _plan.wanted_stamp(found, wanted)
            _work(run, legacy.steps(family, wanted.source, stamp, install=install, network=dict(inherited(os.environ))), timeout=timeout, root=root)
            # This turns its init script into a unit.
            Systemd(run).daemon_reload()
        elif change.kind == Kind.PARAMETER:
            run(["rmmod", PEERMEM])
            load(run, PEERMEM, found.gpu.peer(PEERMEM).file)
        elif change.kind == Kind.MODULE and change.after == _plan.LOADED:
            load(run, change.subject, found.gpu.peer(change.subject).file or change.subject)
        elif change.kind == Kind.MODULE:
            # modprobe -r would also unload NVIDIA's driver, if nothing else holds it.
            run(["rmmod", change.subject])
        else:
            _service(run, found, change)


def _service(run: Runner, found: Found, change: Change) -> None:
    if change.after == _plan.ACTIVE:
        Systemd(run, timeout=_LOAD_SECONDS).start(change.subject)
        return
    Systemd(run).set_enabled(change)
    if change.after == NO and not found.gpu.peer(PEERMEM).users:
        # The unit would stay active in name, and its later stop would unload the module.
        Systemd(run, timeout=_LOAD_SECONDS).stop(change.subject)


def rebuild_steps(source: str, kernel: str, has_modules: bool) -> tuple[Step, ...]:
    """The steps that repeat a build of DKMS. `source` is NAME/VERSION. `has_modules`: whether built modules exist that could get lost.

    Depending on its version, `build --force` first removes what is built, or does nothing where it exists. So the built modules are removed only
    after a build in a separate tree has shown that they can be replaced. If this was the only kernel, DKMS forgets the source as well, and it is
    added again; with most versions, the last step adds it, too.
    """
    name, _slash, version = source.partition("/")
    common = ("-m", name, "-v", version)
    aside = ("--dkmstree", TRIAL, *common)
    trial = (
        Step("making room", ("rm", "-rf", "--", TRIAL)),
        Step("making a folder", ("mkdir", "-p", "-m", "0700", "--", TRIAL)),
        Step("adding the source of the GPU driver for a trial", ("dkms", "add", *aside)),
        Step("trying to build the GPU driver for kernel " + kernel, ("dkms", "build", *aside, "-k", kernel)),
    )
    return (
        *(trial if has_modules else ()),
        Step("removing the GPU driver's modules for kernel " + kernel, ("dkms", "remove", *common, "-k", kernel), ok=_ANY),
        Step("adding the source of the GPU driver", ("dkms", "add", *common), ok=_ANY),
        Step("building the GPU driver for kernel " + kernel, ("dkms", "install", *common, "-k", kernel)),
        Step("cleaning up", ("rm", "-rf", "--", TRIAL), always=True),
    )


def await_job(timeout: float, root: str) -> jobs.State:
    job = jobs.wait(JOB, timeout + _GRACE_SECONDS, root)
    if job.running:
        raise CommandFailed("the job still runs after %d s (%s); the next run waits for it. Its log is %s" % (timeout, job.stage, job.log), job=job.result())
    return job


def _work(run: Runner, steps: t.Sequence[Step], *, timeout: float, root: str) -> None:
    jobs.start(run, JOB, steps, timeout=timeout, memo={}, root=root, scripts={legacy.SCRIPT: script})
    job = await_job(timeout, root)
    if job.interrupted:
        raise CommandFailed("%s was interrupted. The next run starts it again; all output is in %s" % (job.stage or "the job", job.log), job=job.result())
    if job.failed:
        lines = [line.strip() for line in jobs.read_log(JOB, root).splitlines() if line.strip() and not line.startswith("==> ")][-_LINES:]
        said = "it did not finish in time; raise gpudirect_timeout" if job.rc == TIMED_OUT else "exit status %d: %s" % (job.rc, " | ".join(lines))
        raise CommandFailed("%s failed, %s. All output is in %s" % (job.failed, said, job.log), job=job.result())
