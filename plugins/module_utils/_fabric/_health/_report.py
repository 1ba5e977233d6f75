# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of `ib_fabric_check`, and the forms in which it is shown. Pure."""

from __future__ import annotations

import typing as t

from ... import _junit
from ..._accepted import Spot, counts, match, words
from ..._codes import guid_problems, normal_guid
from ..._errors import Problem, RdmaError, require_none
from ..._finding import SEVERITIES, Code
from ..._foreign import integer
from ..._hosts import fold, natural
from ..._junit import Case
from ..._tools._smpquery import SPEEDS
from ..._words import columns, some
from .._baseline import Changes, Picture, compare, picture_of
from .._choice import names_of
from .._gap import Code as GapCode
from .._subnet import WIDTHS
from .._words import row
from ._judge import Expected, Rule, judge

if t.TYPE_CHECKING:
    from ..._accepted import Accepted
    from ..._finding import Finding

Row = t.Mapping[str, t.Any]
# Without the complete output of these tools, a missing node or link means nothing.
_TOPOLOGY = ("ibnetdiscover", "iblinkinfo", "")
_HARMLESS = (GapCode.NO_SUBNET_MANAGER.value, GapCode.NAME_MAP.value)
# Findings about a node. Their further ends are the former or present neighbours.
_OF_NODE = frozenset(code.value for code in (Code.NODE_LOST, Code.NODE_NEW, Code.NODE_REPLACED))
_TITLES = ("severity", "code", "object", "found", "expected")
_SHOWN = 3


def expected_of(options: Row) -> Expected:
    """Parse the options. Raises InvalidInput."""
    wrong = [Problem("name", options["name"], "a name without a slash")] if "/" in options["name"] else []
    partitions: dict[int, tuple[str, ...]] = {}
    for name, guids in options["partitions"].items():
        pkey = integer(str(name))
        if pkey is None or not pkey & 0x7FFF or pkey > 0xFFFF or not isinstance(guids, list):
            wrong.append(Problem("partitions", name, "a P_Key such as 0x8001, with a list of port GUIDs"))
            continue
        for index, guid in enumerate(guids):
            wrong += guid_problems("partitions.%s[%d]" % (name, index), guid, "a port GUID")
        if not wrong:
            partitions[pkey] = tuple(map(normal_guid, guids))
    rules = []
    for index, link in enumerate(options["links"]):
        rule = Rule(link["node"], link["port"], link["width"].upper(), link["speed"].upper())
        rules.append(rule)
        for key, value, known in (("width", rule.width, WIDTHS), ("speed", rule.speed, SPEEDS)):
            if value and value not in known:
                wrong.append(Problem("links[%d].%s" % (index, key), value, "one of %s" % ", ".join(known)))
        if rule.port and not rule.node:
            wrong.append(Problem("links[%d].port" % index, rule.port, "a port of the node that node names", "node is not set"))
    require_none(wrong)
    return Expected(tuple(options["hosts"]), tuple(options["subnet_managers"]), tuple(options["line"]), partitions, tuple(rules))


def require_whole(data: Row) -> None:
    """Raise RdmaError where the topology was not read completely, so that missing parts can't be judged."""
    broken = [gap["message"] for gap in data["problems"] if gap["tool"] in _TOPOLOGY and gap["code"] not in _HARMLESS]
    # A missing link of the port explains all others.
    broken = [gap["message"] for gap in data["problems"] if gap["code"] == GapCode.NO_LINK.value] or broken
    if broken:
        raise RdmaError("the topology could not be read as a whole, so it is not judged: %s" % "; ".join(broken))


def _is_explained(finding: Finding, changes: Changes, degraded: t.Collection[t.Any], *, gone: t.Collection[str]) -> bool:
    """Whether another finding says the same about the same object."""
    if finding.code == Code.HOST_ABSENT:
        return finding.subject in gone or any(names_of(finding.subject) & names_of(name) for name in changes.lost)
    return finding.code == Code.LINK_SLOWER and finding.ends in degraded


def findings_of(data: Row, expected: Expected, before: Picture | None) -> list[dict[str, t.Any]]:
    """The findings, worst first and, at equal severity, changes since the baseline first. `before`: the baseline, None without one."""
    changes = compare(before, picture_of(data)) if before else Changes()
    new, state = [(finding, True) for finding in changes.findings], [(finding, False) for finding in judge(data, expected)]
    degraded = {finding.ends for finding, _new in new + state if finding.code == Code.LINK_DEGRADED}
    lost = set(before.nodes if before else ()).difference(node["guid"] for node in data["nodes"])
    gone = {host for host, guids in expected.guids.items() if not lost.isdisjoint(guids)}
    rows = [(finding, row(finding), is_new) for finding, is_new in new + state if not _is_explained(finding, changes, degraded, gone=gone)]
    rows.sort(key=lambda each: (SEVERITIES.index(each[0].severity), not each[2], each[0].code.value, natural(each[1]["object"])))
    # The subnet manager on the queried host reports problems of its own configuration.
    return [*({**each, "ends": []} for each in data.get("manager") or ()), *(shown for _finding, shown, _new in rows)]


