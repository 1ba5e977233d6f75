# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What `mlxconfig show_confs` knows of parameters: their kind and the names of their values. Pure.

It lists what the program's database has, for all cards together; whether a card has a parameter only a query tells.
"""

from __future__ import annotations

import re
import typing as t

_PARAMETER = re.compile(r"^\s{16,24}(?P<name>[A-Za-z_][A-Za-z0-9_]*)=<(?P<kind>[^<>]*)>")
_NUMBERED = re.compile(r"\b0x(?P<number>[0-9a-fA-F]{1,8})\s?: (?P<name>[A-Za-z0-9_]+)")

_INSTANCE = re.compile(r"^(?P<stem>.+)_(?P<kind>[PM])\d{1,3}$")


class Conf(t.NamedTuple):
    """One parameter of the database."""

    name: str
    kind: str
    """`NUM`, `BINARY`, `BYTES` and so on; "" for an enumeration or boolean."""
    values: tuple[str, ...] = ()
    """The names of an enumeration; with its number where the description has it, `ETH(2)`."""

    def allowed(self) -> str:
        """What may be declared, in words."""
        if self.values:
            return ", ".join(self.values)
        return {"NUM": "a number", "BINARY": "a number (bit mask)", "BYTES": "a string of hex digits"}.get(self.kind, self.kind)


def parse_confs(text: str) -> dict[str, Conf]:
    """The parameters by name. Lines of no known shape are prose."""
    found: dict[str, Conf] = {}
    numbers: dict[str, str] = {}
    name, kind = "", ""

    def finish() -> None:
        if not name:
            return
        names = kind.split("|")
        if len(names) < 2:
            found[name] = Conf(name, kind)
            return
        known = {"False": "0", "True": "1"} if set(names) == {"False", "True"} else numbers
        found[name] = Conf(name, "", tuple("%s(%s)" % (value, known[value]) if value in known else value for value in names))

    for line in text.splitlines():
        match = _PARAMETER.match(line)
        if match:
            finish()
            name, kind, numbers = match.group("name"), match.group("kind"), {}
            line = line[match.end() :]
        for entry in _NUMBERED.finditer(line):
            numbers.setdefault(entry.group("name"), str(int(entry.group("number"), 16)))
    finish()
    return {name: _like_first(conf, found) for name, conf in found.items()}


def _like_first(conf: Conf, found: t.Mapping[str, Conf]) -> Conf:
    """What stands for port 2 or module 1 is described at the first one only."""
    match = _INSTANCE.match(conf.name)
    first = found.get("%s%s" % (match.group("stem"), "_P1" if match.group("kind") == "P" else "_M0")) if match else None
    if first is None or sorted(value.partition("(")[0] for value in first.values) != sorted(conf.values):
        return conf
    return conf._replace(values=first.values)
