# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turn declared partitions into partitions.conf, with hosts of the inventory resolved to their ports. Pure.

Because of one error, opensm drops the whole file, and every port becomes a full member of the default partition. It silently
leaves out a partition that it can't fill. Therefore every possible error is found here.
"""

from __future__ import annotations

import typing as t

from ..._codes import is_guid, normal_guid
from ..._errors import Problem, did_you_mean, require_none
from ..._facts._apart import is_in_fabric
from ..._facts._portname import is_named
from ..._foreign import rows_of
from ..._host._files import HEADER
from ._entry import DEFAULT_PKEY, KEYWORDS, Member, Partition, entry_problems, read_entry
from ._file import Absentee, Line, definition

VARIABLE = "opensm_partitions"
# Keywords that stand for many hosts, which need to talk to each other. Switches and routers do not.
_MANY = ("ALL", "ALL_CAS")
_OTHERS = "every port that is not named"
_LEFT = "if it has left, remove the entry"


class Inventory(t.NamedTuple):
    """What partition members are looked up in, for one fabric."""

    groups: t.Mapping[str, t.Collection[str]]
    """The hosts of each group; `all` has every host."""
    guids: t.Mapping[str, t.Collection[str]] | None = None
    """Port GUIDs of each host, from `port_guids`. None before facts are gathered: then no host is reported as missing."""
    elsewhere: t.Collection[str] = ()
    """Hosts without a port on this fabric: skipped in groups, refused where they are named themselves."""


class Resolved(t.NamedTuple):
    """A partition by ports."""

    keywords: tuple[tuple[str, str], ...]
    """Keyword and membership, from the most general to `SELF`."""
    ports: tuple[Line, ...]
    """GUID, membership and host ("" for a bare GUID), sorted by GUID."""


def port_guids(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None, ports: t.Collection[str] = ()) -> tuple[str, ...]:
    """The port GUIDs of a host: the declared `opensm_port_guids`, else those of the InfiniBand ports in its `rdma` fact.

    `ports`: the declared names of the host's ports on the fabric, if only some are on it. A superfluous GUID is harmless: opensm skips a
    port that is not on its fabric.
    """
    declared = variables.get("opensm_port_guids")
    if isinstance(declared, (list, tuple)) and declared:
        return tuple(normal_guid(guid) for guid in declared if is_guid(guid))
    return tuple(
        port["port_guid"]
        for port in rows_of(facts, "ports")
        if is_guid(port.get("port_guid")) and (is_named(port, ports) and port.get("link_layer") == "InfiniBand" if ports else is_in_fabric(port))
    )


def _hosts(member: Member, inventory: Inventory) -> list[str]:
    """The hosts that a member, a host or a group, stands for."""
    if member.kind == "host":
        return [member.name]
    return [host for host in inventory.groups.get(member.name, ()) if host not in inventory.elsewhere]


def _claims(partition: Partition, inventory: Inventory) -> list[tuple[str, str]]:
    """The hosts that are members, with their membership. The last entry of a host counts: entries by host follow entries by group."""
    return [
        (host, member.membership) for kind in ("group", "host") for member in partition.members if member.kind == kind for host in _hosts(member, inventory)
    ]


def resolve(partition: Partition, inventory: Inventory) -> Resolved:
    """Resolve a validated partition to ports. The more specific member wins: a port GUID over a host, a host over a group."""
    keywords = {member.name: member.membership for member in partition.members if member.kind == "keyword"}
    ports = {guid: (held, host) for host, held in _claims(partition, inventory) for guid in (inventory.guids or {}).get(host, ())}
    for member in partition.members:
        if member.kind == "port_guid":
            _held, host = ports.get(member.name, ("", ""))
            ports[member.name] = (member.membership, host)
    named = tuple((name, keywords[name]) for name in KEYWORDS if name in keywords)
    return Resolved(named, tuple((guid, held, host) for guid, (held, host) in sorted(ports.items())))


def members_of(declared: t.Any) -> list[dict[str, t.Any]]:
    """The hosts and groups that each partition names, in a form for `memberships`, of JSON types: for all hosts, the declaration is read once.

    Partitions that also name port GUIDs are left out: one of them may be a port of a host, with a membership of its own. Wrong entries are, too.
    """
    found = []
    for entry in declared if isinstance(declared, (list, tuple)) else ():
        partition = None if entry_problems(VARIABLE, entry) else read_entry(entry)
        if partition is not None and not any(member.kind == "port_guid" for member in partition.members):
            named: dict[str, dict[str, str]] = {"host": {}, "group": {}}
            for member in partition.members:
                named.get(member.kind, {}).setdefault(member.name, member.membership)
            found.append({"pkey": partition.pkey, "self": any(member.name == "SELF" for member in partition.members), **named})
    return found


def memberships(partitions: t.Iterable[t.Mapping[str, t.Any]], host: str, groups: t.Collection[str], *, manages: bool = False) -> dict[int, str]:
    """The membership of a host in each partition that names it, or one of its `groups`, by P_Key. A host entry wins over those of groups.

    `partitions`: as from `members_of`. `manages`: whether the host has a subnet manager, which opensm itself makes a member of some partitions.
    """
    found: dict[int, str] = {}
    for each in partitions:
        if not (manages and (each["self"] or each["pkey"] == DEFAULT_PKEY)):
            membership = each["host"].get(host) or next((own for name, own in each["group"].items() if name in groups), None)
            found.update({each["pkey"]: membership} if membership else {})
    return found


def unseen(partition: Partition, inventory: Inventory) -> dict[str, str]:
    """The members of a validated partition whose port GUIDs are unknown, with their membership."""
    return {host: membership for host, membership in _claims(partition, inventory) if not (inventory.guids or {}).get(host)}


def _lookup(where: str, member: Member, inventory: Inventory, *, all_hosts: t.Collection[str]) -> list[Problem]:
    """Problems of members that are not in the inventory, or not on the fabric."""
    named = "%s.%s" % (where, member.kind)
    known: t.Collection[str] = all_hosts if member.kind == "host" else inventory.groups
    if member.kind in ("host", "group") and member.name not in known:
        near = did_you_mean(member.name, map(str, known))
        hint = "it has no such %s; %s" % (member.kind, "%s %s" % (near, _LEFT.capitalize()) if near else _LEFT)
        return [Problem(named, member.name, "a %s of the inventory" % member.kind, hint)]
    if member.kind == "host" and member.name in inventory.elsewhere:
        return [Problem(named, member.name, "a host with a port on this fabric")]
    return []


def unknown_members(declared: t.Any, groups: t.Mapping[str, t.Collection[str]], variable: str = VARIABLE) -> list[Problem]:
    """Problems of members that are not in the inventory, which is all that is known before the first change. Wrong entries are reported elsewhere."""
    if not isinstance(declared, (list, tuple)):
        return []
    inventory = Inventory(groups)
    all_hosts = frozenset(groups.get("all", ()))
    return [
        problem
        for index, entry in enumerate(declared)
        if not entry_problems(variable, entry)
        for at, member in enumerate(read_entry(entry).members)
        for problem in _lookup("%s[%d].members[%d]" % (variable, index, at), member, inventory, all_hosts=all_hosts)
    ]


def _twice(where: str, partition: Partition) -> list[Problem]:
    """Problems of a member with two memberships. `_overlaps` finds overlapping groups."""
    seen: dict[tuple[str, str], str] = {}
    found = []
    for index, member in enumerate(partition.members):
        held = seen.setdefault((member.kind, member.name), member.membership)
        if held != member.membership:
            found.append(Problem("%s.members[%d]" % (where, index), member.membership, held, "%s is in the list before, as %s" % (member.name, held)))
    return found


def _overlaps(where: str, partition: Partition, inventory: Inventory) -> list[Problem]:
    """Problems of hosts that get different memberships from two groups and are not named themselves."""
    held: dict[str, Member] = {}
    named = {member.name for member in partition.members if member.kind == "host"}
    for member in partition.members:
        for host in _hosts(member, inventory) if member.kind == "group" else ():
            other = held.setdefault(host, member)
            if other.membership != member.membership and host not in named:
                text = "%s is %s by group %s and %s by group %s" % (host, other.membership, other.name, member.membership, member.name)
                return [Problem("%s.members" % where, text, "one membership for each host", "list the host itself, too: it takes precedence over its groups")]
    return []


def _default_problems(where: str, partition: Partition) -> list[Problem]:
    """Problems of the default partition: every subnet manager must be a full member of it."""
    keywords = {member.name: member.membership for member in partition.members if member.kind == "keyword"}
    # opensm starts with ALL=limited, SELF=full.
    if next((keywords[name] for name in ("SELF", "ALL_CAS", "ALL") if name in keywords), "full") != "limited":
        return []
    hint = "limited members could not communicate with the subnet manager's own port"
    return [Problem("%s.members" % where, "SELF=limited", "{keyword: SELF, membership: full}", hint)]


def _talk_problems(where: str, partition: Partition, inventory: Inventory) -> list[Problem]:
    """Problems of members that can't talk to each other because both are limited."""
    keywords, ports = resolve(partition, inventory)
    members = [(name, membership, name in _MANY) for name, membership in keywords]
    members += [(host or guid, membership, False) for guid, membership, host in ports]
    if inventory.guids is not None:
        members += [(host, membership, False) for host, membership in unseen(partition, inventory).items()]
    else:
        members += [(member.name, member.membership, member.kind == "group") for member in partition.members if member.kind in ("host", "group")]
    if partition.pkey == DEFAULT_PKEY and not any(name in _MANY for name, _membership, _many in members):
        members.append((_OTHERS, "limited", True))
    # Two ports of one host are one member: the same peer is behind each of them.
    limited = {name: many for name, membership, many in members if membership == "limited"}
    if len(limited) < 2 and not any(limited.values()):
        return []
    some = any(membership != "limited" for _name, membership, _many in members)
    pair = "%s and %s" % tuple([*limited, "another one of them"][:2])
    if not some:
        hint = "two limited members can't communicate with each other, so none could"
        return [Problem("%s.members" % where, "%s, all limited" % pair, "at least one full member", hint)]
    if partition.isolate:
        return []
    hint = "two limited members can't communicate with each other; if that is intended, set isolate: true"
    if _OTHERS in limited:
        hint += "; in the default partition opensm makes a limited member of every port without a rule: name {keyword: ALL} for the others"
    return [Problem("%s.members" % where, "%s, both limited" % pair, "full membership for one of them", hint)]


