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
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import read_gpu
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy as legacy
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy_build as script
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._assume import assume
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._input import is_archive, problems
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._jobs import await_earlier, build_legacy, rebuild_driver
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._look import look, node_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import LEGACY, PEERMEM, Verdict, decide, problems_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._plan import (
    DRIVER,
    MODULE,
    PACKAGE,
    PARAMETER,
    SERVICE,
    Found,
    Wish,
    builds,
    hints,
    old_commit,
    plan,
    unloads,
    waiting,
    wanted_stamp,
)
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._symptoms import explain
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._unit import UNIT
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import PREFIX, apply_file
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Plan

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change

_LOAD_SECONDS = 180
_LATE = "the loaded ib_core has no peer memory, that on disk has: load the installed driver (driver_reload), or reboot"
_NOT_BUILT = "%s. nv_peer_mem is built and loaded by the run after that" % _LATE
_IN_USE = (
    "nv_peer_mem is in use by %d registrations of GPU memory, so it can't be unloaded, and nothing was changed: "
    "end the processes that use GPUs over RDMA, and run this again"
)
_MASKED = "the unit %s is masked, so systemd would not load %s at boot, and nothing was changed: systemctl unmask %s, or gpudirect_method: none"
_STILL_EMPTY = (
    "the GPU driver was built anew on kernel %s, and its nvidia_peermem still does not fit the RDMA stack. Its build looks for Module.symvers of "
    "the stack below /usr/src/ofa_kernel: install the development files of the stack (mlnx-ofed-kernel-dkms, mlnx-ofa_kernel-devel), and try again"
)


def wish_of(parameters: t.Mapping[str, t.Any]) -> Wish:
    """From the options of the module."""
    return Wish(parameters["peerdirect_support"], legacy.Source(parameters["source"], parameters["commit"], parameters["checksum"]))


def converge(module: AnsibleModule, run: Runner, release: str, root: str = "/") -> dict[str, t.Any]:
    """Returns the result of the module. C(release) is the running kernel's."""
    wrong = problems({"gpudirect_" + name: value for name, value in module.params.items()})
    if wrong:
        raise InvalidInput(wrong)
    if not module.check_mode:
        await_earlier(module.params["timeout"], root)
    wish = wish_of(module.params)
    found = look(run, release, wish.source, root)
    if module.check_mode:
        found = assume(run, found, module.params["assume_stack"], module.params["assume_ofed_version"], root)
    verdict = _verdict(module.params, found)
    if not verdict.method and module.params["state"] == "present":
        return _result(found, wish, verdict, None)
    todo = plan(found, wish, verdict)
    if todo:
        _need_host(found, verdict, module.params["allow_container"])
        _need_source(wish, todo, root)
        _need_idle(found, todo)
    result = _result(found, wish, verdict, todo)
    if todo and not module.check_mode:
        apply(module, run, found, wish, todo, root)
        found = look(run, release, wish.source, root)
        left = plan(found, wish, _verdict(module.params, found))
        if _makes(todo) and not _makes(left):
            # In an upgrade by rpm, the scripts of the old package come last, which unload and disable what those of the new one did.
            # And Debian has another name for a module that was not there before.
            apply(module, run, found, wish, left, root)
            found = look(run, release, wish.source, root)
            left = plan(found, wish, _verdict(module.params, found))
        if left:
            raise CommandFailed("after the changes something is still missing: %s" % "; ".join(change.words() for change in left.changes))
    result["loaded"] = [peer.name for peer in found.gpu.peers if peer.loaded]
    return result


def _verdict(parameters: t.Mapping[str, t.Any], found: Found) -> Verdict:
    """The method; raises InvalidInput where none is possible."""
    if parameters["state"] == "absent":
        return Verdict("", "")
    verdict = decide(parameters["method"], node_of(found), parameters["allow_rebuild"])
    if verdict.obstacles:
        raise InvalidInput(problems_of(verdict, parameters["method"]))
    return verdict


def _need_host(found: Found, verdict: Verdict, allow_container: bool) -> None:
    if found.enclosed and not allow_container:
        words = "this is a %s: the modules belong to the kernel of its host; run the role there (gpudirect_allow_container: true if really meant)"
        raise Unsupported(words % found.enclosed)
    if not found.systemd:
        raise Unsupported("systemd does not run on this node: a unit of it loads the modules at boot, after openibd")
    unit = {PEERMEM: found.unit, LEGACY: found.service}.get(verdict.method)
    if unit and "masked" in (unit.load, unit.enabled):
        raise Refused(_MASKED % (unit.name, verdict.method, unit.name))
    if verdict.method == LEGACY and by_name(found.family) is None:
        raise Unsupported("nv_peer_mem makes packages for the families %s, and this node is of %s" % (NAMES, found.family))


def _need_idle(found: Found, todo: Plan) -> None:
    """Its package would go, the module stay, and be somebody else's from then on."""
    users = found.gpu.peer(LEGACY).users
    if users and unloads(todo, LEGACY):
        raise Refused(_IN_USE % users)


