# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcomes of all hosts as one plain table, including findings that only appear across hosts. Pure; linear in hosts."""

from __future__ import annotations

import typing as t

from .._accepted import is_error
from .._finding import BY_HAND, Code, Topic, rank_of
from .._hosts import fold, natural, sharing
from .._plan import Kind
from .._words import columns
from . import _words

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._fleet import ByHost, Deviation, Fleet, Results

TITLES = ("host", "port", "state", "LID", "SM LID", "rate", "interface", "mode", "MTU", "addresses", "SM", "result")
# The cells of a row by their titles: the key of "SM LID" is `sm_lid`.
KEYS = tuple(title.lower().replace(" ", "_") for title in TITLES)
UNKNOWN = "-"
# The column "result": not as declared; as declared; as declared except for warnings or accepted deviations; waiting for the fabric.
BAD, GOOD, NOTED, WAITS = "BAD", "OK", "NOTED", "WAITS"
# A table of up to this many rows fits on a screen, with what follows it.
_MOST_ROWS = 32
_MOST_BAD_ROWS = 8
_MOST_LINES, _MOST_OTHERS = 24, 5
_BY_HAND = frozenset(code.value for code in BY_HAND)
_BRINGS_PORTS = frozenset(kind.value for kind in (Kind.STACK, Kind.MODULE, Kind.RDMA_LINK))
# Lists of hosts on a line: maximum width, number of hosts that a long list names, and the longest list without a count.
_WIDTH, _NAMED, _UNCOUNTED = 100, 8, 4
# Versions that equal hosts should share: of the firmware of adapters with one PSID, and of one vendor's stack. Inbox versions depend on the release.
_FIRMWARE, _STACK = "firmware", "stack"
_SHARED: t.Mapping[str, str] = {_FIRMWARE: "firmware of adapters with PSID %s", _STACK: "release of %s"}
_VENDORS = ("mlnx_ofed", "doca")


def differences_of(results: Results) -> list[dict[str, t.Any]]:
    """Versions that equal hosts should share and do not, as entries of `differences`; in each, the version of most hosts comes first.

    A difference is no deviation by itself: an upgrade in progress causes one, too. `results`: those of `node_check`, by host.
    """
    seen: dict[tuple[str, str], dict[str, dict[str, None]]] = {}

    def see(of: tuple[str, str], version: str, host: str) -> None:
        if of[1] and version:
            seen.setdefault(of, {}).setdefault(version, {})[host] = None

    for host, result in results.items():
        for card in result.get("adapters") or ():
            see((_FIRMWARE, str(card.get("psid", ""))), str(card.get("firmware", "")), host)
        stack = result.get("stack") or {}
        if stack.get("kind") in _VENDORS:
            see((_STACK, str(stack["kind"])), str(stack.get("version", "")), host)
    found = []
    for (what, of), hosts in sorted(seen.items()):
        if len(hosts) > 1:
            order = sorted(hosts, key=lambda version: (-len(hosts[version]), natural(version)))
            found.append({"what": what, "of": of, "hosts": {version: list(hosts[version]) for version in order}})
    return found


def difference_of(entry: Mapping[str, t.Any], *, full: bool = False) -> str:
    """Format an entry: `firmware of adapters with PSID MT_0000000008: 16.35.2000 on node[1-3], 16.35.4030 on node4`."""
    hosts = ", ".join("%s on %s" % (version, some_hosts(names, full=full)) for version, names in entry["hosts"].items())
    return "%s: %s" % (_SHARED[entry["what"]] % entry["of"], hosts)


def foreseen(results: Results) -> ByHost:
    """The deviations that no role fixes, by host. Hosts without an outcome are left out."""
    found = {}
    for host, result in results.items():
        deviations = result.get("deviations") or ()
        # Such a change may add a port that is missing now.
        incoming = any(each.get("kind") in _BRINGS_PORTS for each in deviations)
        found[host] = [each for each in deviations if is_error(each) and (_by_hand(each) or (_is_lost(each) and not incoming))]
    return {host: own for host, own in found.items() if own}


def _by_hand(deviation: Deviation) -> bool:
    return deviation.get("code") in _BY_HAND


def _is_lost(deviation: Deviation) -> bool:
    """Whether the deviation is a missing port, or a port with the Ethernet link layer."""
    code, aspect = deviation.get("code"), deviation.get("aspect")
    return code == Code.NO_PORT.value or (code == Code.DIFFERS.value and deviation.get("kind") == Topic.PORT.value and aspect == "link_layer")


def render_foreseen(deviations: ByHost) -> str:
    """What a run would fail for: each deviation once, with its hosts; "" for none."""
    lines = ["  " + line for line in grouped(deviations)]
    return "\n".join(("No role corrects this. The run will fail unless you correct it first:", *lines)) if lines else ""


def verdict(findings: Sequence[Mapping[str, t.Any]], form: str) -> str:
    """The first error, formatted with `form`, and the number of further errors; "" without errors."""
    errors = [each for each in findings if is_error(each)]
    more = "; and %d more" % (len(errors) - 1) if errors[1:] else ""
    return form % errors[0] + more if errors else ""


