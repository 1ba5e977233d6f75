# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What GRUB boots next: its menu, its environment, and the rule by which it chooses. Pure.

What decides is the generated menu (grub.cfg): /etc/default/grub is only what the next menu will be made of.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal

_HEAD = re.compile(r"""^\s*(menuentry|submenu)\s+(?:'((?:[^']|'\\'')*)'|"((?:[^"\\]|\\.)*)"|(\S+))(.*)$""")
_ID = re.compile(r"""(?:\$\{?menuentry_id_option\}?|--id)[\s=]+(?:'([^']*)'|"([^"]*)"|(\S+))""")
_IMAGE = re.compile(r"""^\s*(?:linux(?:16|efi)?|module2?)\s+(?:\([^)\s]*\))?["']?([^\s"']+)""")
_DEFAULT = re.compile(r"""^\s*set\s+default=(?:"([^"]*)"|'([^']*)'|(\S*))\s*$""")
_VARIABLE = re.compile(r"^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?\Z")
_NAMES = re.compile(r"^(?:vmlinu[xz]|linux|[bz]?[iI]mage|kernel)-(.+?)(?:\.efi)?(?:\.signed)?\Z")
_BARE = ("linux", "vmlinuz", "vmlinux")


class Entry(t.NamedTuple):
    """One line of a menu."""

    title: str
    id: str = ""
    image: str = ""
    """The path of the kernel, "" where it is not Linux."""
    menu: list[t.Any] | None = None
    """The entries below, for a submenu."""


def release_of(image: str) -> str:
    """The kernel's release in the path of its image: `/boot/vmlinuz-6.1.0-50-amd64`, `/MACHINE-ID/6.1.0/linux`; "" for none."""
    folder, _slash, name = image.rstrip("/").rpartition("/")
    match = _NAMES.match(name)
    if match:
        return match.group(1)
    return folder.rpartition("/")[2] if name in _BARE and re.match(r"^\d", folder.rpartition("/")[2]) else ""


def parse_menu(text: str) -> tuple[Entry, ...]:
    """grub.cfg -> the menu, in its order. Conditions are not evaluated: entries within `if` count."""
    top: list[Entry] = []
    # The entries of which the closing brace has not come yet, with the number of braces before each.
    stack: list[tuple[int, Entry]] = []
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
            stack.append((depth, Entry(title, identity, menu=[] if head.group(1) == "submenu" else None)))
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
            # Under a hypervisor, the kernel is the first of the modules, and the initramfs the second.
            if image and release_of(image.group(1)) and not entry.image:
                stack[-1] = (start, entry._replace(image=image.group(1)))
    return tuple(top)


def parse_environment(text: str) -> dict[str, str]:
    """grubenv: `name=value` lines, then number signs up to 1024 bytes."""
    rows = [line.partition("=") for line in text.splitlines() if not line.startswith("#")]
    return {name: value for name, equals, value in rows if equals}


def parse_default(text: str) -> str | None:
    """What grub.cfg sets `default` to where nothing was chosen for one boot only; None where it sets nothing."""
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
    """The name, number or path of the entry that is booted next; "" is the first one. A choice for one boot goes first."""
    if environment.get("next_entry"):
        return environment["next_entry"]
    variable = _VARIABLE.match(default or "")
    return environment.get(variable.group(1), "") if variable else default or ""


def select(menu: t.Sequence[Entry], path: str) -> Entry | None:
    """The entry that a choice means. As in GRUB, what means none is the first one; None for a menu in which a person has to choose."""
    words = path.split(">") if path else ["0"]
    entries: t.Sequence[Entry] = menu
    entry: Entry | None = None
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
