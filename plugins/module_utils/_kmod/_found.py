# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel modules of a node, as one look found them. Pure data."""

from __future__ import annotations

import typing as t

from .._host._saved import Saved
from ._config import LOAD_PATH, RDMA_PATH, Directive, Entry, parse_list, without_block
from ._limits import Daemon, Line
from ._names import Catalogue, canonical


class Other(t.NamedTuple):
    """A file of others that has a declared setting."""

    text: str
    path: str
    """The path of the file itself, if it was found by way of a link."""
    obstacle: str = ""
    """Why it may not be changed; "" where it may."""
    needed: str = ""
    """Why it may not be removed, although nothing is left in it; "" where it may."""


class Device(t.NamedTuple):
    """An RDMA device of a PCI function."""

    name: str
    pci: str = ""
    guids: tuple[str, ...] = ()
    """The GUIDs of its ports."""


class Found(t.NamedTuple):
    release: str = ""
    """The running kernel."""
    installed: tuple[str, ...] = ()
    """All kernels that have modules on disk."""
    catalogue: Catalogue = Catalogue()
    loaded: t.Mapping[str, bool] = {}
    """Loaded modules; true for those that can't be unloaded."""
    live: t.Mapping[str, t.Mapping[str, str]] = {}
    """The readable parameters of loaded modules, for the modules of interest."""
    parameters: t.Mapping[str, t.Mapping[str, str]] = {}
    """The parameters of modules, with their types ("" where unknown), for the modules of interest that the kernel has."""
    rdma_core: bool = False
    """Whether rdma-core loads its lists on this node."""
    files: t.Mapping[str, str] = {}
    """The content of our files, of rdma-core's lists and of the files in `saved`, by path."""
    dracut: bool = False
    """Whether dracut builds the node's initramfs."""
    dracut_network: bool = False
    """Whether dracut has its network module, which is a separate package on most distributions."""
    initramfs_tools: bool = False
    """Whether initramfs-tools builds the node's initramfs."""
    entries: tuple[Entry, ...] = ()
    """The modules that foreign files load at boot."""
    directives: tuple[Directive, ...] = ()
    """The foreign lines in modprobe.d."""
    stale: tuple[str, ...] = ()
    """The images that an interrupted run has left to rebuild."""
    container: bool = False
    session_limits: tuple[Line, ...] = ()
    service_limits: tuple[Line, ...] = ()
    """The limits in foreign files, in the order in which they are read."""
    unit_limits: t.Mapping[str, tuple[Line, ...]] = {}
    """By unit of a daemon: the limits that foreign files of the unit set, in the order in which they are read."""
    container_limits: tuple[Line, ...] = ()
    """The limits that container engines set for all containers, at most one for each engine and resource."""
    daemons: tuple[Daemon, ...] | None = None
    """The daemons that pass on their limits; None where the look was not to find them."""
    may_raise: bool = False
    """Whether this system may raise limits. Where it may not, pam_limits fails, and no session can start."""
    devices: tuple[str, ...] = ()
    """The RDMA devices of adapters."""
    adapters: tuple[Device, ...] = ()
    """The same with their places. The devices of subfunctions are left out."""
    stack_naming: str = ""
    """The policy in the stack's rule for the names of devices, such as NAME_FALLBACK; "" where it has none."""
    renames: t.Optional[bool] = None
    """Whether rdma_rename of the node can give a device any name; None where it is not installed."""
    others: t.Mapping[str, Other] | None = None
    """By path: the files from which settings may be taken over; None where the look was not to find them."""
    saved: t.Mapping[str, Saved] = {}
    """By path: the files from which settings were taken over."""
    most_files: int = 0
    """The largest limit of open files that the kernel accepts now; 0 where it is unknown."""

    def text(self, path: str) -> str:
        return self.files.get(path, "")

    @property
    def ours(self) -> frozenset[str]:
        """The modules that our file and our block load at boot."""
        listed = self.text(RDMA_PATH)
        block = {entry.name for entry in parse_list("", listed)} - {entry.name for entry in parse_list("", without_block(listed))}
        return frozenset(block.union(entry.name for entry in parse_list("", self.text(LOAD_PATH))))


class Seen(t.NamedTuple):
    """What the one look reports of a node: everything that a plan for these modules needs, and no other modules. Names are canonical."""

    names: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    """The modules whose parameters were read."""
    found: Found = Found()
    limits: t.Mapping[str, t.Mapping[str, str]] = {}
    """The limits of a session and a service, numbers or `unlimited`, by resource. Those that could not be started are missing."""


def narrowed(found: Found, names: t.Iterable[str]) -> Found:
    """The same state, reduced to the modules in `names` and ours: a few kB instead of a catalogue of thousands of modules."""
    wanted = {*map(canonical, names), *found.ours}
    whole = found.catalogue
    listed = {entry.name for entry in found.entries}
    aliases = {name: whole.aliases[name] for name in wanted | listed if name in whole.aliases}
    modules = wanted | frozenset(aliases.values())
    catalogue = Catalogue(whole.loadable & modules, whole.builtin & modules, aliases, whole.by_device & modules)
    return found._replace(
        catalogue=catalogue,
        loaded={name: permanent for name, permanent in found.loaded.items() if name in modules},
        directives=tuple(directive for directive in found.directives if directive.module in modules),
    )
