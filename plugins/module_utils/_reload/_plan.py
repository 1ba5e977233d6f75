# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide whether the driver has to be reloaded, and what prevents it. Pure."""

from __future__ import annotations

import typing as t

from .._facts._modules import PEERS, Module, in_stack
from .._facts._trust import words as words_of_trust
from .._facts._usage import User
from .._plan import Change, Kind, Pending
from .._tools._openibd import stop_allowed
from ._fit import CONTAINER
from ._found import Found
from ._wanted import Wanted

RELOAD = "reload"
WAIT = "wait"
REBOOT = "reboot"
REFUSE = "refuse"
# Nothing is pending here: in a container, the driver is the host's. The same applies to a driver that a container loaded.
LEAVE = "leave"
OPENIBD = "/etc/init.d/openibd"
# openibd stops these even if it finally refuses to unload.
SERVICES = ("ibacm.service", "srp_daemon.service")
# The address cache. The kernel triggers its start through a socket, which holds ib_core as long as it exists.
CACHE = ("ibacm.socket", "ibacm.service")
# Removed with the vendor's stack; a distribution's stack does not need it.
_COMPAT = "mlx_compat"
_WAYS_OUT: t.Mapping[str, str] = {
    "mount": "unmount it",
    "process": "stop it",
    "sm": "stop it, after another subnet manager has taken over",
    "ulp": "end the session, or unload the module",
    "module": "stop what uses it, and unload it",
    "connection": "end it, or stop the program",
    "link": "move what runs over it to another interface, or take it down",
    "namespace": "stop what runs there, or return the interface",
    "vf": "detach them from the machines that have them",
    "ssh": "manage the node over another adapter, or set cut_ssh_connection: true with policy: force",
    "root": "reboot the node",
    "unfit": (
        "if the node does not need it, unload it and block it (blacklist and install lines in /etc/modprobe.d); otherwise install its build for this "
        "driver; policy: force continues without it"
    ),
}


