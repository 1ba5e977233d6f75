# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Look, plan, start the job, and when it has ended, look again."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Problem, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import apply_file, read_text
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._catalogue import vendor_packages
from ansible_collections.rdma.ofed.plugins.module_utils._reload import _openibd as openibd
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _bundle_place as places
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _doca_plan as doca
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _mlnx_plan as mlnx
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import distro_to_tell
from ansible_collections.rdma.ofed.plugins.module_utils._stack._draft import Draft, Found, Place, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._stack._failure import failure_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._fetch import bundle, repository_key
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import JOB, RECORD, look, with_alternatives
from ansible_collections.rdma.ofed.plugins.module_utils._stack._removals import dependants
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import mlnx_version
from ansible_collections.rdma.ofed.plugins.module_utils._tools._repository import Repository

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
    from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

    Parameters = t.Mapping[str, t.Any]

# Options of the module that are no variables of the role.
_INTERNAL = ("attach", "digest", "keep", "poll", "staged")


def role_variables(parameters: Parameters) -> dict[str, t.Any]:
    """The options under the names of the role's variables; what was left out is left out."""
    return {"ofed_" + name: value for name, value in parameters.items() if name not in _INTERNAL and value is not None}


def wanted_of(parameters: Parameters, found: Found, root: str = "/") -> Wanted:
    """The options, and what they leave out filled in."""
    source, state = parameters["source"], parameters["state"]
    method = "repository" if source == "doca" else parameters["method"]
    version = parameters["version"] or ""
    chosen = parameters["packages"] or ("doca-ofed" if source == "doca" else "all")
    repository, distro = None, ""
    if state == "present" and method == "repository":
        address = parameters["repository"]
        pins = (doca.profile_of(Wanted(packages=chosen)),) if source == "doca" else mlnx.repository_pins(Wanted(version=version))
        repository = Repository(address, repository_key(parameters, found, root), pins, version)
    elif source == "mlnx_ofed":
        version = mlnx_version(role_variables(parameters))
        distro = distro_to_tell(parameters["bundle"] or "", found.os.id, found.os.version, parameters["installer_options"] or ())
    return Wanted(
        state,
        source,
        version,
        method,
        chosen,
        tuple(parameters["installer_options"] or ()),
        repository,
        tuple(parameters["allow_removal"] or ()),
        parameters["firmware_update"],
        tuple(parameters["keep"] or ()),
        distro,
        vendor_packages(parameters["ulps"] or (), found.os.family, source, method, version) if state == "present" else (),
    )


def draft_of(wanted: Wanted, found: Found, place: Place, force: bool = False) -> Draft:
    """The plan for what is wanted. Pure."""
    if wanted.state == "absent":
        return doca.plan_absent(found, wanted.keep)
    if wanted.source == "doca":
        return doca.plan_doca(wanted, found)
    if wanted.method == "repository":
        return mlnx.plan_repository(wanted, found)
    return mlnx.plan_installer(wanted, found, place, force)


def _asked(wanted: Wanted) -> dict[str, t.Any]:
    """What a job is for."""
    return {**wanted.selection(), "state": wanted.state}


def _configure(module: AnsibleModule, root: str, dry: bool = False) -> tuple[Change, ...]:
    """The declared keys of openib.conf, where the stack is as wanted."""
    declared = module.params["openib_conf"]
    if not declared or module.params["state"] == "absent":
        return ()
    text = read_text(root.rstrip("/") + openibd.PATH)
    if not text:
        hint = "it comes with the kernel packages, which the chosen packages do not include"
        raise InvalidInput([Problem("ofed_openib_conf", declared, "nothing where %s is not installed" % openibd.PATH, hint)])
    change = openibd.edit(text, declared)
    if change is not None and not dry:
        apply_file(module, change, backup=True, root=root)
    return () if change is None else (change,)


def _keys(module: AnsibleModule, root: str) -> tuple[Change, ...]:
    """The declared keys of openib.conf that have other values now. What packages that are to come make of the file is not known."""
    if module.params["state"] == "absent":
        return ()
    return openibd.key_changes(read_text(root.rstrip("/") + openibd.PATH), module.params["openib_conf"] or {})


def _write(path: str, content: t.Mapping[str, t.Any]) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    # What an earlier run began may be ended by two: by its module, which a lost controller leaves behind, and by the next run's.
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=1, sort_keys=True)
    os.rename(temporary, path)


def _shown(stack: Stack) -> dict[str, str]:
    return {"kind": stack.kind, "version": stack.version}


def _result(
    changes: t.Sequence[Change], *, before: t.Mapping[str, str], after: t.Mapping[str, str], job: State | None = None, keys: t.Sequence[Change] = ()
) -> dict[str, t.Any]:
    """The result of the module. C(keys) are those of openib.conf that the change of the whole file stands for."""
    plan = Plan(tuple(changes))
    pending = (*plan.late, *(Pending(change) for change in keys if change.needs))
    result = plan.result(pending)
    result["stack"] = {"before": dict(before), "after": dict(after), "replaced": bool(plan.about(Kind.STACK, ""))}
    result["packages_changed"] = not all(change.is_about(Kind.OPENIB_CONF) or change.is_about(Kind.FILE, openibd.PATH) for change in changes)
    if job is not None:
        result["job"] = job.result()
    return result


