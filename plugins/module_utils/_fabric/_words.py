# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words for gaps, and for findings about counters and about a whole fabric. Pure. Nothing parses these texts."""

from __future__ import annotations

import typing as t

from .._distro._family import DIAGNOSTICS
from .._distro._registry import packages_by_family
from .._finding import Code, Form, Measure, Topic
from ._gap import Code as GapCode

if t.TYPE_CHECKING:
    from .._finding import End, Finding
    from ._counters._types import Spot
    from ._gap import Gap
    from ._subnet import Port

_GAPS: t.Mapping[GapCode, str] = {
    GapCode.NO_PORT: "this host has no InfiniBand port through which the fabric can be queried",
    GapCode.NO_LINK: "this host does not see the fabric: its port {examples}. Check its cable, or query the fabric through another host or port",
    GapCode.UNREAD_LINKS: "bit errors are not known of ports that their hosts could not read: {examples}",
    GapCode.NO_SUCH_PORT: "no port of the named nodes that is in the fabric has one of these numbers: {examples}",
    GapCode.SILENT_SWITCHES: "the firmware is not known of switches that do not answer {tool}, which works with NVIDIA switches only ({total}): {examples}",
    GapCode.NOT_INSTALLED: "{tool} is not installed: it comes with the package {packages}",
    GapCode.FAILED: "{tool} failed: {examples}",
    GapCode.INCOMPLETE: "{tool} complained, and what it listed may be incomplete: {examples}",
    GapCode.UNREAD: "{tool} printed lines that could not be read ({total}), the first: {examples}",
    GapCode.NO_SUBNET_MANAGER: "no subnet manager answers: subnet managers, partitions and multicast groups are not known",
    GapCode.NOT_IN_TOPOLOGY: "{tool} lists ports of nodes that ibnetdiscover did not find, so the fabric may have changed in between: {examples}",
    GapCode.NO_SUCH_NODE: "the fabric has no such node: {examples}",
    GapCode.NAME_MAP: "the map of node names has lines that can't be read ({total}), for which the diagnostics drop the whole file: {examples}",
    GapCode.UNFINISHED: "{tool} ended before it had read the counters; the likely cause is that no subnet manager answers",
    GapCode.NO_LID: "the counters are not known of ports without a LID, which a subnet manager assigns ({total}): {examples}",
    GapCode.BROKEN_SAMPLE: "the file of the last sample could not be read, so nothing is compared; it is written again: {examples}",
    GapCode.CLOCK: "the last sample is from the future, so nothing is compared: the clock of this host was set back",
}


def words(gap: Gap) -> str:
    text = _GAPS[gap.code]
    return text.format(tool=gap.tool, total=gap.total, examples="; ".join(gap.examples), packages=packages_by_family(DIAGNOSTICS))


def problem(gap: Gap) -> dict[str, t.Any]:
    """The gap in the shape of an entry of `problems`."""
    return {**gap._asdict(), "code": gap.code.value, "examples": list(gap.examples), "message": words(gap)}


_RESEAT = "reseat the cable at both ends and clean its connectors; if the errors continue, replace the cable, then try other ports"
# Cause and next step.
COUNTER_FORMS: t.Mapping[Code, tuple[str, str]] = {
    Code.SYMBOL_ERRORS: ("a cable or transceiver that is damaged, dirty or badly seated", _RESEAT),
    Code.LINK_RECOVERS: ("a link so bad that it has to be retrained while it is up", _RESEAT),
    Code.LINK_DOWNED: (
        "a loose cable, or a host or switch at the other end that was restarted",
        "check whether the other end was restarted; otherwise " + _RESEAT,
    ),
    Code.RECEIVE_ERRORS: ("packets that were damaged by the cable or the port at the other end", _RESEAT),
    Code.REMOTE_ERRORS: ("packets that were damaged on another link", "look for symbol errors and receive errors on other ports, and repair that link"),
    Code.RELAY_ERRORS: ("packets that the switch has no route for, such as multicast that comes back", "none, unless traffic is lost"),
    Code.DISCARDS: (
        "congestion, or a receiver that does not accept its packets",
        "check the host or switch at the other end, and look for PortXmitWait on the path to it",
    ),
    Code.CONSTRAINT_ERRORS: (
        "packets that are not allowed to pass, most often because of their P_Key",
        "compare the partitions of both ends with the declared ones",
    ),
    Code.LINK_INTEGRITY: ("a link with more errors in a row than it tolerates", _RESEAT),
    Code.BUFFER_OVERRUNS: (
        "a sender that violates flow control, most often because of its firmware",
        "update the firmware of both ends, then replace the sender",
    ),
    Code.MANAGEMENT_DROPS: (
        "more management packets than the port can process",
        "look for several subnet managers, and for tools that query the fabric constantly",
    ),
    Code.CONGESTION: (
        "a receiver that is slower than its sender, or links with too much traffic",
        "follow PortXmitWait towards the port that does not have it",
    ),
    Code.BIT_ERRORS: ("a connector that is dirty or loose, or a cable that is damaged or too long", _RESEAT),
    Code.SATURATED: ("a counter that was not cleared for a long time", "clear the counters with clear=errors, so that they show new errors"),
}


