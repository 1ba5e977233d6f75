# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of `ib_counters`: look, compare with an earlier look, judge, and clear."""

from __future__ import annotations

import math
import time
import typing as t

from ..._errors import RdmaError
from ..._facts._asked import asked_port
from ..._finding import SEVERITIES, Code, Finding, Measure, Topic
from ..._host._files import apply_file, file_change, read_text
from .._choice import chosen
from .._gap import Code as GapCode
from .._gap import Gap, gaps_of
from .._words import counter_words, place_in_words, problem
from . import _types as _counters
from ._input import ALL, EFFECTIVE_BER, NOTHING, wanted_of
from ._look import CounterAsking, Seen
from ._types import COUNTERS, JUDGED, Counts, Course, Growth, Place, Sample, Sort, Spot
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._facts._ports import Port
    from ..._host._run import Runner


class Node(t.NamedTuple):
    """The host that the module runs on."""

    module: AnsibleModule
    run: Runner
    root: str = "/"
    now: t.Callable[[], float] = time.time
    sleep: t.Callable[[float], None] = time.sleep


def _measure(name: str, grown: Growth, *, limit: float, hours: float | None) -> Measure | None:
    """The measured value and its limit; None where the counter can't be judged.

    An interval of less than an hour counts as one hour, because a single event in a few seconds makes no rate. Ticks are numerous enough.
    """
    waits = COUNTERS[name].sort == Sort.WAIT
    if hours is None:
        # The time in which the total accumulated is unknown.
        return None if waits else Measure(grown.total, limit)
    if grown.delta is None:
        return None
    return Measure(grown.delta / hours, limit) if waits else Measure(grown.delta, limit * max(hours, 1))


def judge(spot: Spot, counters: t.Mapping[str, Growth], *, limits: t.Mapping[str, float], hours: float | None) -> t.Iterator[Finding]:
    """Findings of one port. `hours`: time between the two looks; None to judge the totals."""
    for name, grown in counters.items():
        code = COUNTERS[name].code
        measure = _measure(name, grown, limit=limits[name], hours=hours) if name in limits else None
        if code is None or measure is None:
            continue
        if measure.found <= measure.limit:
            if grown.course != Course.SATURATED:
                continue
            code, measure = Code.SATURATED, Measure(grown.total, grown.total)
        yield Finding(code, Topic.COUNTER, aspect=name, detail=grown.course.value, measure=measure, ends=(spot.end,))


class Compared(t.NamedTuple):
    """Two looks, compared. `hours` is None where the totals are judged."""

    counters: t.Mapping[Place, t.Mapping[str, Growth]] = {}
    findings: tuple[tuple[Spot, Finding], ...] = ()
    hours: float | None = None
    rates: t.Mapping[Place, float] = {}
    """Bit error rates."""


class _Work:
    """One run, through one port."""

    def __init__(self, node: Node, port: Port, wanted: Wanted, name_map: str) -> None:
        self._node = node
        self._wanted = wanted
        self._asking = CounterAsking(node.run, port)
        subnet = self._asking.subnet(name_map, listed=False)
        nodes, absent = chosen(subnet, wanted.nodes)
        self.spots = _counters.spots_of(subnet)
        self._named = None if nodes is None else _counters.named(self.spots, nodes, wanted.numbers)
        self._gaps = [*subnet.gaps, *absent]
        there = {spot.port for spot in self._named or ()}
        if nodes:
            self._gaps += gaps_of(GapCode.NO_SUCH_PORT, "", [str(number) for number in sorted(wanted.numbers - there)])
        # Hosts may also have ports on other fabrics.
        meant = self.spots if self._named is None else {spot.place for spot in self._named}
        self.rates = {place: rate for place, rate in wanted.rates.items() if place in meant}
        unread = ["%s: %s" % (place_in_words(self.spots[place]), why) for place, why in wanted.unread.items() if place in meant]
        self._gaps += gaps_of(GapCode.UNREAD_LINKS, "", unread)

    def look(self) -> Sample:
        """The present counters and the time. The last look is kept for `clear`."""
        moment = self._node.now()
        seen = self._asking.whole_fabric(self.spots) if self._named is None else self._asking.single_ports(self._named)
        self._seen = seen or Seen({})
        return Sample(moment, self._seen.counts)

    def earlier(self) -> Sample | None:
        """The sample to compare with; None where the totals are judged."""
        if self._wanted.interval:
            first = self.look()
            # If nothing can be read, waiting is useless.
            if first.counts:
                self._node.sleep(self._wanted.interval)
            return first
        return self._saved() if self._wanted.sample_file else None

    def _saved(self) -> Sample:
        """The saved sample; empty where no valid one exists, so that nothing is judged."""
        path = self._wanted.sample_file
        try:
            text = read_text(path)
        except OSError as exc:
            raise _unusable(path, exc) from exc
        sample = _counters.parse_sample(text)
        if text and sample is None:
            self._gaps += gaps_of(GapCode.BROKEN_SAMPLE, "", [path])
        return sample or Sample(0, {})

    def compare(self, before: Sample | None, now: Sample) -> Compared:
        """Compare two samples. Without `before`, the totals are judged; an empty `before` is not judged."""
        hours = _counters.hours_between(before.time, now.time) if before and before.counts else None
        if before and before.counts and hours is None:
            self._gaps.append(Gap(GapCode.CLOCK))
        counters: dict[Place, t.Mapping[str, Growth]] = {}
        findings: list[tuple[Spot, Finding]] = []
        for place, counts in now.counts.items():
            grown = _counters.growth(before.counts.get(place) if before and hours else None, counts)
            if grown:
                counters[place] = grown
            if before is None or hours:
                spot = self.spots[place]
                findings += [(spot, finding) for finding in judge(spot, grown, limits=self._wanted.limits, hours=hours)]
        limit = self._wanted.limits.get(EFFECTIVE_BER, math.inf)
        for spot, rate in ((self.spots[place], rate) for place, rate in self.rates.items() if rate > limit):
            findings.append((spot, Finding(Code.BIT_ERRORS, Topic.COUNTER, aspect=EFFECTIVE_BER, measure=Measure(rate, limit), ends=(spot.end,))))
        return Compared(counters, tuple(findings), hours, self.rates)

    def clear(self) -> int:
        """Clear counters that are not zero, and return the number of their ports; check mode only counts them."""
        if self._wanted.clear == NOTHING:
            return 0
        data = self._wanted.clear == ALL
        places = [place for place, counts in self._seen.counts.items() if _has_any(counts, data)]
        # ibqueryerrors does not show data counters, which are never zero for long.
        count = len(self._seen.counts) if data and self._named is None else len(places)
        if not count or self._node.module.check_mode:
            return count
        if self._named is None:
            self._asking.clear_fabric(data)
        else:
            self._asking.clear_ports([self.spots[place] for place in places], self._seen.abilities, data)
        return count

    def save(self, sample: Sample) -> None:
        """Save a sample. An empty one does not replace one with counters."""
        path = self._wanted.sample_file
        change = file_change(path, "", _counters.written(sample)) if path and sample.counts and not self._node.module.check_mode else None
        if change is not None:
            try:
                apply_file(self._node.module, change)
            except OSError as exc:
                raise _unusable(path, exc) from exc

    @property
    def gaps(self) -> list[Gap]:
        # Two looks may report the same gap.
        return list(dict.fromkeys([*self._gaps, *self._asking.gaps]))


