# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rollback: a script that restores files and interfaces, and the systemd timer that runs it.

The controller stops the timer over a connection opened after the change (see the action plugin `ipoib`).
"""

from __future__ import annotations

import fnmatch
import os
import shlex
import shutil
import typing as t

from .._errors import CommandFailed, Unsupported
from .._host._files import under
from .._host._saved import Access
from .._host._units import Systemd
from .._host._write import replace_file, shell_leftovers
from .._plan import Kind
from . import _boot, _registry, _rename, _wanted
from ._linkplan import canonical, unequal_routes
from ._look import ROLLBACK, ROLLBACK_DIRECTORY

if t.TYPE_CHECKING:
    from .._facts._netdevs import Netdev
    from .._host._run import Runner
    from ._found import Found
    from ._todo import IpoibPlan
    from ._wanted import Interface

# Seconds for which the rollback waits for a run in progress; each command of the run has a limit of its own.
PATIENCE = 600
SCRIPT = "undo"
# The rollback and the run never work at the same time: the rollback waits for a run that takes longer than the timer.
_BEGIN = "#!/bin/sh\ntries=%d\nwhile [ $tries -gt 0 ] && kill -0 %d 2>/dev/null; do tries=$((tries - 1)); sleep 1; done\n"


def undo_of(todo: IpoibPlan, found: Found, foreign: t.Mapping[str, Access] | None = None) -> dict[str, str]:
    """The script that restores the state `found`, and the former files that it copies from its directory, by their names there. Pure.

    `foreign`: the owners and permissions of files of others.

    No line depends on the success of another.
    """
    lines, kept = _files(todo, found, foreign or {})
    names = [interface.name for interface in todo.interfaces] + [record.name for record in todo.removed]
    before = [found.netdevs[name] for name in dict.fromkeys(names) if name in found.netdevs]
    new = [interface.name for interface in todo.interfaces if interface.name not in found.netdevs and (interface.is_child or interface.bond is not None)]
    touched = _touched(todo)
    for backend in _registry.BACKENDS:
        lines = backend.shell_files(lines, touched)
    lines += [line for backend in _registry.BACKENDS for line in backend.shell_reload(touched, found)]
    lines += ["[ ! -e /sys/class/net/%s ] || ip link delete dev %s" % (name, name) for name in reversed(new)]
    lines += ["ip link set dev %s name %s" % (new, old) for old, new in reversed(_rename.steps(todo.renames, found.netdevs))]
    for netdev in sorted(before, key=lambda netdev: (netdev.kind == "bond", bool(netdev.parent), netdev.name)):
        lines += _device(netdev, found)
    # Ports are in their bonds by now, and have the MTU of the bond.
    interfaces = {interface.name: interface for interface in todo.interfaces}
    for netdev in before:
        lines += _link(netdev, found, interfaces.get(netdev.name))
    lines += [line for backend in _registry.BACKENDS for line in backend.shell_resume([netdev.name for netdev in before], found)]
    return {SCRIPT: "\n".join(lines) + "\n", **kept}


def _files(todo: IpoibPlan, found: Found, foreign: t.Mapping[str, Access]) -> tuple[list[str], dict[str, str]]:
    lines, kept = [], {}
    for position, change in enumerate(todo.plan.about(Kind.FILE)):
        path = change.subject
        if change.after:
            # A run that is killed between writing and renaming leaves this file.
            lines.append("rm -f %s%s" % (shlex.quote(shell_leftovers(path)[0]), shell_leftovers(path)[1]))
        if not change.before:
            lines.append("rm -f %s" % shlex.quote(path))
            continue
        kept[str(position)] = change.before
        access = foreign.get(path, Access(_registry.file_mode(path)))
        owner = "-o %d -g %d " % access.owner if access.owner is not None else ""
        lines.append("install -D -m %o %s%s/%d %s" % (access.mode, owner, ROLLBACK_DIRECTORY, position, shlex.quote(path)))
    if any(change.is_about(Kind.UNIT, _boot.UNIT) for change in todo.plan.changes):
        enabled = found.boot_unit.enabled == "enabled"
        lines += ["systemctl daemon-reload", "systemctl %s %s" % ("enable" if enabled else "disable", _boot.UNIT)]
    return lines, kept


def _touched(todo: IpoibPlan) -> frozenset[str]:
    """The back-ends whose files change, ours or those of others, and those that these render through."""
    texts = {change.subject: change.before or change.after for change in todo.plan.about(Kind.FILE)}
    foreign = {*todo.adopted, *todo.restored}
    touched = [
        backend
        for backend in _registry.BACKENDS
        if any(backend.format.is_ours(path, text) for path, text in texts.items())
        or any(fnmatch.fnmatchcase(path, pattern) for path in foreign for pattern in backend.patterns)
    ]
    return frozenset(name for backend in touched for name in (backend.name, *backend.renders_through))


def _device(netdev: Netdev, found: Found) -> list[str]:
    """Restore deleted devices, and remove ports from bonds that they were not in."""
    name = netdev.name
    there = "[ -e /sys/class/net/%s ]" % name
    if netdev.kind == "bond":
        state = found.bonds[name]
        options = "mode %s miimon %d" % (state.mode, state.miimon)
        options += " fail_over_mac %s" % state.fail_over_mac if state.fail_over_mac else ""
        lines = ["%s || ip link add name %s type bond %s" % (there, name, options), "ip link set dev %s mtu %d" % (name, netdev.mtu)]
        for port in netdev.members:
            lines.append("[ -e /sys/class/net/%s/upper_%s ] || { ip link set dev %s down; ip link set dev %s master %s; }" % (port, name, port, port, name))
        return lines + (["ip link set dev %s type bond primary %s" % (name, state.primary)] if state.primary else [])
    lines = []
    if netdev.parent:
        lines.append("%s || ip link add link %s name %s type ipoib pkey %s mode %s" % (there, netdev.parent, name, netdev.pkey, netdev.mode or "datagram"))
    if not netdev.master:
        lines.append("[ ! -e /sys/class/net/%s/master ] || ip link set dev %s nomaster" % (name, name))
    if netdev.mode in _wanted.MTU_MAX:
        sysfs = "/sys/class/net/%s/mode" % name
        lines.append("[ ! -e %s ] || grep -qx %s %s || echo %s > %s" % (sysfs, netdev.mode, sysfs, netdev.mode, sysfs))
    return lines


def _link(netdev: Netdev, found: Found, interface: Interface | None) -> list[str]:
    """Remove what was added before restoring what existed: with a new primary address, others of its network may be removed."""
    name, routes = netdev.name, found.routes.get(netdev.name, ())
    lines = []
    if interface is not None:
        lines += ["ip %s route del %s" % (route.family, " ".join(route.words(name))) for route in unequal_routes(routes, interface.routes)[0]]
        lines += ["ip address del %s dev %s" % (address, name) for address in canonical(interface.addresses) if address not in canonical(netdev.addresses)]
    lines += ["ip link set dev %s mtu %d" % (name, netdev.mtu), "ip link set dev %s %s" % (name, "up" if netdev.up else "down")]
    lines += ["ip address replace %s%s dev %s" % (address, "" if ":" in address else " broadcast +", name) for address in canonical(netdev.addresses)]
    return lines + ["ip %s route replace %s" % (route.family, " ".join(route.words(name))) for route in routes]


def arm(run: Runner, undo: t.Mapping[str, str], *, seconds: int, pid: int, root: str = "/") -> None:
    """Before the first change of the process `pid`: write the script and start the timer."""
    if not run.has("systemd-run"):
        raise Unsupported("ipoib_rollback_timeout needs systemd-run, which is not installed here; run over another path")
    directory = under(root, ROLLBACK_DIRECTORY)
    shutil.rmtree(directory, ignore_errors=True)
    # Keyfiles may be readable for root only.
    os.makedirs(directory, mode=0o700)
    for name, text in {**undo, SCRIPT: _BEGIN % (PATIENCE, pid) + undo[SCRIPT]}.items():
        replace_file(os.path.join(directory, name), text.encode("utf-8", "surrogateescape"), 0o600)
    options = ["--unit=" + ROLLBACK, "--collect", "--on-active=%d" % seconds, "--timer-property=AccuracySec=1s"]
    run(["systemd-run", *options, "/bin/sh", "%s/%s" % (ROLLBACK_DIRECTORY, SCRIPT)])


def confirm(run: Runner, unit: str, root: str = "/") -> None:
    """Confirm that the node is reachable: stop the timer. Raises CommandFailed where it has already fired."""
    if unit != ROLLBACK + ".timer" or not Systemd(run).is_active(ROLLBACK + ".timer"):
        raise CommandFailed("the timer %s has fired: the node is back in its state before the change" % unit)
    Systemd(run).stop(ROLLBACK + ".timer")
    shutil.rmtree(under(root, ROLLBACK_DIRECTORY), ignore_errors=True)