def render(results: Results, fleet: Fleet, differences: Sequence[Mapping[str, t.Any]] = (), *, full: bool = False) -> str:
    """A table where it is short, then the faults of fabrics, the deviations of hosts, each once, and a line with the outcome.

    With many hosts, the deviations come first, and the table is limited to bad rows, if these are few. `full`: show everything, whatever its length.
    """
    rows = rows_of(results, fleet)
    whole = full or len(rows) <= _MOST_ROWS
    shown = rows if whole else [row for row in rows if row[-1] == BAD]
    table = ["", *columns([TITLES, *shown])] if whole or 0 < len(shown) <= _MOST_BAD_ROWS else []
    lines = [*_sections(fleet, differences, full=full)]
    return "\n".join([*(table + lines if whole else lines + table), "", _outcome(fleet)]).lstrip("\n")


def rows_of(results: Results, fleet: Fleet) -> list[tuple[str, ...]]:
    """The rows of the table. The last column also reflects findings across hosts."""
    failing, waiting, table = fleet.failing(), fleet.waiting, []
    for host, result in results.items():
        rows = result.get("rows") or [{"result": BAD}]
        # A finding across hosts does not belong to any single row of this host.
        others = host in fleet.errors and not any(row.get("result") == BAD for row in rows)
        waits = host not in fleet.errors and (host in waiting or host in failing)
        for row in rows:
            cells = {**row, "host": host, **({"result": BAD} if others else {"result": WAITS} if waits else {})}
            table.append(tuple(str(cells.get(key, UNKNOWN)) for key in KEYS))
    return table


def _sections(fleet: Fleet, differences: Sequence[Mapping[str, t.Any]], *, full: bool) -> t.Iterator[str]:
    faults = {text: fault.hosts for fault in fleet.faults for text in [_words.by_object([fault.deviation])[0].text]}
    for title, lines in (
        ("Faults of a whole fabric:", ["%s: %s" % (some_hosts(hosts, full=full), text) for text, hosts in faults.items()]),
        ("Findings:", grouped(fleet.errors, full=full)),
        ("Warnings:", grouped(fleet.warnings, full=full, most=_MOST_OTHERS)),
        ("Accepted:", grouped(fleet.accepted, full=full, most=_MOST_OTHERS)),
        ("Notices, which do not count:", _noticed(fleet.notices, full=full)),
        ("Different versions:", [difference_of(each, full=full) for each in (differences if full else differences[:_MOST_OTHERS])]),
    ):
        if lines:
            yield from ("", title, *("  " + line for line in lines))


def some_hosts(names: t.Iterable[str], *, full: bool = False) -> str:
    """A short list of hosts, with a count if there are several: `node[1-12] (12 hosts)`. A very long list is cut."""
    names = sorted(set(names), key=natural)
    text = fold(names)
    if not full and len(text) > _WIDTH:
        # A range is as long as a name, so the list is cut at the end of a name.
        text = fold(names[:_NAMED]) + " ..."
    return "%s (%d hosts)" % (text, len(names)) if len(names) > _UNCOUNTED else text


def _noticed(found: ByHost, *, full: bool) -> list[str]:
    """One line for each code, whatever the number of hosts and objects; with `full`, all lines."""
    codes = dict.fromkeys(str(each.get("code")) for own in found.values() for each in own)
    by_code = ({host: [each for each in own if each.get("code") == code] for host, own in found.items()} for code in codes)
    return [line for own in by_code for line in grouped({host: each for host, each in own.items() if each}, full=full, most=1)]


def grouped(found: ByHost, *, full: bool = False, most: int = 0) -> list[str]:
    """Each deviation with its hosts. A host with the cause of other deviations comes before the others.

    If there are more than `most`, deviations that differ only in objects and values share one line, which shows the most frequent of them.
    """

    def rank(host: str) -> int:
        return min(rank_of(str(each.get("code")), str(each.get("kind"))) for each in found[host])

    exact = sharing({host: _words.by_object(found[host]) for host in sorted(found, key=rank)})
    most = most or _MOST_LINES
    if full or len(exact) <= most:
        return ["%s: %s" % (some_hosts(hosts, full=full), line.text) for line, hosts in exact.items()]
    alike: dict[t.Any, list[tuple[_words.Line, list[str]]]] = {}
    for line, hosts in exact.items():
        alike.setdefault(line.shape, []).append((line, hosts))
    lines = [_merged(group) for group in alike.values()]
    left = "and %d more kinds; verify_full_table=true and verify_report_dir show all" % (len(lines) - most)
    return [*lines[:most], left] if len(lines) > most else lines


def _merged(group: list[tuple[_words.Line, list[str]]]) -> str:
    """One line for deviations of one shape."""
    line, hosts = max(group, key=lambda each: len(each[1]))
    if len(group) == 1:
        return "%s: %s" % (some_hosts(hosts), line.text)
    every = [host for _line, own in group for host in own]
    return "%s: %d alike, such as on %s: %s" % (some_hosts(every), len(every), min(hosts, key=natural), line.text)


def _outcome(fleet: Fleet) -> str:
    hosts, bad, waiting = len(fleet.hosts), set(fleet.failing()), fleet.waiting
    if not hosts:
        return "No host was checked."
    noted = fleet.noted - bad - waiting
    good = hosts - len(bad) - len(waiting)
    if not (bad or waiting or noted):
        return "%s as declared." % ("The one host is" if hosts == 1 else "All %d hosts are" % hosts)
    parts = ["%d of %d hosts are not as declared" % (len(bad), hosts)] if bad else []
    parts += ["%d wait for the fabric" % len(waiting)] if waiting else []
    parts += ["%d as declared" % (good - len(noted))] if good - len(noted) else []
    parts += ["%d as declared but for what is listed above" % len(noted)] if noted else []
    return "; ".join(parts) + "."
