# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""systemd-networkd as a back-end: a reload and, where that has no effect, commands for single interfaces."""

from __future__ import annotations

import typing as t

from ..._host._units import Systemd
from .._backend import Backend, Driver, Evidence, Files
from .._found import Claim, Found, Place, Presence, Standing
from .._runtime import by_interface, settings
from . import _networkd, _networkd_reader

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._identity import Identity
    from .._todo import IpoibPlan

UNIT = "systemd-networkd.service"
# The directory that sd_network_link_get_setup_state reads for `networkctl`: one file per interface, named by its index.
LINKS = "run/systemd/netif/links"
ASPECTS = ("addresses", "routes", "state")


class NetworkdDriver(Driver):
    """networkd changes no existing bond, and creates one with an MTU that its ports can't have: the kernel part creates it instead."""

    makes_bonds = False

    def forget(self, paths: t.Sequence[str]) -> None:
        if is_read(paths):
            self._reload()

    def give_back(self, names: t.Mapping[str, str], found: Found) -> None:
        self._reload()
        for name in names:
            self._run(["networkctl", "reconfigure", name])

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        """Reload: that creates new children and configures the interfaces whose files have changed. Others are reconfigured explicitly."""
        # A child that was deleted by hand comes back when its parent is reconfigured.
        orphaned = {interface.parent for interface in todo.live if interface.is_child and todo.touches(interface.name, ("device",))}
        astray = [
            interface.name
            for interface in todo.live
            if interface.name in found.netdevs
            and not any(path.endswith(("-%s.network" % interface.name, "-%s.network.d/50-rdma-ofed.conf" % interface.name)) for path in changed)
            and (interface.name in orphaned or todo.touches(interface.name, ASPECTS))
        ]
        # Also if no file changed: the run that wrote the files may have been interrupted before this step.
        if orphaned or astray or is_read(changed):
            self._reload()
        if astray:
            self._run(["networkctl", "reconfigure", *astray])

    def _reload(self) -> None:
        """Reload the files. After a slow boot, networkd 252 may never get its name on the message bus (observed). A restart makes it read its files
        as well: addresses stay, but a DHCP lease is requested again.
        """
        self._tools.put_back()
        if self._run(["networkctl", "reload"], ok=None).rc:
            Systemd(self._run).restart(UNIT)

    def nudge(self, again: IpoibPlan, found: Found) -> None:
        """Tell networkd again. A missing child can only come back with its parent.

        Errors are ignored: what is left to do at the end makes the better message.
        """
        late = [each for each in again.live if each.name in again.dissenting or again.touches(each.name, ("device", *ASPECTS))]
        names = {interface.name if interface.name in found.netdevs else interface.parent for interface in late}
        there = sorted(name for name in names if name in found.netdevs)
        if there:
            self._run(["networkctl", "reconfigure", *there], ok=None)


def is_read(paths: t.Iterable[str]) -> bool:
    return any(path.endswith((".network", ".netdev", ".network.d/50-rdma-ofed.conf")) for path in paths)


class Networkd(Backend):
    name = "systemd-networkd"
    format = _networkd
    reader = _networkd_reader
    driver = NetworkdDriver
    see = "'networkctl status' and 'journalctl -u systemd-networkd'"
    service = UNIT
    patterns = tuple(
        "%s/*.%s" % (directory, suffix) for directory in _networkd.DIRECTORIES for suffix in ("network", "netdev", "network.d/*.conf", "netdev.d/*.conf")
    )
    acts_on_files = True
    leases = True
    # It writes through a /proc of its own (ProtectProc=), which is writable even in containers.
    enables_ipv6 = True

    def claim(self, evidence: Evidence) -> Claim | None:
        if not evidence.is_active(UNIT):
            return None
        own = _networkd.own_files(evidence.files)
        return Claim("%s is active" % UNIT + (" and %s exists" % own[0] if own else ""), 2 if own else 1)

    def look(self, run: Runner, evidence: Evidence, root: str) -> Presence:
        found = self.recognise(evidence)
        if found.claim is None:
            return found
        rows = {name: settings(text) for name, text in by_interface(root, LINKS).items()}
        return found._replace(standings={name: Standing(row.get("ADMIN_STATE", ""), row.get("NETWORK_FILE", "")) for name, row in rows.items()})

    def dissent(self, name: str, found: Found) -> str:
        standing = self.presence(found).standings.get(name, Standing())
        if standing.state in ("unmanaged", "failed"):
            return standing.state
        return "configured by %s" % standing.file if standing.file and not _networkd.is_of(name, standing.file) else ""

    def retry(self, name: str, found: Found) -> str:
        return "networkctl reload && networkctl reconfigure %s" % name

    def aloof(self, interface: Identity, found: Found) -> tuple[Place, ...]:
        return _networkd.aloof(interface, found.files)

    def unsaid(self, interface: Identity, path: str, files: Files, *, names: t.Mapping[str, str]) -> tuple[str, ...]:
        return _networkd.unsaid(files[path], names)

    def devices(self, interface: Identity, files: Files) -> tuple[str, ...]:
        return _networkd.devices(interface, files)

    def needs_boot_unit(self, found: Found) -> bool:
        return True

    def held(self, found: Found) -> frozenset[str] | None:
        return None

    def listens(self, found: Found) -> bool:
        return self.presence(found).claim is not None

    def shell_reload(self, touched: t.Collection[str], found: Found) -> list[str]:
        return ["networkctl reload"] if self.name in touched and self.listens(found) else []


NETWORKD = Networkd()
