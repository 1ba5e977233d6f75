# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of files for the module ipoib: sysfs and /etc below a directory, and tools that act on them like the real ones."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _apply
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifupdown, _netplan, _networkmanager
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._assignments import sections
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import Options
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._converge import converge

from support.module_files import FakeModule

CAPABLE = "80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0f:00:01"
ENHANCED = "00:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0f:00:01"

UNITS = {"ifupdown": "networking", "networkmanager": "NetworkManager", "netplan": "systemd-networkd", "wicked": "wickedd"}
TOOLS = {
    "systemd-networkd": {"networkctl"},
    "ifupdown": {"ifup", "ifdown"},
    "networkmanager": {"nmcli"},
    "netplan": {"netplan", "networkctl"},
    "wicked": {"wicked"},
}


class FakeNode:
    """A node with one HCA; `argv` collects commands that change something."""

    def __init__(self, root: pathlib.Path, stack: str, hwaddr: str = ENHANCED, driver: str = "mlx5_core", ports: int = 1, bonding: bool = True) -> None:
        self.root, self.stack, self.hwaddr = root, stack, hwaddr
        self.argv: list[str] = []
        self.addresses: dict[str, list[str]] = {}
        self.routes: list[dict[str, t.Any]] = []
        self.enabled: set[str] = set()
        self.profiles: dict[str, dict[tuple[str, str], str]] = {}
        self.active: dict[str, str] = {}
        self.group_mtu = 2044
        self.outgoing = "ib0"
        self.timers: set[str] = set()
        self.lazy = False
        self.spoilt: set[str] = set()
        self.tools = set(TOOLS.get(stack, ()))
        self.services = [UNITS.get(stack, stack)]
        self.break_at = 0
        self.nm_states: dict[str, str] = {}
        # ifupdown's report on its interfaces, in place of the real state.
        self.ifstate = ""
        device = root / "sys/bus/pci/drivers" / driver
        device.mkdir(parents=True)
        pci = root / "sys/devices/0000:03:00.0"
        pci.mkdir(parents=True)
        (pci / "driver").symlink_to(device)
        for port in range(1, ports + 1):
            self.write("sys/class/infiniband/hca_0/ports/%d/link_layer" % port, "InfiniBand")
            self.write("sys/class/infiniband/hca_0/ports/%d/gids/0" % port, "fe80:0000:0000:0000:0002:c903:000f:%04x" % port)
        if bonding:
            self.write("sys/class/net/bonding_masters", "")
        if ports:
            (root / "sys/class/infiniband/hca_0/device").symlink_to(pci)
        if stack == "ifupdown":
            self.write("etc/network/interfaces", "source /etc/network/interfaces.d/*.cfg")
        if stack == "netplan":
            self.write("etc/netplan/01-eth.yaml", "network: {version: 2, ethernets: {eth0: {dhcp4: true}}}")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text + "\n")

    def read(self, path: str) -> str:
        return (self.root / path).read_text().strip()

    def net(self, name: str) -> pathlib.Path:
        return self.root / "sys/class/net" / name

    def get(self, name: str, file: str) -> str:
        # Called a hundred thousand times, therefore without pathlib.
        try:
            with open("%s/sys/class/net/%s/%s" % (self.root, name, file), encoding="ascii") as opened:
                return opened.read().strip()
        except FileNotFoundError:
            return ""

    def set(self, name: str, file: str, text: str) -> None:
        self.write("sys/class/net/%s/%s" % (name, file), text)

    def master(self, name: str) -> str:
        link = self.net(name) / "master"
        return os.path.basename(os.readlink(str(link))) if link.is_symlink() else ""

    def members(self, bond: str) -> list[str]:
        return [name for name in sorted(self.addresses) if self.master(name) == bond]

    def appear(self, name: str, parent: str = "", mode: str = "datagram", mtu: int = 2044) -> None:
        """Create what ib_ipoib creates."""
        own = self.hwaddr
        if name.startswith("ib") and name[2:3].isdigit():
            own = self.hwaddr[:-2] + "%02x" % (int(name[2]) + 1)
        # NetworkManager brings up every device that it manages.
        flags = "0x1003" if self.stack == "networkmanager" and not parent else "0x1002"
        files = {"type": "32", "mtu": str(mtu), "flags": flags, "address": own, "mode": mode}
        if parent:
            files.update(parent=parent, pkey="0x" + name.rpartition(".")[2])
        for file, text in files.items():
            self.set(name, file, text)
        self.addresses.setdefault(name, [])
        self.write("proc/modules", "ib_ipoib 1 0 - Live 0x0")

    def vanish(self, name: str) -> None:
        for port in self.members(name):
            self.unlink(port)
        self.spoilt.discard(name)
        shutil.rmtree(self.net(name))
        del self.addresses[name]
        self.routes = [route for route in self.routes if route["dev"] != name]

    def up(self, name: str, state: str = "up") -> None:
        self.set(name, "flags", "0x1003" if state == "up" else "0x1002")
        if state == "down":
            self.routes = [route for route in self.routes if route["dev"] != name]

    def link(self, port: str, bond: str) -> None:
        assert self.get(port, "flags") == "0x1002", "the kernel takes in nothing that is up"
        wanted = int(self.get(bond, "mtu"))
        if wanted > 4092 and self.get(port, "mode") != "connected":
            raise CommandFailed("RTNETLINK answers: Invalid argument")
        self.set(port, "mtu", str(wanted if self.get(port, "mode") == "connected" else min(wanted, self.group_mtu)))
        (self.net(port) / "master").symlink_to(self.net(bond))
        self.up(port)

    def unlink(self, port: str) -> None:
        (self.net(port) / "master").unlink()
        self.up(port, "down")

    def bond(self, name: str, options: t.Mapping[str, str]) -> None:
        if name not in self.addresses:
            self.addresses[name] = []
            for file, text in {"type": "1", "mtu": "1500", "flags": "0x1002", "address": "02:00:00:00:00:01"}.items():
                self.set(name, file, text)
            for option, text in {"mode": "balance-rr 0", "miimon": "0", "primary": "", "fail_over_mac": "none 0"}.items():
                self.set(name, "bonding/" + option, text)
        for option, text in options.items():
            self.set(name, "bonding/" + option, text)

    def mtu(self, name: str, mtu: str) -> None:
        mode = self.get(name, "mode")
        if mode == "datagram" and int(mtu) > 4092:
            raise CommandFailed("RTNETLINK answers: Invalid argument")
        self.set(name, "mtu", str(min(int(mtu), self.group_mtu)) if mode == "datagram" else mtu)
        for port in self.members(name):
            self.mtu(port, mtu)

    def mode(self, name: str, mode: str) -> None:
        if self.get(name, "mode") != mode:
            self.set(name, "mode", mode)
            self.set(name, "mtu", "65520" if mode == "connected" else str(self.group_mtu))

    def change_stack(self, stack: str) -> None:
        """Switch to another network stack; the former one keeps running."""
        self.stack = stack
        self.tools |= TOOLS[stack]
        self.services.append(UNITS.get(stack, stack))

    def has(self, tool: str) -> bool:
        return tool in ("ip", "systemctl", "systemd-run") or tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        words = list(argv)
        self._catch_up()
        if words[:4] == ["ip", "link", "set", "dev"] and words[4] in self.spoilt and words[5] == "mtu":
            assert ok is None, "a bond that has refused a port has an Ethernet's largest MTU"
            return Output(2, "", "Error: mtu greater than device maximum.\n")
        if words == ["ip", "-j", "-d", "addr"]:
            return Output(0, json.dumps([self._row(name) for name in self.addresses]), "")
        if words[:2] == ["systemctl", "show"]:
            return Output(0, self._units(), "")
        if words[:3] == ["ip", "-j", "route"]:
            return Output(0, json.dumps([{"dev": self.outgoing}]), "")
        if words[2:5] == ["-j", "route", "show"]:
            return Output(0, json.dumps([route for route in self.routes if (":" in route["dst"]) == (words[1] == "-6")]), "")
        if words[0] == "nmcli" and words[-1] == "--active":
            lines = ["%s:%s:%s:activated" % (self.profiles[uuid]["connection", "id"], uuid, name) for name, uuid in self.active.items()]
            return Output(0, "\n".join(lines), "")
        if words[:2] == ["systemctl", "is-active"]:
            return Output(0 if self.timers.intersection(words[2:]) else 3, "", "")
        if words[0] == "nmcli" and words[-1] == "device":
            return Output(0, "\n".join("%s:%s" % (name, self.nm_state(name)) for name in self.addresses), "")
        if words == ["nmcli", "--version"]:
            return Output(0, "nmcli tool, version 1.42.4", "")
        if words == ["netplan", "info"]:
            return Output(0, "features:\n  - dbus\n  - infiniband\n", "")
        self.argv.append(" ".join(words))
        if len(self.argv) == self.break_at:
            raise CommandFailed("broken off")
        # sysfs of the kernel follows a mode change at once; files do not, so each step updates them first.
        self._catch_up()
        try:
            getattr(self, "_" + words[0].replace("-", "_"))(words[1:])
        except CommandFailed:
            if ok is None:
                return Output(1, "", "")
            raise
        self._catch_up()
        return Output(0, "", "")

    def nm_state(self, name: str) -> str:
        return self.nm_states.get(name, "connected" if name in self.active else "disconnected")

    def _row(self, name: str) -> dict[str, t.Any]:
        infos = [{"family": "inet6" if ":" in one else "inet", "local": one.split("/")[0], "prefixlen": int(one.split("/")[1])} for one in self.addresses[name]]
        return {"ifname": name, "addr_info": infos}

    def _units(self) -> str:
        blocks = ["Id=%s.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n" % service for service in self.services]
        blocks += ["Id=%s\nLoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\n" % unit for unit in self.enabled]
        return "\n".join(blocks)

    def _catch_up(self) -> None:
        for name in list(self.addresses):
            pkey = self.get(name, "delete_child")
            if pkey:
                (self.net(name) / "delete_child").unlink()
                self.vanish("%s.%s" % (name, pkey[2:]))
        for name in self.addresses:
            if self.get(name, "mode") == "datagram" and int(self.get(name, "mtu")) > self.group_mtu:
                self.set(name, "mtu", str(self.group_mtu))

    def _ip(self, words: list[str]) -> None:
        if words[0] in ("-4", "-6"):
            self._ip_route(words[1:])
            return
        if words[:2] == ["link", "add"]:
            self._ip_add(words[2:])
            return
        name = words[words.index("dev") + 1]
        if words[:2] == ["link", "delete"]:
            self.vanish(name)
        elif words[:2] == ["link", "set"] and words[4] == "mtu":
            self.mtu(name, words[5])
        elif words[:2] == ["link", "set"] and words[4] in ("up", "down"):
            self.up(name, words[4])
        elif words[:2] == ["link", "set"] and words[4] == "master":
            self.link(name, words[5])
        elif words[:2] == ["link", "set"] and words[4] == "nomaster":
            self.unlink(name)
        elif words[:2] == ["link", "set"] and words[4] == "name":
            assert self.get(name, "flags") == "0x1002", "the kernel renames nothing that is up"
            assert words[5] not in self.addresses, "File exists"
            self.net(name).rename(self.net(words[5]))
            self.addresses[words[5]] = self.addresses.pop(name)
        elif words[:2] == ["link", "set"] and words[4] == "type":
            self.bond(name, dict(zip(words[6::2], words[7::2])))
        elif words[:2] == ["address", "replace"] and words[2] not in self.addresses[name]:
            self.addresses[name].append(words[2])
        elif words[:2] == ["address", "del"] and words[2] in self.addresses[name]:
            self.addresses[name].remove(words[2])

    def _ip_add(self, words: list[str]) -> None:
        options = dict(zip(words[::2], words[1::2]))
        if options["type"] == "bond":
            if options["name"] in self.addresses:
                raise CommandFailed("RTNETLINK answers: File exists")
            self.bond(options["name"], {key: value for key, value in options.items() if key not in ("name", "type")})
        else:
            self.appear(options["name"], options["link"], options["mode"], 65520 if options["mode"] == "connected" else 2044)

    def _ip_route(self, words: list[str]) -> None:
        options = dict(zip(words[3::2], words[4::2]))
        self.route(options["dev"], words[2], options.get("via", ""), int(options.get("metric", "0")), words[1] == "replace")

    def route(self, name: str, to: str, via: str, metric: int, add: bool = True) -> None:
        row: dict[str, t.Any] = {"dst": "default" if to in ("0.0.0.0/0",) else to, "dev": name, "protocol": "static"}
        row.update({"gateway": via} if via else {})
        row.update({"metric": metric} if metric else {})
        self.routes = [route for route in self.routes if route != row] + ([row] if add else [])

    def _systemctl(self, words: list[str]) -> None:
        if words[0] == "enable":
            self.enabled.add(words[1])
        elif words[0] == "disable":
            self.enabled.discard(words[1])
        elif words[0] == "stop":
            self.timers.discard(words[1])

    def _systemd_run(self, words: list[str]) -> None:
        self.timers.add(words[0].partition("=")[2] + ".timer")

    def _netplan(self, words: list[str]) -> None:
        """Do nothing: the command generates files and changes no interface. Other tests give the same file to the real netplan."""

    def _networkctl(self, words: list[str]) -> None:
        if self.lazy and words[0] == "reload":
            return
        if self.stack == "netplan":
            self._generated()
        for path in sorted((self.root / "etc/systemd/network").glob("*.network")):
            parsed = sections(path.read_text())
            if "Match" not in parsed:
                # A masked file.
                continue
            name = dict(parsed["Match"])["Name"]
            netdev = path.with_suffix(".netdev")
            if name not in self.addresses and not netdev.exists():
                continue
            if name not in self.addresses:
                made = sections(netdev.read_text())
                if "Bond" in made:
                    raise AssertionError("networkd makes no bond that its ports can enter")
                self.appear(name, name.rpartition(".")[0], dict(made["IPoIB"])["Mode"])
            self.configure(
                name,
                [value for key, value in parsed["Network"] if key == "Address"],
                dict(parsed["Link"]).get("MTUBytes", ""),
                _routes(parsed.get("Route", [])),
            )

    def _generated(self) -> None:
        """Apply the files that netplan generated for networkd."""
        path = self.root / _netplan.PATH[1:]
        for record in _netplan.records({_netplan.PATH: path.read_text()}).values() if path.exists() else ():
            if record.name in self.addresses:
                self.configure(record.name, record.addresses, str(record.mtu or ""), [])
        for other in sorted((self.root / "etc/netplan").glob("*.yaml")):
            network = (yaml.safe_load(other.read_text()) or {}).get("network", {})
            for name, settings in network.get("ethernets", {}).items():
                if name in self.addresses and other != path:
                    self.configure(name, settings["addresses"], "", [])

    def configure(self, name: str, addresses: t.Sequence[str], mtu: str, routes: t.Sequence[tuple[str, str, int]]) -> None:
        self.addresses[name] = list(addresses)
        if mtu and mtu != self.get(name, "mtu"):
            self.mtu(name, mtu)
        self.routes = [route for route in self.routes if route["dev"] != name]
        for to, via, metric in routes:
            self.route(name, to, via, metric)
        self.up(name)

    def _ifup(self, words: list[str]) -> None:
        name = words[-1]
        text = self.read(_ifupdown.path_of(name)[1:])
        if "type bond" in text and "for p in" in text:
            if name not in self.addresses:
                miimon = text.partition(" miimon ")[2].split()[0]
                self.bond(name, {"mode": "active-backup", "miimon": miimon, "fail_over_mac": "active"})
            ports = text.partition("for p in ")[2].partition(";")[0].split()
            for port in ports:
                if not self.master(port):
                    self.up(port, "down")
                    self.link(port, name)
            if "type bond primary" in text:
                self.set(name, "bonding/primary", text.rpartition("type bond primary ")[2].split()[0])
        elif name not in self.addresses:
            self.appear(name, name.rpartition(".")[0])
        if "echo connected" in text:
            self.mode(name, "connected")
        record = _ifupdown.records({_ifupdown.path_of(name): text})[name]
        if record.mtu:
            self.mtu(name, str(record.mtu))
        for address in record.addresses:
            assert address not in self.addresses[name], "ifup fails on an address that is there"
            self.addresses[name].append(address)
        for line in text.splitlines():
            words = line.split()
            if words[1:5:2] == ["ip", "route"]:
                options = dict(zip(words[6::2], words[7::2]))
                self.route(name, words[5], options.get("via", ""), int(options.get("metric", "0")))
        self.up(name)
        state = self.root / "run/network/ifstate"
        state.parent.mkdir(parents=True, exist_ok=True)
        state.write_text(self.ifstate or (state.read_text() if state.exists() else "") + "%s=%s\n" % (name, name))

    def _ifdown(self, words: list[str]) -> None:
        name = words[-1]
        if "." in name or (self.net(name) / "bonding").exists():
            self.vanish(name)
        else:
            if self.master(name):
                self.unlink(name)
            self.addresses[name] = []
            self.up(name, "down")
        state = self.root / "run/network/ifstate"
        state.write_text(state.read_text().replace("%s=%s\n" % (name, name), ""))

    def _nmcli(self, words: list[str]) -> None:
        if words[:2] == ["--wait", "60"]:
            words = words[2:]
        if words == ["connection", "reload"]:
            self._reload()
        elif words[:2] == ["connection", "up"]:
            key = ("connection", words[2])
            self._activate(next(profile for profile in self.profiles.values() if profile[key] == words[3]))
        elif words[:2] == ["connection", "down"]:
            names = [name for name, uuid in self.active.items() if uuid == words[3]]
            if not names:
                raise CommandFailed("Error: no active connection provided.")
            self._deactivate(names[0])
        elif words[:2] == ["device", "reapply"]:
            profile = self.profiles[self.active[words[2]]]
            self._settings(words[2], profile)

    def _reload(self) -> None:
        self.profiles = {}
        for path in sorted((self.root / _networkmanager.DIRECTORY[1:]).glob("*.nmconnection")):
            assert path.stat().st_mode & 0o077 == 0, "NetworkManager ignores what others can read"
            profile = {(section, key): value for section, pairs in sections(path.read_text()).items() for key, value in pairs}
            self.profiles[profile["connection", "uuid"]] = profile
        for name, uuid in list(self.active.items()):
            if uuid not in self.profiles:
                self._deactivate(name)

    def _activate(self, profile: dict[tuple[str, str], str]) -> None:
        name, uuid = profile["connection", "interface-name"], profile["connection", "uuid"]
        if profile["connection", "type"] == "bond":
            if name not in self.addresses:
                self.bond(name, {})
            self.bond(name, {key: value for (section, key), value in profile.items() if section == "bond"})
            ports = [other for other in self.profiles.values() if other.get(("connection", "master")) == uuid]
            for port in self.members(name):
                self.unlink(port)
                self.active.pop(port, None)
            self.set(name, "mtu", "1500")
            for port in ports:
                self._activate(port)
                self.up(port["connection", "interface-name"], "down")
                self.link(port["connection", "interface-name"], name)
            self.set(name, "bonding/primary", profile.get(("bond", "primary"), ""))
        else:
            if name not in self.addresses:
                self.appear(name, profile["infiniband", "parent"])
            if self.master(name):
                self.unlink(name)
            self.mode(name, profile["infiniband", "transport-mode"])
        self.active[name] = uuid
        self._settings(name, profile)

    def _settings(self, name: str, profile: dict[tuple[str, str], str]) -> None:
        mtu = profile.get(("infiniband", "mtu")) or profile.get(("ethernet", "mtu")) or ""
        addresses = [value for (_section, key), value in profile.items() if key.startswith("address")]
        routes = [value.split(",") for (_section, key), value in profile.items() if key.startswith("route")]
        rows = [(row[0], row[1].replace("0.0.0.0", "") if len(row) > 1 else "", int(row[2]) if len(row) > 2 else 150) for row in routes]
        self.configure(name, addresses, mtu, rows)

    def _deactivate(self, name: str) -> None:
        profile = self.profiles.get(self.active.pop(name), {})
        self.addresses[name] = []
        self.routes = [route for route in self.routes if route["dev"] != name]
        if (self.net(name) / "bonding").exists():
            for port in self.members(name):
                self.active.pop(port, None)
            self.vanish(name)
        elif profile.get(("infiniband", "parent")) or self.get(name, "parent"):
            self.vanish(name)
        elif self.master(name):
            self.unlink(name)

    def call(self, check: bool = False, environ: t.Mapping[str, str] | None = None, **options: t.Any) -> dict[str, t.Any]:
        """Run the module, with the consent to remove everything unless `options` say otherwise."""
        self.argv = []
        module = t.cast(t.Any, FakeModule(check))
        return converge(module, self, Options(**{"allow_removal": True, **options}), environ=environ or {}, root=str(self.root))


def _routes(pairs: t.Sequence[tuple[str, str]]) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    for key, value in pairs:
        if key == "Destination":
            found.append((value, "", 0))
        elif key == "Gateway":
            found[-1] = (found[-1][0], value, found[-1][2])
        elif key == "Metric":
            found[-1] = (*found[-1][:2], int(value))
    return found


def with_two_ports(path: pathlib.Path, stack: str) -> FakeNode:
    """Return a node whose adapter has two ports, with the interfaces ib0 and ib1."""
    node = FakeNode(path, stack, CAPABLE, "mlx4_core", ports=2)
    for name in ("ib0", "ib1"):
        node.appear(name)
    return node


def wait_briefly(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the applier wait this long for interfaces to settle, and look often."""
    monkeypatch.setattr(_apply, "SETTLE_TIMEOUT", seconds)
    monkeypatch.setattr(_apply, "SETTLE_STEP", 0.01)
    monkeypatch.setattr(_apply, "NUDGE_AFTER", 0.05)
