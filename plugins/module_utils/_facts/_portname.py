# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The notations for a port in an inventory, and the search for that port on a node. Pure.

The name of an RDMA device changes when udev renames it. PCI address and port GUID are constant. Names given by udev: see
rdma_rename.c of rdma-core.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem, require_none
from .._foreign import decimal, hexadecimal
from .._hosts import natural
from ._sysfs import guid

Port = t.Mapping[str, t.Any]
"""A port in the form of the facts."""

FORM = 'a port by PCI address and number ("0000:03:00.0/1"), by port GUID ("0x7cfe90030016aef1"), or by device and number ("mlx5_0/1")'
QUOTE = "quote it: without quotes YAML reads a number"

# Tools omit leading zeros.
_GUID = re.compile(r"0[xX][0-9a-fA-F]{1,16}\Z")
_FUNCTION = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:/([1-9][0-9]{0,2}))?\Z")
_DEVICE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,62})/([1-9][0-9]{0,2})\Z")
_PERSISTENT = re.compile(
    r"(?:ib|roce|iw|opa|rdma)(?:o[0-9]+|x(?P<guid>[0-9a-f]{16})"
    r"|(?:P(?P<domain>[0-9]+))?(?:p(?P<bus>[0-9]+))?s(?P<slot>[0-9]+)(?:f(?P<function>[0-9]+)(?P<virtual>v[0-9]+)?)?)\Z"
)
_NUMBERED = re.compile(r"[a-z][a-z0-9]*(?:_[a-z]+)*_?([0-9]{1,3})\Z")
_RAIL = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}\Z")
# Drivers append a number to their prefix: mlx5_0, mlx5_bond_0, irdma0. Those of Linux 3.10 and later.
_OF_DRIVER = re.compile(
    r"(?:mlx[45]_|mlx5_bond_|mthca|hfi1_|qib|ipath|bnxt_re|bnxt_re_bond|cxgb[34]_|ocrdma|i40iw|irdma|nes|qedr|hns_|efa_|mana_|erdma_|usnic_|"
    r"vmw_pvrdma|siw|rxe|smi)[0-9]+\Z"
)


class PortName(t.NamedTuple):
    """A parsed port name: a GUID, or a number with a PCI function or device. The name of a rail alone is a device without a number."""

    guid: str = ""
    pci: str = ""
    device: str = ""
    number: int = 0

    def fits(self, port: Port) -> bool:
        if self.guid:
            return bool(port.get("port_guid") == self.guid)
        if self.pci:
            return bool((port.get("pci"), port.get("port")) == (self.pci, self.number))
        return bool(port.get("name") == self.text) or self.is_rail_of(port)

    @property
    def text(self) -> str:
        """The device, with the number where there is one."""
        return "%s/%d" % (self.device, self.number) if self.number else self.device

    @property
    def is_rail(self) -> bool:
        """Whether it is the name of a rail alone."""
        return bool(self.device) and not self.number

    def is_rail_of(self, port: Port) -> bool:
        """Whether a port has this name from a declared rail; see `_rails.py`."""
        return bool(self.device) and self.text in (port.get("rails") or ())


def full_address(pci: str) -> str:
    """A PCI address with its domain, which users may omit if it is 0."""
    pci = pci.lower()
    return pci if pci.count(":") == 2 else "0000:" + pci


def parse_function(text: t.Any) -> PortName | None:
    """Parse a PCI address, `0000:03:00.0` or `03:00.0`, alone (the number is then 0) or with the number of a port; None for anything else."""
    match = _FUNCTION.match(text.lower()) if isinstance(text, str) else None
    return None if match is None else PortName(pci=full_address(match.group(1)), number=decimal(match.group(2) or "", 0))


def is_rail(name: t.Any) -> bool:
    """Whether a rail may have this name, which is also that of an RDMA device, and none that a driver or udev gives."""
    return isinstance(name, str) and _RAIL.match(name) is not None and not (_OF_DRIVER.match(name) or is_persistent(name) or guid(name))


def parse(text: t.Any) -> PortName | None:
    """Parse a port name in any notation of FORM, or what may be the name of a rail; None for anything else."""
    if not isinstance(text, str):
        return None
    if _GUID.match(text):
        return PortName(guid=guid("%016x" % hexadecimal(text, 0))) if hexadecimal(text) else None
    if guid(text):
        return PortName(guid=guid(text))
    function = parse_function(text)
    if function is not None:
        return function if function.number else None
    match = _DEVICE.match(text)
    if match is None:
        return PortName(device=text) if is_rail(text) else None
    return PortName(device=match.group(1), number=decimal(match.group(2), 0))


