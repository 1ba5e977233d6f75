# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NetworkManager: keyfiles for IPoIB interfaces, their P_Key children and bonds of them. Pure.

Notes for the code that applies these files:

* NetworkManager ignores a keyfile that others can read: the mode is `MODE`, the owner root.
* `nmcli connection load PATH...` reads the keyfiles, `nmcli general reload conf` the file `CARRIER_PATH`; both
  come before any activation.
* Only the bond itself is activated, never a port: a port that is activated by hand leaves and rejoins its bond
  endlessly (observed with 1.42).
* Activating an interface takes it and its children down for a moment. A change of addresses, routes or MTU
  doesn't need that: `nmcli device reapply`. A change of the mode does.
* Neither deactivating nor deleting a profile restores the mode or the MTU.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import typing as t
import uuid

from ..._errors import Problem
from ..._foreign import decimal, hexadecimal
from ..._host._files import HEADER
from .. import _wanted
from .._found import Record
from .._identity import Identity
from .._wanted import Bond, Interface, Route, version
from ._assignments import assigned, recorded, sections
from ._networkmanager_profiles import is_uuid, of_keyfile

DIRECTORY = "/etc/NetworkManager/system-connections"
DIRECTORIES = (DIRECTORY, "/run/NetworkManager/system-connections", "/usr/lib/NetworkManager/system-connections")
PREFIX = "rdma-"
SUFFIX = ".nmconnection"
MODE = 0o600

CARRIER_PATH = "/etc/NetworkManager/conf.d/90-rdma-ofed.conf"

# The namespace of our profiles' UUIDs: an interface has the same UUID on every node and in every run.
NAMESPACE = uuid.UUID("5b0e2f6c-6a35-4c0b-9d0e-3f1c1d7a9b42")
# Marks a profile of ours that has the UUID of another. NetworkManager keeps such data, and gives it no meaning.
_MARK = "rdma.ofed.interface"

_OURS = re.compile(r"^%s/%s(?P<name>[^/]+)%s$" % (re.escape(DIRECTORY), PREFIX, re.escape(SUFFIX)))
# No other section of our keyfiles has such a key.
_ZONE = re.compile(r"\s*zone\s*=")
# Files that NetworkManager ignores beside its profiles: hidden files, and leftovers of editors and package managers.
_NO_PROFILE = re.compile(r"/\.[^/]*$|(~|\.bak|\.dpkg-[a-z]+|\.rpmnew|\.rpmsave|\.rpmorig)$")


def path_of(name: str) -> str:
    return "%s/%s%s%s" % (DIRECTORY, PREFIX, name, SUFFIX)


def connection_id(name: str) -> str:
    """The ID under which nmcli knows the profile of an interface."""
    return PREFIX + name


def generated_id(name: str) -> str:
    """The ID of a profile that netplan generates."""
    return "netplan-" + name


def connection_uuid(name: str) -> str:
    return str(uuid.uuid5(NAMESPACE, name))


def is_ours(path: str, text: str) -> bool:
    """Whether a file belongs to this collection, judged by its name and by its first line or, once nmcli has rewritten it, its UUID or the mark."""
    if path == CARRIER_PATH:
        return text.startswith(HEADER)
    match = _OURS.match(path)
    if match is None:
        return False
    name, found = match.group("name"), sections(text)
    return text.startswith(HEADER) or ("uuid", connection_uuid(name)) in found.get("connection", ()) or (_MARK, name) in found.get("user", ())


def profile(path: str, text: str) -> str:
    """The UUID that NetworkManager gives to the profile of a keyfile: the one in it, else one that is made from the path. "" for one of another form."""
    found = dict(sections(text).get("connection", ())).get("uuid") or of_keyfile(path)
    return found if is_uuid(found) else ""


def continued(files: t.Mapping[str, str]) -> dict[str, str]:
    """The UUIDs that our profiles have from those in whose place they are, by interface."""
    found = {}
    for path, text in files.items():
        match = _OURS.match(path)
        if match is not None and (_MARK, match.group("name")) in sections(text).get("user", ()) and profile(path, text):
            found[match.group("name")] = profile(path, text)
    return found


def zone_in(text: str) -> str:
    """The zone of the firewall in a keyfile; "" for the default zone."""
    return dict(sections(text).get("connection", ())).get("zone", "")


