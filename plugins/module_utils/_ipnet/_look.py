# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at what IPoIB needs of a node's network: sysctl files and values, and firewalls. Only a firewalld that runs takes a process."""

from __future__ import annotations

import os
import posixpath
import typing as t

from .._facts._machine import read_machine
from .._facts._sysfs import attribute, entries
from .._foreign import decimal
from .._host._files import read_text, under
from .._ipoib._look import whole
from .._ipoib._references import resolve
from ._firewall._look import look as look_at_firewalls
from ._found import Found
from ._names import ARP_KEYS, CONF, DEFAULTS, FAMILIES, LIMITS, limit_key
from ._routing._look import look as look_at_routing
from ._sysctl import DIRECTORIES, LAST, PATH, Line, matches, parse, parse_own
from ._wanted import Reference

if t.TYPE_CHECKING:
    from .._host._node import Node

_ARPHRD_INFINIBAND = "32"


def _text(root: str, path: str) -> str:
    """The content of a file; "" for a directory, a device, a loop of links, and where it is missing."""
    full = under(root, path)
    return read_text(full) if os.path.isfile(full) else ""


def read_lines(root: str) -> list[Line]:
    """The assignments of others in all files, in the order in which they are read."""
    paths: dict[str, str] = {}
    for directory in DIRECTORIES:
        for name in entries(under(root, directory)):
            if name.endswith(".conf"):
                paths.setdefault(name, posixpath.join(directory, name))
    own = posixpath.basename(PATH)
    found = [line for name, path in sorted(paths.items()) if name != own for line in parse(path, _text(root, path), name > own)]
    linked = any(os.path.realpath(under(root, path)) == os.path.realpath(under(root, LAST)) for path in paths.values())
    return found if linked else [*found, *parse(LAST, _text(root, LAST), True)]


def _named(node: Node, references: t.Iterable[Reference]) -> dict[str, str]:
    """The names of the interfaces of ports."""
    places = sorted({place for reference in references for place in reference.places})
    facts = node.once(whole).facts if places else {}
    found = {}
    for place in places:
        entry = {"port_guid" if place.startswith(("0x", "0X")) else "pci": place}
        resolved = resolve([("", entry)], facts).interfaces[0]
        found[place] = str(resolved.get("name") or "")
    return {place: name for place, name in found.items() if name}


def _is_read_only(root: str) -> bool:
    try:
        return bool(os.statvfs(under(root, "proc/sys")).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _at_start() -> dict[str, str]:
    return {limit_key(family, name): str(value) for family in FAMILIES for name, value in zip(LIMITS, DEFAULTS)}


def _every(root: str) -> list[str]:
    """All interfaces with addresses of IPoIB, bonds among them."""
    return [name for name in entries(root, "sys/class/net") if attribute(root, "sys/class/net", name, "type") == _ARPHRD_INFINIBAND]


def look(node: Node, references: t.Sequence[Reference], *, firewall: bool, routing: bool = False, every: bool = False) -> Found:
    """The state of the node, as far as it concerns these interfaces and those of our file. `firewall`: whether the zones of firewalld matter.
    `routing`: whether the routes by source address do. `every`: whether all IPoIB interfaces do.
    """
    root = node.root
    named = _named(node, references)
    names = {name for name in (reference.on(named) for reference in references) if name}
    names.update(_every(root) if every else ())
    text = read_text(under(root, PATH))
    keys = {CONF % (name, key) for name in (*names, "all", "default") for key in ARP_KEYS} | set(parse_own(text))
    keys.update(limit_key(family, name) for family in FAMILIES for name in LIMITS)
    chroot = read_machine(root).kind == "chroot"
    # The kernel that runs a chroot is that of the build host. The one that boots the image starts with its own limits.
    values = _at_start() if chroot else {key: attribute(root, "proc/sys", key) for key in sorted(keys)}
    matters = keys - {CONF % (name, key) for name in ("all", "default") for key in ARP_KEYS}
    lines = [line for line in read_lines(root) if line.key in matters or (line.is_pattern and any(matches(key, line.key) for key in matters))]
    kernel = {key: value for key, value in values.items() if decimal(value) is not None}
    return Found(
        text,
        tuple(lines),
        kernel,
        _is_read_only(root),
        named=named,
        examined=frozenset(names),
        chroot=chroot,
        firewall=look_at_firewalls(node, names, asked=firewall, chroot=chroot),
        routing=look_at_routing(node, asked=routing, chroot=chroot),
    )


def seen(node: Node, hints: t.Mapping[str, t.Any]) -> Found:
    """The look of the concern."""
    return look(
        node, [Reference(*row) for row in hints["interfaces"]], firewall=hints["firewall"], routing=bool(hints.get("routing")), every=bool(hints.get("every"))
    )