def _shared(inventory: Inventory) -> list[Problem]:
    """Problems of port GUIDs that two hosts share: a copied host_vars file, or the facts of a node whose HCA has moved."""
    pairs = [(guid, host) for host, guids in (inventory.guids or {}).items() for guid in guids]
    first = dict(reversed(pairs))
    return [
        Problem("opensm_port_guids of %s" % host, guid, "a port GUID of its own", "%s has it, too" % first[guid]) for guid, host in pairs if host != first[guid]
    ]


def _across(entries: t.Sequence[Partition], variable: str) -> list[Problem]:
    """Problems across entries: duplicate names and P_Keys, and the Default rule."""
    found = []
    keys: dict[int, int] = {}
    names: dict[str, int] = {}
    for index, entry in enumerate(entries):
        where = "%s[%d]" % (variable, index)
        first = keys.setdefault(entry.pkey, index)
        if first != index:
            hint = "%s[%d] (%s) has it, too; 0x%04x and 0x%04x are one partition" % (variable, first, entries[first].name, entry.pkey, entry.pkey | 0x8000)
            found.append(Problem("%s.pkey" % where, "0x%04x" % entry.pkey, "a P_Key of its own", hint))
        first = names.setdefault(entry.name.lower(), index)
        if first != index:
            found.append(Problem("%s.name" % where, entry.name, "a name of its own", "%s[%d] has it, too" % (variable, first)))
        if entry.name.lower() == "default" and entry.pkey != DEFAULT_PKEY:
            found.append(Problem("%s.pkey" % where, "0x%04x" % entry.pkey, "0x7fff", "Default is the name of that partition"))
    if DEFAULT_PKEY not in keys:
        rule = "{name: Default, pkey: 0x7fff, ipoib: true, members: [{keyword: ALL}]}"
        hint = "without a rule for 0x7fff, every port becomes a limited member of the default partition, and no two of them can communicate"
        found.append(Problem(variable, [entry.name for entry in entries], "a list with an entry such as %s" % rule, hint))
    return found


