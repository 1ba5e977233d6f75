# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Combine the results of `node_check` on all hosts: attribute deviations, and find what no single host can see. Pure; linear in hosts.

Each host sees a fault of its fabric, such as a missing subnet manager. The fault is one finding, and its consequences on hosts are no findings.
"""

from __future__ import annotations

import collections
import ipaddress
import typing as t

from .._accepted import counts, is_error
from .._finding import Code, Finding, Severity, Topic
from .._foreign import hexadecimal
from .._hosts import fold, natural
from .._plan import Kind
from . import _words

Deviation = t.Mapping[str, t.Any]
"""An entry of `deviations`."""
Results = t.Mapping[str, t.Mapping[str, t.Any]]
"""The result of `node_check`, by host."""
ByHost = t.Dict[str, t.List[Deviation]]

# Findings about a subnet manager, which each host of its fabric sees.
_OF_FABRIC = frozenset(code.value for code in (Code.NO_MASTER, Code.NOT_MASTER, Code.UNNAMED_MASTER, Code.OTHER_MASTER, Code.FAILED_OVER))
# Consequences of a missing master on a host.
_FOLLOWS = frozenset(code.value for code in (Code.PORT_NOT_CONFIGURED, Code.NO_SM_LID, Code.NO_CARRIER))


class Fault(t.NamedTuple):
    """One fault of a fabric, and the hosts that see it."""

    fabric: str
    deviation: Deviation
    hosts: tuple[str, ...]
    carrier: str = ""
    """The host that fails for it: the designated host if it is in the run, else another one. "" where the fault is no error."""


class Fleet(t.NamedTuple):
    """The results of all hosts. Deviations that a fault of a fabric explains are not listed for the hosts."""

    hosts: tuple[str, ...]
    errors: ByHost
    warnings: ByHost
    accepted: ByHost
    notices: ByHost
    """They do not count: a host with nothing else is as declared."""
    faults: tuple[Fault, ...] = ()

    @property
    def waiting(self) -> frozenset[str]:
        """The hosts that deviate only because of a fault of their fabric."""
        return frozenset(host for fault in self.faults if fault.carrier for host in fault.hosts) - set(self.failing())

    @property
    def noted(self) -> frozenset[str]:
        """The hosts with a warning or an accepted deviation."""
        return frozenset((*self.warnings, *self.accepted, *(host for fault in self.faults if not fault.carrier for host in fault.hosts)))

    def failing(self) -> dict[str, list[str]]:
        """What each host fails for, in words."""
        own = {host: [line.text for line in _words.by_object(found)] for host, found in self.errors.items()}
        for fault in self.faults:
            if fault.carrier:
                own.setdefault(fault.carrier, []).append(_words.by_object([fault.deviation])[0].text)
        return {host: own[host] for host in self.hosts if host in own}


def survey(results: Results) -> Fleet:
    """Collect the deviations of each host and the faults of the fabrics."""
    found: ByHost = {host: list(result["deviations"]) if "deviations" in result else [_unchecked(result)] for host, result in results.items()}
    for host, finding in _split_fabrics(results):
        found[host].append(_words.result(finding))
    for host, finding in of_subnets(results):
        if not _is_told(finding, found[host]):
            found[host].append(_words.result(finding))
    faults = _faults(results, found)
    for fault in faults:
        for host in fault.hosts:
            found[host] = [each for each in found[host] if not _explains(fault, each, results[host])]
    kinds: tuple[ByHost, ByHost, ByHost, ByHost] = ({}, {}, {}, {})
    for host, own in found.items():
        for each in own:
            of_kind = 0 if is_error(each) else 2 if counts(each.get("accepted")) else 3 if each.get("severity") == Severity.NOTICE.value else 1
            kinds[of_kind].setdefault(host, []).append(each)
    return Fleet(tuple(results), *kinds, tuple(faults))


def _unchecked(result: t.Mapping[str, t.Any]) -> Deviation:
    """The deviation of a host without an outcome: it was left out or unreachable, or the module failed."""
    if result.get("why"):
        return _words.result(Finding(Code.UNCHECKED, Topic.HOST, found="not checked: %s" % result["why"]))
    why = "unreachable" if result.get("unreachable") else "not checked"
    # ansible-core 2.19 appends the position in the playbook and an excerpt.
    said = next((line.strip() for line in str(result.get("msg", "")).splitlines() if line.strip()), "")
    return _words.result(Finding(Code.UNCHECKED, Topic.HOST, found="%s: %s" % (why, said or "no result")))


def _of_fabric(results: Results) -> dict[str, dict[str, str]]:
    """By fabric: its hosts, each with the port GUID of its master, "" where it sees none."""
    seen: dict[str, dict[str, str]] = {}
    for host, result in results.items():
        for fabric in result.get("fabrics") or ():
            seen.setdefault(str(fabric["fabric"]), {})[host] = str(fabric["master_guid"])
    return seen


def _split_fabrics(results: Results) -> list[tuple[str, Finding]]:
    """Findings about two masters that can't see each other: no node deviates by itself, only the results of all of them show it."""
    found = []
    for fabric, seen in sorted(_of_fabric(results).items()):
        sides = collections.Counter(guid for guid in seen.values() if guid)
        if len(sides) < 2:
            continue
        # The master that fewer hosts see is more likely the wrong one, so those hosts get the message.
        most = min(sides, key=lambda guid: (-sides[guid], guid))
        found += [(host, Finding(Code.SPLIT_FABRIC, Topic.SUBNET_MANAGER, fabric, "", most, guid)) for host, guid in seen.items() if guid and guid != most]
    return found


