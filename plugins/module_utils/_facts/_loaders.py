# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Determine what boot loaders boot next. Pure.

GRUB has a menu, an environment, and a rule that selects an entry. Red Hat's GRUB and systemd-boot read entry files, each in an order
of its own. For GRUB, the generated menu (grub.cfg) counts: /etc/default/grub only determines the next menu.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import typing as t

from .._foreign import decimal

_HEAD = re.compile(r"""^\s*(menuentry|submenu)\s+(?:'((?:[^']|'\\'')*)'|"((?:[^"\\]|\\.)*)"|(\S+))(.*)$""")
_ID = re.compile(r"""(?:\$\{?menuentry_id_option\}?|--id)[\s=]+(?:'([^']*)'|"([^"]*)"|(\S+))""")
_IMAGE = re.compile(r"""^\s*(?:linux(?:16|efi)?|module2?)\s+(?:\([^)\s]*\))?["']?([^\s"']+)""")
_DEFAULT = re.compile(r"""^\s*set\s+default=(?:"([^"]*)"|'([^']*)'|(\S*))\s*$""")
_VARIABLE = re.compile(r"^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?\Z")
_NAMES = re.compile(r"^(?:vmlinu[xz]|linux|[bz]?[iI]mage|kernel)-(.+?)(?:\.efi)?(?:\.signed)?\Z")
_BARE = ("linux", "vmlinuz", "vmlinux")
_DIGITS = "0123456789"
_PIECE = re.compile(r"[0-9]+|[A-Za-z]+|~|\^")
# systemd appends a boot counter to the name: +TRIES-LEFT-DONE.
_TRIES = re.compile(r"\+\d+(-\d+)?\Z")


class MenuEntry(t.NamedTuple):
    """One entry of a menu."""

    title: str
    id: str = ""
    image: str = ""
    """The path of the kernel; "" where it is not Linux."""
    menu: list[t.Any] | None = None
    """The entries of a submenu."""


def release_of(image: str) -> str:
    """The kernel release in an image path: `/boot/vmlinuz-6.1.0-50-amd64`, `/MACHINE-ID/6.1.0/linux`; "" for none."""
    folder, _slash, name = image.rstrip("/").rpartition("/")
    match = _NAMES.match(name)
    if match:
        return match.group(1)
    return folder.rpartition("/")[2] if name in _BARE and re.match(r"^\d", folder.rpartition("/")[2]) else ""


def parse_menu(text: str) -> tuple[MenuEntry, ...]:
    """Parse grub.cfg: the menu, in its order. Conditions are not evaluated: entries within `if` count."""
    top: list[MenuEntry] = []
    # The entries whose closing brace has not been read yet, with the number of braces before each.
    stack: list[tuple[int, MenuEntry]] = []
    depth = 0
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            continue
        head = _HEAD.match(line)
        if head and stripped.endswith("{"):
            title = next((part for part in head.groups()[1:4] if part is not None), "").replace("'\\''", "'")
            found = _ID.search(head.group(5))
            identity = next((part for part in found.groups() if part is not None), "") if found else ""
            stack.append((depth, MenuEntry(title, identity, menu=[] if head.group(1) == "submenu" else None)))
            depth += 1
        elif stripped.endswith("{"):
            depth += 1
        elif stripped == "}":
            depth = max(0, depth - 1)
            if stack and depth == stack[-1][0]:
                _depth, done = stack.pop()
                menu = stack[-1][1].menu if stack else top
                if menu is not None:
                    menu.append(done)
        elif stack and stack[-1][1].menu is None:
            start, entry = stack[-1]
            image = _IMAGE.match(line)
            # Under a hypervisor, the first module is the kernel, and the second the initramfs.
            if image and release_of(image.group(1)) and not entry.image:
                stack[-1] = (start, entry._replace(image=image.group(1)))
    return tuple(top)


def parse_environment(text: str) -> dict[str, str]:
    """Parse grubenv: `name=value` lines, then number signs up to 1024 bytes."""
    rows = [line.partition("=") for line in text.splitlines() if not line.startswith("#")]
    return {name: value for name, equals, value in rows if equals}


def parse_default(text: str) -> str | None:
    """The value of `default` in grub.cfg if no one-time choice is made; None where it is not set."""
    found = None
    for line in text.splitlines():
        match = _DEFAULT.match(line)
        if match:
            value = next((part for part in match.groups() if part is not None), "")
            variable = _VARIABLE.match(value)
            if not (variable and variable.group(1) == "next_entry"):
                found = value
    return found


