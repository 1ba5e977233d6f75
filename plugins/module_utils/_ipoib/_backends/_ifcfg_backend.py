# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Red Hat's ifcfg files as a back-end: NetworkManager reads them where it runs, network-scripts elsewhere."""

from __future__ import annotations

import typing as t

from .._backend import UP_TIMEOUT, Backend, Driver, Evidence, Files, Interfaces, Tools
from .._found import Active, Claim, Found, Place
from .._wanted import FULL_MEMBER
from . import _ifcfg, _ifcfg_reader
from ._networkmanager_backend import NETWORKMANAGER, NetworkManagerDriver

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._identity import Identity
    from .._todo import IpoibPlan

UNIT = "network.service"
# The first NetworkManager that takes a P_Key of limited membership from an ifcfg file.
LIMITED_SINCE = (1, 44)
SCRIPTS_DATAGRAM_MTU = 2044


class NetworkScriptsDriver(Driver):
    """network-scripts keep no list of active interfaces, so existing interfaces are changed directly, without the scripts."""

    def give_up(self, names: t.Sequence[str], found: Found) -> None:
        for name in names:
            if name in found.netdevs and self._run.has("ifdown"):
                self._run(["ifdown", name], ok=None)

    def give_back(self, names: t.Mapping[str, str], found: Found) -> None:
        for name in names:
            self._run(["ifup", name], timeout=UP_TIMEOUT)

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        for interface in todo.live:
            netdev = found.netdevs.get(interface.name)
            if netdev is not None and netdev.up:
                self._kernel.alter(interface, netdev, found)
            elif not interface.master:
                if netdev is not None:
                    # ifup fails if an address already exists.
                    self._kernel.clear(netdev)
                self._run(["ifup", interface.name], timeout=UP_TIMEOUT)


def _uuids(found: Found) -> dict[str, str]:
    return {**_ifcfg.continued(found.files), **found.taken.continued}


class Ifcfg(Backend):
    name = "ifcfg"
    format = _ifcfg
    reader = _ifcfg_reader
    see = "'ip address', and 'nmcli device' where NetworkManager runs"
    units = (UNIT,)
    tools = ("ifup",)
    patterns = _ifcfg.PATTERNS
    read_by = (NETWORKMANAGER.name,)
    strips = True

    def claim(self, evidence: Evidence) -> Claim | None:
        own = _ifcfg.own_files(evidence.files)
        if not own or not evidence.is_active(UNIT):
            return None
        # Where NetworkManager runs, it reads these files, and the network service skips them.
        return Claim("%s is active and %s exists" % (UNIT, own[0]), 1 if evidence.is_active(NETWORKMANAGER.service) else 2)

    def missing(self, evidence: Evidence) -> str:
        if "ifup" in evidence.tools or evidence.is_active(NETWORKMANAGER.service):
            return ""
        return "ipoib_backend is ifcfg, but neither network-scripts (ifup) nor NetworkManager is installed to read such files: name another back-end"

    def in_use(self, evidence: Evidence) -> bool:
        return bool(_ifcfg.own_files(evidence.files))

    def render(self, interfaces: Interfaces, found: Found) -> dict[str, str]:
        return _ifcfg.render(interfaces, NETWORKMANAGER.version(found) is not None, _uuids(found))

    def faults(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        release = NETWORKMANAGER.version(found)
        if release is not None and release >= LIMITED_SINCE:
            return ()
        reader = "network-scripts" if release is None else "NetworkManager %d.%d" % release
        return tuple(
            "%s: P_Key 0x%04x is a limited membership, to which %s adds the bit of full membership in an ifcfg file; declare 0x%04x, or use another back-end"
            % (interface.name, interface.pkey, reader, interface.pkey | FULL_MEMBER)
            for interface in interfaces
            if interface.is_limited
        )

    def aloof(self, interface: Identity, found: Found) -> tuple[Place, ...]:
        return () if NETWORKMANAGER.version(found) is None else NETWORKMANAGER.aloof(interface, found)

    def active(self, found: Found) -> t.Mapping[str, Active]:
        return NETWORKMANAGER.active(found)

    def profile(self, path: str, text: str, found: Found) -> str:
        return _ifcfg.profile(path, text) if NETWORKMANAGER.lets_move(found) else ""

    def unsaid(self, interface: Identity, path: str, files: Files, *, names: t.Mapping[str, str]) -> tuple[str, ...]:
        return _ifcfg.unsaid(files[path])

    def zone_file(self, name: str) -> str:
        return _ifcfg.path_of(name)

    def zone_in(self, text: str) -> str:
        return _ifcfg.zone_in(text)

    def zoned(self, text: str, zone: str) -> str:
        return _ifcfg.zoned(text, zone)

    def tell_zone(self, run: Runner, name: str, path: str) -> None:
        # Network-scripts read the file when the interface comes up.
        NETWORKMANAGER.tell_zone(run, name, path)

    def interrupts(self, found: Found) -> bool:
        return NETWORKMANAGER.version(found) is not None

    def dissent(self, name: str, found: Found) -> str:
        return "" if NETWORKMANAGER.version(found) is None else NETWORKMANAGER.dissent(name, found)

    def retry(self, name: str, found: Found) -> str:
        return "nmcli connection up uuid %s" % (_uuids(found).get(name) or _ifcfg.uuid_of(name))

    def remarks(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        if NETWORKMANAGER.version(found) is not None:
            return ()
        return tuple(
            "%s: some releases of ifup-ib lower the MTU of datagram mode to %d" % (interface.name, SCRIPTS_DATAGRAM_MTU)
            for interface in interfaces
            if interface.mode == "datagram" and interface.mtu > SCRIPTS_DATAGRAM_MTU and interface.bond is None
        )

    def drive(self, tools: Tools, found: Found, interfaces: Interfaces = ()) -> Driver:
        if NETWORKMANAGER.version(found) is None:
            return NetworkScriptsDriver(tools)
        # A profile from an ifcfg file is named after the interface, and other profiles may have the same name.
        uuids = _uuids(found)
        return NetworkManagerDriver(tools, lambda name: uuids.get(name) or _ifcfg.uuid_of(name), key="uuid")


IFCFG = Ifcfg()
