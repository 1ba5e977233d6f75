# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The data of the page of a fabric: nodes by rank, links and findings, which refer to each other by number, and the last runs. Pure."""

from __future__ import annotations

import collections
import typing as t

from ...module_utils._fabric._baseline import Picture, cable, picture_of
from ...module_utils._finding import SEVERITIES, Code
from ...module_utils._foreign import read_table
from ...module_utils._hosts import natural
from ._document import explanations_of
from ._rank import HOST, LEAF, peers_of, ranks_of

if t.TYPE_CHECKING:
    from ...module_utils._fabric._baseline import Cable
    from ...module_utils._fabric._subnet import Place

Row = t.Mapping[str, t.Any]
_OF_LINKS = frozenset([Code.LINK_DEGRADED, Code.LINK_LOST, Code.LINK_NEW, Code.LINK_MOVED, Code.LINKS_SWAPPED, Code.LINK_SLOWER])
# The first end of these findings is the node; the others are its neighbours.
_OF_FIRST_END = frozenset([Code.NODE_LOST, Code.NODE_NEW])
_CHANGES = (_OF_LINKS - {Code.LINK_DEGRADED}) | _OF_FIRST_END | {Code.NODE_REPLACED}
# Least severe first: the number is the state of a node or link with such a finding; 0 means without findings.
_STATES = {severity.value: number for number, severity in enumerate(reversed(SEVERITIES), 1)}
# The number of runs kept.
KEPT = 60
_SIZES = ("switches", "cas", "links")


class Run(t.NamedTuple):
    """Counts of findings by severity, then counts of the fabric."""

    time: str
    error: int
    warning: int
    notice: int
    switches: int
    cas: int
    links: int


class Report(t.NamedTuple):
    """One run."""

    name: str
    """The name of the fabric."""
    time: str
    data: Row
    """The result of `ib_fabric_info`."""
    findings: t.Sequence[Row]
    before: Picture | None
    """The baseline used for the comparison."""
    history: t.Sequence[Run]
    """The history, with this run as the last entry."""
    explanations: str
    """The documentation page with a paragraph for each code."""


