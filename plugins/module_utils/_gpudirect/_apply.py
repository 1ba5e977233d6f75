# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""One call of the module: look, decide, plan, and unless in check mode apply and look again."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, NAMES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Problem, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import UNIT_PATH, read_gpu
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy as legacy
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy_build as script
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _plan
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._assume import assume
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._concern import words_of_enclosure, words_of_mask, words_of_use
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import LEGACY, PEERMEM
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._jobs import await_earlier, build_legacy, rebuild_driver
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import Method, decide, problems_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._plan import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._symptoms import explain
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import apply_file
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Systemd
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind, Plan

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change

_LOAD_SECONDS = 180
_LATE = "the loaded ib_core has no peer memory, that on disk has: load the installed driver (driver_reload), or reboot"
_NOT_BUILT = "%s. nv_peer_mem is built and loaded by the run after that" % _LATE
_STILL_EMPTY = (
    "the GPU driver was built again on kernel %s, and its nvidia_peermem still does not fit the RDMA stack. Its build looks for Module.symvers of "
    "the stack below /usr/src/ofa_kernel: install the development files of the stack (mlnx-ofed-kernel-dkms, mlnx-ofa_kernel-devel), and try again"
)


def wanted_of(parameters: t.Mapping[str, t.Any]) -> Wanted:
    """From the options of the module."""
    return Wanted(parameters["peerdirect_support"], legacy.Source(parameters["source"], parameters["commit"], parameters["checksum"]))


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """The result of the module. `release` is the running kernel's."""
    wrong = problems({"gpudirect_" + name: value for name, value in module.params.items()})
    if wrong:
        raise InvalidInput(wrong)
    if not module.check_mode:
        await_earlier(module.params["timeout"], root)
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
        _need_idle(found, todo)
    result = _result(found, wanted, method, todo=todo)
    if not todo or module.check_mode:
        return result

    def carry_out(changes: Plan, before: Found) -> tuple[Found, Plan]:
        """The node after the changes, and those that are missing."""
        apply(module, run, before, wanted=wanted, todo=changes, root=root)
        after = look(run, release, wanted.source, root=root)
        return after, _plan.plan(after, wanted, _method(module.params, after))

    found, left = carry_out(todo, found)
    if left and _plan.makes(todo) and not _plan.makes(left):
        # In an upgrade by rpm, the scripts of the old package run last, and unload and disable what those of the new one loaded.
        # On Debian, the name of a module that was not there before is known only now.
        found, left = carry_out(left, found)
    left.require_empty()
    return {**result, "loaded": _loaded(found)}


def _loaded(found: Found) -> list[str]:
    return [peer.name for peer in found.gpu.peers if peer.loaded]


def _method(parameters: t.Mapping[str, t.Any], found: Found) -> Method:
    """The method; raises InvalidInput where none is possible."""
    if parameters["state"] == "absent":
        return Method("", "")
    method = decide(parameters["method"], found, parameters["allow_rebuild"])
    if method.obstacles:
        raise InvalidInput(problems_of(method, parameters["method"]))
    return method


def _need_host(found: Found, method: Method, allow_container: bool) -> None:
    if found.enclosed and not allow_container:
        raise Unsupported(words_of_enclosure(found.enclosed))
    if not found.systemd:
        raise Unsupported("systemd does not run on this node: a unit of it loads the modules at boot, after openibd")
    # Masks of other kinds than those that rule a method out, such as one until the next boot.
    unit = {PEERMEM: found.unit, LEGACY: found.service}.get(method.name)
    if unit and "masked" in (unit.load, unit.enabled):
        raise Refused(words_of_mask(unit.name))
    if method.name == LEGACY and by_name(found.family) is None:
        raise Unsupported("nv_peer_mem makes packages for the families %s, and this node is of %s" % (NAMES, found.family))


def _need_idle(found: Found, todo: Plan) -> None:
    """Without its package, a module that stays loaded would no longer be ours."""
    users = found.gpu.peer(LEGACY).users
    if users and _plan.unloads(todo, LEGACY):
        raise Refused(words_of_use(users))


def _need_source(wanted: Wanted, todo: Plan, root: str) -> None:
    """An archive must have its checksum, in check mode too; a repository is asked in the build only."""
    source = wanted.source
    if not _plan.builds(todo) or not source.is_archive:
        return
    try:
        script.check(os.path.join(root, source.place[1:]), source.checksum)
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


def load(run: Runner, module: str, file: str) -> None:
    """modprobe; its failure is explained with the kernel's messages."""
    before = run(["dmesg"], ok=None).stdout if run.has("dmesg") else ""
    output = run(["modprobe", file], ok=None, timeout=_LOAD_SECONDS)
    if output.rc == 0:
        return
    after = run(["dmesg"], ok=None).stdout if run.has("dmesg") else ""
    # Messages about earlier attempts, with another stack perhaps, would mislead.
    log = after[len(before) :] if after.startswith(before) else after
    raise CommandFailed(explain(module, output.stderr or output.stdout, log), cmd=["modprobe", file], **output._asdict())


def apply(module: AnsibleModule, run: Runner, found: Found, *, wanted: Wanted, todo: Plan, root: str) -> None:
    """Make the changes in their order: nothing is kept for the next boot that could not be loaded now."""
    timeout = module.params["timeout"]
    for change in todo.changes:
        if change.kind == Kind.FILE:
            apply_file(module, change, root=root)
            if change.subject == UNIT_PATH:
                Systemd(run).daemon_reload()
        elif change.kind == Kind.KERNEL:
            rebuild_driver(run, found, timeout, root=root)
            peer = read_gpu(run, found.kernel, root).peer(PEERMEM)
            if not peer.linked or peer.other_build:
                raise CommandFailed(_STILL_EMPTY % found.kernel)
        elif change.is_about(Kind.PACKAGE) and change.after == _plan.ABSENT:
            if found.gpu.peer(LEGACY).loaded:
                # The package's own script leaves it loaded on Debian.
                run(["rmmod", LEGACY])
            run([*(by_name(found.family) or FAMILIES[0]).manager.erase, *found.packages], timeout=300)
        elif change.kind == Kind.PACKAGE:
            build_legacy(run, found, wanted.source, stamp=_plan.wanted_stamp(found, wanted), timeout=timeout, root=root)
            # Its init script becomes a unit with that.
            Systemd(run).daemon_reload()
        elif change.kind == Kind.PARAMETER:
            run(["rmmod", PEERMEM])
            load(run, PEERMEM, found.gpu.peer(PEERMEM).file)
        elif change.kind == Kind.MODULE and change.after == _plan.LOADED:
            load(run, change.subject, found.gpu.peer(change.subject).file or change.subject)
        elif change.kind == Kind.MODULE:
            # modprobe -r would unload NVIDIA's driver along, if nothing else holds it.
            run(["rmmod", change.subject])
        else:
            _service(run, found, change)


def _service(run: Runner, found: Found, change: Change) -> None:
    if change.after == _plan.ACTIVE:
        Systemd(run, timeout=_LOAD_SECONDS).start(change.subject)
        return
    Systemd(run).set_enabled(change.subject, change.after == _plan.YES)
    if change.after == _plan.NO and not found.gpu.peer(PEERMEM).users:
        # It would stay active in name, and its end unload the module another day.
        Systemd(run, timeout=_LOAD_SECONDS).stop(change.subject)