def place_in_words(spot: Spot | Port) -> str:
    """`leaf1 port 6`."""
    return "%s port %d" % (spot.name, spot.port)


def _number(value: float) -> str:
    return "%d" % value if value % 1 == 0 else "%.6g" % value


def counter_words(finding: Finding, spot: Spot, hours: float | None) -> dict[str, str]:
    """Cause, next step, and both with the finding in one sentence."""
    cause, next_step = COUNTER_FORMS[finding.code]
    where = place_in_words(spot) + (" (to %s port %d)" % (spot.peer_name, spot.peer_port) if spot.peer_port else "")
    found, limit = map(_number, finding.measure or Measure(0, 0))
    if finding.code == Code.SATURATED:
        what = "is at its maximum of %s, so its growth is not known" % found
    elif hours is None or finding.code == Code.BIT_ERRORS:
        what = "is %s, allowed: %s" % (found, limit)
    elif finding.code == Code.CONGESTION:
        what = "grows by %s per hour, allowed: %s" % (found, limit)
    else:
        what = "grew by %s in %.3g h, allowed: %s" % (found, hours, limit)
    return {"cause": cause, "next_step": next_step, "message": "%s: %s %s" % (where, finding.aspect, what)}


_CABLE = "reseat the cable at both ends and clean its connectors, then replace it"
_RECABLED = "cables were plugged in differently"
_SAVE = "if the change is meant to stay, save a new baseline"
FORMS: t.Mapping[Code, Form] = {
    Code.NO_MASTER: Form("no master", "one master", "opensm does not run, or has lost its port", "see 'systemctl status rdma-opensm@*' on the designated host"),
    Code.SEVERAL_MASTERS: Form(
        "{detail} masters: {found}", "one master", "a subnet manager that does not see the other", "'saquery SMIR' lists them: stop all but the designated one"
    ),
    Code.OTHER_MASTER: Form("master", "one of {detail}", "another opensm, or a managed switch", "stop it, or declare its host"),
    Code.FAILED_OVER: Form(
        "master, standing by for {detail}",
        "a master on {detail}",
        "opensm of the designated host has ended, or its host or link is down",
        "see opensm on {detail}: once it runs there again, it takes the fabric back",
    ),
    Code.UNEXPECTED_MANAGER: Form("{found}", "no subnet manager here", "another opensm, or a managed switch", "stop it, or declare its host"),
    Code.LINK_DEGRADED: Form(
        "{found}",
        "{wanted}",
        "a cable or connector that is damaged, dirty or badly seated, or not capable of more",
        _CABLE + "; declare links that are meant to be slower in fabric_links (links of the module)",
    ),
    Code.DUPLICATE_NAME: Form(
        "{found}", "one node of this name", "a node description that was never set, or was copied", "set the host name and restart rdma-ndd, or name the switch"
    ),
    Code.DEFAULT_NAME: Form(
        "{detail} adapters of this name",
        "a name of its own for each",
        "hosts without rdma-ndd, whose adapters keep the description from the firmware",
        "install and start rdma-ndd (package rdma-core) on the hosts; the map of node names names them meanwhile",
    ),
    Code.DUPLICATE_GUID: Form(
        "{places}", "one port with this GUID", "a GUID that was copied from another card", "restore the GUID on the label of the card with mstflint"
    ),
    Code.FIRMWARE_DIFFERS: Form("{found}", "{wanted}, as most with {detail}", "an update that skipped it", "update its firmware"),
    Code.PARTITION_MEMBER: Form(
        "no member",
        "in partition {wanted}",
        "a port GUID that opensm_partitions lacks, or a card that was replaced",
        "see opensm_partitions, then run rdma.ofed.site --tags opensm",
    ),
    Code.HOST_ABSENT: Form(
        "not in the fabric",
        "a node of its name or of its adapters' GUIDs",
        "a host, a driver or a link that is down",
        "see 'rdma link' on the host, then its cable; if it has left, take it out of the inventory and of fabric_hosts",
    ),
    Code.HOSTS_UNMATCHED: Form(
        "no node of the name of any of {detail} hosts",
        "a node for each",
        "an inventory with names that differ from those of the nodes, such as the names in the management network",
        "run it with -e fabric_adapters=true, which reads the GUIDs of the adapters on the hosts, or save a baseline, which keeps them",
    ),
    Code.LINK_LOST: Form("no link", "a link", "a cable that was pulled or broke, or a port that is off", _CABLE + "; the module ib_port switches a port on"),
    Code.LINK_NEW: Form("a link", "none in the baseline", "a new cable", _SAVE),
    Code.LINK_MOVED: Form("{after}", "{before}", _RECABLED, "move it back; " + _SAVE),
    Code.LINKS_SWAPPED: Form("{after}", "{before}", _RECABLED, "exchange one end of each; " + _SAVE),
    Code.LINK_SLOWER: Form("{found}", "{wanted}", "a cable or connector that has deteriorated", _CABLE),
    Code.NODE_LOST: Form(
        "not in the fabric{behind}",
        "{at}",
        "it is off, or its cable is unplugged",
        "check whether it is up, then check its cables; if it was taken out, save a new baseline",
    ),
    Code.NODE_NEW: Form("{at}{behind}", "not in the baseline", "a new node", _SAVE),
    Code.NODE_REPLACED: Form("{found}", "{wanted}", "a card or switch that was replaced", _SAVE + "; check whether partitions list its former GUIDs"),
}


