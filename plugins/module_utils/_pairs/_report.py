# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of a pair test: its findings, their words, and the matrix for the terminal. Pure; the time is that of sorting."""

from __future__ import annotations

import statistics
import typing as t

from .._errors import Problem, require_none
from .._finding import SEVERITIES, Code, End, Finding, Form, Measure, Topic
from .._hosts import fold, natural, sharing
from .._words import columns, finding_lines
from ._tests import GBPS, LATENCY, PING, STREAM, TESTS, Figure, unit

Ends = t.Mapping[str, t.Mapping[str, t.Any]]
"""By host, the `end` that the role `look` of ib_pair_test returned."""
MOST_IN_MATRIX = 16
_WORST = 10
_NONE, _FAILED = "-", "FAILED"
# The median of fewer results means little.
_FEWEST = 4

_LINK = "see both links with rdma.ofed.fabric, and error counters with the module ib_counters"
FORMS: t.Mapping[Code, Form] = {
    Code.PAIR_FAILED: Form(
        "{detail}",
        "a result",
        "a firewall between the hosts, a port without a LID, or hosts in different partitions",
        "open the TCP ports from pair_test_tcp_port on, set pair_test_address, and run the test of this pair by hand",
    ),
    Code.PAIR_NO_DEVICE: Form(
        "{detail}",
        "a result",
        "an adapter that was reset or renamed, whose driver was unloaded, or whose link is down",
        "compare 'rdma link' on both hosts with pair_test_port, and run rdma.ofed.verify",
    ),
    Code.PAIR_LOSS: Form("{value:g} % lost", "none lost", "a damaged cable or a congested link on the path", _LINK),
    Code.PAIR_SLOW: Form(
        "{value:g} Gb/s",
        "{limit:g} Gb/s or more",
        "a slow link, a PCI slot with too few lanes, other load on the hosts, or a busy fabric",
        _LINK + "; compare 'lspci -vv' of the adapters, LnkSta with LnkCap",
    ),
    Code.PAIR_LATENCY: Form(
        "{value:g} us", "{limit:g} us or less", "power saving, other load on the hosts, or a long path", "compare the C-states of the hosts; " + _LINK
    ),
    Code.PAIR_OUTLIER: Form("{value:g} {unit}", "about {detail} {unit}, the median", "one of the two hosts, or a link on the path between them", _LINK),
}


class Limits(t.NamedTuple):
    """The expected values. 0 means no limit."""

    gbps: float = 0
    """For RDMA. If unset, `share` of the link's data rate is expected."""
    share: float = 0.8
    stream_gbps: float = 0
    """For TCP."""
    usec: float = 0
    """For ib_write_lat."""
    outlier: float = 0.7
    """A pair is an outlier if its bandwidth is below this fraction of the median, or its latency that many times the median."""


class Result(t.NamedTuple):
    """One test of one pair."""

    fabric: str
    server: str
    client: str
    rate: float
    """The data rate of the slower link in Gb/s; 0 where unknown."""
    figure: Figure

    def finding(self, code: Code, measure: Measure | None = None, detail: str = "") -> Finding:
        ends = (End("", self.client), End("", self.server))
        return Finding(code, Topic.PAIR, aspect=self.figure.test, detail=detail, measure=measure, ends=ends)

    @property
    def value(self) -> float | None:
        """The value to be judged; None where there is none."""
        return self.figure.usec if self.figure.gbps is None else self.figure.gbps


def limits_of(options: t.Mapping[str, t.Any]) -> Limits:
    """Parse the options. Raises InvalidInput."""
    limits = Limits(options["min_gbps"], options["min_share"], options["min_ipoib_gbps"], options["max_usec"], options["outlier"])
    wrong = [Problem(name, options[name], "0 or more, 0 for no limit") for name in ("min_gbps", "min_ipoib_gbps", "max_usec") if options[name] < 0]
    wrong += [Problem(name, options[name], "a share from 0 to 1, 0 for no limit") for name in ("min_share", "outlier") if not 0 <= options[name] <= 1]
    require_none(wrong)
    return limits


def _least(result: Result, limits: Limits) -> float:
    """The minimum in Gb/s; 0 where nothing is expected."""
    if result.figure.test == STREAM:
        return limits.stream_gbps
    return limits.gbps or round(limits.share * result.rate, 2)


def _of_one(result: Result, limits: Limits) -> Finding | None:
    """The finding about a single result."""
    test, figure = result.figure.test, result.figure
    if figure.problem:
        return result.finding(Code.PAIR_NO_DEVICE if figure.no_device else Code.PAIR_FAILED, detail=figure.problem)
    if figure.loss:
        return result.finding(Code.PAIR_LOSS, Measure(figure.loss, 0))
    if figure.gbps is not None and figure.gbps < _least(result, limits):
        return result.finding(Code.PAIR_SLOW, Measure(figure.gbps, _least(result, limits)))
    if test == LATENCY and figure.usec is not None and 0 < limits.usec < figure.usec:
        return result.finding(Code.PAIR_LATENCY, Measure(figure.usec, limits.usec))
    return None


def _outliers(results: t.Sequence[Result], limits: Limits) -> t.Iterator[Finding]:
    """Findings about outliers among equal pairs: those of one test in one fabric, with equal links."""
    values = [result.value for result in results if result.value is not None]
    if len(values) < _FEWEST or not limits.outlier:
        return
    median = statistics.median(values)
    lower = results[0].figure.gbps is not None
    limit = round(median * limits.outlier if lower else median / limits.outlier, 2)
    for result in results:
        if result.value is not None and (result.value < limit if lower else result.value > limit):
            yield result.finding(Code.PAIR_OUTLIER, Measure(result.value, limit), "%g" % median)


