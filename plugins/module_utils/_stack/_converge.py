# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Install or remove a vendor's stack: look, plan, run a job, and look again after it has ended."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import typing as t

from .._distro._registry import FAMILIES
from .._errors import CommandFailed, InvalidInput, Problem, Refused, require_none
from .._facts._modules import CHECKED
from .._facts._stack import RECORD
from .._host import _initramfs as initramfs
from .._host import _job as jobs
from .._host._files import apply_file, read_text, under, write_text
from .._host._private import remove_left
from .._plan import Change, Kind, Pending, Plan
from .._thirdparty._found import Built
from .._thirdparty._look import on_stack, read_record, write_record
from .._tools import _openibd as openibd
from .._tools._packages import address_of, is_private, without_secrets
from . import _bundle_place as places
from ._bundle import Place
from ._changes import is_unprotected, lift, protect, protects, renew
from ._foreseen import dependants, refuse_unknown_options, refuse_without_headers
from ._found import Found
from ._input import problems
from ._log import failure_of, package_at_work
from ._look import JOB, look, role_variables, wanted_of, with_alternatives, with_users
from ._ownership import owner_of, refusal
from ._plan import StackPlan, in_use, needs_consent, needs_source, plan
from ._vendors import missing_source
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


Version = t.Mapping[str, str]

# Jobs started by an earlier release of the collection do not record the stacks before and after.
_NOT_RECORDED = {"kind": "", "version": ""}
# Kinds of changes that affect no package.
_SETTINGS = (Kind.OPENIB_CONF, Kind.PROTECTION)
_SETTING_FILES = (openibd.PATH, *(family.manager.protection_path for family in FAMILIES))


def _version(found: Found) -> Version:
    return {"kind": found.stack.kind, "version": found.stack.version}


def _expected(wanted: Wanted, found: Found, todo: StackPlan) -> Version:
    """The stack after the changes. Without a declared version, the repository determines it."""
    if not todo.about(Kind.STACK):
        return _version(found)
    if wanted.state == "absent":
        return {"kind": "inbox" if wanted.keep else "none", "version": ""}
    return {"kind": wanted.source, "version": wanted.version}


def _result(
    changes: t.Iterable[Change],
    *,
    before: Version,
    after: Version,
    job: jobs.State | None = None,
    late: t.Sequence[Pending] = (),
    third_party: t.Iterable[Built] = (),
) -> dict[str, t.Any]:
    """The result of the module. `late`: changes that need consent, and keys of openib.conf that the change of the file stands for.

    `third_party`: the modules that were built on the stack that is replaced.
    """
    made = Plan(tuple(map(_shown, changes)))
    settings = [change.kind in _SETTINGS or (change.is_about(Kind.FILE) and change.subject in _SETTING_FILES) for change in made.changes]
    return {
        **made.result((*late, *made.late)),
        "stack": {
            "before": dict(before),
            "after": dict(after),
            "replaced": bool(made.about(Kind.STACK, "")),
            "withheld": any(entry.is_upgrade for entry in late),
        },
        "packages_changed": not all(settings),
        "third_party": [built.row() for built in third_party],
        **({} if job is None else {"job": job.result()}),
    }


def _shown(change: Change) -> Change:
    """The change without passwords, for results and records."""
    if not change.is_about(Kind.FILE):
        return change
    return change._replace(before=without_secrets(change.before), after=without_secrets(change.after))


def _recorded(memo: t.Mapping[str, t.Any]) -> tuple[Change, ...]:
    """The changes for which a job was started."""
    return tuple(Change.of_row(row) for row in memo["changes"])


def _conf(root: str) -> str:
    return read_text(under(root, openibd.PATH))


def _declared_keys(module: AnsibleModule) -> t.Mapping[str, t.Any]:
    """The keys of openib.conf that the stack is to have; none where it is removed."""
    return (module.params["openib_conf"] or {}) if module.params["state"] == "present" else {}


def _configure(module: AnsibleModule, root: str, dry: bool = False) -> tuple[tuple[Change, ...], list[Pending]]:
    """Write the declared keys of openib.conf for a stack that is as wanted. Returns the change of the file, and the keys that take effect later."""
    declared = _declared_keys(module)
    if not declared:
        return (), []
    text = _conf(root)
    if not text:
        hint = "it comes with the kernel packages, which the chosen packages do not include"
        raise InvalidInput([Problem("ofed_openib_conf", declared, "nothing where %s is not installed" % openibd.PATH, hint)])
    change = openibd.edit(text, declared)
    if change is not None and not dry:
        apply_file(module, change, backup=True, root=root)
    return () if change is None else (change,), [Pending(key) for key in openibd.key_changes(text, declared) if key.needs]


