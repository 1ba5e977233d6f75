# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Collect items into an archive. Missing items and failures are recorded, and do not stop the collection."""

from __future__ import annotations

import glob
import io
import json
import os
import tarfile
import tempfile
import time
import typing as t

from .._errors import RdmaError
from .._facts._asked import asked_port
from .._facts._sysfs import attribute, entries
from . import _items
from ._items import Command, Files, Item, Values
from ._redact import known_secrets, redact

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

_MEBIBYTE = 1 << 20
MOST = 4 * _MEBIBYTE
"""The maximum size of one text. Of a longer text the end is kept, which is the relevant part of a log."""
ALL = 256 * _MEBIBYTE
"""The maximum size of all texts of a node, before compression."""
_VENDOR = "0x15b3"

COLLECTED, MISSING, FAILED, LEFT_OUT = "collected", "missing", "failed", "left_out"


class Row(t.NamedTuple):
    """One line of the manifest."""

    name: str
    """The file in the archive."""
    source: str
    """The command or path."""
    state: str
    """COLLECTED, MISSING for a missing tool or file, FAILED for a tool that could not be run, LEFT_OUT where the archive is full."""
    status: int | None = None
    """Exit status of a command."""
    seconds: float = 0
    size: int = 0
    """Size in the archive, in bytes."""
    shortened: bool = False
    """Whether only the end is in the archive."""
    removed: int = 0
    """Number of lines with secrets."""
    why: str = ""


class Collector:
    """Writes texts into an archive, and a manifest at the end."""

    def __init__(self, run: Runner, archive: tarfile.TarFile, *, root: str, secrets: t.Sequence[str]) -> None:
        self._run, self._archive, self._root = run, archive, root
        self._known = known_secrets(secrets)
        self._left = ALL
        self._begun = round(time.time())
        self.rows: list[Row] = []

    def _write(self, name: str, data: bytes) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mtime, entry.mode = len(data), self._begun, 0o600
        self._archive.addfile(entry, io.BytesIO(data))

    def _add(self, row: Row, text: str) -> None:
        found = redact(text[-MOST:], self._known)
        data = found.text.encode("utf-8", "replace")
        if len(data) > self._left:
            self.rows.append(row._replace(state=LEFT_OUT, why="the texts of this node exceed %d MiB" % (ALL // _MEBIBYTE)))
            return
        self._left -= len(data)
        self._write(row.name, data)
        self.rows.append(row._replace(size=len(data), shortened=row.shortened or len(text) > MOST, removed=found.removed))

    def collect(self, item: Item) -> None:
        if isinstance(item, Command):
            self._command(item)
        elif isinstance(item, Files):
            self._files(item.name, self._paths(item.patterns))
        else:
            self._values(item)

    def _values(self, item: Values) -> None:
        lines = ["%s: %s\n" % (path, self._text(path)[0].strip()) for path in self._paths(item.patterns)]
        row = Row(item.name + ".txt", ", ".join(item.patterns), COLLECTED)
        if lines:
            self._add(row, "".join(lines))
        else:
            self.rows.append(row._replace(state=MISSING, why="there is no such file"))

    def _command(self, item: Command) -> None:
        source, started = " ".join(item.argv), time.monotonic()
        row = Row(item.name + ".txt", source, COLLECTED)
        if not self._run.has(item.argv[0]):
            self.rows.append(row._replace(state=MISSING, why="%s is not installed" % item.argv[0]))
            return
        try:
            done = self._run(item.argv, ok=None, timeout=item.timeout)
        except (RdmaError, OSError) as exc:
            why = exc.msg if isinstance(exc, RdmaError) else str(exc)
            self.rows.append(row._replace(state=FAILED, seconds=round(time.monotonic() - started, 1), why=redact(why, self._known).text))
            return
        complaints = "\n--- standard error\n%s" % done.stderr if done.stderr.strip() else ""
        self._add(row._replace(status=done.rc, seconds=round(time.monotonic() - started, 1)), done.stdout + complaints)

    def _paths(self, patterns: t.Iterable[str]) -> list[str]:
        """The regular files that match the patterns below the root, by their paths relative to it."""
        base = self._root.rstrip("/")
        found = {path for pattern in patterns for path in glob.glob(base + pattern)}
        return sorted(path[len(base) :] for path in found if os.path.isfile(path))

    def _text(self, path: str) -> tuple[str, bool]:
        """The end of a file, and whether the file is longer. Raises no error."""
        try:
            with open(self._root.rstrip("/") + path, "rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size > MOST:
                    stream.seek(size - MOST)
                return stream.read(MOST).decode("utf-8", "replace"), size > MOST
        except OSError as exc:
            return "(%s)" % (exc.strerror or exc), False

    def _files(self, folder: str, paths: t.Sequence[str]) -> None:
        for path in paths:
            text, shortened = self._text(path)
            self._add(Row("%s/files%s" % (folder, path), path, COLLECTED, shortened=shortened), text)

    def ibdiagnet(self) -> None:
        """Collect the files of ibdiagnet, where it is installed."""
        if not self._run.has(_items.IBDIAGNET):
            self.rows.append(Row("fabric/ibdiagnet", _items.IBDIAGNET, MISSING, why="ibdiagnet is not installed"))
            return
        with tempfile.TemporaryDirectory() as folder:
            self._command(Command("fabric/ibdiagnet", (_items.IBDIAGNET, "-o", folder), _items.IBDIAGNET_SECONDS))
            root, self._root = self._root, folder
            try:
                self._files("fabric/ibdiagnet", self._paths(["/*"]))
            finally:
                self._root = root

    def end(self, facts: t.Mapping[str, t.Any]) -> None:
        manifest = {**facts, "items": [row._asdict() for row in self.rows]}
        self._write("manifest.json", (json.dumps(manifest, indent=1) + "\n").encode())


def _of_fabric(root: str) -> tuple[Item, ...]:
    port = asked_port("", root)
    return _items.of_fabric(port.device, port.port) if port else _items.of_fabric("", 0)


def items_for(*, fabric: bool, logs: bool, root: str) -> list[Item]:
    """The items, in the order of the archive. Of each adapter of the vendor, only the first function is included."""
    devices = os.path.join(root, "sys/bus/pci/devices")
    adapters = [pci for pci in entries(devices) if pci.endswith(".0") and attribute(devices, pci, "vendor") == _VENDOR]
    own = [item for pci in adapters for item in _items.of_adapter(pci)]
    return [*_items.NODE, *own, *(_items.LOGS if logs or fabric else ()), *(_of_fabric(root) if fabric else ())]


def collect(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """The result of the module. The archive is in a folder that only its owner can read."""
    options = module.params
    items = items_for(fabric=options["fabric"], logs=options["logs"], root=root)
    if module.check_mode:
        return {"path": "", "folder": "", "collected": 0, "incomplete": [], "size": 0}
    folder = tempfile.mkdtemp(prefix="rdma-support-")
    path = os.path.join(folder, "support.tar.gz")
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        collector = Collector(run, archive, root=root, secrets=options["secrets"])
        for item in items:
            collector.collect(item)
        if options["fabric"]:
            collector.ibdiagnet()
        collector.end({"host": os.uname().nodename, "kernel": os.uname().release, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    os.chmod(path, 0o600)
    rows = collector.rows
    return {
        "path": path,
        "folder": folder,
        "collected": sum(row.state == COLLECTED for row in rows),
        "incomplete": [{"name": row.name, "state": row.state, "why": row.why} for row in rows if row.state in (FAILED, LEFT_OUT)],
        "size": os.path.getsize(path),
    }