class ReloadPlan(t.NamedTuple):
    """What has to be done."""

    action: str = ""
    """RELOAD, WAIT for another run, REBOOT, REFUSE, LEAVE, or "" where the loaded driver is the right one."""
    why: tuple[str, ...] = ()
    """Why it is not done now."""
    users: tuple[User, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether a reload is due and is not carried out."""
        return self.action in (WAIT, REBOOT, LEAVE)

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The change that takes effect later, and why not now."""
        if self.action == REBOOT:
            return (Pending(loading(needs="reboot"), self.why),)
        return (Pending(loading(needs="driver_reload"), tuple(words(user) for user in self.users)),) if self.action == WAIT else ()


def loading(after: str = "as installed", needs: str = "") -> Change:
    """The change of the loaded driver."""
    return Change(Kind.DRIVER, "", "", "as loaded", after, needs)


def differing(found: Found) -> tuple[Module, ...]:
    """The modules whose loaded build differs from the one that modprobe would load."""
    return tuple(module for module in found.modules if module.differs)


def unloading(modules: t.Sequence[Module]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The modules in the order in which they can be unloaded, users first; and those that can't be unloaded, with their users."""
    left = {module.name: set(module.used_by) for module in modules}
    # Modules in use come as early as possible: if unloading one fails, the others are still loaded.
    urgent = {module.name: (module.name not in PEERS, not module.own_users, module.name) for module in modules}
    order: list[str] = []
    while True:
        free = sorted((name for name, users in left.items() if users <= set(order)), key=urgent.__getitem__)
        if not free:
            break
        order += free
        for name in free:
            del left[name]
    held = {name: tuple(sorted(users - {module.name for module in modules})) for name, users in left.items()}
    return tuple(order), {name: users for name, users in held.items() if users}


def real_users(found: Found) -> tuple[User, ...]:
    """The users that a reload would disconnect. The adapter's own driver, an unused GPU memory module and the address cache are unloaded as well."""
    peers = {module.name for module in found.modules if module.name in PEERS and not module.own_users}
    along = {*(("module", name) for name in peers | found.drivers), *([("process", "ibacm")] if set(CACHE) & set(found.services) else [])}
    return tuple(user for user in found.users if (user.kind, user.name) not in along)


def words(user: User) -> str:
    """One user, and how to free the driver from it."""
    detail = " (%s)" % user.detail if user.detail else ""
    return "%s %s%s: %s" % (user.kind, user.name, detail, _WAYS_OUT[user.kind])


def ssh_user(found: Found) -> tuple[User, ...]:
    """The management connection, where it uses the driver."""
    if not found.ssh.over_rdma and not (found.ssh.client and not found.ssh.device):
        return ()
    device = found.ssh.device or "an unknown interface"
    return (User("ssh", device, "the connection from %s runs over it" % found.ssh.client),)


def unfit_users(found: Found) -> tuple[User, ...]:
    """The modules that would be lost: the kernel refuses them with the installed driver, also after a reboot."""
    return tuple(User("unfit", name, "a module of the kernel, which can't be loaded with the installed driver") for name in found.unfit)


def _of_container(found: Found) -> tuple[str, ...]:
    if not found.of_container:
        return ()
    text = (
        "the loaded driver came from a container, which shows its files in %s (NVIDIA's network operator, or another driver container), and is left alone: "
        "that container loads and unloads it. Let the operator manage the driver of this node, or remove its driver container first"
    )
    return (text % CONTAINER,)


def _only_reboot(found: Found) -> tuple[str, ...]:
    """Why unloading can't help."""
    reasons = []
    names = [module.name for module in found.modules if in_stack(module.name) and module.name != _COMPAT]
    gone = [name for name in names if found.available and name not in found.available]
    if found.meant_for:
        reasons.append("the installed driver is for kernel %s, which boots next, and not for the running one" % found.meant_for)
    elif gone:
        reasons.append("%s of the loaded driver is no longer on disk, and could not be loaded again" % ", ".join(gone))
    for name, holders in sorted(unloading(found.modules)[1].items()):
        permanent = "[permanent]" in holders
        reasons.append("%s can't be unloaded from this kernel" % name if permanent else "%s is held by %s" % (name, ", ".join(holders)))
    return tuple(reasons)


def _never(found: Found) -> tuple[str, ...]:
    """The obstacles that even force does not override."""
    reasons = [words(user) for user in found.users if user.kind == "root"]
    if found.openibd and not stop_allowed(found.conf):
        reasons.append("openib.conf has ALLOW_STOP=no, which is for nodes whose root file system depends on the driver: reboot the node")
    return tuple(reasons)


def _elsewhere(found: Found, wanted: Wanted) -> tuple[str, ...]:
    if not found.enclosed or wanted.allow_container:
        return ()
    way_out = "allow_container: true, or rdma_allow_container: true for the roles, overrides this"
    return ("this is a %s, and the driver belongs to all that run on this kernel (%s)" % (found.enclosed, way_out),)


def plan(wanted: Wanted, found: Found) -> ReloadPlan:
    """What has to be done about the loaded driver."""
    due = bool(differing(found)) or bool(wanted.because) or wanted.assume_changed
    if not due or not any(in_stack(module.name) for module in found.modules):
        return ReloadPlan()
    users = (*real_users(found), *ssh_user(found), *unfit_users(found))
    others = _of_container(found) or _elsewhere(found, wanted)
    if others:
        return ReloadPlan(REFUSE if wanted.policy == "force" and wanted.allow_reload else LEAVE, others, users)
    # Not even a reboot helps: the kernel would refuse the driver then, too. In check mode, the modules on disk are still the old ones.
    if found.untrusted and not wanted.assume_changed:
        return ReloadPlan(REFUSE, (words_of_trust(found.untrusted),), users)
    if wanted.policy == "never":
        return ReloadPlan(WAIT, ("the policy is never",), users)
    if wanted.policy == "reboot":
        return ReloadPlan(REBOOT, ("the policy is reboot",), users)
    # Every user counts: the driver serves the whole node.
    if not wanted.allow_reload:
        return ReloadPlan(WAIT, ("a reload needs consent (allow_reload: true, or rdma_allow_reload: true for the roles)",), users)
    never = _never(found)
    if never:
        return ReloadPlan(REFUSE if wanted.policy == "force" else REBOOT, never, users)
    hopeless = () if wanted.assume_changed else _only_reboot(found)
    if hopeless:
        return ReloadPlan(REBOOT, hopeless, users)
    if wanted.policy == "force":
        over = () if wanted.cut_ssh_connection else tuple(words(user) for user in users if user.kind == "ssh")
        return ReloadPlan(REFUSE if over else RELOAD, over, users)
    if users:
        return ReloadPlan(WAIT, tuple(words(user) for user in users), users)
    if found.failed_before:
        text = "%s; policy: force tries again" % found.failed_before
        return ReloadPlan(REBOOT, (text,), users)
    return ReloadPlan(RELOAD)


def not_again(before: Found, now: Found) -> tuple[str, ...]:
    """The GPU memory modules that were unloaded and did not come back: they may be built for the other driver."""
    loaded = {module.name for module in now.modules}
    return tuple(module.name for module in before.modules if module.name in PEERS and module.name not in loaded)


def signature(found: Found, boot: str) -> str:
    """A digest of the conditions of an attempt. Loaded modules are not included, because a failed attempt may leave a part of the new driver."""
    return " ".join([boot, *("%s:%s" % (module.name, module.srcversion_disk) for module in found.modules if module.srcversion_disk)])


def described(user: User) -> dict[str, str]:
    """A user in the form of the result."""
    return {"kind": user.kind, "name": user.name, "detail": user.detail, "way_out": _WAYS_OUT[user.kind]}