def zoned(text: str, zone: str) -> str:
    """A keyfile of ours with this zone of the firewall, or with none."""
    lines = [line for line in text.split("\n") if not _ZONE.match(line)]
    place = next((number for number, line in enumerate(lines) if line.startswith("interface-name=")), None)
    if zone and place is not None:
        lines.insert(place + 1, "zone=%s" % zone)
    return "\n".join(lines)


def problems(interfaces: t.Sequence[Interface]) -> list[Problem]:
    """What NetworkManager can't do with these interfaces."""
    found = []
    for interface in interfaces:
        if interface.is_child:
            found += _child_problems(interface)
        for route in interface.routes:
            if version(route.to) not in {version(address) for address in interface.addresses}:
                hint = "NetworkManager discards the routes of an interface that has no address of their family"
                found.append(Problem("routes of %s" % interface.name, route.to, "routes of a family that the interface has an address of", hint))
    return found


def _child_problems(interface: Interface) -> list[Problem]:
    whole = "%s.%04x" % (interface.parent, interface.pkey)
    if len(interface.parent) > _wanted.PARENT_KEPT:
        hint = "the kernel shortens the parent's name in that of the child, and NetworkManager looks for %s" % whole
        return [Problem("parent of %s" % interface.name, interface.parent, "names of at most %d characters" % _wanted.PARENT_KEPT, hint)]
    if interface.name != whole:
        return [Problem("name of a P_Key child", interface.name, whole, "NetworkManager can't rename P_Key children")]
    return []


def render(interfaces: t.Sequence[Interface], uuids: t.Mapping[str, str] | None = None) -> dict[str, str]:
    """One keyfile per interface, and the file that makes NetworkManager manage them even without a carrier, by path. `uuids`: see `continued`."""
    files = {path_of(interface.name): _keyfile(interface, uuids or {}) for interface in interfaces}
    files.update(carrier_file([interface.name for interface in interfaces]))
    return files


def carrier_file(names: t.Iterable[str]) -> dict[str, str]:
    """The file without which an interface loses its static addresses some seconds after the carrier, and gets none before it has a carrier.

    The carrier of IPoIB depends on the subnet manager. Bonds are managed without a carrier by default.
    """
    devices = ",".join("interface-name:=%s" % name for name in sorted(names))
    if not devices:
        return {}
    return {CARRIER_PATH: HEADER + "[device-rdma-ofed]\nmatch-device=%s\nignore-carrier=yes\n" % devices}


def _keyfile(interface: Interface, uuids: t.Mapping[str, str]) -> str:
    lines = ["[connection]", "id=%s" % connection_id(interface.name), "uuid=%s" % (uuids.get(interface.name) or connection_uuid(interface.name))]
    lines += ["type=%s" % ("infiniband" if interface.bond is None else "bond"), "interface-name=%s" % interface.name]
    # Also for ports: their driver may load late, and nothing else makes a late port join its bond.
    lines.append("autoconnect=true")
    if interface.bond is not None:
        lines.append("autoconnect-slaves=1")
    if interface.master:
        # The newer names of these keys (controller, port-type) are known from 1.46 on; all releases know the old ones.
        lines += ["master=%s" % (uuids.get(interface.master) or connection_uuid(interface.master)), "slave-type=bond"]
    lines += ["", *(_infiniband(interface) if interface.bond is None else _bond(interface.bond, interface.mtu))]
    if not interface.master:
        lines += [*_addresses(interface, 4), *_addresses(interface, 6)]
    if interface.name in uuids:
        lines += ["", "[user]", "%s=%s" % (_MARK, interface.name)]
    return HEADER + "\n".join(lines) + "\n"


def _infiniband(interface: Interface) -> list[str]:
    # A profile without a mode is invalid.
    lines = ["[infiniband]", "transport-mode=%s" % interface.mode]
    if interface.mtu:
        lines.append("mtu=%d" % interface.mtu)
    if interface.is_child:
        lines += ["p-key=%d" % interface.pkey, "parent=%s" % interface.parent]
    return lines


def _bond(bond: Bond, mtu: int) -> list[str]:
    # The MTU of a bond is in the Ethernet section, whatever its ports are. The MTU of the ports does not suffice.
    return ["[bond]", *bond.options, "", "[ethernet]", "mtu=%d" % mtu]


def _addresses(interface: Interface, family: int) -> list[str]:
    addresses = [address for address in interface.addresses if version(address) == family]
    lines = ["", "[ipv%d]" % family, "method=%s" % ("manual" if addresses else "disabled")]
    lines += ["address%d=%s" % pair for pair in enumerate(addresses, 1)]
    if addresses:
        routes = [route for route in interface.routes if version(route.to) == family]
        lines += ["route%d=%s" % (number, _route(route)) for number, route in enumerate(routes, 1)]
        # Duplicate address detection does not end without a carrier, and a failure of one family must not bring down the other.
        lines.append("may-fail=true")
    return lines