def accept(findings: t.Sequence[Row], data: Row, entries: t.Sequence[Accepted], *, today: str) -> list[dict[str, t.Any]]:
    """The findings, with the key `accepted` where an entry matches; accepted findings come last."""
    guids = {(port["node_guid"], port["port"]): port["port_guid"] for port in data["ports"]} if entries else {}

    def spot(end: Row) -> Spot:
        ports = {str(end["port"]), guids.get((end["node_guid"], end["port"]), "")}
        # rdma-ndd appends the device to the host name: "node7 mlx5_0".
        ports.update("%s/%d" % (word, end["port"]) for word in end["name"].lower().split()[1:])
        return Spot(frozenset((*names_of(end["name"]), end["node_guid"].lower())), frozenset(ports - {""}))

    result: list[dict[str, t.Any]] = []
    for each in findings:
        # A host without a node is named only by its object.
        spots = [spot(end) for end in each["ends"][: 1 if each["code"] in _OF_NODE else None]] or [Spot(frozenset(names_of(each["object"])))]
        entry = match(entries, each["code"], spots, today=today)
        result.append({**each, **({"accepted": entry.result(today)} if entry is not None else {})})
    return sorted(result, key=lambda each: counts(each.get("accepted")))


def changes_of(before: Picture, now: Picture) -> list[dict[str, t.Any]]:
    """The differences between two pictures, as rows."""
    return sorted((row(finding) for finding in compare(before, now).findings), key=lambda shown: (shown["code"], natural(shown["object"])))


def _few(objects: t.Sequence[str]) -> str:
    """Host names in short form; of longer names, the first few."""
    return some(objects, _SHOWN) if any(" " in name for name in objects) else fold(objects)


def _count(number: int, one: str, many: str = "") -> str:
    return "%d %s" % (number, one if number == 1 else many or one + "s")


def render(name: str, data: Row, findings: t.Sequence[Row], *, baseline: str = "") -> str:
    """A table with one line for equal findings, then each next step once. `baseline`: what was done with it, in words."""
    totals = data["totals"]
    parts = (_count(totals["switches"], "switch", "switches"), _count(totals["cas"], "adapter"), _count(totals["links"], "link"))
    lines = ["Fabric %s: %s" % (name, ", ".join(parts)), *([baseline] if baseline else [])]
    lines += ["Not known: " + gap["message"] for gap in data["problems"]]
    if not findings:
        return "\n".join([*lines, "", "No findings."])
    accepted = [each for each in findings if counts(each.get("accepted"))]
    findings = [each for each in findings if each not in accepted]
    objects: dict[tuple[str, ...], list[str]] = {}
    for each in findings:
        objects.setdefault(tuple(each[key] for key in ("severity", "code", "found", "expected")), []).append(each["object"])
    cells = [(key[0], key[1], _few(group), *key[2:]) for key, group in objects.items()]
    lines += ["", *columns([_TITLES, *cells]), "", "Next steps:"] if cells else []
    lines += dict.fromkeys("  %s: %s. Likely cause: %s" % (each["code"], each["next_step"], each["cause"]) for each in findings)
    numbers = [_count(sum(each["severity"] == severity.value for each in findings), severity.value) for severity in SEVERITIES]
    known = {each["object"]: words(each["accepted"]) for each in findings if each.get("accepted")}
    lines += ["", "No longer accepted:", *("  %s %s" % item for item in known.items())] if known else []
    if accepted:
        lines += ["", "Accepted:"]
        lines += ["  %s %s: found %s; %s" % (each["code"], each["object"], each["found"], words(each["accepted"])) for each in accepted]
    return "\n".join([*lines, "", "Findings: %s%s." % (", ".join(numbers), "; %d accepted" % len(accepted) if accepted else "")])


def junit(name: str, findings: t.Sequence[Row]) -> str:
    """One test case per finding; without findings, one that passes."""
    cases = [Case("fabric", each["object"], each) for each in findings]
    return _junit.junit("rdma.ofed.fabric %s" % name, cases or [Case("fabric", "no findings")])
