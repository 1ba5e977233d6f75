# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in for the kernel: derives the tree from the loaded modules and the port states.

It follows Linux 6.1: an RDMA device exists while its driver (mlx5_ib, mlx4_ib) is loaded, MAD device files while ib_umad is loaded as well, and an IPoIB
interface for each port while ib_ipoib is loaded as well.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Callable

from . import adapter
from . import modules as mod
from . import tree as sysfs
from .ipoib import Interface
from .modinfo import parse_modinfo
from .node import RDMA_DRIVERS, Hca, Node, Port
from .portstate import UNPLUGGED, PortState, port_files

MAD_MAJOR, VERBS_MAJOR, ISSM_MINOR, VERBS_MINOR = 231, 231, 64, 192


class Kernel:
    """Emulated kernel. All writes to the tree happen here, in one thread. `log` receives lines for the journal."""

    def __init__(self, node: Node, tree: sysfs.Tree, log: Callable[[str], None] = print) -> None:
        self.node, self.tree, self.log = node, tree, log
        self.holds: dict[str, int] = {}
        self.interfaces: dict[tuple[str, int], Interface] = {}
        self.states: dict[tuple[str, int], PortState] = {}
        self.node_ids: dict[tuple[str, int], str] = {}
        saved = tree.read("modules.json")
        self.modules: dict[str, mod.Loaded] = mod.from_json(json.loads(saved)) if saved else {}
        self.unbound = frozenset(tree.read("unbound").split())  # functions unbound from their driver
        self.absent: frozenset[str] = frozenset()  # functions of cards that left the bus

    def boot(self) -> None:
        """Create the state before the first driver: the running kernel and the PCI bus. Also runs after a restart of the agent."""
        cold = not self.tree.read("proc/modules")
        os.makedirs(self.tree.path("umad2sim"), exist_ok=True)
        os.chmod(self.tree.path("umad2sim"), 0o1777)
        for name in ("sys/class", "sys/bus/pci/drivers", "sys/module"):
            os.makedirs(self.tree.path(name), exist_ok=True)
        adapter.start(self.node.hcas, cold)
        self.absent = frozenset(hca.pci for hca in self.node.hcas if adapter.gone(hca))
        for hca in self.node.hcas:
            self._show_functions(hca)
        self.tree.write("proc/sys/kernel/osrelease", self.node.kernel + "\n")
        self._converge()

    def _show_functions(self, hca: Hca) -> None:
        """Create the PCI functions of a whole card."""
        self.tree.write_all(sysfs.bridge_files(self.node, hca))
        self.tree.write(sysfs.bridge_directory(self.node, hca) + "/config", sysfs.bridge_config(hca))
        for name in adapter.functions(self.node.hcas, hca):
            function = hca._replace(pci=name)
            if hca.pci in self.absent:
                self.tree.remove(["sys/bus/pci/devices/" + name, sysfs.pci_directory(self.node, function)])
                continue
            self.tree.write_all(sysfs.pci_files(self.node, function))
            self.tree.write(sysfs.pci_directory(self.node, function) + "/vpd", sysfs.vpd(function))
            self.tree.link_all(sysfs.pci_links(self.node, function))
            adapter.connect(self.tree, sysfs.pci_directory(self.node, function), function)

    def load(self, flags: int, arguments: str, image: bytes) -> None:
        info = parse_modinfo(image)
        self.modules = mod.load(self.modules, info, arguments, self.node.kernel, flags)
        self._converge()

    def unload(self, name: str) -> None:
        self.modules = mod.unload(self.modules, name, self.holds)
        self.unbound -= {hca.pci for hca in self.node.hcas if hca.driver == name}
        self.tree.remove(["sys/module/" + name])
        self._converge()

    def hold(self, name: str, difference: int) -> None:
        """Count an opened (1) or closed (-1) device file of a module."""
        self.holds[name] = self.holds.get(name, 0) + difference
        self._show_modules()

    def store(self, path: str, text: str) -> None:
        """Handle a write to an attribute. `path` is its path below /sys."""
        directory, attribute = os.path.split(path.lstrip("/"))
        if path.lstrip("/") in [file for hca in self.node.hcas for file in sysfs.bind_files(hca.driver)]:
            self._rebind(os.path.basename(directory), attribute, text.strip())
            return
        for interface in self._all_interfaces():
            if interface.directory == directory:
                interface.store(attribute, text)
                return
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    def _rebind(self, driver: str, how: str, pci: str) -> None:
        """Bind or unbind as drivers/base/bus.c does: ENODEV for a function of another driver, EBUSY for one that is bound already."""
        fitting = [hca for hca in self.node.hcas if (hca.pci, hca.driver) == (pci, driver) and pci not in self.absent]
        if not fitting or (how == "unbind" and pci in self.unbound):
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        if how == "bind" and pci not in self.unbound:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        self.unbound ^= {pci}
        self._converge()

    def set_port_state(self, hca: Hca, port: Port, state: PortState, node_id: str) -> None:
        """Record the state of a port. node_id: the simulator's identifier of the node, "" while unknown."""
        key = (hca.device, port.number)
        if node_id and self.node_ids.get(key) != node_id:
            self.node_ids[key] = node_id
            self._converge_device_files()
        if self.states.get(key) == state:
            return
        self.states[key] = state
        if self._has_device(hca):
            self._show_port(hca, port)
        if key in self.interfaces:
            self.interfaces[key].show(state)

    def watch(self) -> None:
        absent = frozenset(hca.pci for hca in self.node.hcas if adapter.gone(hca))
        if absent != self.absent:
            self._follow_bus(absent)
        for hca in self.node.hcas:
            if self._has_device(hca):
                self._show_firmware(hca)
        for interface in self.interfaces.values():
            interface.watch()

    def _follow_bus(self, absent: frozenset[str]) -> None:
        """Follow cards that leave the bus or come back. A driver unbinds before its function disappears and binds after it appears."""
        self.log("not on the PCI bus: %s" % (", ".join(sorted(absent)) or "none"))
        back, self.absent = self.absent - absent, absent
        self.unbound -= back
        if not back:
            self._converge()
        for hca in self.node.hcas:
            self._show_functions(hca)
        self._converge()

    def _all_interfaces(self) -> list[Interface]:
        return [one for parent in self.interfaces.values() for one in (parent, *parent.children.values())]

    def _is_bound(self, hca: Hca) -> bool:
        return hca.driver in self.modules and hca.pci not in self.unbound and hca.pci not in self.absent

    def _has_device(self, hca: Hca) -> bool:
        return RDMA_DRIVERS[hca.driver] in self.modules and self._is_bound(hca)

    def _show_modules(self) -> None:
        for name in self.modules:
            files = mod.sysfs_files(self.modules, name, self.holds)
            self.tree.write_all({"sys/module/%s/%s" % (name, file): text for file, text in files.items()})
            holders = self.tree.path("sys/module/%s/holders" % name)
            os.makedirs(holders, exist_ok=True)
            users = mod.users(self.modules, name)
            for user in os.listdir(holders):
                if user not in users:
                    os.unlink(os.path.join(holders, user))
            self.tree.link_all({"sys/module/%s/holders/%s" % (name, user): "sys/module/" + user for user in users})
        self.tree.write("modules.json", json.dumps(mod.to_json(self.modules)))
        self.tree.write("proc/modules", mod.proc_modules(self.modules, self.holds))
        self.tree.write("proc/kallsyms", mod.kallsyms(self.modules))
        driver = mod.gpu_driver(self.modules)
        if driver:
            self.tree.write("proc/driver/nvidia/version", driver)
        else:
            self.tree.remove(["proc/driver/nvidia"])

    def _converge(self) -> None:
        """Bring the tree in line with the loaded modules and the hardware. Every step is repeatable."""
        # interfaces disappear before their device and appear after it
        for hca in self.node.hcas:
            if not (self._has_device(hca) and "ib_ipoib" in self.modules):
                for port in hca.ports:
                    self._remove_interface(hca, port)
        for hca in self.node.hcas:
            self._converge_device(hca)
        self._converge_device_files()
        for hca in self.node.hcas:
            if self._has_device(hca) and "ib_ipoib" in self.modules:
                for port in hca.ports:
                    if not sysfs.is_ethernet(hca, port):
                        self._add_interface(hca, port)
        self._show_modules()
        self.tree.write("unbound", " ".join(sorted(self.unbound)))

    def _converge_device(self, hca: Hca) -> None:
        driver = sysfs.driver_links(self.node, hca)
        if hca.driver in self.modules:
            for name in sysfs.bind_files(hca.driver):
                self.tree.write(name, "", sysfs.ATTRIBUTE_MODE)
        if self._is_bound(hca):
            self.tree.link_all(driver)
        else:
            self.tree.remove([*driver, *(() if hca.driver in self.modules else ["sys/bus/pci/drivers/" + hca.driver])])
        os.makedirs(self.tree.path("sys/class/infiniband"), exist_ok=True)
        if not self._has_device(hca):
            self.tree.remove(["sys/class/infiniband/" + hca.device, sysfs.pci_directory(self.node, hca) + "/infiniband"])
            return
        self.tree.write_all(sysfs.rdma_files(self.node, hca))
        self._show_firmware(hca)
        for port in hca.ports:
            self._show_port(hca, port)
        self.tree.link_all(sysfs.rdma_links(self.node, hca))

    def _show_firmware(self, hca: Hca) -> None:
        """Show the running firmware of each card. A reset may change it while the driver is loaded."""
        self.tree.write(sysfs.rdma_directory(self.node, hca) + "/fw_ver", (adapter.running(hca) or hca.firmware) + "\n")
        self.tree.write(sysfs.rdma_directory(self.node, hca) + "/board_id", (adapter.psid(hca) or hca.psid) + "\n")

    def _show_port(self, hca: Hca, port: Port) -> None:
        state = self.states.get((hca.device, port.number), UNPLUGGED)
        base = "%s/ports/%d/" % (sysfs.rdma_directory(self.node, hca), port.number)
        self.tree.write_all({base + name: text for name, text in port_files(state, port.guid).items()})

    def _converge_device_files(self) -> None:
        present = [hca for hca in self.node.hcas if self._has_device(hca)]
        ports = [(hca, port) for hca in self.node.hcas for port in hca.ports]
        if "ib_umad" not in self.modules or not present:
            self.tree.remove(["umad", "sys/class/infiniband_mad"])
            self._remove_device_files("umad", "issm")
        if "ib_umad" in self.modules:
            self.tree.write("sys/class/infiniband_mad/abi_version", "5\n")
            for index, (hca, port) in enumerate(ports):
                if hca not in present:
                    self._remove_umad(index)
                    continue
                # clients also find the node by its description, but then libumad2sim prints a warning
                place = self.node_ids.get((hca.device, port.number), port.node_description)
                self.tree.write("umad/umad%d" % index, "%s\n%s\n" % (self.node.simulator, place))
                for kind, minor in (("umad", 0), ("issm", ISSM_MINOR)):
                    base = "sys/class/infiniband_mad/%s%d" % (kind, index)
                    self.tree.write_all({base + "/ibdev": hca.device + "\n", base + "/port": "%d\n" % port.number})
                    self.tree.link_all({base + "/device": sysfs.pci_directory(self.node, hca)})
                    self._device_file("%s%d" % (kind, index), MAD_MAJOR, minor + index)
        if "ib_uverbs" not in self.modules or not present:
            self.tree.remove(["sys/class/infiniband_verbs"])
            self._remove_device_files("uverbs")
        if "ib_uverbs" in self.modules:
            self.tree.write("sys/class/infiniband_verbs/abi_version", "6\n")
            for index, hca in enumerate(self.node.hcas):
                base = "sys/class/infiniband_verbs/uverbs%d" % index
                if hca not in present:
                    self.tree.remove([base])
                    self._remove_device_files("uverbs%d" % index)
                    continue
                self.tree.write_all({base + "/ibdev": hca.device + "\n", base + "/abi_version": "1\n"})
                self.tree.link_all({base + "/device": sysfs.pci_directory(self.node, hca)})
                self._device_file("uverbs%d" % index, VERBS_MAJOR, VERBS_MINOR + index)

    def _remove_umad(self, index: int) -> None:
        names = ("umad%d" % index, "issm%d" % index)
        self.tree.remove(["umad/" + names[0], *("sys/class/infiniband_mad/" + name for name in names)])
        self._remove_device_files(*names)

    def _device_file(self, name: str, major: int, minor: int) -> None:
        os.makedirs("/dev/infiniband", exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mknod("/dev/infiniband/" + name, stat.S_IFCHR | 0o600, os.makedev(major, minor))

    def _remove_device_files(self, *kinds: str) -> None:
        """Remove all device files of a kind (umad) or a single one (umad0)."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir("/dev/infiniband"):
                if name in kinds or name.rstrip("0123456789") in kinds:
                    os.unlink("/dev/infiniband/" + name)

    def _add_interface(self, hca: Hca, port: Port) -> None:
        key = (hca.device, port.number)
        if key in self.interfaces:
            return
        pci = sysfs.pci_directory(self.node, hca)
        former = sorted(os.listdir(self.tree.path(pci + "/net"))) if os.path.isdir(self.tree.path(pci + "/net")) else []
        self.interfaces[key] = interface = Interface(self.tree, pci, hca, port)
        interface.adopt_children(former)
        interface.show(self.states.get(key, UNPLUGGED))

    def _remove_interface(self, hca: Hca, port: Port) -> None:
        interface = self.interfaces.pop((hca.device, port.number), None)
        if interface:
            interface.remove()
