# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Third-party modules that were built on the RDMA stack of a node, and what tells whether they fit the present one. Pure."""

from __future__ import annotations

import re
import typing as t

# They stand on command lines and in paths, and hooks of the site may use them in a shell.
_NAME = re.compile(r"^[A-Za-z0-9_]{1,64}\Z")
_KERNEL = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._+~-]{0,127}\Z")
_SOURCE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._+~:-]*/[A-Za-z0-9][A-Za-z0-9._+~:-]*)?\Z")

Versions = t.Mapping[str, int]
"""The CRCs of symbols by their names; 0 where the file of the exporting module does not have it."""


class Built(t.NamedTuple):
    """A third-party module that was built on the stack: a client of a file system, a driver of another vendor."""

    name: str
    kernel: str
    """The release of the kernel that it is for."""
    path: str
    """The path of its file below /lib/modules/KERNEL."""
    source: str = ""
    """Its source in DKMS, in the notation NAME/VERSION; "" for a module that DKMS does not manage."""
    stack: str = ""
    """The stack that it was built on, `mlnx_ofed 23.10-0.5.5.0`."""
    symbols: tuple[str, ...] = ()
    """The symbols that it had from other modules. A stack that lacks one of them does not fit."""

    @property
    def command(self) -> str:
        """The command that rebuilds it; "" where only the site knows that."""
        name, _slash, version = self.source.partition("/")
        return "dkms install -m %s -v %s -k %s" % (name, version, self.kernel) if self.source else ""

    def row(self) -> dict[str, t.Any]:
        """The module in the shape of results and of the record."""
        return {**self._asdict(), "symbols": list(self.symbols), "command": self.command}

    @classmethod
    def of_row(cls, row: t.Any) -> Built | None:
        """The inverse of `row`; None for anything else."""
        symbols = row.get("symbols") if isinstance(row, dict) else None
        if not isinstance(symbols, list) or not all(isinstance(row.get(name), str) for name in cls._fields[:-1]):
            return None
        built = cls(**{**{name: row[name] for name in cls._fields[:-1]}, "symbols": tuple(map(str, symbols))})
        is_plain = _NAME.match(built.name) and _KERNEL.match(built.kernel) and _SOURCE.match(built.source)
        return built if is_plain and built.path else None


class Misfit(t.NamedTuple):
    """A module that does not fit the stack on disk."""

    module: Built
    symbol: str = ""
    """The first symbol that the stack lacks or has in another version; "" where that is not the reason."""
    missing: bool = False
    """Whether the module has no file."""
    through: str = ""
    """A module that it depends on and that does not fit. The build of that changes the versions of its symbols."""


class Tree(t.NamedTuple):
    """The modules of one kernel on disk."""

    release: str
    paths: t.Mapping[str, str] = {}
    """The files by module, from modules.dep."""
    needs: t.Mapping[str, t.Sequence[str]] = {}
    """The dependencies by module, from modules.dep."""
    exporters: t.Mapping[str, str] = {}
    """The exporting modules by symbol, from modules.symbols."""
    needed: t.Mapping[str, Versions] = {}
    """What third-party modules were built with."""
    offered: t.Mapping[str, Versions] = {}
    """What the modules of the stack export, and other modules that are not of the kernel."""
    sources: t.Mapping[str, str] = {}
    """The sources in DKMS by the modules that were installed from them."""
    registered: frozenset[str] = frozenset()
    """All sources in DKMS."""


class Found(t.NamedTuple):
    """The node."""

    modules: tuple[Built, ...] = ()
    """The modules that were built on a former stack, with their present sources."""
    misfits: tuple[Misfit, ...] = ()
    """Those of them that do not fit the present stack."""
    needs: t.Mapping[str, t.Mapping[str, t.Sequence[str]]] = {}
    """The dependencies, by kernel and module."""
