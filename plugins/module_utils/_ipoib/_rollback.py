# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Going back by itself: a script that puts files and interfaces as they were, and a timer of systemd that runs it.

Who runs the module stops the timer, over a connection that was opened after the change (see the action plugin C(ipoib)).
"""

from __future__ import annotations

import os
import shlex
import shutil
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import temporary_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _generated, _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import NETPLAN, NETWORKD, WICKED
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import canonical, family, route_text, unequal_routes
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._stacks import every, file_mode
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision, Node
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Target

UNIT = "rdma-ofed-ipoib-rollback"
PATIENCE = 600
"""Seconds for which the way back waits for a run that is still at work; each of its commands has a limit of its own."""
DIRECTORY = "/run/rdma-ofed-ipoib-rollback"
SCRIPT = "undo"


class Undo(t.NamedTuple):
    """The script, and the former files that it copies from its directory, by their names there."""

    script: str
    files: dict[str, str]


def undo_of(decision: Decision, found: Look) -> Undo:
    """What puts a node back to C(found). No line depends on the success of another. Pure."""
    node = found.node
    lines, kept = _files(decision, node)
    touched = [target.name for target in decision.targets] + [record.name for record in decision.removed]
    before = [node.netdevs[name] for name in dict.fromkeys(touched) if name in node.netdevs]
    new = [target.name for target in decision.targets if target.name not in node.netdevs and (target.is_child or target.bond is not None)]
    reloads = _reloads(decision, found)
    if _generated.SHELL_PUT_BACK in reloads:
        lines = [_generated.SHELL_PUT_ASIDE, *lines]
    lines += reloads
    lines += ["[ ! -e /sys/class/net/%s ] || ip link delete dev %s" % (name, name) for name in reversed(new)]
    lines += ["ip link set dev %s name %s" % (naming.name, naming.current) for naming in decision.renames]
    for netdev in sorted(before, key=lambda netdev: (netdev.kind == "bond", bool(netdev.parent), netdev.name)):
        lines += _device(netdev, node)
    # Members are in their bonds by now, and have the MTU of these.
    targets = {target.name: target for target in decision.targets}
    for netdev in before:
        lines += _link(netdev, node, targets.get(netdev.name))
    lines += _resumed([netdev.name for netdev in before], found)
    return Undo("\n".join(lines) + "\n", kept)


def _begin(pid: int) -> str:
    """The two never work at the same time: a run that takes longer than the timer is let come to its end first."""
    return "#!/bin/sh\ntries=%d\nwhile [ $tries -gt 0 ] && kill -0 %d 2>/dev/null; do tries=$((tries - 1)); sleep 1; done\n" % (PATIENCE, pid)


def _files(decision: Decision, node: Node) -> tuple[list[str], dict[str, str]]:
    lines, kept = [], {}
    for position, change in enumerate(decision.plan.about(Kind.FILE)):
        path = change.subject
        if change.after:
            # A run that is killed between writing and moving leaves it.
            lines.append("rm -f %s" % shlex.quote(temporary_of(path)))
        if not change.before:
            lines.append("rm -f %s" % shlex.quote(path))
            continue
        mode = 0o755 if path == _boot.SCRIPT_PATH else file_mode(path)
        kept[str(position)] = change.before
        lines.append("install -D -m %o %s/%d %s" % (mode, DIRECTORY, position, shlex.quote(path)))
    if any(change.is_about(Kind.UNIT, _boot.UNIT) for change in decision.plan.changes):
        enabled = node.boot_unit.enabled == "enabled"
        lines += ["systemctl daemon-reload", "systemctl %s %s" % ("enable" if enabled else "disable", _boot.UNIT)]
    return lines, kept


def _reloads(decision: Decision, found: Look) -> list[str]:
    """Every network stack whose files are touched reads them again."""
    paths = {change.subject: change.before or change.after for change in decision.plan.about(Kind.FILE)}
    names = {stack.name for stack in every(found.node.variant) for path, text in paths.items() if stack.is_ours(path, text)}
    lines = ["netplan generate", _generated.SHELL_PUT_BACK] if NETPLAN in names else []
    if found.nm_active or found.node.variant.nm is not None:
        lines.append("nmcli connection reload")
    if names & {NETWORKD, NETPLAN} and found.evidence.active("systemd-networkd.service"):
        lines.append("networkctl reload")
    return lines


def _device(netdev: Netdev, node: Node) -> list[str]:
    """Devices that have gone come back; a port leaves what it was not in."""
    name = netdev.name
    there = "[ -e /sys/class/net/%s ]" % name
    if netdev.kind == "bond":
        state = node.bonds[name]
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


def _link(netdev: Netdev, node: Node, target: Target | None) -> list[str]:
    """What was added goes before what was there comes back: with a new primary address, others of its network may go."""
    name, routes = netdev.name, node.routes.get(netdev.name, ())
    lines = []
    if target is not None:
        lines += ["ip %s route del %s dev %s" % (family(route), route_text(route), name) for route in unequal_routes(routes, target.routes)[0]]
        lines += ["ip address del %s dev %s" % (address, name) for address in canonical(target.addresses) if address not in canonical(netdev.addresses)]
    lines += ["ip link set dev %s mtu %d" % (name, netdev.mtu), "ip link set dev %s %s" % (name, "up" if netdev.up else "down")]
    lines += ["ip address replace %s%s dev %s" % (address, "" if ":" in address else " broadcast +", name) for address in canonical(netdev.addresses)]
    for route in routes:
        lines.append("ip %s route replace %s dev %s" % (family(route), route_text(route), name))
    return lines


def _resumed(names: t.Sequence[str], found: Look) -> list[str]:
    """The network stacks take the interfaces up that they had."""
    lines = ["nmcli connection up uuid %s" % found.nm_active[name].uuid for name in names if name in found.nm_active and not found.node.netdevs[name].master]
    held = [name for name in names if name in found.node.held.get(WICKED, ())]
    return lines + (["wicked ifreload %s" % " ".join(held)] if held else [])


def refuse_while_armed(run: Runner, root: str = "/") -> None:
    """Before any change: that of an earlier run, which was cut off or killed, would be taken back over this one's head."""
    if os.path.isdir(os.path.join(root, DIRECTORY[1:])) and run(["systemctl", "is-active", "--quiet", UNIT + ".timer", UNIT + ".service"], ok=None).rc == 0:
        raise CommandFailed("an earlier change is still to be taken back on this node: wait until %s has gone off and ended" % (UNIT + ".timer"))


