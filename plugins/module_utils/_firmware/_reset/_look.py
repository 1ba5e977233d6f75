# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at adapters: pending changes, possible resets, and their users among all RDMA users of the node."""

from __future__ import annotations

import os
import typing as t

from ..._errors import Problem, RdmaError, require_none
from ..._facts._boot import read_secure_boot
from ..._facts._connections import read_ssh, ssh_connection
from ..._facts._machine import read_machine
from ..._facts._netdevs import below, seen_netdevs
from ..._facts._sysfs import attribute, entries, link_name, pci_address, rdma_devices, real_path
from ..._facts._usage import read_usage
from ..._foreign import integer
from ..._host._run import first_tool
from ..._plan import Change, Kind
from ..._tools import _flint, _mlxconfig, _mlxfwreset
from .._config._look import look as look_at_parameters
from .._config._session import Session, find_tools
from .._config._values import bounds, readable, same
from .._config._wanted import Wanted
from .._devices import SELECTORS, Device, describe_device, each, matches
from .._image._query import query_adapter
from ._plan import Card, Host

if t.TYPE_CHECKING:
    from ..._facts._connections import SshPath
    from ..._facts._netdevs import Netdev
    from ..._facts._usage import User
    from ..._host._run import Runner
    from ..._tools._mlxconfig import Row

_T = t.TypeVar("_T")

# The reset tools call these after they told the card to restart. Both are in the package pciutils.
_HELPERS = ("lspci", "setpci")
# The drivers that the reset tools stop and start themselves. They refuse to touch a function with any other driver.
_OWN_DRIVERS = ("", "mlx5_core", "nvme", "rshim_pcie")
_NVIDIA = "0x15b3"
# The class of PCI bridges, and the drivers of bridges and empty slots.
_BRIDGE = "0x0604"
_OF_BUS = ("", "pcieport")
# The classes of character devices: verbs, and management datagrams, which include the flag of a subnet manager.
_CLASSES = ("infiniband_verbs", "infiniband_mad")


class Places(t.NamedTuple):
    """The PCI functions below each interface, and below each file of /dev/infiniband."""

    interfaces: t.Mapping[str, frozenset[str]]
    files: t.Mapping[str, frozenset[str]]

    def of(self, via: t.Iterable[str]) -> frozenset[str]:
        """The PCI functions below some interfaces and files, as far as they are known."""
        return frozenset().union(*(known.get(name, ()) for name in via for known in self))


def read_places(root: str, netdevs: t.Sequence[Netdev]) -> Places:
    """The PCI functions below all interfaces (through bonds, VLANs and P_Key children) and character devices."""
    rdma = {name: pci_address(root, "sys/class/infiniband", name, "device") for name in rdma_devices(root)}
    direct = {netdev.name: {pci_address(root, "sys/class/net", netdev.name, "device"), rdma.get(netdev.port.partition("/")[0], "")} for netdev in netdevs}
    interfaces = {netdev.name: frozenset().union(*(direct[lower.name] for lower in below(netdev.name, netdevs))) - {""} for netdev in netdevs}
    files: dict[str, frozenset[str]] = {}
    for kind in _CLASSES:
        for name in entries(root, "sys/class", kind):
            pci = rdma.get(attribute(root, "sys/class", kind, name, "ibdev"), "")
            if pci:
                files[name] = frozenset([pci])
    return Places(interfaces, files)


def users_of(functions: t.Collection[str], users: t.Sequence[User], places: Places) -> tuple[str, ...]:
    """The users of one card in words. `functions`: its PCI functions. Subnet managers and virtual functions are reported elsewhere.

    A user whose card is unknown counts as a user of every card: a false "free" costs a mount or a job, a false "in use" costs a question.
    """
    found = []
    for user in users:
        known = places.of(user.via)
        if user.kind not in ("sm", "vf") and (not known or known & set(functions)):
            found.append("%s (%s)" % (user.name, user.detail) if user.detail else user.name)
    return tuple(found)


