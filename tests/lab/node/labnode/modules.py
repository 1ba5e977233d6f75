# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loaded modules: how kernel/module loads and unloads them, and how procfs and sysfs show them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .modinfo import ModInfo

# Defaults stored in a module's data instead of its .modinfo (drivers/infiniband/ulp/ipoib).
DEFAULT_PARAMETERS = {"ib_ipoib": {"send_queue_size": "256", "recv_queue_size": "512"}}
IGNORE_VERMAGIC = 2


class Loaded(NamedTuple):
    name: str
    size: int
    depends: tuple[str, ...]
    srcversion: str
    version: str
    parameters: Mapping[str, str]
    exports: tuple[str, ...] = ()


Modules = Mapping[str, Loaded]


def _given_parameters(info: ModInfo, arguments: str) -> dict[str, str]:
    """Return the known parameters. An unknown one is a line in the kernel log, not an error."""
    given = dict(DEFAULT_PARAMETERS.get(info.name, {}))
    for word in arguments.split():
        name, _separator, value = word.partition("=")
        if name in info.parameters:
            given[name] = value or "Y"
    return given


def load(modules: Modules, info: ModInfo, arguments: str, release: str, flags: int = 0) -> dict[str, Loaded]:
    """Return the modules after loading one more. Raises OSError as finit_module(2) would."""
    if info.name in modules:
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
    if info.vermagic.split(" ")[0] != release and not flags & IGNORE_VERMAGIC:
        raise OSError(errno.ENOEXEC, "version magic %r, running is %r" % (info.vermagic, release))
    if any(name not in modules for name in info.depends):
        raise OSError(errno.ENOENT, "unknown symbol in module")
    loaded = Loaded(info.name, info.size, info.depends, info.srcversion, info.version, _given_parameters(info, arguments), info.exports)
    return {**modules, info.name: loaded}


def users(modules: Modules, name: str) -> list[str]:
    """Return the modules that use this one, the latest loaded first, in the kernel's order."""
    return [other.name for other in reversed(list(modules.values())) if name in other.depends]


def refcount(modules: Modules, name: str, holds: Mapping[str, int]) -> int:
    return len(users(modules, name)) + holds.get(name, 0)


def unload(modules: Modules, name: str, holds: Mapping[str, int]) -> dict[str, Loaded]:
    """Return the modules after unloading one. Raises OSError as delete_module(2) would."""
    if name not in modules:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if refcount(modules, name, holds):
        raise OSError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))
    return {other: loaded for other, loaded in modules.items() if other != name}


def proc_modules(modules: Modules, holds: Mapping[str, int]) -> str:
    """Return the text of /proc/modules."""
    lines: list[str] = []
    for module in reversed(list(modules.values())):
        names = "".join(name + "," for name in users(modules, module.name)) or "-"
        lines.append("%s %d %d %s Live 0x0000000000000000\n" % (module.name, module.size, refcount(modules, module.name, holds), names))
    return "".join(lines)


def kallsyms(modules: Modules) -> str:
    """Return the text of /proc/kallsyms for the symbols that modules export. All addresses are zero."""
    return "".join("%016x T %s\t[%s]\n" % (0, symbol, module.name) for module in modules.values() for symbol in module.exports)


def gpu_driver(modules: Modules) -> str:
    """Return the text of /proc/driver/nvidia/version, "" if that driver is not loaded. The open driver exists since 515."""
    driver = modules.get("nvidia")
    if not driver:
        return ""
    words = "Open Kernel Module for x86_64" if driver.version >= "515" else "x86_64 Kernel Module"
    return "NVRM version: NVIDIA UNIX %s  %s  Release Build  (lab@standin)\n" % (words, driver.version)


def sysfs_files(modules: Modules, name: str, holds: Mapping[str, int]) -> dict[str, str]:
    """Return the files below /sys/module/NAME/."""
    module = modules[name]
    files = {
        "refcnt": "%d\n" % refcount(modules, name, holds),
        "coresize": "%d\n" % module.size,
        "initstate": "live\n",
        "taint": "\n",
    }
    if module.srcversion:
        files["srcversion"] = module.srcversion + "\n"
    if module.version:
        files["version"] = module.version + "\n"
    files.update({"parameters/" + key: value + "\n" for key, value in module.parameters.items()})
    return files


def to_json(modules: Modules) -> list[dict[str, object]]:
    return [{**module._asdict(), "parameters": dict(module.parameters)} for module in modules.values()]


def from_json(data: Iterable[Mapping[str, object]]) -> dict[str, Loaded]:
    modules: dict[str, Loaded] = {}
    for entry in data:
        fields = dict(entry)
        for key in ("depends", "exports"):
            fields[key] = tuple(fields[key])  # type: ignore[arg-type]
        modules[str(fields["name"])] = Loaded(**fields)  # type: ignore[arg-type]
    return modules