def _unusable(path: str, exc: OSError) -> RdmaError:
    return RdmaError("the sample can't be saved in %s: %s. Set sample_file to a file that root can read and write" % (path, exc.strerror or exc))


def _has_any(counts: Counts, data: bool) -> bool:
    return any(each.value and (data or name in JUDGED) for name, each in counts.items())


def _port_row(spot: Spot, compared: Compared) -> dict[str, t.Any]:
    hours, counters = compared.hours, compared.counters.get(spot.place, {})

    def row(grown: Growth) -> dict[str, t.Any]:
        per_hour = None if hours is None or grown.delta is None else round(grown.delta / hours, 2)
        return {"total": grown.total, "delta": grown.delta, "per_hour": per_hour, "course": grown.course.value}

    return {**spot._asdict(), "counters": {name: row(grown) for name, grown in counters.items()}, "effective_ber": compared.rates.get(spot.place)}


def _finding_row(spot: Spot, finding: Finding, hours: float | None) -> dict[str, t.Any]:
    return {
        "severity": finding.severity.value,
        "code": finding.code.value,
        "object": place_in_words(spot),
        **{key: value for key, value in spot._asdict().items() if key in ("node_guid", "name", "port", "port_guid", "peer_name", "peer_port")},
        "counter": finding.aspect,
        "found": finding.measure.found if finding.measure else None,
        "expected": finding.measure.limit if finding.measure else None,
        "course": finding.detail,
        **counter_words(finding, spot, hours),
    }


def shown(spots: t.Mapping[Place, Spot], compared: Compared, read: int) -> dict[str, t.Any]:
    """The data in the form of a result. The worst findings come first."""
    erring = [place for place, rate in compared.rates.items() if rate]
    places = sorted({*compared.counters, *erring}, key=lambda place: (spots[place].name, place))
    findings = sorted(compared.findings, key=lambda each: (SEVERITIES.index(each[1].severity), each[0].name, each[0].place, each[1].aspect))
    return {
        "ports": [_port_row(spots[place], compared) for place in places],
        "findings": [_finding_row(spot, finding, compared.hours) for spot, finding in findings],
        "ports_read": read,
        "hours": None if compared.hours is None else round(compared.hours, 4),
    }


def report(node: Node) -> dict[str, t.Any]:
    """The result of the module. Raises InvalidInput, and CommandFailed where counters can't be cleared."""
    started = time.monotonic()
    options = node.module.params
    wanted = wanted_of(options)
    port = asked_port(options["port"], node.root)
    if port is None:
        gaps, result, cleared = [Gap(GapCode.NO_PORT)], shown({}, Compared(), 0), 0
    else:
        work = _Work(node, port, wanted, options["node_name_map"])
        before = work.earlier()
        now = work.look()
        compared = work.compare(before, now)
        cleared = work.clear()
        # Counters may increase while others are cleared, so the next run compares with a look taken afterwards.
        work.save(work.look() if cleared and wanted.sample_file and not node.module.check_mode else now)
        gaps, result = work.gaps, shown(work.spots, compared, len(now.counts))
    about = {"port": port.name if port else "", "seconds": round(time.monotonic() - started, 2)}
    return {"changed": cleared > 0, **result, "cleared": cleared, "problems": [problem(gap) for gap in gaps], **about}
