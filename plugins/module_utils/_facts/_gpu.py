# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NVIDIA's GPUs, their driver, and what separates it from the RDMA adapters.

Without such a GPU, only sysfs is read, and no process is started.
"""

from __future__ import annotations

import os
import re
import typing as t

from .._host._files import read_text, under
from . import _pcie as pci
from ._gpu_driver import Driver, built_on_other, driver_names, read_driver
from ._kernels import module_files, module_needs
from ._modules import PEERS, parse_proc_modules
from ._sysfs import attribute, content, entries, link_name, pci_address, rdma_devices

if t.TYPE_CHECKING:
    from .._host._run import Runner

SYMBOL = "ib_register_peer_memory_client"
# The files of the role; the stamp of the package nv_peer_mem, which records its build, is among them.
UNIT_PATH = "/etc/systemd/system/rdma-ofed-gpudirect.service"
OPTIONS_PATH = "/etc/modprobe.d/rdma-ofed-gpudirect.conf"
STAMP_PATH = "/var/lib/rdma.ofed/nv_peer_mem.json"
OURS = (OPTIONS_PATH, STAMP_PATH, UNIT_PATH)
# From the package nvidia-peer-memory.
SERVICE = "nv_peer_mem.service"
UNIT = os.path.basename(UNIT_PATH)
UNITS = (UNIT, SERVICE)

_NVIDIA = "0x10de"
# Display controllers: VGA, 3D (data centre GPUs), others.
_DISPLAY = "0x03"
_KALLSYMS = re.compile(rb"^[0-9a-f]+ [A-Za-z] " + SYMBOL.encode() + rb"(?:\t\[(\w+)\])?$", re.MULTILINE)
_ALIAS = re.compile(r"^alias symbol:%s (\S+)$" % SYMBOL, re.MULTILINE)


class Device(t.NamedTuple):
    pci: str
    device_id: str = ""
    """`0x2330`."""
    driver: str = ""
    """`nvidia`, `nouveau`, `vfio-pci` ...; "" for none."""
    numa_node: int | None = None


class Peer(t.NamedTuple):
    """A module through which adapters access GPU memory."""

    name: str
    file: str = ""
    """Its name for modprobe; "" where the running kernel has none."""
    linked: bool = False
    """Whether it depends on the RDMA stack on disk. A module built without peer memory does not, and can't be loaded."""
    other_build: bool = False
    """Whether it was built for another build of the stack than that on disk. Then the kernel refuses it as well."""
    loaded: bool = False
    users: int = 0
    """Registrations of GPU memory by processes."""
    peerdirect_support: str = ""
    """The parameter of the loaded module."""


class PeerMemory(t.NamedTuple):
    """The modules that provide peer memory to such a module; "" for none, as with most distributions' stacks."""

    installed: str = ""
    """On disk, for the running kernel."""
    loaded: str = ""
    core: bool = False
    """Whether ib_core is loaded. If not, it would be loaded from disk."""


class Path(t.NamedTuple):
    """The connection between a GPU and an adapter."""

    gpu: str
    hca: str
    path: str
    """`PIX`, `PXB`, `PHB`, `NODE` or `SYS`, as in nvidia-smi."""
    acs: t.Tuple[str, ...] = ()
    """Bridges on the path whose access control redirects the traffic to the root complex."""


class Gpu(t.NamedTuple):
    """The GPUs of a node, and everything between them and the RDMA adapters."""

    devices: tuple[Device, ...] = ()
    driver: Driver = Driver()
    peers: tuple[Peer, ...] = ()
    peer_memory: PeerMemory = PeerMemory()
    clients: tuple[str, ...] = ()
    """The modules that registered with the stack, on releases that show them."""
    topology: tuple[Path, ...] = ()
    managed: tuple[str, ...] = ()
    """The existing files of the role gpudirect."""
    masked: tuple[str, ...] = ()
    """The units for peer memory that an administrator has masked permanently."""

    def peer(self, name: str) -> Peer:
        return next((peer for peer in self.peers if peer.name == name), Peer(name))


def parse_exporter(symbols: str) -> str:
    """Parse modules.symbols: the module that would export the function; "" for none."""
    match = _ALIAS.search(symbols)
    return match.group(1).replace("-", "_") if match else ""


def parse_kallsyms(symbols: bytes) -> str:
    """Parse /proc/kallsyms: the loaded module that has the function, `kernel` if it is built in; "" for none."""
    match = _KALLSYMS.search(symbols)
    return (match.group(1) or b"kernel").decode() if match else ""