def _record(path: str, content: t.Mapping[str, t.Any]) -> None:
    # Two processes may conclude the job of an earlier run: its module, which survived the controller, and that of the next run.
    write_text(path, json.dumps(content, indent=1, sort_keys=True))


def _conclude(run: Runner, job: jobs.State, root: str) -> Found:
    """Record what a job has done, and look again. Raises CommandFailed if it failed."""
    if job.interrupted:
        words = "%s was interrupted. The next run repairs the installation and continues; all output is in %s"
        raise CommandFailed(words % (job.stage or "the job", job.log), job=job.result())
    if job.failed:
        places.tidy(root)
        raise failure_of(job, root)
    path = os.path.join(root, RECORD)
    if job.memo["wanted"]["state"] == "absent":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    else:
        _record(path, job.memo["record"])
    places.forget(root)
    return look(run, root)


def _finish(module: AnsibleModule, job: jobs.State, *, wanted: Wanted, found: Found, root: str) -> dict[str, t.Any]:
    """The result of a job that did what this run wants. Only now is it known which packages to protect."""
    replaced = any(change.kind == Kind.STACK for change in _recorded(job.memo))
    for change in (renew if replaced else protect)(found) if protects(wanted, found) else lift(found):
        apply_file(module, change, root=root)
        found = found._replace(protection=change.after)
    left = plan(wanted, found)
    if left:
        words = "; ".join(change.words() for change in left.changes)
        raise CommandFailed("the installation ended without an error, but the node is still not as declared (%s). All output is in %s" % (words, job.log))
    _configure(module, root)
    before = job.memo.get("before", _NOT_RECORDED)
    return _result(_recorded(job.memo), before=before, after=_version(found), job=job, third_party=read_record(root) if replaced else ())


def _running(job: jobs.State, root: str) -> dict[str, t.Any]:
    if not job.detail:
        job = job._replace(detail=package_at_work(job, root))
    return _result(_recorded(job.memo), before=job.memo.get("before", _NOT_RECORDED), after=job.memo.get("after", _NOT_RECORDED), job=job)


def _earlier(module: AnsibleModule, root: str) -> jobs.State | None:
    """The job of an earlier run, if it is to be followed or still runs. Waits for its end."""
    job = jobs.read_job(JOB, root)
    if job is None or (not job.running and module.params["attach"] != job.id):
        return None
    if module.check_mode:
        words = "what a run would change can't be predicted now: a job is %s. Wait until it ends; its log is %s"
        raise Refused(words % (job.stage or "starting", job.log), job=job.result())
    return jobs.wait(JOB, module.params["poll"], root)


def _apply(
    module: AnsibleModule, run: Runner, *, wanted: Wanted, found: Found, todo: StackPlan, changes: t.Sequence[Change], place: Place, root: str
) -> dict[str, t.Any]:
    """Write the repository files, and run the job to its end or for as long as the module may wait."""
    key = module.params["repository_key"] or ""
    # What has to be known after the job has ended.
    memo = {
        "changes": [list(_shown(change)) for change in changes],
        "wanted": wanted.purpose(),
        "record": {**wanted.selection(), "repository_key": key if "://" in key else ""},
        "before": _version(found),
        "after": _expected(wanted, found, todo),
        "bundle": places.shown(module.params["bundle"] or ""),
        "tree": place.tree,
    }
    places.prepare(place)
    for change in (*todo.about(Kind.FILE), *(lift(found) if todo.about(Kind.STACK) else ())):
        private = is_private(change.after)
        apply_file(module, change, mode=0o600 if private else 0o644, exact=private, root=root)
    if not todo.steps:
        _configure(module, root)
        return _result(changes, before=_version(found), after=_version(found))
    jobs.start(run, JOB, todo.steps, timeout=module.params["timeout"], memo=memo, root=root, scripts=places.SCRIPTS)
    job = jobs.wait(JOB, module.params["poll"], root)
    if job.running:
        return _running(job, root)
    found = _conclude(run, job, root)
    return _finish(module, job, wanted=wanted, found=found, root=root)


def _third_party(run: Runner, found: Found, root: str) -> tuple[Built, ...]:
    """The third-party modules to rebuild once the stack is replaced: those built on it, and those of an earlier run that wait for that."""
    owners = functools.partial(found.manager.owners, run)
    now = on_stack(run, found.stack.words or "the kernel's modules", running=os.uname().release, owners=owners, vendors=found.vendors, root=root)
    kept = {(built.name, built.kernel): built for built in (*read_record(root), *now)}
    return tuple(kept[key] for key in sorted(kept))


