# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the firewalls of a node. Only the present zones of interfaces take a process, where firewalld runs."""

from __future__ import annotations

import glob
import os
import posixpath
import re
import typing as t

from ..._facts._sysfs import attribute, entries, process_ids
from ..._host._files import read_text, under
from ..._host._run import TIMED_OUT
from ..._ipoib import _registry
from ..._tools import _firewalld, _ufw
from ._found import Firewall, Firewalld, Profile, Ufw
from ._ledger import PATH, parse

if t.TYPE_CHECKING:
    from ..._host._node import Node
    from ..._host._run import Output

_DEVICES = "run/NetworkManager/devices"
_UUID = re.compile(r"^connection-uuid=([0-9a-fA-F-]{36})$", re.MULTILINE)
_TIMEOUT = 30.0


def look(node: Node, names: t.Iterable[str], *, asked: bool, chroot: bool) -> Firewall:
    """The state for these interfaces and those of the record. `asked`: whether firewalld matters even without a record."""
    record = read_text(under(node.root, PATH))
    known = parse(record)
    # Even from a chroot, ufw would change the rules of the kernel that runs.
    ufw = Ufw() if chroot else _read_ufw(node)
    if not asked and not known:
        return Firewall(ufw=ufw, record=record)
    return Firewall(True, _read_firewalld(node, {*names, *known}, chroot), ufw, record)


def _read_firewalld(node: Node, names: t.Collection[str], chroot: bool) -> Firewalld:
    root = node.root
    installed = node.run.has(_firewalld.OFFLINE)
    zones = _zones(root) if installed else {}
    # The processes around a chroot are those of the build host.
    running = bool(zones) and not chroot and any(attribute(root, "proc", pid, "comm") == "firewalld" for pid in process_ids(root))
    enabled = bool(zones) and any(os.path.lexists(path) for path in glob.glob(under(root, "/etc/systemd/system/*.wants/firewalld.service")))
    # A daemon that hangs is found as well: it must not cost what else is found of the node.
    answer = node.run(_firewalld.ACTIVE, ok=range(256), timeout=_TIMEOUT) if running else None
    now = _firewalld.parse_active(answer.stdout) if answer is not None and answer.rc == 0 else {}
    profiles = _profiles(root, names)
    # In a chroot, /run and /sys may be those of the build host.
    uuids = {name: _profile_in_use(root, name) for name in names if name not in profiles and not chroot}
    return Firewalld(
        installed,
        running,
        enabled,
        fault=_fault(answer) if answer is not None else "",
        default=_firewalld.default_zone(read_text(under(root, _firewalld.CONF))),
        zones=zones,
        now={name: zone for name, zone in now.items() if name in names},
        profiles=profiles,
        elsewhere={name: uuid for name, uuid in uuids.items() if uuid},
    )


def _fault(answer: Output) -> str:
    if answer.rc == TIMED_OUT:
        return "no answer within %g s" % _TIMEOUT
    return ((answer.stderr or answer.stdout).strip() or "exit status %d" % answer.rc) if answer.rc else ""


def _zones(root: str) -> dict[str, _firewalld.Zone]:
    paths: dict[str, str] = {}
    for directory in _firewalld.DIRECTORIES:
        for name in entries(under(root, directory)):
            if name.endswith(_firewalld.SUFFIX):
                paths.setdefault(name[: -len(_firewalld.SUFFIX)], posixpath.join(directory, name))
    found = {name: _firewalld.parse_zone(path, read_text(under(root, path))) for name, path in paths.items()}
    return {name: zone for name, zone in found.items() if zone is not None and _firewalld.is_zone_name(name)}


def _profiles(root: str, names: t.Iterable[str]) -> dict[str, Profile]:
    """Our files that tell the zone of an interface."""
    found = {}
    for name in names:
        for backend in _registry.BACKENDS:
            path = backend.zone_file(name)
            text = read_text(under(root, path)) if path else ""
            if text and backend.format.is_ours(path, text):
                found[name] = Profile(path, backend.zone_in(text))
    return found


def _profile_in_use(root: str, name: str) -> str:
    """The UUID of the profile with which NetworkManager has configured an interface; "" for none."""
    index = attribute(root, "sys/class/net", name, "ifindex")
    match = _UUID.search(attribute(root, _DEVICES, index)) if index else None
    return match.group(1) if match else ""


def _read_ufw(node: Node) -> Ufw:
    root = node.root
    conf = read_text(under(root, _ufw.CONF))
    # Removed packages of Debian leave their files behind.
    if not conf or not node.run.has("ufw"):
        return Ufw()
    defaults = read_text(under(root, _ufw.DEFAULTS))
    # As ufw decides itself: a kernel that was started with ipv6.disable=1 has no such directory.
    families = (4, 6) if _ufw.setting(defaults, "IPV6") == "yes" and os.path.isdir(under(root, "/proc/sys/net/ipv6")) else (4,)
    rules = [rule for family in families for rule in _ufw.parse_rules(read_text(under(root, _ufw.RULES[family])), family)]
    return Ufw(_ufw.setting(conf, "ENABLED") == "yes", _ufw.setting(defaults, "DEFAULT_INPUT_POLICY") != "accept", families, tuple(rules))
