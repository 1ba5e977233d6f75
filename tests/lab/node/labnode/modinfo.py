# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser for the .modinfo section of a kernel module, a little-endian ELF64 relocatable file."""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")


class ModInfo(NamedTuple):
    """Metadata of a module. size: size of the file in bytes."""

    name: str
    size: int
    depends: tuple[str, ...]
    srcversion: str
    version: str
    vermagic: str
    parameters: tuple[str, ...]
    exports: tuple[str, ...] = ()
    """Functions that other modules can use."""


def _section(image: bytes, wanted: str) -> bytes:
    if image[:6] != b"\x7fELF\x02\x01":
        raise OSError(errno.ENOEXEC, "not an ELF64 file")
    fields = _HEADER.unpack_from(image)
    table, entry_size, count, names_index = fields[5], fields[10], fields[11], fields[12]
    sections = [_SECTION.unpack_from(image, table + i * entry_size) for i in range(count)]
    names = sections[names_index][4]
    for section in sections:
        start = names + section[0]
        if image[start : image.index(b"\0", start)].decode("ascii") == wanted:
            return image[section[4] : section[4] + section[5]]
    raise OSError(errno.ENOEXEC, "no section %s" % wanted)


def _exports(image: bytes) -> tuple[str, ...]:
    """Return the names in the kernel symbol table of the module, which not every module has."""
    try:
        return tuple(name.decode("ascii", "replace") for name in _section(image, "__ksymtab_strings").split(b"\0") if name)
    except OSError:
        return ()


def parse_modinfo(image: bytes) -> ModInfo:
    """Parse a module. Raises OSError(ENOEXEC) if the image is not a kernel module."""
    try:
        entries = _section(image, ".modinfo").split(b"\0")
    except (struct.error, ValueError, IndexError):
        raise OSError(errno.ENOEXEC, "not a kernel module") from None
    pairs = [entry.decode("utf-8", "replace").partition("=")[::2] for entry in entries]
    values = dict(pairs)
    if "name" not in values:
        raise OSError(errno.ENOEXEC, "a kernel module without a name")
    return ModInfo(
        name=values["name"],
        size=len(image),
        depends=tuple(name.replace("-", "_") for name in values.get("depends", "").split(",") if name),
        srcversion=values.get("srcversion", ""),
        version=values.get("version", ""),
        vermagic=values.get("vermagic", ""),
        parameters=tuple(value.split(":", 1)[0] for key, value in pairs if key == "parmtype"),
        exports=_exports(image),
    )