def problems(declared: t.Any, inventory: Inventory | None = None, *, allow_both: bool = True, qos: bool = True, variable: str = VARIABLE) -> list[Problem]:
    """Problems of `opensm_partitions`. Without an inventory, hosts and groups are not looked up.

    `allow_both`, `qos`: the values of allow_both_pkeys and qos in opensm.conf. Without the first, opensm treats a membership of `both` as full;
    without the second, it treats every service level as 0. `variable`: the variable that the user wrote them in.
    """
    if declared is None or declared in ([], ""):
        return []
    if not isinstance(declared, (list, tuple)):
        return [Problem(variable, declared, "a list of partitions")]
    found = [problem for index, entry in enumerate(declared) for problem in entry_problems("%s[%d]" % (variable, index), entry)]
    if found:
        return found
    entries = [read_entry(entry) for entry in declared]
    found = _across(entries, variable)
    all_hosts: frozenset[str] = frozenset()
    if inventory is not None:
        inventory = inventory._replace(elsewhere=frozenset(inventory.elsewhere))
        all_hosts = frozenset(inventory.groups.get("all", ()))
        found += _shared(inventory)
    for index, entry in enumerate(entries):
        where = "%s[%d]" % (variable, index)
        if entry.sl and not qos:
            found.append(Problem("%s.sl" % where, entry.sl, "0 without opensm_qos: true", "opensm uses 0 instead"))
        if not allow_both and any(member.membership == "both" for member in entry.members):
            found.append(Problem("%s.members" % where, "both", "full, limited", "opensm makes it full without opensm_options.allow_both_pkeys: true"))
        if entry.pkey == DEFAULT_PKEY:
            found += _default_problems(where, entry)
        found += _twice(where, entry)
        if inventory is None:
            found += _talk_problems(where, entry, Inventory({}))
            continue
        places = [("%s.members[%d]" % (where, at), member) for at, member in enumerate(entry.members)]
        missing = [problem for place, member in places for problem in _lookup(place, member, inventory, all_hosts=all_hosts)]
        found += missing or [*_overlaps(where, entry, inventory), *_talk_problems(where, entry, inventory)]
    return found


