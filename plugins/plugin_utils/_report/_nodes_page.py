# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTML page of `verify`: findings and their hosts. It contains no script, so mail programs and old browsers show all of it."""

from __future__ import annotations

import html
import re
import typing as t

from ...module_utils._accepted import words as accepted_words
from ...module_utils._check._table import BAD, GOOD, KEYS, NOTED, TITLES, WAITS, difference_of, rows_of
from ...module_utils._finding import Code, Severity, rank_of
from ...module_utils._hosts import fold, natural, sharing
from ._document import document, explanations_of

if t.TYPE_CHECKING:
    from ...module_utils._check._fleet import ByHost, Deviation, Fleet, Results

_TITLE = "Nodes compared with their declared state"
# Characters that HTML does not allow.
_NOT_HTML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CODES = frozenset(code.value for code in Code)
_SEVERITIES = frozenset(severity.value for severity in Severity)
# Hosts that deviate come first.
_ORDER = (BAD, WAITS, NOTED, GOOD)
_CLASSES = {BAD: "error", WAITS: "notice", NOTED: "warning", GOOD: "ok"}
_RESULT = KEYS.index("result")


class Markup(str):
    """Text that already is HTML."""


class Group(t.NamedTuple):
    """One finding, which several hosts may share."""

    severity: str
    code: str
    kind: str
    object: str
    found: str
    expected: str
    cause: str
    next_step: str
    note: str
    """Why it is accepted."""


def text(words: str) -> str:
    return words if isinstance(words, Markup) else html.escape(_NOT_HTML.sub("\ufffd", words))


def tag(name: str, *children: str, **attributes: str) -> Markup:
    words = "".join(' %s="%s"' % (key.rstrip("_").replace("_", "-"), text(value)) for key, value in attributes.items())
    return Markup("<%s%s>%s</%s>" % (name, words, "".join(map(text, children)), name))


def group_of(deviation: Deviation) -> Group:
    fields = {name: str(deviation.get(name, "")) for name in Group._fields if name != "note"}
    return Group(**fields, note=accepted_words(deviation["accepted"]) if deviation.get("accepted") else "")


def groups_of(found: ByHost) -> list[tuple[Group, list[str]]]:
    """Each finding once, with its hosts: findings that explain others first, then those of most hosts."""
    hosts = sharing({host: dict.fromkeys(map(group_of, own)) for host, own in found.items()})
    return sorted(hosts.items(), key=lambda each: (rank_of(each[0].code, each[0].kind), -len(each[1]), natural(each[1][0])))


def _hosts(names: t.Sequence[str]) -> str:
    words = fold(sorted(set(names), key=natural))
    return "%d hosts: %s" % (len(names), words) if len(names) > 1 else words


def _row(group: Group, hosts: t.Sequence[str], *, noted: bool) -> Markup:
    known = group.code in _CODES
    cells = [
        ("Severity", "severity", tag("span", group.severity, class_=group.severity) if group.severity in _SEVERITIES else group.severity),
        ("Hosts", "", _hosts(hosts)),
        ("Object", "", group.object),
        ("Found", "", group.found),
        ("Expected", "", group.expected),
        *([("Accepted", "", group.note)] if noted else []),
        ("Likely cause", "", group.cause),
        ("Next step", "", group.next_step),
        ("Code", "code", tag("a", group.code, href="#code-" + group.code) if known else group.code),
    ]
    return tag("tr", *(tag("td", cell, class_=(kind if cell else "blank"), data_label=title) for title, kind, cell in cells))


def _findings(groups: t.Sequence[tuple[Group, t.Sequence[str]]]) -> Markup:
    noted = any(group.note for group, _hosts in groups)
    titles = ["Severity", "Hosts", "Object", "Found", "Expected", *(["Accepted"] if noted else []), "Likely cause", "Next step", "Code"]
    return _table(titles, [_row(group, hosts, noted=noted) for group, hosts in groups], "findings-table")


def _table(titles: t.Iterable[str], rows: t.Iterable[Markup], kind: str) -> Markup:
    head = tag("thead", tag("tr", *(tag("th", title, scope="col", class_="plain") for title in titles)))
    return tag("div", tag("table", head, tag("tbody", *rows), class_="static " + kind), class_="panel scroll")


