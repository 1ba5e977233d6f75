# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NetworkManager as a back-end, driven with nmcli. Ports of bonds are never activated, see _networkmanager: their bond activates them."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ..._errors import CommandFailed
from ..._foreign import decimal
from ..._host._files import read_text, under
from .._backend import UP_TIMEOUT, Backend, Driver, Evidence, Files, Interfaces, Tools
from .._found import Active, Claim, Found, Place, Presence, Standing
from .._runtime import by_interface, settings
from . import _networkmanager, _networkmanager_conf, _networkmanager_reader

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._identity import Identity
    from .._todo import IpoibPlan
    from .._wanted import Interface

# Aspects that take effect only when the interface is activated again.
HARD = ("device", "mode", "bond", "bonding_mode", "fail_over_mac", "miimon", "ports", "primary")
SOFT = ("addresses", "routes", "mtu", "state")


_SERVICE, _ROOT = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"
_CALL = ("busctl", "call", _SERVICE)
# The profile as it is now, in any version. The flag 1 keeps addresses and routes that others have added, which `nmcli device reapply` removes. NetworkManager
# has it since 1.42. Before, it refuses the call: an active interface has the former zone again if firewalld restarts before the interface comes up.
_REAPPLY = ("Reapply", "a{sa{sv}}tu", "0", "0", "1")
_DEVICE = re.compile(r'o "(%s/Devices/[0-9]{1,9})"\s*\Z' % _ROOT)
# Since then, a profile is independent of the kind of its file.
MOVING_SINCE = (1, 20)
UDEV = "run/udev/data"
DEVICES = ("nmcli", "--terse", "--fields", "DEVICE,STATE", "device")
ACTIVE = ("nmcli", "--terse", "--fields", "NAME,UUID,DEVICE,STATE", "connection", "show", "--active")


def fields(line: str) -> list[str]:
    """Split a line of terse output: fields are separated by colons; colons within a field are escaped with a backslash."""
    return [re.sub(r"\\(.)", r"\1", field) for field in re.findall(r"(?:^|(?<=:))((?:\\.|[^:\\])*)", line)]


def parse_active(stdout: str) -> dict[str, Active]:
    """Parse the output of `ACTIVE`: the active profile by interface. A profile that is being deactivated does not count."""
    found = {}
    for line in stdout.splitlines():
        values = fields(line)
        if len(values) == 4 and values[2] and not values[3].startswith("deactivat"):
            found[values[2]] = Active(values[0], values[1], values[3] == "activating")
    return found


def parse_devices(stdout: str) -> dict[str, Standing]:
    """Parse the output of `DEVICES`: what NetworkManager reports for each interface."""
    rows = [fields(line) for line in stdout.splitlines()]
    return {row[0]: Standing(row[1]) for row in rows if len(row) == 2}


def _told_by_udev(root: str) -> dict[str, tuple[Place, ...]]:
    """The interfaces that udev marks as unmanaged, with the rules that may be the cause."""
    texts = by_interface(root, UDEV, "n")
    marked = [name for name, text in texts.items() if settings(text, "E:").get("NM_UNMANAGED", "").lower() in ("1", "true", "yes")]
    if not marked:
        return {}
    paths = [path for folder in _networkmanager_conf.RULES for path in glob.glob(under(root, folder) + "/*.rules")]
    rules = _networkmanager_conf.rules({"/" + os.path.relpath(path, root): read_text(path) for path in paths if os.path.isfile(path)})
    return {name: rules or (Place("/" + UDEV, 0, "E:NM_UNMANAGED=1"),) for name in marked}


def parse_device(stdout: str) -> str:
    """Parse the answer of D-Bus to the question for a device; "" for none."""
    match = _DEVICE.match(stdout)
    return match.group(1) if match else ""


def parse_version(stdout: str) -> tuple[int, int] | None:
    """Parse `nmcli tool, version 1.42.4`."""
    match = re.search(r"(?<![0-9])([0-9]{1,6})\.([0-9]{1,6})", stdout)
    return (decimal(match.group(1), 0), decimal(match.group(2), 0)) if match else None


def read_active(run: Runner) -> dict[str, Active]:
    output = run(ACTIVE, ok=None, timeout=20)
    return parse_active(output.stdout) if output.rc == 0 else {}


