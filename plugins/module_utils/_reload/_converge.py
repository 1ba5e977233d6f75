# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replace the loaded driver by the installed one: look, plan, run a job, and look again."""

from __future__ import annotations

import typing as t

from .._errors import CommandFailed, Refused
from .._facts._modules import in_stack
from .._facts._sysfs import attribute
from .._host import _job as jobs
from .._plan import Change, Plan
from . import _plan as planner
from ._found import Found
from ._look import JOB, former_files, look
from ._plan import ReloadPlan
from ._steps import loaded_again, steps
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

_LINES = 6


def wanted_of(parameters: t.Mapping[str, t.Any], check_mode: bool) -> Wanted:
    """Parse the options of the module."""
    return Wanted(
        policy=parameters["policy"],
        because=tuple(parameters["because"] or ()),
        cut_ssh_connection=parameters["cut_ssh_connection"],
        allow_reload=parameters["allow_reload"],
        allow_container=parameters["allow_container"],
        assume_changed=parameters["assume_changed"] and check_mode,
    )


def _result(changes: t.Iterable[Change], todo: ReloadPlan, found: Found, *, job: jobs.State | None = None) -> dict[str, t.Any]:
    """The result of the module. `todo`: what is left to do, and why."""
    return {
        **Plan(tuple(changes)).result(todo.pending, todo.why),
        "waits": todo.waits,
        "users": [planner.described(user) for user in todo.users],
        "modules": [
            {"name": module.name, "loaded": module.srcversion_loaded, "installed": module.srcversion_disk, "differs": module.differs}
            for module in found.modules
            if in_stack(module.name)
        ],
        **({} if job is None else {"job": job.result()}),
    }


def _last_words(root: str) -> list[str]:
    """The end of the output of the last failed process, as one line."""
    lines = [line.strip() for line in jobs.read_log(JOB, root).splitlines() if line.strip() and not line.startswith("==> ")]
    telling = [line for line in lines if any(word in line.lower() for word in ("in use", "fail", "error", "please", "fatal"))]
    return [" | ".join((telling or lines)[-_LINES:])] if lines else []


def _missing(before: Found, now: Found) -> list[str]:
    """The modules that were loaded, should be loaded again, and are not."""
    loaded = {module.name for module in now.modules}
    return [name for name in loaded_again(before) if name not in loaded and name in {module.name for module in before.modules}]


def _failed(before: Found, now: Found, *, job: jobs.State, root: str) -> dict[str, t.Any]:
    """The result if the driver could not be unloaded. The former one is loaded again; if that failed, too, only a reboot helps."""
    missing = _missing(before, now)
    held = ["%s has %d users" % (module.name, module.own_users) for module in now.modules if in_stack(module.name) and module.own_users]
    text = "%s failed: %s" % (job.failed, "; ".join([*_last_words(root), *held]) or "exit status %d" % job.rc)
    if missing:
        words = "%s. %s could not be reloaded: reboot the node. All output is in %s"
        raise CommandFailed(words % (text, ", ".join(missing), job.log), changed=True, reboot_required=True, job=job.result())
    left = ReloadPlan(planner.REBOOT, ("%s. What was unloaded has been loaded again; all output is in %s" % (text, job.log), *_aftermath(before)))
    return _result((planner.loading("as loaded, after an attempt to unload it"),), left, now, job=job)


def _aftermath(found: Found) -> tuple[str, ...]:
    if not found.interfaces:
        return ()
    return ("%s was removed meanwhile: restore addresses, bonds, P_Key children and software links" % ", ".join(found.interfaces),)


def _await(seconds: float, root: str) -> jobs.State:
    job = jobs.wait(JOB, seconds, root)
    if job.running:
        raise CommandFailed("the driver is still being reloaded after %d s (%s); the log is %s" % (seconds, job.stage, job.log), job=job.result())
    return job


def converge(module: AnsibleModule, run: Runner, *, release: str, environ: t.Mapping[str, str], root: str = "/", pid: int | None = None) -> dict[str, t.Any]:
    """Look, plan and, outside of check mode, apply and look again."""
    timeout = module.params["timeout"]
    earlier = jobs.read_job(JOB, root)
    if earlier is not None and earlier.running and not module.check_mode:
        _await(timeout + 30, root)
    found, wanted = look(run, release=release, environ=environ, root=root, pid=pid), wanted_of(module.params, module.check_mode)
    todo = planner.plan(wanted, found)
    if todo.action == planner.REFUSE:
        raise Refused("refusing to unload the driver: %s" % "; ".join(todo.why), users=[planner.described(user) for user in todo.users])
    if todo.action != planner.RELOAD:
        return _result((), todo, found)
    if module.check_mode:
        return _result((planner.loading(),), ReloadPlan("", _aftermath(found), todo.users), found)
    memo = {"signature": planner.signature(found, attribute(root, "proc/sys/kernel/random/boot_id"))}
    # A job continues if the connection does not survive the reload.
    former = former_files(found.modules, run, release=release, root=root)
    jobs.start(run, JOB, steps(found, wanted, timeout, former=former), timeout=timeout, memo=memo, root=root)
    job = _await(timeout + 30, root)
    now = look(run, release=release, environ=environ, root=root, pid=pid)
    if job.failed:
        return _failed(found, now, job=job, root=root)
    left_out = planner.not_again(found, now)
    missing = [name for name in _missing(found, now) if name not in left_out]
    if missing:
        words = "the former driver was unloaded, and the kernel did not load %s: %s. All output is in %s; see the kernel log (dmesg) for the reason"
        text = words % (", ".join(missing), "; ".join(_last_words(root)) or "modprobe printed nothing", job.log)
        raise CommandFailed(text, changed=True, reboot_required=True, job=job.result())
    if planner.differing(now):
        names = ", ".join(module.name for module in planner.differing(now))
        text = "the driver was reloaded, but %s is still not the build on disk: see the kernel log (dmesg) for the reason. All output is in %s"
        raise CommandFailed(text % (names, job.log), changed=True, job=job.result())
    words = "%s was loaded before, and can't be loaded with this driver: rebuild it; the README of the role gpudirect describes how"
    lost = "%s was loaded before, and is a kernel module that can't be loaded with this driver: it remains unloaded"
    notes = (*(words % name for name in left_out), *(lost % name for name in found.unfit))
    return _result((planner.loading(),), ReloadPlan("", (*_aftermath(found), *notes)), now, job=job)
