# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Builds that take minutes, as jobs that outlive the connection: the GPU driver with DKMS, and nv_peer_mem from its source."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy as legacy
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy_build as script
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._download import inherited
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State, Step
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT, Runner

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found

# The unit of a job has its name, too, and rdma-ofed-gpudirect.service is what loads the module.
JOB = "gpudirect-build"
TRIAL = "/var/lib/rdma.ofed/gpu_driver"
_GRACE_SECONDS = 30
_LINES = 6
_ANY = tuple(range(256))


def rebuild_steps(source: str, kernel: str, has_modules: bool) -> tuple[Step, ...]:
    """Repeat a build of DKMS. `source` is NAME/VERSION. With `has_modules`, modules exist that could get lost.

    Its `build --force` takes away first what is built, or does nothing where that is there, depending on the version. So what is
    built goes first, once a build in a tree of its own has shown that another one can come in its place. Where it was the only
    kernel, the source is forgotten along, and added again; the last step adds it too, on most versions.
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


def rebuild_driver(run: Runner, found: Found, timeout: float, *, root: str) -> None:
    """The loaded driver stays as it is: only nvidia_peermem is loaded from what is built here."""
    driver = found.gpu.driver
    _work(run, rebuild_steps(driver.dkms, found.kernel, not driver.unbuilt), timeout=timeout, root=root)


def build_legacy(run: Runner, found: Found, source: legacy.Source, *, stamp: legacy.Stamp, timeout: float, root: str) -> None:
    """Build and install nv_peer_mem; `stamp` is what the job remembers of that."""
    family = by_name(found.family) or FAMILIES[0]
    install = (*family.manager.add, *found.missing_tools) if found.missing_tools else ()
    _work(run, legacy.steps(family, source, stamp, install=install, network=dict(inherited(os.environ))), timeout=timeout, root=root)


def await_earlier(timeout: float, root: str) -> None:
    """A job of an earlier run, whose connection was lost, goes on; what it leaves is what this run finds."""
    job = jobs.read_job(JOB, root)
    if job is not None and job.running:
        _await(timeout, root)


def _await(timeout: float, root: str) -> State:
    job = jobs.wait(JOB, timeout + _GRACE_SECONDS, root)
    if job.running:
        raise CommandFailed("the job still runs after %d s (%s); the next run waits for it. Its log is %s" % (timeout, job.stage, job.log), job=job.result())
    return job


def _work(run: Runner, steps: t.Sequence[Step], *, timeout: float, root: str) -> None:
    jobs.start(run, JOB, steps, timeout=timeout, memo={}, root=root, scripts={legacy.SCRIPT: script})
    job = _await(timeout, root)
    if job.interrupted:
        raise CommandFailed("%s was interrupted. The next run starts it again; all output is in %s" % (job.stage or "the job", job.log), job=job.result())
    if job.failed:
        lines = [line.strip() for line in jobs.read_log(JOB, root).splitlines() if line.strip() and not line.startswith("==> ")][-_LINES:]
        said = "it did not end in time; raise gpudirect_timeout" if job.rc == TIMED_OUT else "exit status %d: %s" % (job.rc, " | ".join(lines))
        raise CommandFailed("%s failed, %s. All output is in %s" % (job.failed, said, job.log), job=job.result())
