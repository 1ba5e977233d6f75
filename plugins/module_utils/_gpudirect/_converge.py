# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module: look, decide, plan and, outside of check mode, apply and look again."""

from __future__ import annotations

import typing as t

from .._distro._registry import NAMES, by_name
from .._errors import InvalidInput, Problem, Refused, Unsupported, require_none
from .._host import _job as jobs
from .._host._files import under
from .._plan import Plan
from . import _legacy_build as script
from . import _plan
from ._apply import JOB, apply, await_job
from ._found import LEGACY, PEERMEM, Found
from ._input import ENCLOSED, IN_USE, problems
from ._look import assume, look
from ._method import Method, decide, problems_of
from ._wanted import Wanted, wanted_of

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

_LATE = "the loaded ib_core has no peer memory, but the one on disk does: load the installed driver (driver_reload), or reboot"
_NOT_BUILT = "%s. The next run then builds and loads nv_peer_mem" % _LATE


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """The result of the module. `release`: the running kernel's."""
    require_none(problems({"gpudirect_" + name: value for name, value in module.params.items()}))
    if not module.check_mode:
        # The job of an earlier run with a lost connection continues; this run starts from its outcome.
        job = jobs.read_job(JOB, root)
        if job is not None and job.running:
            await_job(module.params["timeout"], root)
    wanted = wanted_of(module.params)
    found = look(run, release, wanted.source, root=root)
    if module.check_mode:
        found = assume(run, found, module.params["assume_stack"], ofed_version=module.params["assume_ofed_version"], root=root)
    method = _method(module.params, found)
    if not method.name and module.params["state"] == "present":
        return _result(found, wanted, method, todo=Plan())
    todo = _plan.plan(found, wanted, method)
    if todo:
        _need_host(found, method, module.params["allow_container"])
        _need_source(wanted, todo, root)
        users = found.gpu.peer(LEGACY).users
        if users and _plan.unloads_legacy(todo):
            # Without its package, a module that stays loaded would no longer belong to us.
            raise Refused(IN_USE % users)
    result = _result(found, wanted, method, todo=todo)
    if not todo or module.check_mode:
        return result

    def carry_out(changes: Plan, before: Found) -> tuple[Found, Plan]:
        """Apply the changes. Returns the node afterwards, and the missing changes."""
        apply(module, run, before, wanted=wanted, todo=changes, root=root)
        after = look(run, release, wanted.source, root=root)
        return after, _plan.plan(after, wanted, _method(module.params, after))

    found, left = carry_out(todo, found)
    if left and _plan.makes(todo) and not _plan.makes(left):
        # During an upgrade by rpm, the scripts of the old package run last, and unload and disable what the new one's scripts loaded.
        # On Debian, the name of a module that did not exist before is known only now.
        found, left = carry_out(left, found)
    left.require_empty()
    return {**result, "loaded": _loaded(found)}


def _loaded(found: Found) -> list[str]:
    return [peer.name for peer in found.gpu.peers if peer.loaded]


def _method(parameters: t.Mapping[str, t.Any], found: Found) -> Method:
    """The method. Raises InvalidInput where none is possible."""
    if parameters["state"] == "absent":
        return Method("", "")
    method = decide(parameters["method"], found, parameters["allow_rebuild"])
    if method.obstacles:
        raise InvalidInput(problems_of(method, parameters["method"]))
    return method


def _need_host(found: Found, method: Method, allow_container: bool) -> None:
    if found.enclosed and not allow_container:
        raise Unsupported(ENCLOSED % found.enclosed)
    if not found.systemd:
        raise Unsupported("systemd does not run on this node: a unit of it loads the modules at boot, after openibd")
    # Masks that do not rule out a method, such as a mask until the next boot.
    unit = {PEERMEM: found.unit, LEGACY: found.service}.get(method.name)
    if unit and "masked" in (unit.load, unit.enabled):
        raise Refused("the unit %s is masked, so systemd would not start it, and nothing was changed: systemctl unmask %s" % (unit.name, unit.name))
    if method.name == LEGACY and by_name(found.family) is None:
        raise Unsupported("nv_peer_mem builds packages for the families %s, and this node is of %s" % (NAMES, found.family))


def _need_source(wanted: Wanted, todo: Plan, root: str) -> None:
    """Require that an archive has its checksum, also in check mode. A repository is contacted only by the build."""
    source = wanted.source
    if not _plan.builds(todo) or not source.is_archive:
        return
    try:
        script.check(under(root, source.place), source.checksum)
    except OSError as exc:
        raise InvalidInput([Problem("gpudirect_source", source.place, "an archive on the node", exc.strerror or str(exc))]) from None
    except script.Failed as exc:
        raise InvalidInput([Problem("gpudirect_checksum", source.checksum, "the checksum of the archive", "%s. Nothing was unpacked" % exc)]) from None


def _result(found: Found, wanted: Wanted, method: Method, *, todo: Plan) -> dict[str, t.Any]:
    late = _plan.pending(found, wanted, method)
    reasons = [method.why] if method.why and not method.name else []
    if late and late[0].change.needs == "driver_reload":
        reasons = [_NOT_BUILT if method.name == LEGACY else _LATE]
    elif late:
        reasons = ["GPU memory is registered through it now"]
    return {
        **todo.result(late, reasons),
        "method": method.name,
        "why": method.why,
        "hints": [*_plan.hints(found.gpu), *_plan.old_commit(found, wanted, todo)],
        "loaded": _loaded(found),
    }
