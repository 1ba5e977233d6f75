# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is found of the firewalls of a node, as far as the declared interfaces are concerned. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from ..._tools._firewalld import FALLBACK, Zone
from ..._tools._ufw import Rule


class Profile(t.NamedTuple):
    """Our file of an interface that tells the daemon of a back-end its zone."""

    path: str
    zone: str
    """"" for the default zone."""


class Firewalld(t.NamedTuple):
    installed: bool = False
    running: bool = False
    enabled: bool = False
    """Whether it starts at boot."""
    fault: str = ""
    """What firewall-cmd said where it has no answer."""
    default: str = FALLBACK
    zones: t.Mapping[str, Zone] = {}
    """The permanent configuration, by name."""
    now: t.Mapping[str, str] = {}
    """The zone by interface."""
    profiles: t.Mapping[str, Profile] = {}
    """By interface. Without one, the permanent configuration tells the zone of an interface."""
    elsewhere: t.Mapping[str, str] = {}
    """The interfaces with an active profile of NetworkManager that is no such file, with its UUID."""

    @property
    def acts(self) -> bool:
        """Whether it filters packets, now or after the next boot."""
        return self.running or self.enabled

    def zone_of(self, name: str) -> str:
        """The zone that has an interface now."""
        return self.now.get(name) or self.default

    def listed(self, name: str) -> tuple[str, str]:
        """The zone that lists an interface in the permanent configuration, and its file; "" for none."""
        return next(((zone, entry.path) for zone, entry in self.zones.items() if name in entry.interfaces), ("", ""))

    def bound(self, name: str) -> tuple[str, str]:
        """The zone that an interface gets at boot, and what says so; "" for none.

        NetworkManager overrides the zone files. The zone in a profile of others is the one that it has given to the interface.
        """
        profile = self.profiles.get(name)
        if profile is not None:
            return profile.zone, profile.path
        if name in self.elsewhere:
            return self.now.get(name, ""), "the profile %s of NetworkManager" % self.elsewhere[name]
        return self.listed(name)


class Ufw(t.NamedTuple):
    enabled: bool = False
    drops: bool = False
    """Whether it drops what no rule accepts."""
    families: t.Tuple[int, ...] = (4,)
    """The IP versions that it filters."""
    rules: t.Tuple[Rule, ...] = ()

    def opens(self, name: str) -> bool:
        """Whether rules accept all that arrives on an interface."""
        return all(any(rule.family == family and rule.opens(name) for rule in self.rules) for family in self.families)


class Firewall(t.NamedTuple):
    asked: bool = False
    """Whether firewalld was looked at."""
    firewalld: Firewalld = Firewalld()
    ufw: Ufw = Ufw()
    record: str = ""
    """The text of our record."""