class _Place(t.NamedTuple):
    """An interface of a host on an IPoIB subnet."""

    host: str
    interface: str
    address: str
    mode: str
    mtu: str


def _subnets(results: Results) -> dict[str, list[_Place]]:
    """The interfaces of each IPoIB subnet, which is a network in a partition of a fabric."""
    found: dict[str, list[_Place]] = {}
    for host, result in results.items():
        for row in result.get("rows") or ():
            # The highest bit of a P_Key marks full membership.
            pkey = hexadecimal(str(row.get("pkey", "")))
            for address in str(row.get("addresses", "")).split() if pkey is not None else ():
                try:
                    parsed = ipaddress.ip_interface(address)
                except ValueError:
                    continue
                if not parsed.is_link_local:
                    subnet = "%s, P_Key 0x%04x of fabric %s" % (parsed.network, (pkey or 0) & 0x7FFF, row.get("fabric", ""))
                    place = _Place(host, str(row.get("interface")), str(parsed.ip), str(row.get("mode")), str(row.get("mtu")))
                    found.setdefault(subnet, []).append(place)
    return found


def _odd(code: Code, aspect: str, places: t.Sequence[_Place], *, subnet: str) -> list[tuple[str, Finding]]:
    """Findings about interfaces that differ from most of `places`."""
    values = collections.Counter(getattr(place, aspect) for place in places)
    usual = min(values, key=lambda value: (-values[value], value))
    unlike = [place for place in places if getattr(place, aspect) != usual]
    return [(place.host, Finding(code, Kind.INTERFACE, place.interface, aspect, usual, getattr(place, aspect), subnet)) for place in unlike]


def of_subnets(results: Results) -> list[tuple[str, Finding]]:
    """Findings about hosts that differ from most others of an IPoIB subnet, and about duplicate addresses."""
    found = []
    for subnet, places in sorted(_subnets(results).items()):
        found += _odd(Code.MODE_MIXED, "mode", places, subnet=subnet)
        # Each mode has its own MTU, so the MTU is compared only among hosts with the same mode.
        for mode in sorted({place.mode for place in places}):
            found += _odd(Code.MTU_MIXED, "mtu", [place for place in places if place.mode == mode], subnet=subnet)
        owners: dict[str, list[_Place]] = {}
        for place in places:
            owners.setdefault(place.address, []).append(place)
        for address, same in owners.items():
            hosts = {place.host for place in same}
            for place in same if len(hosts) > 1 else ():
                others = fold(hosts - {place.host})
                found.append((place.host, Finding(Code.DUPLICATE_ADDRESS, Kind.INTERFACE, place.interface, "addresses", "", address, others)))
    return found


def _is_told(finding: Finding, own: t.Iterable[Deviation]) -> bool:
    """Whether the host already reports this deviation itself."""
    mine = (finding.kind.value, finding.subject, finding.aspect)
    return any((each.get("kind"), each.get("subject"), each.get("aspect")) == mine for each in own)


def _faults(results: Results, found: ByHost) -> list[Fault]:
    """The findings that all hosts of a fabric share, as far as they see a master at all. A finding of only some hosts stays theirs."""
    seen: dict[tuple[t.Any, ...], dict[str, Deviation]] = {}
    for host, own in found.items():
        for each in own:
            if each.get("kind") == Topic.SUBNET_MANAGER.value and each.get("code") in _OF_FABRIC:
                key = (each["subject"], each["code"], each["expected"], each["found"], counts(each.get("accepted")))
                seen.setdefault(key, {})[host] = each
    masters, faults = _of_fabric(results), []
    for (fabric, code, *_values, _accepted), hosts in seen.items():
        others = {host for host, guid in masters.get(fabric, {}).items() if guid} - (set() if code == Code.NO_MASTER.value else set(hosts))
        if len(hosts) > 1 and not others:
            steps = collections.Counter(str(each.get("next_step")) for each in hosts.values())
            usual = next(each for each in hosts.values() if each.get("next_step") == steps.most_common(1)[0][0])
            named = next((str(each["designated_host"]) for host in hosts for each in results[host].get("fabrics") or () if each["fabric"] == fabric), "")
            carrier = named if named in results else min(hosts, key=natural)
            faults.append(Fault(fabric, usual, tuple(hosts), carrier if is_error(usual) else ""))
    return faults


def _explains(fault: Fault, deviation: Deviation, result: t.Mapping[str, t.Any]) -> bool:
    """Whether a deviation of a host is the fault as the host sees it, or a consequence of it. `result`: that of the host."""
    if deviation.get("kind") == Topic.SUBNET_MANAGER.value:
        return deviation.get("subject") == fault.fabric and deviation.get("code") == fault.deviation["code"]
    if fault.deviation["code"] != Code.NO_MASTER.value or deviation.get("code") not in _FOLLOWS:
        return False
    fabrics = {row.get("fabric") for row in result.get("rows") or () if deviation.get("subject") in (row.get("port"), row.get("interface"))}
    return fabrics <= {fault.fabric}
