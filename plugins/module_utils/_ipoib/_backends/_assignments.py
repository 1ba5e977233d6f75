# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of assignments: files with sections, as systemd and GLib read them, and folders of shell assignments. Pure."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ..._host._files import HEADER
from ..._host._sourced import assignments, quoted
from .._found import Record, records_of

if t.TYPE_CHECKING:
    from .._backend import Files

# The options of a bond that a declaration expresses, or that the kernel allows alone.
BOND_OPTION = re.compile(r"(mode=(active-backup|1)|miimon=[0-9]+|fail_over_mac=(active|1)|primary=\S+)\Z")


class Assignment(t.NamedTuple):
    """One assignment of a file with sections."""

    section: str
    key: str
    value: str
    line: int

    @property
    def words(self) -> str:
        return "%s=%s" % (self.key, self.value)


def blocks(text: str) -> list[tuple[str, list[Assignment]]]:
    """The sections of a file in order, each with its assignments. A repeated section is another one."""
    found: list[tuple[str, list[Assignment]]] = [("", [])]
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            found.append((line[1:-1], []))
        elif "=" in line:
            key, value = line.split("=", 1)
            section, own = found[-1]
            own.append(Assignment(section, key.strip(), value.strip(), number))
    return found


def assigned(text: str) -> list[Assignment]:
    """The assignments of a file with sections, in order."""
    return [each for _section, own in blocks(text) for each in own]


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """`[Section]` -> its assignments in order. Repeated sections are merged, as in systemd and GLib."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in assigned(text):
        found.setdefault(each.section, []).append((each.key, each.value))
    return found


def effective(files: Files, directories: t.Sequence[str], suffix: str) -> list[str]:
    """The files with a suffix that take effect, sorted by name: a file, even an empty one, hides files of the same name in later directories."""
    found: dict[str, str] = {}
    for directory in directories:
        for path in files:
            if posixpath.dirname(path) == directory and path.endswith(suffix):
                found.setdefault(posixpath.basename(path), path)
    return [found[name] for name in sorted(found) if files[found[name]].strip()]


def recorded(texts: t.Mapping[str, str], addresses: str, mtu: str) -> dict[str, Record]:
    """The records of files with sections, by interface. `addresses` and `mtu` are patterns that match `SECTION.KEY`."""
    rows = []
    for name, text in texts.items():
        pairs = [("%s.%s" % (section, key), value) for section, found in sections(text).items() for key, value in found]
        mtus = [value for key, value in pairs if re.match(mtu, key)]
        rows.append((name, [value for key, value in pairs if re.match(addresses, key)], mtus[-1] if mtus else ""))
    return records_of(rows)


class Folder:
    """A folder of files `KIND-NAME`. Files of the first kind describe an interface with shell assignments."""

    def __init__(self, directory: str, kinds: t.Sequence[str]) -> None:
        self._directory = directory
        self._main = kinds[0]
        self._path = re.compile(r"^%s/(?P<kind>%s)-(?P<name>[^/]+)$" % (re.escape(directory), "|".join(kinds)))
        self.patterns = tuple("%s/%s-*" % (directory, kind) for kind in kinds)

    def path_of(self, name: str, kind: str = "") -> str:
        return "%s/%s-%s" % (self._directory, kind or self._main, name)

    def described(self, name: str, variables: t.Iterable[tuple[str, str]]) -> dict[str, str]:
        """The file that describes an interface, by its path: one assignment per line, in the given order."""
        return {self.path_of(name): HEADER + "".join("%s=%s\n" % (key, quoted(value)) for key, value in variables)}

    def is_ours(self, path: str, text: str) -> bool:
        """Whether a file belongs to this collection, judged by its name and its first line."""
        return self._path.match(path) is not None and text.startswith(HEADER)

    def records(self, files: Files, addresses: t.Callable[[t.Mapping[str, str]], t.Iterable[str]]) -> dict[str, Record]:
        """The records of our files, by interface. `addresses` extracts the addresses from the variables."""
        matches = ((self._path.match(path), text) for path, text in files.items() if text.startswith(HEADER))
        ours = ((match.group("name"), assignments(text)) for match, text in matches if match is not None and match.group("kind") == self._main)
        return records_of((name, addresses(variables), variables.get("MTU", "")) for name, variables in ours)

    def foreign(self, files: Files) -> t.Iterator[tuple[str, str, str]]:
        """The foreign files: path, kind and name of each, in order."""
        for path, text in sorted(files.items()):
            match = self._path.match(path)
            if match is not None and not text.startswith(HEADER):
                yield path, match.group("kind"), match.group("name")

    def own_files(self, files: Files) -> tuple[str, ...]:
        """The administrator's interface files, except that of the loopback device: the sign that the folder is in use here."""
        return tuple(path for path, kind, name in self.foreign(files) if kind == self._main and name != "lo")
