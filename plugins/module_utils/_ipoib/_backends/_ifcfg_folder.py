# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""A folder of files `KIND-NAME`, of which `ifcfg-NAME` describes an interface by assignments of a shell. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Record, records_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._shellvars import assignments, lines_of

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Files


class Folder:
    """What the back-ends that have such a folder do alike."""

    def __init__(self, directory: str, kinds: t.Sequence[str]) -> None:
        self._directory = directory
        self._path = re.compile(r"^%s/(?P<kind>%s)-(?P<name>[^/]+)$" % (re.escape(directory), "|".join(kinds)))
        self.patterns = tuple("%s/%s-*" % (directory, kind) for kind in kinds)

    def path_of(self, name: str, kind: str = "ifcfg") -> str:
        return "%s/%s-%s" % (self._directory, kind, name)

    def described(self, name: str, variables: t.Iterable[tuple[str, str]]) -> dict[str, str]:
        """The file that describes an interface, by its path."""
        return {self.path_of(name): HEADER + "\n".join(lines_of(variables)) + "\n"}

    def is_ours(self, path: str, text: str) -> bool:
        """A file that belongs to this collection: by its name and its first line."""
        return self._path.match(path) is not None and text.startswith(HEADER)

    def records(self, files: Files, addresses: t.Callable[[t.Mapping[str, str]], t.Iterable[str]]) -> dict[str, Record]:
        """What our ifcfg files say. `addresses` finds these among the variables."""
        matches = ((self._path.match(path), text) for path, text in files.items() if text.startswith(HEADER))
        ours = ((match.group("name"), assignments(text)) for match, text in matches if match is not None and match.group("kind") == "ifcfg")
        return records_of((name, addresses(variables), variables.get("MTU", "")) for name, variables in ours)

    def foreign(self, files: Files) -> t.Iterator[tuple[str, str, str]]:
        """The files of others: path, kind and name of each, in order."""
        for path, text in sorted(files.items()):
            match = self._path.match(path)
            if match is not None and not text.startswith(HEADER):
                yield path, match.group("kind"), match.group("name")

    def own_files(self, files: Files) -> tuple[str, ...]:
        """The administrator's ifcfg files, but for the loopback's: the sign that the folder is in use here."""
        return tuple(path for path, kind, name in self.foreign(files) if kind == "ifcfg" and name != "lo")