def _head(partition: Partition) -> str:
    flags = ["ipoib"] if partition.ipoib else []
    flags += ["%s=%d" % (key, value) for key, value in (("rate", partition.rate), ("mtu", partition.mtu), ("sl", partition.sl)) if value is not None]
    flags += ["scope=%d" % scope for scope in partition.scopes]
    return ",".join(["%s=0x%04x" % (partition.name, partition.pkey), *flags])


def _definition(partition: Partition, inventory: Inventory) -> str:
    keywords, ports = resolve(partition, inventory)
    lines = [(name, membership, "") for name, membership in keywords]
    # The last one wins. SELF comes last, even if its port is also named.
    own = [lines.pop()] if lines and lines[-1][0] == "SELF" else []
    return definition(_head(partition), [*lines, *ports, *own])


def _outlined(partition: Partition) -> str:
    keywords = ["%s=%s" % (member.name, member.membership) for member in partition.members if member.kind == "keyword"]
    return "%s : %s;\n" % (_head(partition), ", ".join(keywords))


def outline(declared: t.Any) -> str:
    """The declared partitions with their members by keyword only; "" without any. Wrong entries, which are reported elsewhere, are left out."""
    entries = [entry for entry in declared if not entry_problems(VARIABLE, entry)] if isinstance(declared, (list, tuple)) else []
    return "".join(map(_outlined, map(read_entry, entries)))


def render(declared: t.Any, inventory: Inventory, *, allow_both: bool = True, qos: bool = True, variable: str = VARIABLE) -> str:
    """The text of partitions.conf; "" without any partition (without a file all ports are in the default partition). Raises InvalidInput."""
    require_none(problems(declared, inventory, allow_both=allow_both, qos=qos, variable=variable))
    entries = [read_entry(entry) for entry in declared or ()]
    return "\n".join([HEADER, *(_definition(entry, inventory) for entry in entries)]) if entries else ""


def absentees(declared: t.Any, inventory: Inventory) -> list[Absentee]:
    """The members of validated entries that are missing from the text because their port GUIDs are unknown."""
    entries = [read_entry(entry) for entry in declared or ()]
    return [Absentee(entry.pkey, host, membership) for entry in entries for host, membership in unseen(entry, inventory).items()]