class NetworkManagerDriver(Driver):
    """`call` returns the `id` or `uuid` by which nmcli finds the profile of an interface; `key` names which of the two."""

    kernel_first = False

    def __init__(self, tools: Tools, call: t.Callable[[str], str] = _networkmanager.connection_id, *, key: str = "id") -> None:
        super().__init__(tools)
        self._call, self._key = call, key

    def give_up(self, names: t.Sequence[str], found: Found) -> None:
        """Deactivate, so that nothing brings the interface back. The mode and the MTU stay as they are."""
        for name in names:
            active = NETWORKMANAGER.active(found).get(name)
            if active is not None and self._is_ours(name, active):
                self._run(["nmcli", "connection", "down", "uuid", active.uuid], ok=None, timeout=UP_TIMEOUT)

    def _is_ours(self, name: str, active: Active) -> bool:
        return self._call(name) == (active.uuid if self._key == "uuid" else active.profile)

    def forget(self, paths: t.Sequence[str]) -> None:
        """Tell NetworkManager. Failures are ignored, because it may have been stopped."""
        if self._run.has("nmcli"):
            self._run(["nmcli", "general", "reload", "conf"], ok=None)
            self._run(["nmcli", "connection", "reload"], ok=None)

    def give_back(self, names: t.Mapping[str, str], found: Found) -> None:
        self.forget(())

        def rank(name: str) -> int:
            netdev = found.netdevs.get(name)
            return 0 if netdev is None else 2 if netdev.master else 1 if netdev.parent else 0

        failed = []
        for name in sorted(names, key=rank):
            # A bond may have brought up its ports already.
            if rank(name) < 2 or name not in read_active(self._run):
                # A bond or a child has to be created, so nmcli may know no such device.
                what = ["connection", "up", "uuid", names[name]] if names[name] else ["device", "connect", name]
                try:
                    self._run(["nmcli", *what], timeout=UP_TIMEOUT)
                except CommandFailed as exc:
                    # The others are brought up nevertheless.
                    failed.append(exc.msg)
        if failed:
            raise CommandFailed("; ".join(failed))

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        if _networkmanager.CARRIER_PATH in changed:
            self._run(["nmcli", "general", "reload", "conf"], ok=None)
        # Also if no file changed: the run that wrote the files may have been interrupted before this step.
        self._run(["nmcli", "connection", "reload"])
        active = read_active(self._run)
        for interface in todo.live:
            names = (interface.name, *(interface.bond.ports if interface.bond is not None else ()))
            if not interface.master and todo.touched.intersection(names):
                self._bring(interface, todo, active.get(interface.name))

    def _bring(self, interface: Interface, todo: IpoibPlan, active: Active | None) -> None:
        ports = interface.bond.ports if interface.bond is not None else ()
        hard = todo.touches(interface.name, HARD) or any(todo.touches(port, (*HARD, "state")) for port in ports)
        if active is not None and self._is_ours(interface.name, active) and not hard:
            soft = todo.touches(interface.name, SOFT) or any(todo.touches(port, ("mtu",)) for port in ports)
            if not soft or self._run(["nmcli", "device", "reapply", interface.name], ok=None, timeout=UP_TIMEOUT).rc == 0:
                return
        self._up(interface.name)

    def _up(self, name: str, ok: t.Collection[int] | None = (0,)) -> None:
        self._run(["nmcli", "--wait", "60", "connection", "up", self._key, self._call(name)], ok=ok, timeout=UP_TIMEOUT)

    def busy(self, found: Found) -> bool:
        return any(active.activating and self._is_ours(name, active) for name, active in NETWORKMANAGER.active(found).items())

    def nudge(self, again: IpoibPlan, found: Found) -> None:
        late = {each.name for each in again.live if each.name in again.dissenting or again.touches(each.name, (*HARD, *SOFT))}
        for interface in again.live:
            names = (interface.name, *(interface.bond.ports if interface.bond is not None else ()))
            if not interface.master and late.intersection(names):
                self._up(interface.name, None)


