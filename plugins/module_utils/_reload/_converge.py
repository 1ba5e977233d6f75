# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Loads the installed driver in place of the loaded one, where nobody suffers from it."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._boot import read_next_boot
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import UNIT_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import parse_module_names, read_kernels
from ansible_collections.rdma.ofed.plugins.module_utils._facts._links import read_links
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_machine
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import in_stack, read_loaded, with_disk
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import over_rdma, read_netdevs
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ssh import read_ssh
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import PCI_ADDRESS, attribute, entries, link_name
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User, parse_mounts, parse_swaps, read_usage
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._card_use import read_virtual_functions
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import show_units
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import INFINIBAND_PATH, RDMA_PATH, parse_list
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._reload import _openibd as openibd
from ansible_collections.rdma.ofed.plugins.module_utils._reload import _plan as plan
from ansible_collections.rdma.ofed.plugins.module_utils._reload._steps import ALIASES, loaded_again, steps

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._reload._plan import Found, Verdict, Wish

JOB = "driver-reload"
_DRIVERS = ("mlx4_core", "mlx5_core")
# What a system needs to go on at all.
_VITAL = ("/", "/usr")
_LINES = 6


def _at(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))


def _vital(users: t.Sequence[User], root: str) -> tuple[User, ...]:
    """The users, in which a mount counts as the root file system where the system or its swap stands on it."""
    mounts = parse_mounts(attribute(root, "proc/mounts"))
    layered = any(mount.target == "/" and mount.type == "overlay" for mount in mounts)
    swaps = [swap for swap in parse_swaps(attribute(root, "proc/swaps")) if not swap.startswith("/dev/")]

    def is_vital(user: User) -> bool:
        swapped = any(swap.startswith(user.name.rstrip("/") + "/") for swap in swaps)
        return user.kind == "mount" and (user.name in _VITAL or layered or swapped)

    return tuple(user._replace(kind="root") if is_vital(user) else user for user in users)


def _virtual_functions(root: str) -> tuple[User, ...]:
    functions = [pci for driver in _DRIVERS for pci in entries(root, "sys/bus/pci/drivers", driver) if PCI_ADDRESS.match(pci)]
    counts = {pci: read_virtual_functions(root, [pci]) for pci in functions}
    return tuple(User("vf", "%d virtual functions of %s" % (count, pci)) for pci, count in sorted(counts.items()) if count)


def _netdevs(run: Runner, root: str) -> tuple[Netdev, ...]:
    try:
        links = read_links(run)
    except RdmaError:
        # Bonds and children show in sysfs too.
        links = {}
    return read_netdevs(root, read_ports(root), links=links)


def _failed_before(found: Found, root: str) -> str:
    job = jobs.read_job(JOB, root)
    boot = attribute(root, "proc/sys/kernel/random/boot_id")
    if job is None or not job.failed or job.memo.get("signature") != plan.signature(found, boot):
        return ""
    return "it was tried since the last boot, and %s failed; the log is %s" % (job.failed, job.log)


def _meant_for(modules: t.Sequence[Module], release: str, root: str) -> str:
    """Packages of ready-made modules are for one kernel: with those for the next one, the ones for the running kernel go."""
    if not any(module.name == "mlx_compat" for module in modules):
        return ""
    stacks = {kernel.release: kernel.stack for kernel in read_kernels(root, release)}
    following = read_next_boot(root).release
    return following if following != release and stacks.get(following) == "ofed" and stacks.get(release) != "ofed" else ""


def _services(run: Runner, is_openibd: bool, root: str) -> tuple[str, ...]:
    """What stops along with the driver. openibd starts its services again only where its configuration says so."""
    if not os.path.isdir(_at(root, "run/systemd/system")):
        return ()
    names = tuple(dict.fromkeys((*plan.CACHE, *(plan.SERVICES if is_openibd else ()))))
    return tuple(name for name, unit in show_units(run, names).items() if unit.active == "active")


def look(run: Runner, release: str, environ: t.Mapping[str, str], root: str = "/", pid: int | None = None) -> Found:
    """The loaded and the installed driver; and where they differ or are to be told apart anyway, who uses it."""
    modules = with_disk(read_loaded(root), run, root)
    netdevs = _netdevs(run, root)
    texts = [read_text(_at(root, "lib/modules/%s/%s" % (release, name))) for name in ("modules.dep", "modules.builtin")]
    machine = read_machine(root)
    is_openibd = os.path.isfile(_at(root, plan.OPENIBD)) and os.path.isfile(_at(root, openibd.PATH))
    found = plan.Found(
        modules=modules,
        users=(*_vital(read_usage(root, netdevs), root), *_virtual_functions(root)),
        ssh=read_ssh(run, netdevs, environ, root=root, pid=pid),
        available=frozenset(parse_module_names("\n".join(texts))),
        listed=tuple(entry.name for path in (INFINIBAND_PATH, RDMA_PATH) for entry in parse_list(path, read_text(_at(root, path)))),
        openibd=is_openibd,
        conf=read_text(_at(root, openibd.PATH)) if is_openibd else "",
        aliases=is_openibd and os.path.isfile(_at(root, ALIASES)),
        enclosed=machine.kind if machine.kind in ("container", "chroot") else "",
        drivers=frozenset(link_name(root, "sys/class/infiniband", name, "device/driver/module") for name in entries(root, "sys/class/infiniband")),
        interfaces=tuple(netdev.name for netdev in netdevs if over_rdma(netdev.name, netdevs)),
        services=_services(run, is_openibd, root),
        # It may not have started yet: with the former driver, it can't.
        gpudirect=os.path.basename(UNIT_PATH) if os.path.isdir(_at(root, "run/systemd/system")) and os.path.isfile(_at(root, UNIT_PATH)) else "",
    )
    return found._replace(failed_before=_failed_before(found, root), meant_for=_meant_for(modules, release, root))