def arm(run: Runner, undo: Undo, seconds: int, pid: int, root: str = "/") -> None:
    """Before the first change of the process C(pid): write the script down and set the timer."""
    if not run.has("systemd-run"):
        raise Unsupported("ipoib_rollback_timeout needs systemd-run, which is not installed here; run over another path")
    directory = os.path.join(root, DIRECTORY[1:])
    shutil.rmtree(directory, ignore_errors=True)
    # Keyfiles are for root only.
    os.makedirs(directory, mode=0o700)
    for name, text in {SCRIPT: _begin(pid) + undo.script, **undo.files}.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)
    options = ["--unit=" + UNIT, "--collect", "--on-active=%d" % seconds, "--timer-property=AccuracySec=1s"]
    run(["systemd-run", *options, "/bin/sh", "%s/%s" % (DIRECTORY, SCRIPT)])


def confirm(run: Runner, unit: str, root: str = "/") -> None:
    """The node can be reached: stop the timer. Raises CommandFailed where it has gone off."""
    if unit != UNIT + ".timer" or run(["systemctl", "is-active", "--quiet", UNIT + ".timer"], ok=None).rc != 0:
        raise CommandFailed("the timer %s is not there any more: the node has gone back to what it was before the change" % unit)
    run(["systemctl", "stop", UNIT + ".timer"])
    shutil.rmtree(os.path.join(root, DIRECTORY[1:]), ignore_errors=True)