def chosen(default: str | None, environment: t.Mapping[str, str]) -> str:
    """The name, number or path of the entry that boots next; "" is the first one. A one-time choice has precedence."""
    if environment.get("next_entry"):
        return environment["next_entry"]
    variable = _VARIABLE.match(default or "")
    return environment.get(variable.group(1), "") if variable else default or ""


def select(menu: t.Sequence[MenuEntry], path: str) -> MenuEntry | None:
    """The entry that a choice selects. As in GRUB, an invalid choice selects the first one; None for a menu that waits for the user's choice."""
    words = path.split(">") if path else ["0"]
    entries: t.Sequence[MenuEntry] = menu
    entry: MenuEntry | None = None
    for word in words:
        if not entries:
            return None
        if re.match(r"^[0-9]+\Z", word.strip()):
            number = decimal(word.strip(), len(entries))
            entry = entries[number] if number < len(entries) else entries[0]
        else:
            entry = next((item for item in entries if word in (item.title, item.id)), entries[0])
        if entry.menu is None:
            return entry
        entries = entry.menu
    return None


class Entry(t.NamedTuple):
    """One file of loader/entries."""

    id: str
    """The name of the file without `.conf` and without a boot counter."""
    title: str = ""
    version: str = ""
    sort_key: str = ""
    machine_id: str = ""
    image: str = ""

    @property
    def release(self) -> str:
        return release_of(self.image) or self.version


def parse_entry(name: str, text: str) -> Entry:
    """Parse the content of `NAME.conf`: one key and value per line."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _blank, value = line.strip().partition(" ")
        if key and not key.startswith("#"):
            fields.setdefault(key, value.strip())
    identity = _TRIES.sub("", name[: -len(".conf")] if name.endswith(".conf") else name)
    return Entry(identity, *(fields.get(key, "") for key in ("title", "version", "sort-key", "machine-id", "linux")))


def _weight(piece: str) -> tuple[bool, int, str]:
    """Sort key of a version part: numbers are newer than letters, and are compared without leading zeros, whatever their length."""
    digits = piece.lstrip("0")
    return (True, len(digits), digits) if piece[0] in _DIGITS else (False, 0, piece)


def compare(one: str, other: str) -> int:
    """Compare two versions by the rules of rpm, which both loaders follow in the relevant cases: -1, 0, 1."""
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


# Sort key: newest version first.
_newest: t.Callable[[str], t.Any] = functools.cmp_to_key(lambda one, other: -compare(one, other))


def in_grub_order(entries: t.Iterable[Entry]) -> list[Entry]:
    """Newest first, by file name; a rescue kernel, whose version is 0, comes last."""
    return sorted(entries, key=lambda entry: _newest(entry.id))


def in_systemd_order(entries: t.Iterable[Entry]) -> list[Entry]:
    """Entries with a sort key first, in its order, newest first for each system. Entries without a sort key are sorted by file name."""

    def order(entry: Entry) -> tuple[t.Any, ...]:
        of_system = (entry.sort_key, entry.machine_id, _newest(entry.version)) if entry.sort_key else ()
        return (not entry.sort_key, *of_system, _newest(entry.id))

    return sorted(entries, key=order)


def grub_choice(entries: t.Iterable[Entry], choice: str) -> Entry | None:
    """The entry that Red Hat's GRUB boots: selected by ID, title or number; an invalid choice selects the newest."""
    ordered = in_grub_order(entries)
    number = decimal(choice)
    if number is not None and number < len(ordered):
        return ordered[number]
    return next((entry for entry in ordered if choice and choice in (entry.id, entry.title)), ordered[0] if ordered else None)


def systemd_choice(entries: t.Iterable[Entry], patterns: t.Sequence[str]) -> Entry | None:
    """The entry that systemd-boot boots: the first pattern that matches an entry decides; if none does, the first entry."""
    ordered = in_systemd_order(entries)
    for pattern in patterns:
        for entry in ordered:
            if pattern.lower() == entry.id.lower() or (pattern and fnmatch.fnmatchcase((entry.id + ".conf").lower(), pattern.lower())):
                return entry
    return ordered[0] if ordered else None


def parse_loader_conf(text: str) -> str:
    """The `default` of loader.conf; "" where it is not set."""
    rows = [line.split(None, 1) for line in text.splitlines()]
    return next((row[1].strip() for row in reversed(rows) if len(row) == 2 and row[0] == "default"), "")