def form_problems(where: str, value: t.Any) -> list[Problem]:
    """The problem of a value that is no port name. The name of a rail is none here: see `port_problems` of `_rails.py`."""
    name = parse(value)
    return [] if name and not name.is_rail else [Problem(where, value, FORM, QUOTE if isinstance(value, int) and not isinstance(value, bool) else "")]


def find(text: t.Any, ports: t.Iterable[Port]) -> Port | None:
    """The port with that name; None where the node has no such port."""
    name = parse(text)
    # A device outside of the fabric can have the GUID and the PCI function of an HCA.
    meant = [port for port in ports if name.fits(port)] if name is not None else []
    # While names wait for the next boot, a device can have the name of another rail.
    return min(meant, key=lambda port: (bool(port.get("apart")), name is not None and not name.is_rail_of(port)), default=None)


def is_named(port: Port, names: t.Iterable[t.Any]) -> bool:
    """Whether one of the names refers to this port."""
    return any(find(name, (port,)) is not None for name in names)


def durable(port: Port) -> str:
    """The name of a port that does not change when its device is renamed."""
    return "%s/%s" % (port["pci"], port["port"]) if port.get("pci") else str(port.get("port_guid") or port["name"])


def describe(port: Port) -> str:
    """All names of a port: `mlx5_0/1 (0000:03:00.0/1, port GUID 0x7cfe90030016aef1)`."""
    others = ["rail %s" % port["rails"][0]] if port.get("rails") else []
    others += [durable(port)] if port.get("pci") else []
    others += ["port GUID %s" % port["port_guid"]] if port.get("port_guid") else []
    return "%s (%s)" % (port["name"], ", ".join(others)) if others else str(port["name"])


def describe_all(ports: t.Iterable[Port]) -> str:
    return ", ".join(describe(port) for port in sorted(ports, key=lambda port: natural(str(port["name"]))))


def is_persistent(device: str) -> bool:
    """Whether rdma_rename gave a device this name, `ibp3s0`, as opposed to the driver, `mlx5_0`."""
    return _PERSISTENT.match(device) is not None


def renamed(text: t.Any, ports: t.Sequence[Port]) -> Port | None:
    """The port that a device name probably meant, if no device has that name now; None where there is no evidence.

    A name from rdma_rename contains the address or the GUID. The driver numbers the devices in the order of their addresses.
    """
    name = parse(text)
    if name is None or not name.device or any(port.get("device") == name.device for port in ports):
        return None
    match = _PERSISTENT.match(name.device)
    if match is not None:
        return next((port for port in ports if _is_meant(match, name.number, port)), None)
    match = _NUMBERED.match(name.device)
    devices = sorted({str(port["pci"]) for port in ports if port.get("pci")})
    place = decimal(match.group(1), 0) if match is not None else len(devices)
    if place >= len(devices):
        return None
    found = PortName(pci=devices[place], number=name.number)
    return next((port for port in ports if found.fits(port) and is_persistent(str(port.get("device")))), None)


def _is_meant(match: t.Match[str], number: int, port: Port) -> bool:
    """Whether a name from rdma_rename is derived from the address or the GUID of this port."""
    if match["guid"]:
        return bool(port.get("port_guid") == "0x" + match["guid"])
    if match["bus"] is None or match["virtual"]:
        return False
    place = (decimal(match[part] or "", 0) for part in ("domain", "bus", "slot", "function"))
    return PortName(pci="%04x:%02x:%02x.%x" % tuple(place), number=number).fits(port)


def renaming(text: t.Any, ports: t.Sequence[Port]) -> str:
    """The present name of a device that has lost its declared name, and the name to declare, in words; "" where there is no evidence."""
    port = renamed(text, ports)
    if port is None:
        return ""
    return "the device was renamed, and this port is probably %s now: write %s, which does not change" % (port["name"], durable(port))


def no_such_port(where: str, value: t.Any, ports: t.Sequence[Port], *, none: str = "") -> Problem:
    """The problem of a name that matches none of the ports. `none`: what is allowed where there are no ports."""
    return Problem(where, value, "a port of this node: %s" % describe_all(ports) if ports else none, renaming(value, ports))


def named_ports(names: t.Mapping[str, t.Any], ports: t.Sequence[Port], *, none: str) -> list[Port]:
    """The ports with these names. `names`: by their place in the input. Raises InvalidInput with each port that the node does not have."""
    found = {where: find(name, ports) for where, name in names.items()}
    require_none([no_such_port(where, names[where], ports, none=none) for where, port in found.items() if port is None])
    return [port for port in found.values() if port is not None]