def _nodes(results: Results, fleet: Fleet) -> Markup:
    """The rows of the table shown on the terminal."""
    rows = sorted(rows_of(results, fleet), key=lambda row: (_ORDER.index(row[_RESULT]) if row[_RESULT] in _ORDER else 0, natural(row[0])))
    return _table(TITLES, (tag("tr", *(_cell(title, cell) for title, cell in zip(TITLES, row))) for row in rows), "nodes-table")


def _cell(title: str, cell: str) -> Markup:
    own = _CLASSES.get(cell, "") if title == TITLES[_RESULT] else ""
    return tag("td", tag("span", cell, class_=own) if own else cell, class_="severity" if own else "", data_label=title)


def _section(name: str, title: str, note: str, *content: Markup) -> Markup:
    return tag("section", tag("h2", title, tag("small", note), id=name), *content, aria_labelledby=name)


def _sections(
    results: Results, fleet: Fleet, differences: t.Sequence[t.Mapping[str, t.Any]], *, explained: t.Mapping[str, str]
) -> t.Iterator[tuple[str, str, Markup]]:
    """Name, title and content of each section."""
    faults = [(group_of(fault.deviation), fault.hosts) for fault in fleet.faults]
    errors, warnings, accepted, notices = map(groups_of, (fleet.errors, fleet.warnings, fleet.accepted, fleet.notices))
    for name, title, groups in (
        ("fabric", "Faults of a whole fabric", faults),
        ("deviations", "Findings", errors),
        ("warnings", "Warnings", warnings),
        ("accepted", "Accepted", accepted),
        ("notices", "Notices", notices),
    ):
        if groups:
            yield (
                name,
                title,
                _section(name, title, "%d of %d hosts" % (len({host for _group, hosts in groups for host in hosts}), len(fleet.hosts)), _findings(groups)),
            )
    if differences:
        lines = (tag("li", difference_of(each, full=True)) for each in differences)
        gaps = tag("ul", *lines, class_="panel gaps")
        yield "versions", "Different versions", _section("versions", "Different versions", "not findings in themselves", gaps)
    yield "nodes", "Nodes", _section("nodes", "Nodes", "those with findings first", _nodes(results, fleet))
    codes = sorted({group.code for groups in (faults, errors, warnings, accepted, notices) for group, _hosts in groups} & _CODES)
    if codes:
        entries = (tag("div", tag("dt", code), tag("dd", *_marked(explained.get(code, ""))), id="code-" + code) for code in codes)
        yield "codes", "Explanations", _section("codes", "Explanations", "as in docs/findings.md", tag("dl", *entries, class_="panel codes"))


def _marked(paragraph: str) -> t.Iterator[str]:
    """HTML of a documentation paragraph, in which commands and options are between backticks."""
    for number, words in enumerate(paragraph.split("`")):
        yield tag("code", words) if number % 2 else words


def _figure(name: str, count: int, kind: str = "") -> Markup:
    return tag("div", tag("dt", name), tag("dd", str(count), class_=kind if count else "none"))


def nodes_page(results: Results, fleet: Fleet, differences: t.Sequence[t.Mapping[str, t.Any]], *, time: str, explanations: str) -> str:
    """The page. `results`: those of `node_check`, by host. `explanations`: the documentation page with a paragraph for each code."""
    sections = list(_sections(results, fleet, differences, explained=explanations_of(explanations)))
    deviating, waiting = len(fleet.failing()), len(fleet.waiting)
    known = deviating or waiting or fleet.noted
    good = len(fleet.hosts) - deviating - waiting
    when = time.replace("T", " ").replace("Z", " UTC")
    nav = tag("nav", *(tag("a", title, href="#" + name) for name, title, _content in sections), aria_label="Sections")
    figures = tag(
        "dl",
        _figure("Not as declared", deviating, "error"),
        _figure("Waiting for the fabric", waiting, "notice"),
        _figure("As declared", good, "ok"),
        _figure("Hosts", len(fleet.hosts)),
    )
    body = [
        tag("header", tag("div", tag("h1", _TITLE), tag("span", when), nav)),
        tag(
            "main",
            tag("div", figures, class_="summary"),
            *([] if known or not fleet.hosts else [tag("div", "Nothing is wrong.", class_="panel empty")]),
            *(content for _name, _title, content in sections),
            tag("footer", "Made by the playbook rdma.ofed.verify. This file needs no network and has no script."),
        ),
    ]
    return document(_TITLE, "\n".join(body) + "\n")
