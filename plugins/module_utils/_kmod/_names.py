# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of kernel modules: their spelling, the modules that a kernel has, and likely misspellings."""

from __future__ import annotations

import difflib
import re
import typing as t

# What modprobe accepts as a module or parameter name; a leading dash would be an option.
NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_-]*$")

# Aliases that the kernel requests when it detects a device: udev loads these modules automatically.
_DEVICE_ALIASES = ("pci:", "auxiliary:")


def canonical(name: str) -> str:
    """The spelling of /proc/modules: modprobe treats - and _ as equal."""
    return name.replace("-", "_")


class Catalogue(t.NamedTuple):
    """What one or several kernels can load. All names are canonical."""

    loadable: frozenset[str] = frozenset()
    builtin: frozenset[str] = frozenset()
    aliases: t.Mapping[str, str] = {}
    """Plain aliases, such as `svcrdma` for `rpcrdma`; patterns of devices are not included."""
    by_device: frozenset[str] = frozenset()
    """The modules that udev loads when it detects their hardware."""

    def __bool__(self) -> bool:
        return bool(self.loadable or self.builtin)

    def resolve(self, name: str) -> str:
        """The module that a name stands for; "" where this kernel has none."""
        spelt = canonical(name)
        if spelt in self.loadable or spelt in self.builtin:
            return spelt
        return self.aliases.get(spelt, "")

    def nearest(self, name: str) -> list[str]:
        """The names that the user may have meant, best first."""
        return nearest(canonical(name), self.loadable | self.builtin | frozenset(self.aliases))


def nearest(name: str, pool: t.Iterable[str]) -> list[str]:
    """The names in `pool` that resemble `name`, best first."""
    return difflib.get_close_matches(name, sorted(pool), n=3, cutoff=0.7)


def parse_dep(text: str) -> frozenset[str]:
    """Parse modules.dep and modules.builtin: one file per line, `kernel/.../ib_ipoib.ko.xz: ...`."""
    bases = [line.split(":", 1)[0].rsplit("/", 1)[-1] for line in text.splitlines()]
    return frozenset(canonical(base.split(".ko", 1)[0]) for base in bases if ".ko" in base)


def parse_alias(text: str) -> tuple[dict[str, str], frozenset[str]]:
    """Parse modules.alias (`alias PATTERN MODULE`): plain aliases with their module, and the modules with a device pattern."""
    plain: dict[str, str] = {}
    by_device = set()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) != 3 or fields[0] != "alias":
            continue
        pattern, module = fields[1], canonical(fields[2])
        if pattern.startswith(_DEVICE_ALIASES):
            by_device.add(module)
        elif NAME.match(pattern):
            plain[canonical(pattern)] = module
    return plain, frozenset(by_device)
