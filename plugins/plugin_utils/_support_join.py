# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Join many archives into one. Nodes are not trusted: only regular files of their archives are copied, into the folder of the host."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import tempfile
import time
import typing as t

from ..module_utils._foreign import read_table

MANIFEST = "manifest.json"
# A larger manifest is not ours.
_MOST = 8 << 20
_HEAD = """Support bundle of %s

A folder for each host has its files, and manifest.json, which lists each with its command, exit status and size, and what is missing, with the reason.
Keys, passwords and tokens were replaced by <removed>. Host names, addresses, GUIDs and serial numbers were not.

"""


def _name(member: str) -> str:
    """A path that stays below its folder; "" for any other path."""
    parts = member.split("/")
    return "" if member.startswith("/") or ".." in parts else "/".join(part for part in parts if part not in ("", "."))


def _add(whole: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = len(data), round(time.time()), 0o600
    whole.addfile(entry, io.BytesIO(data))


def _copy(whole: tarfile.TarFile, folder: str, part: str) -> dict[str, t.Any]:
    """Copy one archive. Returns its manifest."""
    manifest: dict[str, t.Any] = {}
    with tarfile.open(part, "r:gz") as source:
        for member in source:
            name = _name(member.name)
            stream = source.extractfile(member) if name and member.isfile() else None
            if stream is None:
                continue
            if name == MANIFEST and member.size <= _MOST:
                text = stream.read()
                manifest = read_table(text.decode("utf-8", "replace"))
                _add(whole, "%s/%s" % (folder, name), text)
                continue
            entry = tarfile.TarInfo("%s/%s" % (folder, name))
            entry.size, entry.mtime, entry.mode = member.size, member.mtime, 0o600
            whole.addfile(entry, stream)
    return manifest


def _line(host: str, manifest: t.Mapping[str, t.Any]) -> str:
    items = manifest.get("items")
    rows = [row for row in items if isinstance(row, dict)] if isinstance(items, list) else []
    bad = ["%s (%s)" % (row.get("name"), row.get("why")) for row in rows if row.get("state") in ("failed", "left_out")]
    text = "%s: kernel %s, %d files" % (host, manifest.get("kernel"), sum(row.get("state") == "collected" for row in rows))
    return text + (", incomplete: %s" % "; ".join(bad) if bad else "")


def join(path: str, name: str, *, parts: t.Mapping[str, str], missing: t.Sequence[str]) -> None:
    """Write the archive of all parts, by host, atomically and readable only for its owner. Raises OSError. A damaged part counts as missing."""
    handle, temporary = tempfile.mkstemp(prefix=".rdma-support-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "wb") as stream, tarfile.open(fileobj=stream, mode="w:gz", compresslevel=6) as whole:
            lines = []
            for host, part in parts.items():
                try:
                    lines.append(_line(host, _copy(whole, "%s/%s" % (name, host), part)))
                except (tarfile.TarError, EOFError) as exc:
                    lines.append("%s: its archive is damaged (%s)" % (host, exc))
            lines += ["%s: no archive, because the host was unreachable or failed" % host for host in missing]
            text = _HEAD % time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()) + "".join(line + "\n" for line in lines)
            _add(whole, name + "/README.txt", text.encode())
            _add(whole, name + "/summary.json", (json.dumps({"hosts": list(parts), "missing": list(missing)}, indent=1) + "\n").encode())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
