# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Sees to it that the kernel that boots next has the vendor's driver."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._boot import read_next_boot, read_secure_boot
from ansible_collections.rdma.ofed.plugins.module_utils._facts._dkms import read_sources
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import read_kernels
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_os
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import CHECKED
from ansible_collections.rdma.ofed.plugins.module_utils._host import _initramfs as initramfs
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import Step
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _kernel_plan as plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _packages as packages
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import SUPPORTED_WORDS

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._stack._kernel_plan import Found

JOB = "kernel-policy"
_LISTS: t.Mapping[str, str] = {"dnf": "etc/dnf/plugins/versionlock.list", "zypper": "etc/zypp/locks"}
_PLUGIN = "etc/dnf/plugins/versionlock.conf"
_LINES = 8


def _packages(run: Runner, manager: str, root: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The packages of kernels, and those that are held."""
    if manager == "apt":
        status = read_text(os.path.join(root, "var/lib/dpkg/status"))
        return plan.kernel_packages(manager, packages.parse_dpkg_database(status)), plan.parse_holds(status)
    names = plan.kernel_packages(manager, packages.parse_rpm_all(run(packages.RPM_QUERY, timeout=120).stdout))
    return names, plan.parse_locks(manager, read_text(os.path.join(root, _LISTS[manager])), names)


def look(run: Runner, running: str, root: str = "/") -> Found:
    """Kernels, what boots next, what DKMS has, and the packages that new kernels come by."""
    system = read_os(root)
    if system.family not in packages.MANAGERS:
        raise Unsupported("%s is not supported; supported: %s" % (system.name or "this distribution", SUPPORTED_WORDS))
    manager = packages.MANAGERS[system.family]
    following = read_next_boot(root)
    names, held = _packages(run, manager, root)
    kernels = read_kernels(root, running)
    found = plan.Found(
        kernels=kernels,
        running=running,
        next_boot=following.release,
        evidence=following.evidence,
        sources=read_sources(root),
        manager=manager,
        kernel_packages=names,
        held=held,
        headers=frozenset(kernel.release for kernel in kernels if os.path.isdir(os.path.join(root, "lib/modules", kernel.release, "build/"))),
        can_lock=manager != "dnf" or os.path.exists(os.path.join(root, _PLUGIN)),
        secure_boot=read_secure_boot(root),
    )
    if found.secure_boot and found.target and plan.has_driver(found) and run.has("modinfo"):
        found = found._replace(signer=run(["modinfo", "-k", found.target, "-F", "signer", "ib_core"], ok=None, timeout=20).stdout.strip())
    return found


def _refresh(run: Runner, found: Found, root: str) -> tuple[Step, ...]:
    """The initramfs with modules of the driver that was: they would be loaded first. DKMS may have built it anew already."""
    builder = initramfs.builder_of(run)
    if builder is None:
        return ()
    images = initramfs.images_with(run, builder, initramfs.installed_images([found.target], root), CHECKED)
    return tuple(
        Step("building %s anew" % image.path, tuple(part.format(release=image.release, path=image.path) for part in builder.build)) for image in images
    )


def _work(run: Runner, steps: t.Sequence[Step], timeout: float, root: str) -> jobs.State:
    jobs.start(run, JOB, steps, timeout, {}, root)
    job = jobs.wait(JOB, timeout + 30, root)
    if job is None or job.running:
        raise CommandFailed("%s did not end within %d s; it goes on, and its log is /%s/%s/log" % (steps[0].stage, timeout, jobs.JOBS, JOB))
    if job.failed:
        lines = [line.strip() for line in jobs.read_log(JOB, root).splitlines() if line.strip()][-_LINES:]
        words = "%s failed, exit status %d: %s. All output is in %s"
        raise CommandFailed(words % (job.failed, job.rc, " | ".join(lines), job.log), job=job.result())
    return job


def converge(module: AnsibleModule, run: Runner, running: str, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again."""
    policy, timeout = module.params["policy"], module.params["timeout"]
    earlier = jobs.read_job(JOB, root)
    if earlier is not None and earlier.running and not module.check_mode:
        jobs.wait(JOB, timeout, root)
    found = look(run, running, root)
    draft = plan.draft_of(policy, found)
    result = draft.plan.result()
    if draft.plan and not module.check_mode:
        extra = _refresh(run, found, root) if policy == "build" else ()
        result["job"] = _work(run, (*draft.steps, *extra), timeout, root).result()
        found = look(run, running, root)
        left = plan.draft_of(policy, found).plan
        if left:
            words = "%s ended without an error, and it is still so that %s. All output is in %s"
            raise CommandFailed(words % (draft.steps[-1].stage, plan.lacking(found) or left.changes[0].words(), result["job"]["log"]))
    if plan.unsigned(found):
        raise Refused(plan.unsigned(found))
    result["kernel"] = found.target
    return result


__all__ = ("JOB", "converge", "look")