def ssh_over(functions: t.Collection[str], ssh: SshPath, places: Places) -> str:
    """The interface through which the management connection uses, or may use, this card; "" where it does not."""
    if ssh.client and not ssh.device:
        return "an unknown interface"
    if not ssh.over_rdma:
        return ""
    known = places.of([ssh.device])
    return ssh.device if not known or known & set(functions) else ""


def interfaces_of(functions: t.Collection[str], places: Places) -> tuple[str, ...]:
    """The interfaces that go down with a card."""
    return tuple(sorted(name for name, pcis in places.interfaces.items() if pcis & set(functions)))


def read_virtual_functions(root: str, functions: t.Sequence[str]) -> int:
    """The present number of virtual functions of a card."""
    return sum(integer(attribute(root, "sys/bus/pci/devices", pci, "sriov_numvfs")) or 0 for pci in functions)


def read_foreign_drivers(root: str, functions: t.Sequence[str]) -> tuple[str, ...]:
    """The functions held by a driver that the reset tools don't stop: "0000:03:00.1 (vfio-pci)"."""
    drivers = [(pci, link_name(root, "sys/bus/pci/devices", pci, "driver")) for pci in functions]
    return tuple("%s (%s)" % item for item in drivers if item[1] not in _OWN_DRIVERS)


def _switch_of(root: str, pci: str) -> str:
    """The sysfs path of the upstream port of the switch on the card itself; "" for a card without a switch."""
    base = os.path.join(root, "sys/bus/pci/devices")
    path = os.path.dirname(real_path(base, pci))
    found = ""
    # The root port above it, or a switch on the board, is of another vendor.
    while path and attribute(path, "vendor") == _NVIDIA and attribute(path, "class").startswith(_BRIDGE):
        found, path = path, os.path.dirname(path)
    return found


def read_behind(root: str, functions: t.Sequence[str]) -> tuple[str, ...]:
    """The foreign devices with a driver behind the PCIe switch of a card, such as GPUs and NVMe drives of DGX and HGX."""
    base = os.path.join(root, "sys/bus/pci/devices")
    switches = {switch for pci in functions for switch in [_switch_of(root, pci)] if switch}
    found = []
    for pci in entries(base) if switches else ():
        path = real_path(base, pci)
        driver = link_name(base, pci, "driver")
        ours = pci.rpartition(".")[0] in {function.rpartition(".")[0] for function in functions}
        if driver not in _OF_BUS and not ours and any(path.startswith(switch + "/") for switch in switches):
            found.append("%s (%s)" % (pci, driver))
    return tuple(sorted(found))


def choose(devices: t.Sequence[Device], names: t.Sequence[str]) -> tuple[Device, ...]:
    """The adapters that any of the names selects, each once; all adapters without names. Raises InvalidInput with every name that selects none."""
    found = "one of: %s" % "; ".join(describe_device(device) for device in devices) if devices else "nothing: this node has no adapter"
    fitting = [{device.pci for device in devices if any(matches(device, kind, name) for kind in SELECTORS)} for name in names]
    require_none([Problem("adapters[%d]" % index, names[index], found) for index, chosen in enumerate(fitting) if not chosen])
    return tuple(device for device in devices if not names or any(device.pci in chosen for chosen in fitting))


def in_hypervisor(run: Runner) -> bool:
    """Whether the reset tools take this node for a virtual machine. They look for the same words."""
    return run.has("lscpu") and "Hypervisor vendor" in run(["lscpu"], ok=None, timeout=10).stdout


