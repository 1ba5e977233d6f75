# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ifupdown: what its stanzas say about an interface. The inverse of the renderer. Pure."""

from __future__ import annotations

import re
import typing as t

from ..._foreign import hexadecimal
from ..._host._files import HEADER
from .._parsed import Parsed, Parser, Where, with_netmask
from ._ifupdown import BEGINS

_ROUTE = re.compile(
    r"^(?:post-)?up\s+(?:/sbin/|/usr/sbin/|/bin/)?ip\s+(?:-[46]\s+)?r(?:oute)?\s+(?:add|replace)\s+(?P<to>\S+)"
    r"(?P<rest>(?:\s+(?:via|dev|metric)\s+\S+)*)\s*(?:\|\|.*)?$"
)
_CONNECTED = re.compile(r"^(?:pre-)?up\s+echo\s+(?P<mode>connected|datagram)\s*>\s*/sys/class/net/\S+/mode\s*(?:\|\|.*)?$")
_MTU = re.compile(r"^(?:pre-|post-)?up\s+(?:/sbin/|/usr/sbin/|/bin/)?ip\s+link\s+set\s+(?:dev\s+)?\S+\s+mtu\s+(?P<mtu>[0-9]+)$")
_UP = re.compile(r"^(?:pre-)?up\s+(?:/sbin/|/usr/sbin/|/bin/)?ip\s+link\s+set\s+(?:dev\s+)?\S+\s+up$")
# The interface exists only with this module, which the role kernel_modules loads at boot.
_MODULE = re.compile(r"^(?:pre-)?up\s+(?:/sbin/|/usr/sbin/)?modprobe\s+(?:-[abqsv]+\s+)*ib_ipoib(?:\s*\|\|\s*(?:true|:))?$")
# Older releases of ifupdown do not make and remove P_Key children by themselves.
_CHILD = re.compile(
    r"^(?:pre-up|(?:post-)?down)\s+(?:(?:\[|test)\s+-[de]\s+\S+\s+(?:\]\s+)?\|\|\s+)?"
    r"echo\s+(?P<pkey>(?:0x)?[0-9a-fA-F]{1,4})\s*>\s*/sys/class/net/(?P<parent>[^/\s]+)/(?:create|delete)_child\s*(?:\|\|\s*(?:true|:)\s*)?$"
)
# They follow from the address, or change nothing of an interface.
_SILENT = ("network", "broadcast", "dad-attempts", "description")


class _Stanza(t.NamedTuple):
    name: str
    family: str
    method: str
    path: str
    options: list[tuple[int, str]]


def _stanzas(name: str, path: str, text: str) -> t.Iterator[_Stanza]:
    current: _Stanza | None = None
    for number, raw in enumerate(re.sub(r"\\\n", "  ", text).splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if BEGINS.match(line.split()[0]):
            if current is not None:
                yield current
            words = [*line.split(), "", ""]
            current = _Stanza(name, words[2], words[3], path, []) if words[:2] == ["iface", name] else None
        elif current is not None:
            current.options.append((number, " ".join(line.split())))
    if current is not None:
        yield current


def parse(name: str, paths: t.Sequence[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface. `paths`: the files with its stanzas."""
    parser = Parser()
    for path in paths:
        for stanza in _stanzas(name, path, files.get(path, "")):
            _read(parser, stanza)
    parsed = parser.parsed()
    ours = all(files.get(path, "").startswith(HEADER) for path in paths)
    # The commands of our own files do what the declaration says.
    return parsed._replace(left=()) if ours else parsed


def _read(parser: Parser, stanza: _Stanza) -> None:
    options = {words.partition(" ")[0]: (line, words.partition(" ")[2]) for line, words in stanza.options}
    if stanza.method in ("dhcp", "bootp", "auto", "ppp"):
        if stanza.family == "inet":
            parser.dynamic = True
        else:
            parser.leave(Where("iface %s %s" % (stanza.family, stanza.method), stanza.path))
    if stanza.method == "static" and "address" in options:
        line, address = options["address"]
        parser.address(with_netmask(address, options.get("netmask", (0, ""))[1]), Where("address", stanza.path, line))
    for line, words in stanza.options:
        _option(parser, words, stanza, where=Where(words.partition(" ")[0], stanza.path, line))


def _option(parser: Parser, words: str, stanza: _Stanza, *, where: Where) -> None:
    key, _blank, value = words.partition(" ")
    route, mode, mtu = _ROUTE.match(words), _CONNECTED.match(words), _MTU.match(words)
    if key in ("address", "netmask") and stanza.method == "static":
        return
    if key == "mtu" or mtu:
        parser.size(mtu.group("mtu") if mtu else value, where)
    elif key == "gateway":
        parser.gateway(value, where)
    elif key == "mode" or mode:
        parser.mode = mode.group("mode") if mode else value
    elif route:
        given = route.group("rest").split()
        rest = dict(zip(given[::2], given[1::2]))
        to = route.group("to")
        default = "::/0" if stanza.family == "inet6" else "default"
        parser.route(default if to == "default" else to, via=rest.get("via", ""), metric=rest.get("metric", ""), where=where)
    elif not _UP.match(words) and not _MODULE.match(words) and key not in _SILENT and not _is_of_child(words, stanza.name):
        parser.leave(where)


def _is_of_child(words: str, name: str) -> bool:
    """Whether a command makes or removes the P_Key child of this name, as ours does without it."""
    match = _CHILD.match(words)
    return match is not None and name == "%s.%04x" % (match.group("parent"), hexadecimal(match.group("pkey"), 0) | 0x8000)
