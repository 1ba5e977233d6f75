# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of sysctl.d: how they are read, and which of several assignments takes effect. Pure.

See sysctl.d(5) and systemd-sysctl(8). Files are read in the order of their names, whatever their directories are. The last assignment of a key counts, and an
assignment of one key takes precedence over a pattern.
"""

from __future__ import annotations

import fnmatch
import re
import typing as t

from .._host._files import HEADER
from ._names import is_key

PATH = "/etc/sysctl.d/90-rdma-ofed.conf"
# Of files with the same name, only the one in the first directory is read.
DIRECTORIES = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
# systemd reads it only through a link in a directory; `sysctl --system` reads it last.
LAST = "/etc/sysctl.conf"

_FORMER = re.compile(r"^# Before: ([0-9]{1,10})\Z")
_SWAP = str.maketrans("./", "/.")


class Line(t.NamedTuple):
    """One assignment in a file of others."""

    path: str
    line: int
    key: str
    """As a path below /proc/sys; with wildcards for a pattern."""
    value: str
    """"" where the line exempts the key from patterns."""
    later: bool = False
    """Whether it is read after the file of the collection."""

    @property
    def is_pattern(self) -> bool:
        return any(letter in self.key for letter in "*?[")


class Own(t.NamedTuple):
    """What the file of the collection says about a key."""

    value: str
    former: str = ""
    """The kernel's value before that, where it is recorded."""


def key_of(name: str) -> str:
    """The path below /proc/sys of a key. Its first separator tells which of `.` and `/` separates, and the other one is a part of a name."""
    first = next((letter for letter in name if letter in "./"), "")
    return name if first == "/" else name.translate(_SWAP)


def name_of(key: str) -> str:
    """The usual notation of a key; the inverse of `key_of`. Keys with a dot in the name of an interface keep the notation of paths."""
    return key if "." in key else key.replace("/", ".")


def parse(path: str, text: str, later: bool = False) -> list[Line]:
    """The assignments in the text of a file. Lines that systemd-sysctl skips are left out."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        name, equals, value = stripped.partition("=")
        exempt = stripped.startswith("-")
        if not stripped or stripped[0] in "#;" or not (equals or exempt):
            continue
        # With a value, the sign means that errors are ignored.
        key = key_of(name[1:].strip() if exempt else name.strip())
        found.append(Line(path, number, key, value.strip() if equals else "", later))
    return found


def parse_own(text: str) -> dict[str, Own]:
    """The inverse of `render`; empty for the text of another file."""
    rows, found = text.split("\n"), {}
    for line in parse(PATH, text) if text.startswith(HEADER) else ():
        former = _FORMER.match(rows[line.line - 2])
        if is_key(line.key):
            found[line.key] = Own(line.value, former.group(1) if former else "")
    return found


def render(own: t.Mapping[str, Own]) -> str:
    """The text of the file of the collection; "" for none."""
    lines = []
    for key, entry in sorted(own.items()):
        lines += ["# Before: %s" % entry.former] if entry.former else []
        lines.append("%s = %s" % (name_of(key), entry.value))
    return HEADER + "".join(line + "\n" for line in lines) if lines else ""


def matches(key: str, pattern: str) -> bool:
    """Whether a pattern stands for the key, as in glob(7): a wildcard matches no `/`. A pattern that Python can't read matches nothing."""
    parts, patterns = key.split("/"), pattern.split("/")
    try:
        return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))
    except re.error:
        # Before Python 3.10, for a range such as `[z-a]`.
        return False


def assigned(lines: t.Iterable[Line], key: str) -> Line | None:
    """The assignment of a key that takes effect, patterns aside; None for none."""
    found = [line for line in lines if line.key == key]
    return found[-1] if found and found[-1].value else None


def at_boot(lines: t.Sequence[Line], key: str) -> Line | None:
    """The assignment by which a key is set at boot, or when its interface appears; None for none."""
    if any(line.key == key for line in lines):
        return assigned(lines, key)
    found = [line for line in lines if line.is_pattern and line.value and matches(key, line.key)]
    return found[-1] if found else None