def _route(route: Route) -> str:
    fields = [route.to, route.via or ("::" if version(route.to) == 6 else "0.0.0.0")]
    if not route.metric:
        return ",".join(fields) if route.via else route.to
    return ",".join([*fields, str(route.metric)])


def records(files: t.Mapping[str, str]) -> dict[str, Record]:
    ours = {posixpath.basename(path): text for path, text in files.items() if _OURS.match(path) and is_ours(path, text)}
    texts = {name[len(PREFIX) : -len(SUFFIX)]: text for name, text in ours.items()}
    return recorded(texts, r"ipv[46]\.address\d*$", r"(infiniband|ethernet)\.mtu$")


def conflicts(interface: Identity, files: t.Mapping[str, str]) -> tuple[str, ...]:
    """Foreign keyfiles that apply to an interface by its name or port, and auto-connected profiles for any InfiniBand interface.

    NetworkManager creates default profiles for Ethernet devices only. It compares the last 8 bytes of InfiniBand hardware addresses.
    """
    read = [path for path in sorted(files) if path.rpartition("/")[0] in DIRECTORIES and not _NO_PROFILE.search(path)]
    return tuple(path for path in read if not is_ours(path, files[path]) and _applies(interface, files[path]))


def without(interface: Identity, path: str, text: str) -> str | None:
    """A profile has one interface: nothing is left. Profiles that are not the administrator's, or that match any interface, stay."""
    values = {(section, key) for section, pairs in sections(text).items() for key, _value in pairs}
    named = {("connection", "interface-name"), ("infiniband", "mac-address"), ("infiniband", "parent")}
    return "" if posixpath.dirname(path) == DIRECTORY and values & named else None


def unsaid(text: str) -> tuple[str, ...]:
    """Settings that the reader passes over, and that our profile would not have."""
    rows = [("%s.%s" % (each.section, each.key), each) for each in assigned(text)]
    lost = [
        (key, each) for key, each in rows if (key.endswith(".method") and each.value == "shared") or (key.endswith(".dns-search") and each.value.strip(";"))
    ]
    return tuple("%s (line %d)" % (key, each.line) for key, each in lost)


def _applies(identity: Identity, text: str) -> bool:
    name = identity.name
    values = {(section, key): value for section, pairs in sections(text).items() for key, value in pairs}
    interface = values.get(("connection", "interface-name"), "")
    parent, pkey = values.get(("infiniband", "parent"), ""), values.get(("infiniband", "p-key"), "-1")
    number = hexadecimal(pkey) if pkey.startswith("0x") else decimal(pkey)
    if parent and number is not None:
        interface = interface or "%s.%04x" % (parent, number)
    if interface:
        return interface == name
    if values.get(("connection", "type")) != "infiniband":
        return False
    address = values.get(("infiniband", "mac-address"), "")
    if address:
        # With a P_Key and without a parent, the profile is for the child on that port.
        return identity.is_at(address) and (identity.is_child(pkey) if pkey != "-1" else not identity.pkey)
    if values.get(("connection", "autoconnect"), "true").lower() in ("false", "no", "off", "0"):
        return False
    # An unknown property of the interface may be what the profile matches.
    covers: tuple[tuple[str, t.Callable[[str], bool]], ...] = (
        ("interface-name", lambda pattern: fnmatch.fnmatchcase(name, pattern)),
        ("path", lambda pattern: identity.is_on(pattern) or not identity.pci),
        ("driver", lambda pattern: any(fnmatch.fnmatchcase(driver, pattern) for driver in identity.drivers) or not identity.driver),
    )
    return all(_matched(cover, [word for word in re.split(r"[;,\s]+", values.get(("match", key), "")) if word]) for key, cover in covers)


def _matched(cover: t.Callable[[str], bool], patterns: t.Sequence[str]) -> bool:
    """Evaluate a key of `match`: one of the positive patterns, if there are any, and none of the inverted ones."""
    inverted = [pattern.lstrip("&|!") for pattern in patterns if "!" in pattern[:2]]
    positive = [pattern.lstrip("&|") for pattern in patterns if "!" not in pattern[:2]]
    if any(cover(pattern) for pattern in inverted):
        return False
    return not positive or any(cover(pattern) for pattern in positive)