def _makes(todo: Plan) -> bool:
    """Is anything built?"""
    return builds(todo) or any(change.what.startswith(DRIVER) for change in todo.changes)


def _need_source(wish: Wish, todo: Plan, root: str) -> None:
    """An archive has to be the one that is meant, which check mode tells as well; a repository tells when it is asked."""
    source = wish.source
    if not builds(todo) or not is_archive(source.place):
        return
    try:
        script.check(os.path.join(root, source.place[1:]), source.checksum)
    except OSError as exc:
        raise InvalidInput([Problem("gpudirect_source", source.place, "an archive on the node", exc.strerror or str(exc))]) from None
    except script.Failed as exc:
        raise InvalidInput([Problem("gpudirect_checksum", source.checksum, "the checksum of the archive", "%s. Nothing was unpacked" % exc)]) from None


def _result(found: Found, wish: Wish, verdict: Verdict, todo: Plan | None) -> dict[str, t.Any]:
    result = (todo or Plan()).result()
    late = waiting(found, wish, verdict)
    result.update(
        method=verdict.method,
        why=verdict.why,
        reasons=[verdict.why] if verdict.why and not verdict.method else [],
        hints=[*hints(found.gpu), *old_commit(found, wish, todo or Plan())],
        loaded=[peer.name for peer in found.gpu.peers if peer.loaded],
    )
    if late:
        result["pending"] = late
        result["reboot_required"] = any("needs reboot" in line for line in late)
        waits_for_stack = _NOT_BUILT if verdict.method == LEGACY else _LATE
        result["reasons"] = [waits_for_stack if "needs driver_reload" in late[0] else "GPU memory is registered through it now"]
    return result


def load(run: Runner, module: str, file: str) -> None:
    """modprobe, with what the kernel says to it where it fails."""
    before = run(["dmesg"], ok=None).stdout if run.has("dmesg") else ""
    output = run(["modprobe", file], ok=None, timeout=_LOAD_SECONDS)
    if output.rc == 0:
        return
    after = run(["dmesg"], ok=None).stdout if run.has("dmesg") else ""
    # What it said to earlier attempts, with another stack perhaps, would mislead.
    log = after[len(before) :] if after.startswith(before) else after
    said = output.stderr or output.stdout
    raise CommandFailed(explain(module, said, log), cmd=["modprobe", file], **output._asdict())


def apply(module: AnsibleModule, run: Runner, found: Found, wish: Wish, todo: Plan, root: str) -> None:
    """Make the changes in their order: nothing is kept for the next boot that could not be loaded now."""
    for change in todo.changes:
        if change.what.startswith(PREFIX):
            apply_file(module, change, root=root)
            if change.what.endswith(UNIT):
                run(["systemctl", "daemon-reload"])
        elif change.what.startswith(DRIVER):
            rebuild_driver(run, found, module.params["timeout"], root)
            peer = read_gpu(run, found.kernel, root).peer(PEERMEM)
            if not peer.linked or peer.other_build:
                raise CommandFailed(_STILL_EMPTY % found.kernel)
        elif change.what == PACKAGE:
            _package(module, run, found, wish, change, root)
        elif change.what == PARAMETER:
            run(["rmmod", PEERMEM])
            load(run, PEERMEM, found.gpu.peer(PEERMEM).file)
        elif change.what.startswith(MODULE):
            _module(run, found, change)
        else:
            _service(run, found, change)


def _package(module: AnsibleModule, run: Runner, found: Found, wish: Wish, change: Change, root: str) -> None:
    if change.after == "not installed":
        if found.gpu.peer(LEGACY).loaded:
            # The package's own script leaves it loaded on Debian.
            run(["rmmod", LEGACY])
        run((by_name(found.family) or FAMILIES[0]).manager.erase_argv(found.packages), timeout=300)
        return
    build_legacy(run, found, wish.source, wanted_stamp(found, wish), module.params["timeout"], root)
    # Its init script becomes a unit with that.
    run(["systemctl", "daemon-reload"])


def _module(run: Runner, found: Found, change: Change) -> None:
    name = change.what[len(MODULE) :]
    if change.after == "loaded":
        load(run, name, found.gpu.peer(name).file or name)
    else:
        # modprobe -r would unload NVIDIA's driver along, if nothing else holds it.
        run(["rmmod", name])


def _service(run: Runner, found: Found, change: Change) -> None:
    name = change.what[len(SERVICE) :]
    if change.after == "active":
        run(["systemctl", "start", name], timeout=_LOAD_SECONDS)
        return
    unit = name[: -len(" enabled")]
    run(["systemctl", "enable" if change.after == "yes" else "disable", unit])
    if change.after == "no" and not found.gpu.peer(PEERMEM).users:
        # It would stay active in name, and its end unload the module another day.
        run(["systemctl", "stop", unit], timeout=_LOAD_SECONDS)
