# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""firewalld: its files, see firewalld.zone(5) and firewalld.conf(5), and the command lines of firewall-cmd(1). Pure."""

from __future__ import annotations

import re
import typing as t
import xml.etree.ElementTree as ET

# Of zones with the same name, only the one in the first directory is read.
DIRECTORIES = ("/etc/firewalld/zones", "/usr/lib/firewalld/zones")
CONF = "/etc/firewalld/firewalld.conf"
SUFFIX = ".xml"
FALLBACK = "public"
"""The default zone where firewalld.conf names none."""

ACTIVE = ("firewall-cmd", "--get-active-zones")
OFFLINE = "firewall-offline-cmd"
"""Changes the permanent configuration where the daemon does not run. Each package of firewalld has it."""
ELSEWHERE = (17, 18)
"""The exit statuses of `leave` where the interface is in no zone, or in another one."""
_MOST = 1 << 20
# A rule with one of these is about a part of the traffic.
_PARTS = frozenset(("service", "port", "protocol", "icmp-block", "icmp-type", "masquerade", "forward-port", "source-port", "destination", "mark"))
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,95}\Z")


class Zone(t.NamedTuple):
    """One zone of the permanent configuration."""

    path: str
    interfaces: t.FrozenSet[str] = frozenset()
    open: bool = False
    """Whether it accepts all traffic, perhaps of certain sources only."""
    sources: bool = False
    """Whether it is for the traffic of certain sources, which it gets whatever their interface is."""


def is_zone_name(name: str) -> bool:
    return _NAME.match(name) is not None


def parse_zone(path: str, text: str) -> Zone | None:
    """The zone in the text of a file; None where it is none. Entities are not expanded: firewalld writes none."""
    if len(text) > _MOST or "<!" in text.replace("<!--", ""):
        return None
    try:
        # Without its encoding: a text in Python has none.
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except (ET.ParseError, ValueError):
        return None
    if root.tag != "zone":
        return None
    names = frozenset(each.get("name", "") for each in root.findall("interface"))
    rules = [{child.tag for child in rule} for rule in root.findall("rule")]
    everything = any("accept" in tags and not tags & _PARTS for tags in rules)
    return Zone(path, names - {""}, root.get("target") == "ACCEPT" or everything, root.find("source") is not None)


def default_zone(text: str) -> str:
    """The default zone, from the text of firewalld.conf."""
    found = re.findall(r"^[ \t]*DefaultZone[ \t]*=[ \t]*(\S+)[ \t]*$", text, re.MULTILINE)
    return str(found[-1]) if found else FALLBACK


def parse_active(stdout: str) -> dict[str, str]:
    """Parse the output of `ACTIVE`: the zone by interface. Since 2.0, the default zone is marked as such."""
    found, zone = {}, ""
    for line in stdout.splitlines():
        if line and not line[0].isspace():
            zone = line.split()[0]
        elif line.split()[:1] == ["interfaces:"]:
            found.update(dict.fromkeys(line.split()[1:], zone))
    return found


def enter(name: str, zone: str) -> tuple[str, ...]:
    """The command that puts an interface into a zone now, whatever its present zone is."""
    return ("firewall-cmd", "--zone=%s" % zone, "--change-interface=%s" % name)


def leave(name: str, zone: str) -> tuple[str, ...]:
    """The command that takes an interface out of its zone now: the default zone has it then."""
    return ("firewall-cmd", "--zone=%s" % zone, "--remove-interface=%s" % name)


def bind(name: str, zone: str, running: bool) -> tuple[str, ...]:
    """The command that binds an interface to a zone in the permanent configuration."""
    return (*_permanent(running), "--zone=%s" % zone, "--add-interface=%s" % name)


def unbind(name: str, zone: str, running: bool) -> tuple[str, ...]:
    """The inverse of `bind`."""
    return (*_permanent(running), "--zone=%s" % zone, "--remove-interface=%s" % name)


def _permanent(running: bool) -> tuple[str, ...]:
    return ("firewall-cmd", "--permanent") if running else (OFFLINE,)