class _Parts:
    """Switches connected by adjacent ranks, such as the leaves and spines of a pod."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def _head(self, guid: str) -> str:
        path = []
        while guid in self._above:
            path.append(guid)
            guid = self._above[guid]
        self._above.update(dict.fromkeys(path, guid))
        return guid

    def join(self, guid: str, near: t.Iterable[str], places: t.Mapping[str, int]) -> None:
        """Join a switch to its neighbours. The first switch of a part represents it."""
        heads = {self._head(peer) for peer in (guid, *near)}
        first = min(heads, key=lambda head: (places.get(head, len(places)), head))
        self._above.update({head: first for head in heads if head != first})

    def first(self, guid: str, places: t.Mapping[str, int]) -> int:
        return places.get(self._head(guid), len(places))


class _Drawing:
    """Nodes and links by number."""

    def __init__(self, data: Row, before: Picture) -> None:
        self._before, self._former = before, ranks_of(before)
        self.rows = {row["guid"]: row for row in data["nodes"]}
        picture = picture_of(data)
        self.peers, self.ranks = peers_of(picture), ranks_of(picture)
        self.nodes: list[dict[str, t.Any]] = []
        self.numbers: dict[str, int] = {}
        for guid in self._ordered():
            row = self.rows[guid]
            shown = {name: row[name] for name in ("guid", "name", "type", "device_id", "firmware", "psid")}
            self._add({**shown, "lids": row["lids"], "ports": row["port_count"], "rank": self.ranks[guid], "state": 0})
        self.links: list[dict[str, t.Any]] = []
        self.cables: dict[Cable, int] = {}
        # The links of lost nodes.
        self._stubs: dict[int, list[int]] = {}
        for link in data["links"]:
            near, far = ((end["node_guid"], end["port"]) for end in link["ends"])
            self.cables[cable(near, far)] = len(self.links)
            paces = [" ".join((end["width"], end["speed"])).strip() for end in link["ends"]]
            wanted = " ".join((link["max_width"], link["max_speed"])).strip()
            self._link(near, far, pace=paces[0] if paces[0] == paces[1] else " / ".join(paces), wanted=wanted)

    def _add(self, node: dict[str, t.Any]) -> None:
        self.numbers[node["guid"]] = len(self.nodes)
        self.nodes.append(node)

    def _link(self, near: Place, far: Place, **more: t.Any) -> None:
        ends = [[self.numbers[guid], port] for guid, port in (near, far)]
        self.links.append({"ends": ends, "state": 0, **more})

    def _ordered(self) -> t.Iterator[str]:
        """Leaves by name; higher switches by the order of their parts of the fabric, then by name; hosts in the order of their leaves."""
        places: dict[str, int] = {}
        parts = _Parts()
        by_rank: dict[int, list[str]] = {}
        for guid, rank in self.ranks.items():
            by_rank.setdefault(rank, []).append(guid)
        for rank in sorted(by_rank, key=lambda rank: (rank == HOST, rank)):
            below = {guid: [peer for peer in self.peers[guid] if self.ranks[peer] == (LEAF if rank == HOST else rank - 1)] for guid in by_rank[rank]}
            if rank > LEAF:
                for guid, near in below.items():
                    parts.join(guid, near, places)
            keys = {}
            for guid, near in below.items():
                first = places[near[0]] if rank == HOST and near else parts.first(guid, places) if rank > LEAF else 0
                keys[guid] = (first, natural(self.rows[guid]["name"]), guid)
            for number, guid in enumerate(sorted(keys, key=keys.__getitem__)):
                places[guid] = number
                yield guid

    def add_lost(self, guid: str, at: t.Sequence[Place]) -> None:
        """Add a lost node of the baseline at its former place."""
        node = self._before.nodes.get(guid)
        if node is None or guid in self.numbers:
            return
        fields = {name: getattr(node, name) for name in ("guid", "name", "type", "device_id", "firmware", "psid")}
        self._add({**fields, "lids": [], "ports": node.port_count, "rank": self._former[guid], "state": 0, "lost": True})
        stubs = self._stubs[self.numbers[guid]] = []
        for place in at:
            if place[0] in self.numbers:
                stubs.append(len(self.links))
                self._link((guid, 0), place, pace="", wanted="", lost=True)

    def about(self, finding: Row) -> dict[str, t.Any]:
        """The numbers of the links or nodes that a finding is about."""
        code = Code(finding["code"])
        places = [(end["node_guid"], end["port"]) for end in finding["ends"]]
        if code not in _OF_LINKS:
            guids = [guid for guid, _port in places[: 1 if code in _OF_FIRST_END else None]]
            nodes = list(dict.fromkeys(self.numbers[guid] for guid in guids if guid in self.numbers))
            return {"nodes": nodes, "links": [link for node in nodes for link in self._stubs.get(node, ())]}
        pairs = {cable(one, other) for one in places for other in places if one < other}
        links = sorted(self.cables[pair] for pair in pairs if pair in self.cables)
        if not links and len(places) == 2 and all(guid in self.numbers for guid, _port in places):
            self._link(places[0], places[1], pace="", wanted="", lost=True)
            links = [len(self.links) - 1]
        return {"nodes": [], "links": links}


def _sizes(picture: Picture) -> dict[str, int]:
    types = collections.Counter(node.type for node in picture.nodes.values())
    return {"switches": types["switch"], "cas": types["ca"], "links": len(picture.cables)}


def content_of(report: Report) -> dict[str, t.Any]:
    """The content of the page as JSON data."""
    drawing = _Drawing(report.data, report.before or Picture())
    findings = []
    for finding in report.findings:
        if finding["code"] == Code.NODE_LOST.value:
            first, *at = finding["ends"]
            drawing.add_lost(first["node_guid"], [(end["node_guid"], end["port"]) for end in at])
        about = drawing.about(finding)
        state = _STATES[finding["severity"]]
        for kind, things in (("nodes", drawing.nodes), ("links", drawing.links)):
            for number in about[kind]:
                things[number]["state"] = max(state, things[number]["state"])
        shown = {name: finding[name] for name in ("severity", "code", "object", "found", "expected", "cause", "next_step")}
        findings.append({**shown, **about, "change": Code(finding["code"]) in _CHANGES})
    explained = explanations_of(report.explanations)
    return {
        "fabric": report.name,
        "time": report.time,
        "totals": report.data["totals"],
        "problems": [gap["message"] for gap in report.data["problems"]],
        "before": _sizes(report.before) if report.before else None,
        "nodes": drawing.nodes,
        "links": drawing.links,
        "findings": findings,
        "history": [run._asdict() for run in report.history],
        "codes": {code: explained.get(code, "") for code in sorted({finding["code"] for finding in findings})},
    }


def run_of(time: str, findings: t.Sequence[t.Mapping[str, t.Any]], totals: t.Mapping[str, int]) -> Run:
    counts = {severity.value: sum(each["severity"] == severity.value for each in findings) for severity in SEVERITIES}
    return Run(time=time, **counts, **{name: totals[name] for name in _SIZES})


def _run(row: t.Any) -> Run | None:
    if not isinstance(row, dict) or not isinstance(row.get("time"), str):
        return None
    counts = [count for count in map(row.get, Run._fields[1:]) if isinstance(count, int) and not isinstance(count, bool)]
    return Run(row["time"], *counts) if len(counts) == len(Run._fields) - 1 else None


def parse_history(text: str) -> tuple[Run, ...]:
    """The runs in a report, oldest first; none for anything but a report."""
    rows = read_table(text).get("history")
    runs = [_run(row) for row in rows] if isinstance(rows, list) else []
    return tuple(run for run in runs if run)


def extended(runs: t.Sequence[Run], run: Run) -> tuple[Run, ...]:
    return (*runs, run)[-KEPT:]