def wish_of(parameters: t.Mapping[str, t.Any], check_mode: bool) -> Wish:
    """The options of the module."""
    return plan.Wish(
        policy=parameters["policy"],
        because=tuple(parameters["because"] or ()),
        cut_ssh_connection=parameters["cut_ssh_connection"],
        allow_container=parameters["allow_container"],
        assume_changed=parameters["assume_changed"] and check_mode,
    )


def _result(changes: t.Sequence[Change], verdict: Verdict, found: Found, job: State | None = None) -> dict[str, t.Any]:
    result = Plan(tuple(changes)).result(verdict.pending, verdict.why)
    result.update(
        waits=verdict.waits,
        users=[plan.described(user) for user in verdict.users],
        modules=[
            {"name": module.name, "loaded": module.srcversion_loaded, "installed": module.srcversion_disk, "differs": module.differs}
            for module in found.modules
            if in_stack(module.name)
        ],
    )
    if job is not None:
        result["job"] = job.result()
    return result


def _said(root: str) -> str:
    """The end of what the last process that failed said."""
    lines = [line.strip() for line in jobs.read_log(JOB, root).splitlines() if line.strip() and not line.startswith("==> ")]
    telling = [line for line in lines if any(word in line.lower() for word in ("in use", "fail", "error", "please", "fatal"))]
    return " | ".join((telling or lines)[-_LINES:])


def _failed(before: Found, now: Found, job: State, root: str) -> dict[str, t.Any]:
    """The driver could not be unloaded. What there was is loaded again; where that failed too, only a reboot is left."""
    loaded = {module.name for module in now.modules}
    missing = [name for name in loaded_again(before) if name not in loaded and name in {module.name for module in before.modules}]
    held = ["%s has %d users" % (module.name, module.own_users) for module in now.modules if in_stack(module.name) and module.own_users]
    text = "%s failed: %s" % (job.failed, "; ".join([*([_said(root)] if _said(root) else []), *held]) or "exit status %d" % job.rc)
    if missing:
        words = "%s. %s could not be loaded again: reboot the node. All output is in %s"
        raise CommandFailed(words % (text, ", ".join(missing), job.log), changed=True, reboot_required=True, job=job.result())
    verdict = plan.Verdict(plan.REBOOT, ("%s. What was unloaded has been loaded again; all output is in %s" % (text, job.log), *_aftermath(before)))
    return _result((plan.loading("as loaded, after an attempt to unload it"),), verdict, now, job)


def _left_out(before: Found, now: Found) -> tuple[str, ...]:
    """What worked with the former driver, and does not with this one."""
    words = "%s was loaded before, and can't be with this driver: build it anew; the role gpudirect says how"
    return tuple(words % name for name in plan.not_again(before, now))


def _aftermath(found: Found) -> tuple[str, ...]:
    if not found.interfaces:
        return ()
    return ("%s went away in between: addresses, bonds, P_Key children and software links have to be made again" % ", ".join(found.interfaces),)


def _await(seconds: float, root: str) -> State:
    job = jobs.wait(JOB, seconds, root)
    if job.running:
        raise CommandFailed("the driver is still being loaded anew after %d s (%s); the log is %s" % (seconds, job.stage, job.log), job=job.result())
    return job


def carry_out(run: Runner, found: Found, wish: Wish, look_again: t.Callable[[], Found], timeout: float, root: str) -> dict[str, t.Any]:
    """Unload and load, as a job: it goes on if the connection does not survive it."""
    todo = steps(found, wish, timeout)
    memo = {"signature": plan.signature(found, attribute(root, "proc/sys/kernel/random/boot_id"))}
    jobs.start(run, JOB, todo, timeout, memo, root)
    job = _await(timeout + 30, root)
    now = look_again()
    if job.failed:
        return _failed(found, now, job, root)
    if plan.differing(now):
        names = ", ".join(module.name for module in plan.differing(now))
        raise CommandFailed("the driver was loaded anew, and %s is still another build than on disk; reboot the node. All output is in %s" % (names, job.log))
    return _result((plan.loading(),), plan.Verdict("", (*_aftermath(found), *_left_out(found, now))), now, job)


def converge(module: AnsibleModule, run: Runner, release: str, environ: t.Mapping[str, str], root: str = "/", pid: int | None = None) -> dict[str, t.Any]:
    """Look, judge, and where it may be, reload."""
    timeout = module.params["timeout"]
    earlier = jobs.read_job(JOB, root)
    if earlier is not None and earlier.running and not module.check_mode:
        _await(timeout + 30, root)

    def observe() -> Found:
        return look(run, release, environ, root, pid)

    found, wish = observe(), wish_of(module.params, module.check_mode)
    verdict = plan.judge(found, wish)
    if verdict.action == plan.REFUSE:
        raise Refused("refusing to unload the driver: %s" % "; ".join(verdict.why), users=[plan.described(user) for user in verdict.users])
    if verdict.action != plan.RELOAD:
        return _result((), verdict, found)
    if module.check_mode:
        return _result((plan.loading(),), plan.Verdict("", _aftermath(found), verdict.users), found)
    return carry_out(run, found, wish, observe, timeout, root)
