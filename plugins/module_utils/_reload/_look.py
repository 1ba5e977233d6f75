# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The loaded and the installed driver, and the users of the loaded one."""

from __future__ import annotations

import os
import typing as t

from .._facts._boot import read_next_boot
from .._facts._connections import read_ssh, ssh_connection
from .._facts._gpu import UNIT_PATH
from .._facts._kernels import module_files, module_needs, read_kernels
from .._facts._machine import read_machine
from .._facts._modules import Module, in_stack, parse_proc_modules, read_loaded, with_disk
from .._facts._netdevs import over_rdma, seen_netdevs
from .._facts._storage import parse_mounts, parse_swaps
from .._facts._sysfs import attribute, entries, link_name
from .._facts._trust import Untrusted, untrusted
from .._facts._usage import User, read_usage
from .._host import _job as jobs
from .._host._files import read_text, under
from .._host._units import show_units, systemd_runs
from .._kmod._config import INFINIBAND_PATH, RDMA_PATH, parse_list
from .._tools import _openibd as openibd
from .._tools._modinfo import module_of, parse_files
from ._fit import READY, of_container, unfit
from ._found import Found
from ._plan import CACHE, OPENIBD, SERVICES, signature
from ._steps import ALIASES, loaded_again

if t.TYPE_CHECKING:
    from .._host._run import Runner

JOB = "driver-reload"
# The file systems that a running system can't do without.
_VITAL = ("/", "/usr")


def _vital(users: t.Sequence[User], root: str) -> tuple[User, ...]:
    """The users. A mount counts as the root file system if the system or its swap depends on it."""
    mounts = parse_mounts(attribute(root, "proc/mounts"))
    layered = any(mount.target == "/" and mount.type == "overlay" for mount in mounts)
    swaps = [swap for swap in parse_swaps(attribute(root, "proc/swaps")) if not swap.startswith("/dev/")]

    def is_vital(user: User) -> bool:
        swapped = any(swap.startswith(user.name.rstrip("/") + "/") for swap in swaps)
        return user.kind == "mount" and (user.name in _VITAL or layered or swapped)

    return tuple(user._replace(kind="root") if is_vital(user) else user for user in users)


def _failed_before(found: Found, root: str) -> str:
    job = jobs.read_job(JOB, root)
    boot = attribute(root, "proc/sys/kernel/random/boot_id")
    if job is None or not job.failed or job.memo.get("signature") != signature(found, boot):
        return ""
    return "it was tried since the last boot, and %s failed; the log is %s" % (job.failed, job.log)


def _meant_for(modules: t.Sequence[Module], release: str, root: str) -> str:
    """The next kernel, if the driver is installed only for that. Packages of prebuilt modules support one kernel and replace those of the running one."""
    if not any(module.name == "mlx_compat" for module in modules):
        return ""
    stacks = {kernel.release: kernel.stack for kernel in read_kernels(root, release)}
    following = read_next_boot(root).release
    return following if following != release and stacks.get(following) == "ofed" and stacks.get(release) != "ofed" else ""


def _untrusted(found: Found, run: Runner, dependencies: str, *, folder: str, root: str) -> tuple[Untrusted, ...]:
    """The modules to be loaded, and their dependencies, whose signatures the kernel would refuse."""
    files, needs = module_files(dependencies), module_needs(dependencies)
    stays = {module.name for module in parse_proc_modules(attribute(root, "proc/modules"))} - {module.name for module in found.modules}
    names = {need for name in loaded_again(found) for need in (name, *needs.get(name, ()))} - stays
    return untrusted({name: os.path.join(folder, files[name]) for name in names if name in files}, run, root)


def _services(run: Runner, is_openibd: bool, root: str) -> tuple[str, ...]:
    """The services that stop with the driver. openibd restarts its own only where its configuration lists them."""
    if not systemd_runs(root):
        return ()
    names = tuple(dict.fromkeys((*CACHE, *(SERVICES if is_openibd else ()))))
    return tuple(name for name, unit in show_units(run, names).items() if unit.active == "active")


def look(run: Runner, *, release: str, environ: t.Mapping[str, str], root: str = "/", pid: int | None = None) -> Found:
    """The loaded and the installed driver, and the users of the loaded one."""
    modules = with_disk(read_loaded(root), run, root)
    netdevs = seen_netdevs(run, root)
    folder = under(root, "lib/modules/" + release)
    texts = [read_text(os.path.join(folder, name)) for name in ("modules.dep", "modules.builtin")]
    machine = read_machine(root)
    is_openibd = os.path.isfile(under(root, OPENIBD)) and os.path.isfile(under(root, openibd.PATH))
    found = Found(
        modules=modules,
        users=_vital(read_usage(root, netdevs, ssh_connection(environ, root, os.getpid() if pid is None else pid)), root),
        ssh=read_ssh(run, netdevs, environ, root=root, pid=pid),
        available=frozenset(module_files("\n".join(texts))),
        listed=tuple(entry.name for path in (INFINIBAND_PATH, RDMA_PATH) for entry in parse_list(path, read_text(under(root, path)))),
        openibd=is_openibd,
        conf=read_text(under(root, openibd.PATH)) if is_openibd else "",
        aliases=is_openibd and os.path.isfile(under(root, ALIASES)),
        enclosed=machine.kind if machine.kind in ("container", "chroot") else "",
        drivers=frozenset(link_name(root, "sys/class/infiniband", name, "device/driver/module") for name in entries(root, "sys/class/infiniband")),
        interfaces=tuple(netdev.name for netdev in netdevs if over_rdma(netdev.name, netdevs)),
        services=_services(run, is_openibd, root),
        # The unit may not have started yet: with the former driver, it can't.
        gpudirect=os.path.basename(UNIT_PATH) if systemd_runs(root) and os.path.isfile(under(root, UNIT_PATH)) else "",
    )
    mounts = [mount.target for mount in parse_mounts(attribute(root, "proc/mounts"))]
    found = found._replace(
        unfit=unfit(modules, module_files(texts[0]), module_needs(texts[0])),
        of_container=of_container(modules, found.available, mounts, ready=os.path.exists(under(root, READY))),
    )
    refused = _untrusted(found, run, texts[0], folder=folder, root=root)
    return found._replace(failed_before=_failed_before(found, root), meant_for=_meant_for(modules, release, root), untrusted=refused)


def _candidates(names: t.Collection[str], release: str, root: str) -> list[str]:
    """Where the files of the loaded driver may still be: a vendor's files do not replace those of the kernel, and DKMS keeps what it replaced."""
    tops = [os.path.join(root, folder) for folder in ("lib/modules/" + release, "var/lib/dkms")]
    paths = [os.path.join(path, file) for top in tops for path, _folders, files in os.walk(top) for file in files if ".ko" in file]
    return sorted(path for path in paths if module_of(path) in names)


def former_files(modules: t.Sequence[Module], run: Runner, *, release: str, root: str = "/") -> dict[str, str]:
    """A file with the same build for each loaded module of the stack. Empty if any module has none, because a partial driver is useless."""
    wanted = {module.name: module.srcversion_loaded for module in modules if in_stack(module.name)}
    paths = _candidates(wanted, release, root)
    if not paths:
        return {}
    found: dict[str, str] = {}
    for path, fields in parse_files(run(["modinfo", *paths], ok=None, timeout=60).stdout).items():
        name = module_of(path)
        # Modules of Debian's kernels have no srcversion, those of a vendor do. Folders of the kernel precede those for updates.
        if fields.get("srcversion", "") == wanted.get(name):
            found.setdefault(name, path)
    return found if set(found) == set(wanted) else {}
