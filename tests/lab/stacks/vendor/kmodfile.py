# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kernel modules without a compiler: they contain what modinfo, depmod and the lab's emulated kernel read, and no code."""

from __future__ import annotations

import hashlib
import pathlib
import struct
import typing as t

# Dependencies of a stack's module: the whole set, because a module of one stack cannot use the core of another.
DEPENDS: t.Mapping[str, tuple[str, ...]] = {
    "mlx_compat": (),
    "ib_core": ("mlx_compat",),
    "ib_umad": ("ib_core", "mlx_compat"),
    "ib_uverbs": ("ib_core", "mlx_compat"),
    "ib_cm": ("ib_core", "mlx_compat"),
    "iw_cm": ("ib_core", "mlx_compat"),
    "rdma_cm": ("iw_cm", "ib_cm", "ib_core", "mlx_compat"),
    "rdma_ucm": ("rdma_cm", "ib_uverbs", "ib_core", "mlx_compat"),
    "ib_ipoib": ("ib_cm", "ib_core", "mlx_compat"),
    "mlxfw": ("mlx_compat",),
    "mlx5_core": ("mlxfw", "mlx_compat"),
    "mlx5_ib": ("mlx5_core", "ib_uverbs", "ib_core", "mlx_compat"),
}
# Symbols that a vendor's ib_core exports and the distribution's does not.
PEER_MEMORY = "ib_register_peer_memory_client"
# Entries of the distribution's module: hardware aliases and parameters.
TAKEN = ("alias", "parm", "parmtype", "softdep")
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
# One symbol that a module was built with: the version, and the name in the rest of 64 bytes.
_VERSION = struct.Struct("<Q56s")
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1


def modinfo(image: bytes) -> list[str]:
    """Return the key=value entries of a module file."""
    fields = struct.Struct("<16xHHIQQQIHHHHHH").unpack_from(image)
    sections = [_SECTION.unpack_from(image, fields[5] + index * fields[10]) for index in range(fields[11])]
    names = sections[fields[12]][4]
    for section in sections:
        start = names + section[0]
        if image[start : image.index(b"\0", start)] == b".modinfo":
            return [entry.decode(errors="replace") for entry in image[section[4] : section[4] + section[5]].split(b"\0") if entry]
    return []


def _elf(parts: t.Sequence[tuple[str, int, bytes, int, int]]) -> bytes:
    """Return a relocatable file with these sections: name, type, content, link, entry size."""
    names = b"\0" + b"".join(part[0].encode() + b"\0" for part in (*parts, (".shstrtab", 3, b"", 0, 0)))
    body, table = b"", [_SECTION.pack(*[0] * 10)]
    for name, kind, content, link, size in (*parts, (".shstrtab", 3, names, 0, 0)):
        body += b"\0" * (-len(body) % 8)
        table.append(_SECTION.pack(names.index(b"\0%s\0" % name.encode()) + 1, kind, 2, 0, 64 + len(body), len(content), link, 1, 8, size))
        body += content
    body += b"\0" * (-len(body) % 8)
    header = _HEADER.pack(b"\x7fELF\x02\x01\x01", 1, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(table), len(table) - 1)
    return header + body + b"".join(table)


def image(name: str, release: str, version: str, inbox: bytes = b"") -> bytes:
    """Return the module with this name. `inbox` is the distribution's module, which provides aliases and parameters."""
    taken = [entry for entry in (modinfo(inbox) if inbox else []) if entry.partition("=")[0] in TAKEN]
    if name == "ib_ipoib":
        taken.append("parmtype=ipoib_enhanced:int")
    exported = [name + "_standin", *((PEER_MEMORY,) if name == "ib_core" else ())]
    wanted = {needed + "_standin": crc(needed, version, needed + "_standin") for needed in DEPENDS[name]}
    return module(name, release, version, DEPENDS[name], exported, wanted, taken)


def crc(name: str, version: str, symbol: str) -> int:
    """Return the version of a symbol: each build of a module has another one."""
    return int(hashlib.sha256(("%s %s %s" % (name, version, symbol)).encode()).hexdigest()[:8], 16)


def module(
    name: str, release: str, version: str, depends: t.Sequence[str], exported: t.Sequence[str], wanted: t.Mapping[str, int], more: t.Sequence[str]
) -> bytes:
    """Return a module that exports functions, and imports others in these versions. `more` are further entries of its .modinfo."""
    code = hashlib.sha256(("%s %s" % (name, version)).encode()).hexdigest()[:23].upper()
    entries = ["license=Dual BSD/GPL", "version=%s" % version, "srcversion=%s" % code, *dict.fromkeys(more)]
    entries += ["depends=%s" % ",".join(depends), "name=%s" % name, "vermagic=%s SMP preempt mod_unload modversions " % release]
    rows = [(symbol, _UNDEFINED, 0) for symbol in wanted]
    rows += [("__crc_" + symbol, _ABSOLUTE, crc(name, version, symbol)) for symbol in exported]
    strings = b"\0" + b"".join(symbol.encode() + b"\0" for symbol, _place, _value in rows)
    symbols = _SYMBOL.pack(0, 0, 0, 0, 0, 0)
    for symbol, place, value in rows:
        symbols += _SYMBOL.pack(strings.index(b"\0%s\0" % symbol.encode()) + 1, 0x10, 0, place, value, 0)
    return _elf(
        (
            (".modinfo", 1, b"".join(entry.encode() + b"\0" for entry in entries), 0, 0),
            ("__ksymtab_strings", 1, b"".join(symbol.encode() + b"\0" for symbol in exported), 0, 0),
            (".symtab", 2, symbols, 4, _SYMBOL.size),
            (".strtab", 3, strings, 0, 0),
            ("__versions", 1, b"".join(_VERSION.pack(number, symbol.encode()) for symbol, number in wanted.items()), 0, 0),
        )
    )


def inbox_module(release: str, name: str, root: str = "/") -> bytes:
    """Return the kernel package's module file, empty if there is none or only a compressed one."""
    found = sorted(pathlib.Path(root, "lib/modules", release, "kernel").rglob(name + ".ko"))
    return found[0].read_bytes() if found else b""