def judge(results: t.Iterable[Result], limits: Limits) -> list[Finding]:
    """All findings; at most one per result."""
    found: dict[tuple[tuple[End, ...], str], Finding] = {}
    equal: dict[tuple[str, str, float], list[Result]] = {}
    for result in results:
        finding = _of_one(result, limits)
        if finding is not None:
            found[(finding.ends, finding.aspect)] = finding
        if not result.figure.problem and result.figure.test != PING:
            equal.setdefault((result.fabric, result.figure.test, result.rate), []).append(result)
    for same in equal.values():
        for finding in _outliers(same, limits):
            found.setdefault((finding.ends, finding.aspect), finding)
    return list(found.values())


def row(finding: Finding) -> dict[str, t.Any]:
    """The finding in the shape of an entry of `findings`."""
    value, limit = finding.measure or (0.0, 0.0)
    fields = {"detail": finding.detail, "value": value, "limit": limit, "unit": unit(finding.aspect)}
    client, server = (end.name for end in finding.ends)
    names = {"object": "%s -> %s" % (client, server), "client": client, "server": server, "test": finding.aspect}
    return {"severity": finding.severity.value, "code": finding.code.value, **names, **FORMS[finding.code].filled(fields)._asdict()}


def rows(findings: t.Iterable[Finding]) -> list[dict[str, t.Any]]:
    """The findings as rows, worst first."""

    def rank(finding: Finding) -> tuple[t.Any, ...]:
        return SEVERITIES.index(finding.severity), finding.code.value, [natural(end.name) for end in finding.ends], TESTS.index(finding.aspect)

    return [row(finding) for finding in sorted(findings, key=rank)]


def results_of(measured: t.Mapping[str, t.Sequence[t.Mapping[str, t.Any]]], ends: Ends) -> list[Result]:
    """All results. `measured`: by client, for each pair, the `server`, its `tests`, and either the `figures` of ib_pair_test or the `problem`."""
    found = []
    for client, pairs in measured.items():
        for pair in pairs:
            server = pair["server"]
            rate = min(ends[host]["gbps"] for host in (client, server))
            figures = [Figure(**{key: each[key] for key in Figure._fields if each.get(key) is not None}) for each in pair["figures"]]
            if pair["problem"]:
                figures = [Figure(test, problem=pair["problem"]) for test in pair["tests"]]
            found += [Result(str(ends[client]["fabric"]), server, client, rate, each) for each in figures]
    return found


def _cell(result: Result) -> str:
    if result.figure.problem:
        return _FAILED
    loss = " (%g %% lost)" % result.figure.loss if result.figure.loss else ""
    return ("%.4g" % result.value if result.value is not None else _NONE) + loss


def _matrix(results: t.Sequence[Result], hosts: t.Sequence[str]) -> list[str]:
    """A matrix of hosts: each client with its servers."""
    cells = {(result.client, result.server): _cell(result) for result in results}
    return columns([("client", *hosts), *((client, *(cells.get((client, server), _NONE) for server in hosts)) for client in hosts)])


def _short(results: t.Sequence[Result], lower: bool) -> list[str]:
    """The worst pairs, then the hosts with the worst medians."""
    of_host: dict[str, list[float]] = {}
    for result in results:
        for host in (result.client, result.server) if result.value is not None else ():
            of_host.setdefault(host, []).append(result.value or 0.0)
    sign = 1 if lower else -1
    worst = sorted(results, key=lambda each: (not each.figure.problem, sign * (each.value or 0)))[:_WORST]
    medians = sorted(((host, statistics.median(values)) for host, values in of_host.items()), key=lambda each: sign * each[1])[:_WORST]
    pairs = columns([("worst pairs", "result"), *(("%s -> %s" % (each.client, each.server), _cell(each)) for each in worst)])
    return [*pairs, "", *columns([("worst hosts", "median"), *((host, "%.4g" % median) for host, median in medians)])]


def _sections(results: t.Sequence[Result]) -> t.Iterator[str]:
    by_test: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        by_test.setdefault((result.fabric, result.figure.test), []).append(result)
    for (fabric, test), same in sorted(by_test.items(), key=lambda each: (each[0][0], TESTS.index(each[0][1]))):
        hosts = sorted({host for result in same for host in (result.client, result.server)}, key=natural)
        yield ""
        yield "Fabric %s, %s in %s, %d pairs of %d hosts:" % (fabric, test, unit(test), len(same), len(hosts))
        yield from _matrix(same, hosts) if len(hosts) <= MOST_IN_MATRIX else _short(same, unit(test) == GBPS)


def render(results: t.Sequence[Result], findings: t.Sequence[t.Mapping[str, t.Any]], notes: t.Iterable[str]) -> str:
    """The report. `notes`: lines about hosts that were not measured, or only partly."""
    lines = [*notes, *_sections(results)]
    if not findings:
        return "\n".join([*lines, "", "No findings." if results else "Nothing was measured."])
    return "\n".join([*lines, *finding_lines(findings)])


def notes_of(ends: Ends, absent: t.Mapping[str, str], planned: t.Sequence[str]) -> list[str]:
    """Hosts that did not take part, with the reasons in `absent`; tests that hosts leave out; and in check mode the planned pairs."""
    lines = ["Not measured: %s: %s" % (host, why) for host, why in absent.items()]
    left_out = sharing({host: ["%s: %s" % each for each in end["left_out"].items()] for host, end in ends.items()})
    lines += ["Left out: %s (%s)" % (what, fold(hosts)) for what, hosts in left_out.items()]
    return [*lines, *("Would be measured: " + pair for pair in planned)]