class NetworkManager(Backend):
    name = "networkmanager"
    format = _networkmanager
    reader = _networkmanager_reader
    driver = NetworkManagerDriver
    see = "'nmcli device' and 'journalctl -u NetworkManager'"
    service = "NetworkManager.service"
    tool = "nmcli"
    patterns = (*(directory + "/*" for directory in _networkmanager.DIRECTORIES), *_networkmanager_conf.PATTERNS)
    modes: t.Mapping[str, int] = {_networkmanager.DIRECTORY: _networkmanager.MODE}
    acts_on_files = True
    strips = True

    def claim(self, evidence: Evidence) -> Claim | None:
        return Claim("%s is active" % self.service, 2, presumed=True) if evidence.is_active(self.service) else None

    def look(self, run: Runner, evidence: Evidence, root: str) -> Presence:
        found = self.recognise(evidence)
        if found.missing:
            return found
        version = parse_version(run(["nmcli", "--version"], ok=None, timeout=20).stdout)
        # It brings up every interface that it manages, with or without a profile.
        return found._replace(
            raises=True,
            settings={"version": "%d.%d" % version} if version else {},
            active=read_active(run),
            standings=parse_devices(run(DEVICES, ok=None, timeout=20).stdout),
            told=_told_by_udev(root),
        )

    def dissent(self, name: str, found: Found) -> str:
        state = self.presence(found).standings.get(name, Standing()).state
        return state if state in ("unmanaged", "connected (externally)") else ""

    def retry(self, name: str, found: Found) -> str:
        return "nmcli connection up %s" % _networkmanager.connection_id(name)

    def aloof(self, interface: Identity, found: Found) -> tuple[Place, ...]:
        return _networkmanager_conf.unmanaged(interface, found.files, self.presence(found).told.get(interface.name, ()))

    def unsaid(self, interface: Identity, path: str, files: Files, *, names: t.Mapping[str, str]) -> tuple[str, ...]:
        return _networkmanager.unsaid(files[path])

    def profile(self, path: str, text: str, found: Found) -> str:
        return _networkmanager.profile(path, text) if self.lets_move(found) else ""

    def lets_move(self, found: Found) -> bool:
        """Whether a profile may move to another file, also one of the other kind, and stay active."""
        version = self.version(found)
        return version is not None and version >= MOVING_SINCE

    def render(self, interfaces: Interfaces, found: Found) -> dict[str, str]:
        return _networkmanager.render(interfaces, {**_networkmanager.continued(found.files), **found.taken.continued})

    def zone_file(self, name: str) -> str:
        return _networkmanager.path_of(name)

    def zone_in(self, text: str) -> str:
        return _networkmanager.zone_in(text)

    def zoned(self, text: str, zone: str) -> str:
        return _networkmanager.zoned(text, zone)

    def tell_zone(self, run: Runner, name: str, path: str) -> None:
        if run.has("nmcli"):
            run(("nmcli", "connection", "load", path), ok=None)
        if run.has("busctl"):
            device = parse_device(run((*_CALL, _ROOT, _SERVICE, "GetDeviceByIpIface", "s", name), ok=None).stdout)
            if device:
                run((*_CALL, device, _SERVICE + ".Device", *_REAPPLY), ok=None)

    def interrupts(self, found: Found) -> bool:
        # Our profile has to be activated in place of the foreign one.
        return True

    def version(self, found: Found) -> tuple[int, int] | None:
        """The version; None where it does not run."""
        return parse_version(self.presence(found).settings.get("version", ""))

    def faults(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        return tuple(str(problem) for problem in _networkmanager.problems(interfaces))

    def held(self, found: Found) -> frozenset[str] | None:
        # A profile that goes on has its former name until the files are read again.
        continued = _networkmanager.continued(found.files)
        return frozenset(
            name
            for name, active in self.active(found).items()
            if active.profile in (_networkmanager.connection_id(name), _networkmanager.generated_id(name)) or active.uuid == continued.get(name)
        )

    def shell_reload(self, touched: t.Collection[str], found: Found) -> list[str]:
        presence = self.presence(found)
        return ["nmcli connection reload"] if presence.active or presence.settings else []

    def shell_resume(self, names: t.Sequence[str], found: Found) -> list[str]:
        active = self.active(found)
        return ["nmcli connection up uuid %s" % active[name].uuid for name in names if name in active and not found.netdevs[name].master]


NETWORKMANAGER = NetworkManager()
