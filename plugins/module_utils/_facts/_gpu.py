# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NVIDIA's GPUs, their driver, and what stands between it and the RDMA adapters.

Without such a GPU, nothing but sysfs is looked at, and no process is started.
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
# What the role writes; with the package of nv_peer_mem, whose build it remembers.
UNIT_PATH = "/etc/systemd/system/rdma-ofed-gpudirect.service"
OPTIONS_PATH = "/etc/modprobe.d/rdma-ofed-gpudirect.conf"
STAMP_PATH = "/var/lib/rdma.ofed/nv_peer_mem.json"
OURS = (OPTIONS_PATH, STAMP_PATH, UNIT_PATH)
# Of the package nvidia-peer-memory.
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
    """`nvidia`, `nouveau`, `vfio-pci` ..., or "" for none."""
    numa_node: int | None = None


class Peer(t.NamedTuple):
    """A module by which adapters reach GPU memory."""

    name: str
    file: str = ""
    """What modprobe calls it; "" where the running kernel has none."""
    linked: bool = False
    """Whether it depends on the RDMA stack on disk. A module built without peer memory does not, and can't be loaded."""
    other_build: bool = False
    """Whether it was built on another build of the stack than the one on disk. Then the kernel refuses it, too."""
    loaded: bool = False
    users: int = 0
    """Registrations of GPU memory by processes."""
    peerdirect_support: str = ""
    """The parameter of the loaded one."""


class PeerMemory(t.NamedTuple):
    """The modules that offer peer memory to such a module; "" for none, as with the stack of most distributions."""

    installed: str = ""
    """On disk, for the running kernel."""
    loaded: str = ""
    core: bool = False
    """Whether ib_core is loaded. If not, it would come from disk."""


class Path(t.NamedTuple):
    """How a GPU and an adapter reach each other."""

    gpu: str
    hca: str
    path: str
    """`PIX`, `PXB`, `PHB`, `NODE` or `SYS`, as nvidia-smi says."""
    acs: t.Tuple[str, ...] = ()
    """Bridges between them whose access control sends the traffic up to the root complex."""


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
    """The files of the role gpudirect that exist."""
    masked: tuple[str, ...] = ()
    """Of the units that load peer memory at boot, those that an administrator has masked for good."""

    def peer(self, name: str) -> Peer:
        return next((peer for peer in self.peers if peer.name == name), Peer(name))


def parse_exporter(symbols: str) -> str:
    """modules.symbols -> the module that would export the function; "" for none."""
    match = _ALIAS.search(symbols)
    return match.group(1).replace("-", "_") if match else ""


def parse_kallsyms(symbols: bytes) -> str:
    """/proc/kallsyms -> the loaded module that has the function, `kernel` if it is built in; "" for none."""
    match = _KALLSYMS.search(symbols)
    return (match.group(1) or b"kernel").decode() if match else ""


def read_devices(root: str = "/") -> tuple[Device, ...]:
    """NVIDIA's GPUs, by PCI address, with any driver or none."""
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
    """Each GPU with each RDMA device."""
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
    """Whether systemd takes what is at this path for the mask of a unit: a link that ends at /dev/null, or an empty file."""
    if os.path.islink(path):
        return os.path.realpath(path) == os.devnull
    return os.path.isfile(path) and os.path.getsize(path) == 0


def read_managed(root: str = "/") -> tuple[str, ...]:
    """The files of ours that exist. In the place of a unit, the mask of an administrator is none."""
    places = {path: under(root, path) for path in OURS}
    return tuple(path for path, place in places.items() if os.path.exists(place) and not (os.path.basename(path) in UNITS and _is_mask(place)))


def read_masked(root: str = "/") -> tuple[str, ...]:
    """The names of the units that are masked for good. A mask below /run goes with the next boot, and does not hide a unit in /etc."""
    return tuple(name for name in UNITS if _is_mask(os.path.join(root, "etc/systemd/system", name)))


def read_gpu(run: Runner, release: str, root: str = "/") -> Gpu:
    """The whole state; for a node without an NVIDIA GPU, only the files that earlier runs left."""
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
    """The fact `gpu` -> what a decision needs of it before anything is changed: devices, driver and masked units."""
    driver = facts.get("driver") or {}
    return Gpu(
        devices=tuple(Device(str(row.get("pci", "")), driver=str(row.get("driver", ""))) for row in facts.get("devices") or ()),
        driver=Driver(str(driver.get("version", "")), str(driver.get("flavour", "")), bool(driver.get("loaded")), str(driver.get("dkms", ""))),
        masked=tuple(map(str, facts.get("masked") or ())),
    )
