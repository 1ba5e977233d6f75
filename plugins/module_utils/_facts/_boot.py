# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel that boots next, and whether the firmware verifies what it boots."""

from __future__ import annotations

import os
import typing as t

from . import _loaders as loader
from ._sysfs import attribute, content, entries, link_target

_EFIVARS = "sys/firmware/efi/efivars"
# The vendor GUID of systemd's EFI variables.
_LOADER = "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
_MENUS = ("boot/grub2/grub.cfg", "boot/grub/grub.cfg")
_ENTRIES = ("boot/loader", "efi/loader", "boot/efi/loader")
_LINKS = ("boot/vmlinuz", "vmlinuz")


class NextBoot(t.NamedTuple):
    release: str = ""
    """Empty if unknown."""
    evidence: str = ""


def _efi_variable(root: str, name: str) -> bytes:
    """The content without the four leading attribute bytes; empty if it can't be read."""
    return content(root, _EFIVARS, name)[4:]


def read_secure_boot(root: str = "/") -> bool:
    """Whether UEFI Secure Boot is on. Then the kernel loads only signed modules, and denies programs access to PCI configuration space."""
    names = [name for name in entries(root, _EFIVARS) if name.startswith("SecureBoot-")]
    return any(_efi_variable(root, name)[:1] == b"\x01" for name in names)


def _loader_variable(root: str, name: str) -> str:
    return _efi_variable(root, name + _LOADER).decode("utf-16-le", "replace").rstrip("\0")


def _entries(root: str, folder: str) -> list[loader.Entry]:
    base = folder + "/entries"
    return [loader.parse_entry(name, attribute(root, base, name)) for name in entries(root, base) if name.endswith(".conf")]


def _grub(root: str) -> NextBoot:
    menus = [*_MENUS, *("boot/efi/EFI/%s/grub.cfg" % name for name in entries(root, "boot/efi/EFI"))]
    for path in menus:
        text = attribute(root, path)
        blscfg = any(line.strip() == "blscfg" for line in text.splitlines())
        menu = loader.parse_menu(text)
        if not blscfg and not menu:
            # The stub on an EFI partition, which only refers to the menu.
            continue
        places = [os.path.dirname(path), "boot/grub2", "boot/grub"]
        environment = next((found for found in (attribute(root, place, "grubenv") for place in places) if found), "")
        choice = loader.chosen(loader.parse_default(text), loader.parse_environment(environment))
        words = "GRUB's entry %s" % (choice or "0")
        if blscfg:
            found = [entry for entry in _entries(root, "boot/loader") if entry.release]
            picked = loader.grub_choice(found, choice)
            if picked is not None:
                return NextBoot(picked.release, "%s: %s" % (words, picked.id))
        entry = loader.select(menu, choice)
        return NextBoot(loader.release_of(entry.image), "%s in /%s: %s" % (words, path, entry.title)) if entry else NextBoot("", words)
    return NextBoot()


def _systemd_boot(root: str) -> NextBoot:
    for folder in _ENTRIES:
        found = [entry for entry in _entries(root, folder) if entry.release]
        if not found:
            continue
        patterns = [_loader_variable(root, "LoaderEntryOneShot"), _loader_variable(root, "LoaderEntryDefault")]
        declared = pattern = loader.parse_loader_conf(attribute(root, folder, "loader.conf"))
        if declared.startswith("@"):
            pattern = _loader_variable(root, "LoaderEntryLastBooted") if declared == "@saved" else ""
        picked = loader.systemd_choice(found, [*patterns, pattern])
        if picked is not None:
            return NextBoot(picked.release, "systemd-boot's entry %s" % picked.id)
    return NextBoot()


def _link(root: str) -> NextBoot:
    """The kernel behind the link that kernel packages maintain for boot loaders without a menu."""
    for path in _LINKS:
        image = link_target(root, path)
        if image:
            return NextBoot(loader.release_of("/" + image), "the link /%s" % path)
    return NextBoot()


def read_next_boot(root: str = "/") -> NextBoot:
    """From GRUB's menu, else from systemd-boot's entries, else from the link that older boot loaders use."""
    found = (look(root) for look in (_grub, _systemd_boot, _link))
    return next((boot for boot in found if boot.release), NextBoot())
