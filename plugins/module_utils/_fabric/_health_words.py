# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Findings about a whole fabric in words, for people. Pure. Nothing reads these texts back."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import Code, Topic

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import End, Finding


class _Form(t.NamedTuple):
    """The words of a code, in which the fields of a finding are filled in."""

    found: str
    expected: str
    cause: str
    next_step: str


_CABLE = "reseat the cable at both ends and clean its connectors, then replace it"
_RECABLED = "cables were plugged in differently"
_SAVE = "save a new baseline where it is meant to stay"
FORMS: t.Mapping[Code, _Form] = {
    Code.NO_MASTER: _Form(
        "no master", "one master", "opensm does not run, or has lost its port", "see 'systemctl status rdma-opensm@*' on the designated host"
    ),
    Code.SEVERAL_MASTERS: _Form(
        "{detail} masters: {found}", "one master", "a subnet manager that does not see the other", "'saquery SMIR' lists them: stop all but the designated one"
    ),
    Code.OTHER_MASTER: _Form("master", "one of {detail}", "another opensm, or a managed switch", "stop it, or declare its host"),
    Code.UNEXPECTED_MANAGER: _Form("{found}", "no subnet manager here", "another opensm, or a managed switch", "stop it, or declare its host"),
    Code.LINK_DEGRADED: _Form(
        "{found}",
        "{wanted}",
        "a cable or connector that is damaged, dirty or not seated well, or one that can do no more",
        _CABLE + "; declare in links what is meant to be slower",
    ),
    Code.DUPLICATE_NAME: _Form(
        "{found}", "one node of this name", "a node description that was never set, or was copied", "set the host name and restart rdma-ndd, or name the switch"
    ),
    Code.DUPLICATE_GUID: _Form(
        "{places}", "one port with this GUID", "a GUID that was copied from another card", "restore the GUID on the label of the card with mstflint"
    ),
    Code.FIRMWARE_DIFFERS: _Form("{found}", "{wanted}, as most with {detail}", "an update that left it out", "update its firmware"),
    Code.PARTITION_MEMBER: _Form(
        "no member",
        "in partition {wanted}",
        "a port GUID that opensm_partitions lacks, or a card that was replaced",
        "see opensm_partitions, then run rdma.ofed.site --tags opensm",
    ),
    Code.HOST_ABSENT: _Form(
        "not in the fabric",
        "a node of this name",
        "a host, a driver or a link that is down",
        "see 'rdma link' on the host, then its cable",
    ),
    Code.LINK_LOST: _Form("no link", "a link", "a cable that was pulled or broke, or a port that is off", _CABLE + "; the module ib_port switches a port on"),
    Code.LINK_NEW: _Form("a link", "none in the baseline", "a new cable", _SAVE),
    Code.LINK_MOVED: _Form("{after}", "{before}", _RECABLED, "move it back; " + _SAVE),
    Code.LINKS_SWAPPED: _Form("{after}", "{before}", _RECABLED, "exchange one end of each; " + _SAVE),
    Code.LINK_SLOWER: _Form("{found}", "{wanted}", "a cable or connector that got worse", _CABLE),
    Code.NODE_LOST: _Form("not in the fabric{behind}", "{at}", "it is off, or its cable is unplugged", "see whether it is up, then look at its cables"),
    Code.NODE_NEW: _Form("{at}{behind}", "not in the baseline", "a new node", _SAVE),
    Code.NODE_REPLACED: _Form("{found}", "{wanted}", "a card or switch that was replaced", _SAVE + "; see whether partitions name its former GUIDs"),
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
    """In the shape of an entry of `findings`: the fields that decisions use, then the words."""
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
    said = _Form(*(form.format(**fields) for form in FORMS[finding.code]))
    return {
        "severity": finding.severity.value,
        "code": finding.code.value,
        "object": _object(finding),
        "ends": [end._asdict() for end in dict.fromkeys(finding.ends)],
        **said._asdict(),
    }
