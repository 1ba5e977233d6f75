# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Boot loader entries in files of their own, as Red Hat's GRUB and systemd-boot read them: their content and their order. Pure."""

from __future__ import annotations

import fnmatch
import functools
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._grub import release_of
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal

_DIGITS = "0123456789"
_PIECE = re.compile(r"[0-9]+|[A-Za-z]+|~|\^")
# systemd counts boots in the name: +TRIES-LEFT-DONE.
_TRIES = re.compile(r"\+\d+(-\d+)?\Z")


class Entry(t.NamedTuple):
    """One file of loader/entries."""

    id: str
    """The name of the file without `.conf` and without a counter of boots."""
    title: str = ""
    version: str = ""
    sort_key: str = ""
    machine_id: str = ""
    image: str = ""

    @property
    def release(self) -> str:
        return release_of(self.image) or self.version


def parse_entry(name: str, text: str) -> Entry:
    """`NAME.conf` and its content: a key and a value a line."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _blank, value = line.strip().partition(" ")
        if key and not key.startswith("#"):
            fields.setdefault(key, value.strip())
    identity = _TRIES.sub("", name[: -len(".conf")] if name.endswith(".conf") else name)
    return Entry(identity, *(fields.get(key, "") for key in ("title", "version", "sort-key", "machine-id", "linux")))


def _weight(piece: str) -> tuple[bool, int, str]:
    """A number is newer than letters, and larger without its leading zeros, whatever their length."""
    digits = piece.lstrip("0")
    return (True, len(digits), digits) if piece[0] in _DIGITS else (False, 0, piece)


def compare(one: str, other: str) -> int:
    """Which of two versions is newer, by the rules of rpm, which both loaders follow in what matters here: -1, 0, 1."""
    left, right = _PIECE.findall(one), _PIECE.findall(other)
    for mine, theirs in zip(left, right):
        if mine == theirs:
            continue
        if "~" in (mine, theirs):
            return -1 if mine == "~" else 1
        if _weight(mine) != _weight(theirs):
            return 1 if _weight(mine) > _weight(theirs) else -1
    rest = left[len(right) :] or right[len(left) :]
    if not rest:
        return 0
    longer = 1 if len(left) > len(right) else -1
    return -longer if rest[0] == "~" else longer


# Sorts the newest version first.
_newest: t.Callable[[str], t.Any] = functools.cmp_to_key(lambda one, other: compare(other, one))


def in_grub_order(entries: t.Iterable[Entry]) -> list[Entry]:
    """Newest first, by the names of the files; a rescue kernel, whose version is 0, comes last."""
    return sorted(entries, key=lambda entry: _newest(entry.id))


def in_systemd_order(entries: t.Iterable[Entry]) -> list[Entry]:
    """Entries with a sort key first, in its order; of one system the newest first. Without a sort key, the names of the files alone count."""

    def order(entry: Entry) -> tuple[t.Any, ...]:
        of_system = (entry.sort_key, entry.machine_id, _newest(entry.version)) if entry.sort_key else ()
        return (not entry.sort_key, *of_system, _newest(entry.id))

    return sorted(entries, key=order)


def grub_choice(entries: t.Iterable[Entry], choice: str) -> Entry | None:
    """What Red Hat's GRUB boots: an entry by its id, title or number, and the newest one for what means none."""
    ordered = in_grub_order(entries)
    number = decimal(choice)
    if number is not None and number < len(ordered):
        return ordered[number]
    return next((entry for entry in ordered if choice and choice in (entry.id, entry.title)), ordered[0] if ordered else None)


def systemd_choice(entries: t.Iterable[Entry], patterns: t.Sequence[str]) -> Entry | None:
    """What systemd-boot boots: the first pattern that fits any entry decides, and the first entry where none does."""
    ordered = in_systemd_order(entries)
    for pattern in patterns:
        for entry in ordered:
            if pattern.lower() == entry.id.lower() or (pattern and fnmatch.fnmatchcase((entry.id + ".conf").lower(), pattern.lower())):
                return entry
    return ordered[0] if ordered else None


def parse_loader_conf(text: str) -> str:
    """The `default` of loader.conf, "" where it names none."""
    rows = [line.split(None, 1) for line in text.splitlines()]
    return next((row[1].strip() for row in reversed(rows) if len(row) == 2 and row[0] == "default"), "")
