# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What is wrong with the results of pair tests. Pure; the time is that of sorting them."""

from __future__ import annotations

import statistics
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import Code, End, Finding, Measure, Topic
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem
from ansible_collections.rdma.ofed.plugins.module_utils._pairs._tests import LATENCY, PING, STREAM, Figure

# The median of fewer tells little.
_FEWEST = 4


class Limits(t.NamedTuple):
    """What is expected. 0 stands for no limit."""

    gbps: float = 0
    """Of RDMA. Without it, `share` of what the link carries is."""
    share: float = 0.8
    stream_gbps: float = 0
    """Of TCP."""
    usec: float = 0
    """Of ib_write_lat."""
    outlier: float = 0.7
    """A pair with less than this part of the median bandwidth is an outlier, and one with as many times its latency."""


class Result(t.NamedTuple):
    """One test of one pair."""

    fabric: str
    server: str
    client: str
    rate: float
    """What the slower of the two links carries in Gb/s; 0 where it is not known."""
    figure: Figure

    def finding(self, code: Code, measure: Measure | None = None, detail: str = "") -> Finding:
        """One about this result."""
        ends = (End("", self.client), End("", self.server))
        return Finding(code, Topic.PAIR, aspect=self.figure.test, detail=detail, measure=measure, ends=ends)

    @property
    def value(self) -> float | None:
        """The number that counts; None where there is none."""
        return self.figure.usec if self.figure.gbps is None else self.figure.gbps


def limits_of(options: t.Mapping[str, t.Any]) -> Limits:
    """Raises InvalidInput."""
    limits = Limits(options["min_gbps"], options["min_share"], options["min_ipoib_gbps"], options["max_usec"], options["outlier"])
    wrong = [Problem(name, options[name], "0 or more, 0 for no limit") for name in ("min_gbps", "min_ipoib_gbps", "max_usec") if options[name] < 0]
    wrong += [Problem(name, options[name], "a share from 0 to 1, 0 for no limit") for name in ("min_share", "outlier") if not 0 <= options[name] <= 1]
    if wrong:
        raise InvalidInput(wrong)
    return limits


def _least(result: Result, limits: Limits) -> float:
    """Gb/s; 0 where nothing is expected."""
    if result.figure.test == STREAM:
        return limits.stream_gbps
    return limits.gbps or round(limits.share * result.rate, 2)


def _of_one(result: Result, limits: Limits) -> Finding | None:
    """What is wrong with a result by itself."""
    test, figure = result.figure.test, result.figure
    if figure.problem:
        return result.finding(Code.PAIR_FAILED, detail=figure.problem)
    if figure.loss:
        return result.finding(Code.PAIR_LOSS, Measure(figure.loss, 0))
    if figure.gbps is not None and figure.gbps < _least(result, limits):
        return result.finding(Code.PAIR_SLOW, Measure(figure.gbps, _least(result, limits)))
    if test == LATENCY and figure.usec is not None and 0 < limits.usec < figure.usec:
        return result.finding(Code.PAIR_LATENCY, Measure(figure.usec, limits.usec))
    return None


def _outliers(results: t.Sequence[Result], limits: Limits) -> t.Iterator[Finding]:
    """Of equal pairs: those of one test in one fabric, with equal links."""
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
    """Each result has one finding at most."""
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