def _expected(wanted: Wanted, found: Found, draft: Draft) -> dict[str, str]:
    """The stack after the changes. Without a declared version, it is whatever the repository has."""
    if not draft.replaces:
        return _shown(found.stack)
    if wanted.state == "absent":
        return {"kind": "inbox" if wanted.keep else "none", "version": ""}
    return {"kind": wanted.source, "version": wanted.version}


def _ended(run: Runner, module: AnsibleModule, job: State, root: str) -> dict[str, t.Any]:
    """The outcome of a job that this run waited for, and what the node says to it."""
    if job.interrupted:
        raise CommandFailed(
            "%s was interrupted. The next run mends what it left and goes on; all output is in %s" % (job.stage or "the job", job.log), job=job.result()
        )
    if job.failed:
        places.tidy(root)
        raise failure_of(job, root)
    if job.memo.get("wanted", {}).get("state") == "absent":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(root, RECORD))
    else:
        _write(os.path.join(root, RECORD), job.memo["record"])
    places.forget(root)
    found = look(run, root)
    wanted = wanted_of(module.params, found, root)
    left = draft_of(wanted, found, Place(""))
    if left and job.memo.get("wanted") != _asked(wanted):
        # It was begun by an earlier run, for something else.
        module.params["attach"] = ""
        return converge(module, run, root)
    if left:
        words = "; ".join(change.words() for change in left.changes)
        raise CommandFailed("the installation ended without an error, and the node is still not as wanted (%s). All output is in %s" % (words, job.log))
    _configure(module, root)
    return _result([Change.of_row(row) for row in job.memo["changes"]], before=job.memo["before"], after=_shown(found.stack), job=job)


def _start(
    module: AnsibleModule, run: Runner, *, found: Found, wanted: Wanted, draft: Draft, changes: t.Sequence[Change], tree: str, root: str
) -> dict[str, t.Any]:
    for change in changes:
        if change.is_about(Kind.FILE):
            apply_file(module, change, root=root)
    record = {**wanted.selection(), "repository_key": (module.params["repository_key"] or "") if "://" in (module.params["repository_key"] or "") else ""}
    before = _shown(found.stack)
    memo = {"changes": [list(change) for change in changes], "wanted": _asked(wanted), "record": record}
    memo.update(before=before, after=_expected(wanted, found, draft), bundle=places.shown(module.params["bundle"] or ""), tree=tree)
    if not draft.steps:
        _configure(module, root)
        return _result(changes, before=before, after=before)
    jobs.start(run, JOB, draft.steps, module.params["timeout"], memo, root, places.SCRIPTS)
    return _follow(module, run, root)


def _follow(module: AnsibleModule, run: Runner, root: str) -> dict[str, t.Any]:
    job = jobs.wait(JOB, module.params["poll"], root)
    if job is None:
        raise CommandFailed("the job has vanished from /%s" % jobs.JOBS)
    if job.running:
        return _result([Change.of_row(row) for row in job.memo["changes"]], before=job.memo["before"], after=job.memo["after"], job=job)
    return _ended(run, module, job, root)


def converge(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """The module: returns while a job runs, too, and is called again then with C(attach)."""
    parameters = module.params
    job = jobs.read_job(JOB, root)
    if job is not None and (job.running or (parameters["attach"] == job.id)):
        if module.check_mode:
            raise Refused("what a run would change can't be told now: a job is %s. Wait for it to end; its log is %s" % (job.stage or "starting", job.log))
        return _follow(module, run, root)
    found = look(run, root)
    wrong = problems(role_variables(parameters), {"os": found.os._asdict(), "machine": {"architecture": os.uname().machine}})
    if wrong:
        raise InvalidInput(wrong)
    wanted = wanted_of(parameters, found, root)
    place = Place("")
    draft = draft_of(wanted, found, place)
    if not draft:
        keys = _keys(module, root)
        return _result(_configure(module, root, dry=module.check_mode), before=_shown(found.stack), after=_shown(found.stack), keys=keys)
    if draft.steps and found.vendors:
        found = with_alternatives(run, found)
        draft = draft_of(wanted, found, place)
    extra = dependants(run, wanted, found, draft, root)
    changes = (*draft.changes, *extra, *_keys(module, root))
    before = _shown(found.stack)
    needed: dict[str, str] = {}
    if draft.needs_bundle:
        place, needed = bundle(module, run, wanted.version, root)
        if needed and not module.check_mode:
            return {**_result((), before=before, after=before), **needed}
    if module.check_mode:
        return {**_result(changes, before=before, after=_expected(wanted, found, draft)), **needed}
    draft = draft_of(wanted, found, place, force=bool(extra))
    places.prepare(place)
    return _start(module, run, found=found, wanted=wanted, draft=draft, changes=changes, tree=place.tree, root=root)