def _without_consent(module: AnsibleModule, run: Runner, *, wanted: Wanted, found: Found, todo: StackPlan, root: str) -> dict[str, t.Any] | None:
    """The result of a run that leaves the stack alone because it is in use; None where it may be replaced."""
    if not needs_consent(wanted, found, todo):
        return None
    why = in_use(wanted, found) or in_use(wanted, with_users(run, found, root))
    if not why:
        return None
    # The present stack is nevertheless configured as declared.
    changes, keys = _configure(module, root, dry=module.check_mode) if _conf(root) else ((), [])
    waiting = [Pending(change._replace(needs="upgrade"), why) for change in todo.about(Kind.STACK)]
    return _result(changes, before=_version(found), after=_version(found), late=[*waiting, *keys])


def converge(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """Look, plan and, outside of check mode, apply. May return while a job runs; it is then called again with the option `attach`."""
    parameters = module.params
    # The credentials as declared in the URL, and decoded: ansible-core removes both from results and logs.
    login = (parameters["repository"] or "").partition("://")[2].partition("/")[0].rpartition("@")[0]
    module.no_log_values.update({login.partition(":")[2], address_of(parameters["repository"] or "").password} - {""})
    job = _earlier(module, root)
    if job is not None and job.running:
        return _running(job, root)
    remove_left(root)
    found = look(run, root) if job is None else _conclude(run, job, root)
    facts = {"os": found.os._asdict(), "machine": {"architecture": os.uname().machine}, "stack": found.stack._asdict()}
    require_none(problems(role_variables(parameters), facts))
    wanted = wanted_of(parameters, found, root)
    owner = owner_of(found.stack, wanted.allow_upgrade)
    if owner is not None:
        # Its updates come with those of the image, and so does its set of packages unless one is declared.
        wanted = wanted._replace(protect=False, as_is=not parameters["packages"])
    if is_unprotected(wanted, found):
        package = found.manager.lock_package
        module.warn("system updates may replace packages of MLNX_OFED: install %s and keep it enabled, or set ofed_protect_packages: false" % package)
    todo = plan(wanted, found)
    # If an earlier run started the job for something else, this run only waited for it.
    if job is not None and (not todo or job.memo["wanted"] == wanted.purpose()):
        return _finish(module, job, wanted=wanted, found=found, root=root)
    before = _version(found)
    if not todo:
        changed, late = _configure(module, root, dry=module.check_mode)
        return _result(changed, before=before, after=before, late=late)
    if owner is not None and todo.steps:
        raise Refused(refusal(found.stack.words, owner, "do this: %s" % "; ".join(change.words() for change in todo.changes)))
    if needs_source(wanted, todo):
        require_none(missing_source(role_variables(parameters), "to be done: %s" % "; ".join(change.words() for change in todo.changes)))
    left_alone = _without_consent(module, run, wanted=wanted, found=found, todo=todo, root=root)
    if left_alone is not None:
        return left_alone
    if todo.about(Kind.STACK) and wanted.state == "present":
        refuse_without_headers(run, wanted, found, root=root)
    if todo.steps:
        found = with_alternatives(run, wanted, found, root=root)
        todo = plan(wanted, found)
    foreign = dependants(run, wanted, found, todo=todo, root=root)
    replaces = todo.steps and todo.about(Kind.STACK)
    images = initramfs.holding(run, initramfs.kernels(root), CHECKED, root=root) if replaces else ()
    rebuilt = [Change(Kind.INITRAMFS, image.path, "", "contains modules of the former stack", "rebuilt") for image in images]
    # How packages that are still to be installed change openib.conf is unknown.
    changes = (*todo.changes, *foreign, *rebuilt, *openibd.key_changes(_conf(root), _declared_keys(module)))
    place, needed = places.locate(run, parameters, version=wanted.version, root=root) if todo.by_installer else (Place(""), {})
    if place is not None:
        refuse_unknown_options(run, wanted, found, place=place)
    # A set of user space leaves the kernel's own modules as they are.
    third_party = _third_party(run, found, root) if replaces and (found.is_vendors or not wanted.has_no_modules) else ()
    if module.check_mode:
        return {**_result(changes, before=before, after=_expected(wanted, found, todo), third_party=third_party), **needed}
    if place is None:
        return {**_result((), before=before, after=before), **needed}
    todo = plan(wanted, found, place=place, force=bool(foreign))
    todo = todo._replace(steps=(*todo.steps, *initramfs.rebuilding(run, images)))
    if third_party:
        # Before the stack changes: an interrupted run must not lose what no look can find afterwards.
        write_record(third_party, root)
    return _apply(module, run, wanted=wanted, found=found, todo=todo, changes=changes, place=place, root=root)