def read_devices(root: str = "/") -> tuple[Device, ...]:
    """NVIDIA's GPUs by PCI address, with or without a driver."""
    found = []
    for address in entries(root, pci.DEVICES):
        base = os.path.join(root, pci.DEVICES, address)
        if attribute(base, "vendor") == _NVIDIA and attribute(base, "class").startswith(_DISPLAY):
            found.append(Device(address, attribute(base, "device"), link_name(base, "driver"), pci.numa_node(root, address)))
    return tuple(found)


def _peer(root: str, name: str, *, file: str, needs: t.Mapping[str, tuple[str, ...]], other: bool, loaded: t.Mapping[str, int]) -> Peer:
    live = attribute(root, "sys/module", name, "parameters/peerdirect_support")
    return Peer(name, file, "ib_core" in needs.get(file, ()), other, name in loaded, loaded.get(name, 0), live)


def read_topology(root: str, devices: t.Sequence[Device]) -> tuple[Path, ...]:
    """The path between each GPU and each RDMA device."""
    adapters = {name: pci_address(root, "sys/class/infiniband", name, "device") for name in rdma_devices(root)}
    found = []
    for device in devices:
        for name, address in sorted(adapters.items()):
            if not address:
                continue
            one, other = pci.read_chain(root, device.pci), pci.read_chain(root, address)
            node = pci.numa_node(root, address)
            kind = pci.path_between(one, other, node is not None and node == device.numa_node)
            acs = tuple(each for each in pci.bridges_between(one, other) if pci.acs_redirects(content(root, pci.DEVICES, each, "config")))
            found.append(Path(device.pci, name, kind, acs))
    return tuple(found)


def _is_mask(path: str) -> bool:
    """Whether systemd treats the file at this path as a masked unit: a link to /dev/null, or an empty file."""
    if os.path.islink(path):
        return os.path.realpath(path) == os.devnull
    return os.path.isfile(path) and os.path.getsize(path) == 0


def read_managed(root: str = "/") -> tuple[str, ...]:
    """Our existing files. An administrator's mask in the place of a unit does not count."""
    places = {path: under(root, path) for path in OURS}
    return tuple(path for path, place in places.items() if os.path.exists(place) and not (os.path.basename(path) in UNITS and _is_mask(place)))


def read_masked(root: str = "/") -> tuple[str, ...]:
    """The names of the permanently masked units. A mask below /run disappears at the next boot, and does not hide a unit in /etc."""
    return tuple(name for name in UNITS if _is_mask(os.path.join(root, "etc/systemd/system", name)))


def read_gpu(run: Runner, release: str, root: str = "/") -> Gpu:
    """The complete state; for a node without an NVIDIA GPU, only the files that earlier runs left."""
    managed = read_managed(root)
    devices = read_devices(root)
    if not devices:
        return Gpu(managed=managed)
    base = os.path.join(root, "lib/modules", release)
    dependencies = read_text(os.path.join(base, "modules.dep"))
    needs = module_needs(dependencies)
    loaded = {module.name: module.own_users for module in parse_proc_modules(attribute(root, "proc/modules"))}
    main, peermem = driver_names(needs)
    paths = module_files(dependencies)
    files = {"nvidia_peermem": peermem, "nv_peer_mem": "nv_peer_mem" if "nv_peer_mem" in needs else ""}
    others = {name: built_on_other(run, root=root, release=release, path=paths[file], symbol=SYMBOL) for name, file in files.items() if file}
    core = "ib_core" in loaded
    offering = parse_kallsyms(content(root, "proc/kallsyms")) if core else ""
    return Gpu(
        devices=devices,
        driver=read_driver(run, root=root, release=release, main=main),
        peers=tuple(_peer(root, name, file=files[name], needs=needs, other=others.get(name, False), loaded=loaded) for name in PEERS),
        peer_memory=PeerMemory(parse_exporter(read_text(os.path.join(base, "modules.symbols"))), offering, core),
        clients=tuple(entries(root, "sys/kernel/mm/memory_peers")),
        topology=read_topology(root, devices),
        managed=managed,
        masked=read_masked(root),
    )


def from_facts(facts: t.Mapping[str, t.Any]) -> Gpu:
    """From the fact `gpu`, what a decision before any change needs: devices, driver and masked units."""
    driver = facts.get("driver") or {}
    return Gpu(
        devices=tuple(Device(str(row.get("pci", "")), driver=str(row.get("driver", ""))) for row in facts.get("devices") or ()),
        driver=Driver(str(driver.get("version", "")), str(driver.get("flavour", "")), bool(driver.get("loaded")), str(driver.get("dkms", ""))),
        masked=tuple(map(str, facts.get("masked") or ())),
    )