def _place(end: End) -> str:
    return "%s port %d" % (end.name, end.port) if end.port else end.name


def _cables(ends: t.Sequence[End]) -> list[str]:
    return ["%s - %s" % (_place(near), _place(far)) for near, far in zip(ends[::2], ends[1::2])]


def _object(finding: Finding) -> str:
    ends = finding.ends
    if finding.kind == Topic.LINK:
        return " and ".join(_cables(ends[: len(ends) // 2 if finding.code in (Code.LINK_MOVED, Code.LINKS_SWAPPED) else None]))
    if finding.subject and finding.kind == Topic.PARTITION:
        return "%s (%s)" % (_place(ends[0]), finding.subject) if ends else finding.subject
    return finding.subject or (ends[0].name if ends else "fabric")


def row(finding: Finding) -> dict[str, t.Any]:
    """The finding in the shape of an entry of `findings`: first the fields that decisions use, then the words."""
    cables, behind = _cables(finding.ends), finding.detail if finding.detail != "0" else ""
    fields = {
        "found": finding.found,
        "wanted": finding.wanted,
        "detail": finding.detail,
        "places": ", ".join(map(_place, finding.ends)),
        "before": " and ".join(cables[: len(cables) // 2]),
        "after": " and ".join(cables[len(cables) // 2 :]),
        "at": "at " + ", ".join(map(_place, finding.ends[1:])) if finding.ends[1:] else "in the fabric",
        "behind": ", with %s more behind it" % behind if behind else "",
    }
    return {
        "severity": finding.severity.value,
        "code": finding.code.value,
        "object": _object(finding),
        "ends": [end._asdict() for end in dict.fromkeys(finding.ends)],
        **FORMS[finding.code].filled(fields)._asdict(),
    }