def look(run: Runner, devices: t.Sequence[Device], environ: t.Mapping[str, str], *, root: str = "/") -> tuple[Host, list[Card]]:
    """The properties of the node that matter for resets, and each card with its users."""
    netdevs = seen_netdevs(run, root)
    users = read_usage(root, netdevs, ssh_connection(environ, root, os.getpid()))
    ssh = read_ssh(run, netdevs, environ, root=root)
    places = read_places(root, netdevs)
    machine = read_machine(root)
    host = Host(
        hypervisor=in_hypervisor(run),
        enclosed=machine.kind if machine.kind in ("container", "chroot") else "",
        opensm=any(user.kind == "sm" for user in users),
        secure_boot=read_secure_boot(root),
        missing=tuple(name for name in _HELPERS if not run.has(name)),
    )
    tools = find_tools(run, "auto") if any(run.has(name) for name in _mlxconfig.TOOLS) else ()
    cards = [
        card._replace(
            users=users_of(card.functions, users, places),
            ssh=ssh_over(card.functions, ssh, places),
            interfaces=interfaces_of(card.functions, places),
            virtual_functions=read_virtual_functions(root, card.functions),
            foreign_drivers=read_foreign_drivers(root, card.functions),
            behind=read_behind(root, card.functions),
        )
        for card in each(lambda device: _ask(run, device, tools), devices)
    ]
    return host, cards


def _differs(row: Row) -> bool:
    """Whether the next value differs from the current one. A row for a whole array says nothing about its elements."""
    if row.current is None or row.read_only or bounds(row.next) or not (readable(row.current) and readable(row.next)):
        return False
    return not same(row.next, row.current)


def _configuration(run: Runner, tools: t.Sequence[str], device: Device) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The parameters whose next value differs from the current one, and what could not be read."""
    _required(run, _mlxconfig.TOOLS)
    rows = look_at_parameters(Session(run, tools, device.pci), Wanted(device, reset_all=True)).values()
    if rows and all(row.current is None for row in rows):
        return (), ("its firmware doesn't report the configuration that it runs with, so pending parameters are unknown",)
    return tuple(Change(Kind.FIRMWARE_PARAMETER, device.pci, row.name, row.current or "", row.next) for row in rows if _differs(row)), ()


def _image(run: Runner, pci: str) -> tuple[Change, ...]:
    found = query_adapter(run, _required(run, _flint.TOOLS), pci)
    if _flint.same_version(found.version, found.running):
        return ()
    return (Change(Kind.FIRMWARE, pci, "running_version", found.running, found.version),)


def _required(run: Runner, tools: t.Sequence[str]) -> str:
    """The first of the tools that is installed. Raises RdmaError where none is."""
    found = first_tool(run, tools)
    if not found:
        raise RdmaError("neither %s is installed" % " nor ".join(tools))
    return found


def _tried(look: t.Callable[[], _T]) -> tuple[_T | None, str]:
    """The result of `look`, or the reason why it failed."""
    try:
        return look(), ""
    except RdmaError as exc:
        return None, exc.msg


def _ask(run: Runner, device: Device, tools: t.Sequence[str]) -> Card:
    """Query one card with the tools."""
    firmware, no_firmware = _tried(lambda: _image(run, device.pci))
    configuration, no_configuration = _tried(lambda: _configuration(run, tools, device))
    parameters, unknown = configuration or ((), ())
    query, obstacle = _tried(lambda: _mlxfwreset.query(run, _required(run, _mlxfwreset.TOOLS), device.pci))
    why_not = {"firmware": no_firmware, "configuration": no_configuration}
    failures = tuple("whether %s is pending is unknown: %s" % (what, why) for what, why in why_not.items() if why)
    return Card(device.pci, device.functions, device.model, (firmware or ()) + parameters, query, obstacle, (*unknown, *failures), failures)


def drivers(root: str, functions: t.Sequence[str]) -> dict[str, bool]:
    """The functions that exist, and whether each has a driver."""
    base = os.path.join(root, "sys/bus/pci/devices")
    return {pci: os.path.lexists(os.path.join(base, pci, "driver")) for pci in functions if os.path.lexists(os.path.join(base, pci))}
