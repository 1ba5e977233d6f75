# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts of a saved fabric: their location, their adapters, and Slurm's view of the switches. Pure, and linear in nodes and cables."""

from __future__ import annotations

import re
import typing as t

from ..module_utils._fabric._choice import names_of
from ..module_utils._facts._models import model_of
from ..module_utils._foreign import decimal, integer, shown
from ._report._rank import LEAF, peers_of, ranks_of

if t.TYPE_CHECKING:
    from ..module_utils._fabric._baseline import Node, Picture

_STRANGE = re.compile(r"[^A-Za-z0-9_.-]+")
# RFC 1123, plus underscores, which sites use. Resolvers take a name of digits, or with 0x, for an address: 2130706433 is 127.0.0.1.
_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)*\Z")
_TEMPLATE = re.compile(r"\{(?=[{%#])")
_ADDRESS = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9.]+)\Z")
_OF_ITS_OWN = re.compile(r"(?i)(?:ip6-)?(?:localhost|loopback)")
_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<digits>[0-9]{1,9})\Z")


class Home(t.NamedTuple):
    """What a fabric tells about a host. All fields are sorted, without duplicates."""

    leaves: tuple[str, ...] = ()
    """Names of the switches that its cables are plugged into."""
    models: tuple[str, ...] = ()
    """The models of its adapters: `ConnectX6`."""
    psids: tuple[str, ...] = ()
    firmware: tuple[str, ...] = ()
    node_guids: tuple[str, ...] = ()


def host_nodes(picture: Picture) -> dict[str, list[Node]]:
    """The adapters by host name, which is the first word of the node description, without domain."""
    found: dict[str, list[Node]] = {}
    for _guid, node in sorted(picture.nodes.items()):
        words = (node.name or node.description).split()
        if node.type == "ca" and words:
            found.setdefault(words[0].partition(".")[0], []).append(node)
    return found


def inert(name: str) -> str:
    """A name from the fabric as the value of an inventory variable: one line, without the start of a template.

    A playbook may read it through `hostvars` and a filter. Up to 2.18, this turns it into text that ansible-core no longer treats as data.
    """
    return _TEMPLATE.sub(r"\\x7b", shown(name))


def is_host_name(name: str) -> bool:
    """Whether this can only be the name of another machine: not an address, a program option, or a list."""
    return bool(_HOST.match(name)) and not _ADDRESS.match(name) and not _OF_ITS_OWN.match(name)


def is_node_of_slurm(name: str) -> bool:
    return is_host_name(name) and name.upper() not in ("ALL", "DEFAULT", "NONE")


def _sorted(values: t.Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({inert(value) for value in values if value}))


def homes(picture: Picture, hosts: t.Iterable[str] | None) -> tuple[dict[str, Home], list[str]]:
    """The homes by host name, for these hosts or, with None, for all hosts of the fabric; and names that match no single host.

    The adapters of a host are those whose node description, or name in the map, begins with the host name, with or without domain.
    """
    by_name = host_nodes(picture)
    if hosts is None:
        members = dict(by_name)
        doubtful: list[str] = []
    else:
        claims: dict[str, list[str]] = {}
        for host in hosts:
            for name in names_of(host):
                claims.setdefault(name, []).append(host)
        members, doubtful = {}, []
        for name, nodes in by_name.items():
            claimed = claims.get(name.lower(), [])
            if len(claimed) == 1:
                members.setdefault(claimed[0], []).extend(nodes)
            elif claimed:
                doubtful.append(name)
    peers = peers_of(picture)
    return {host: _home(picture, nodes, peers) for host, nodes in members.items()}, doubtful


def _home(picture: Picture, nodes: t.Sequence[Node], peers: t.Mapping[str, t.Sequence[str]]) -> Home:
    switches = [picture.nodes[peer] for node in nodes for peer in peers[node.guid] if picture.nodes[peer].type == "switch"]
    return Home(
        leaves=_sorted(switch.name or switch.guid for switch in switches),
        models=_sorted(model_of(integer(node.device_id) or 0) for node in nodes),
        psids=_sorted(node.psid for node in nodes),
        firmware=_sorted(node.firmware for node in nodes),
        node_guids=_sorted(node.guid for node in nodes),
    )


def compressed(names: t.Iterable[str]) -> str:
    """`node1, node2, node3, login` -> `login,node[1-3]`: names in Slurm's notation. Leading zeros are kept."""
    runs: dict[tuple[str, int], list[int]] = {}
    plain = []
    for name in sorted(set(names)):
        match = _NUMBERED.match(name)
        if match:
            padded = match["digits"].startswith("0")
            runs.setdefault((match["stem"], len(match["digits"]) if padded else 0), []).append(decimal(match["digits"], 0))
        else:
            plain.append(name)
    for (stem, width), numbers in sorted(runs.items()):
        parts = ["%0*d" % (width, low) if low == high else "%0*d-%0*d" % (width, low, width, high) for low, high in _ranges(numbers)]
        single = len(parts) == 1 and "-" not in parts[0]
        plain.append(stem + parts[0] if single else "%s[%s]" % (stem, ",".join(parts)))
    return ",".join(plain)


def _ranges(numbers: t.Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def is_switch_name(name: str) -> bool:
    return bool(name) and not _STRANGE.search(name)


class _Names:
    """Switch names that Slurm accepts, without duplicates."""

    def __init__(self, taken: t.Iterable[str]) -> None:
        self._taken = set(taken)

    def give(self, name: str, guid: str) -> str:
        plain = _STRANGE.sub("_", name).strip("_") or "switch"
        given = plain
        while given in self._taken:
            given = "%s_%s" % (given, guid[2:])
        self._taken.add(given)
        return given


def slurm_topology(picture: Picture, hosts: t.Iterable[str] | None, *, root: str) -> str:
    """Slurm's `topology.conf`: leaves with their hosts, leaves with the same spines as one switch, and `root` above all.

    A fat tree has many roots, and Slurm's tree has one. Therefore a switch above the leaves represents its leaves, not itself. A host on several
    leaves counts for the first one.
    """
    ranks, peers = ranks_of(picture), peers_of(picture)
    members, _doubtful = homes(picture, hosts)
    # A list, a range or a keyword of Slurm would refer to other nodes.
    members = {host: home for host, home in members.items() if is_node_of_slurm(host)}
    owner = {guid: host for host, home in members.items() for guid in home.node_guids}
    names = _Names([root])
    seen: set[str] = set()
    pods: dict[tuple[str, ...], list[str]] = {}
    lines = []
    for guid, leaf in sorted(picture.nodes.items(), key=lambda item: (item[1].name, item[0])):
        if leaf.type != "switch":
            continue
        here = {owner[peer] for peer in peers[guid] if peer in owner} - seen
        if not here:
            continue
        seen |= here
        name = names.give(leaf.name, guid)
        lines.append("SwitchName=%s Nodes=%s" % (name, compressed(here)))
        above = _sorted(peer for peer in peers[guid] if ranks[peer] > max(ranks[guid], LEAF))
        pods.setdefault(above, []).append(name)
    tops = [name for pod in pods.values() for name in pod]
    if len(pods) > 1 and any(len(pod) > 1 for pod in pods.values()):
        tops = []
        for number, pod in enumerate(pods.values(), 1):
            if len(pod) == 1:
                tops += pod
                continue
            name = names.give("pod%d" % number, "0x%d" % number)
            lines.append("SwitchName=%s Switches=%s" % (name, compressed(pod)))
            tops.append(name)
    if len(tops) > 1:
        lines.append("SwitchName=%s Switches=%s" % (root, compressed(tops)))
    return "".join(line + "\n" for line in lines)
