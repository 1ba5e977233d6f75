# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rehearsal has shown: the answer of the program in the container, compared with what the inventory declares. Pure."""

from __future__ import annotations

import time
import typing as t

from ...module_utils._errors import RdmaError
from ...module_utils._foreign import read_json, shown
from ...module_utils._tools._opensm_log import Moment, parse_log, parse_moments
from ...module_utils._tools._sminfo import MASTER, STATES

_MASTER, _STANDBY = STATES[MASTER], "STANDBY"
_SHOWN = 10
# What the program prints before its answer.
_MARK = "answer: "
_WAITS = {"join": "the start", "hand_over": "the hand-over"}
_VERBS = {"start": "is started", "reload": "reads its files", "hand_over": "is to hand over", "stop": "is stopped"}
# What opensm gives a port without a rule in a file of partitions.
_DEFAULT = 0x7FFF


class Line(t.NamedTuple):
    """One moment since the change."""

    seconds: float
    host: str
    words: str


class Rehearsed(t.NamedTuple):
    """The result in the form in which it is printed."""

    timeline: tuple[Line, ...]
    masters: tuple[tuple[str, str], ...]
    """By state, the host that was master at its end; "" for none."""
    states: t.Mapping[str, t.Mapping[str, str]]
    """By state and host, the state that its subnet manager has logged last."""
    seconds: float | None
    """From the change until the designated manager has brought the subnet up; None where it never does."""
    without: float
    """How long no subnet manager was master after the change, in seconds."""
    several: float
    """How long more than one was."""
    moved: tuple[tuple[str, int, int], ...]
    """Ports with another LID than before: name, LID before and after."""
    ports: int
    pairs: t.Mapping[str, tuple[int, int]]
    """By state, the number of pairs of ports, and how many of them have no route."""
    lost: tuple[tuple[str, str], ...]
    """The first pairs without a route after the change."""
    engines: t.Mapping[str, str]
    pkeys: tuple[str, ...]
    """Ports whose P_Keys are not as declared after the change, in words."""
    checked: int
    """The number of ports whose P_Keys were compared."""
    said: t.Mapping[str, tuple[str, ...]]
    """What opensm objects to, by host."""
    problems: tuple[str, ...]
    """Why the change should not be made as it is."""


def read(output: str) -> dict[str, t.Any]:
    """The answer of the program. Raises RdmaError."""
    lines = output.strip().splitlines()
    answer = read_json(lines[-1][len(_MARK) :]) if lines and lines[-1].startswith(_MARK) else None
    if isinstance(answer, dict) and answer.get("failed"):
        raise RdmaError("the simulation failed: %s" % shown(str(answer["failed"])))
    if not isinstance(answer, dict) or not isinstance(answer.get("phases"), list) or len(answer["phases"]) != 2:
        raise RdmaError("the program in the container gave no result; it printed %r" % output[-300:])
    return answer


def _name(guid: str, summary: t.Mapping[str, t.Any]) -> str:
    """A port of the fabric, for people."""
    real, description = summary["ports"].get(guid, ("0x" + guid, ""))
    return "%s (%s)" % (description, real) if description else str(real)


def _moments(answer: t.Mapping[str, t.Any], summary: t.Mapping[str, t.Any]) -> list[tuple[str, Moment]]:
    """What the subnet managers have logged, with their hosts, in order of time."""
    year = time.gmtime(answer["phases"][0]["begin"]).tm_year
    found = [(summary["hosts"][name], moment) for name, text in answer["logs"].items() for moment in parse_moments(text, year)]
    return sorted(found, key=lambda pair: pair[1].time)


def _stops(answer: t.Mapping[str, t.Any], summary: t.Mapping[str, t.Any]) -> list[tuple[float, str]]:
    """When each manager was stopped."""
    return [(event["time"], summary["hosts"][event["manager"]]) for phase in answer["phases"] for event in phase["events"] if event["verb"] == "stop"]


def _states(moments: t.Iterable[tuple[str, Moment]], stops: t.Sequence[tuple[float, str]], until: float) -> dict[str, str]:
    """The last state of each manager at a moment. One that was stopped has none."""
    changes = [(moment.time, host, moment.state) for host, moment in moments if moment.state] + [(at, host, "") for at, host in stops]
    found: dict[str, str] = {}
    for at, host, state in sorted(changes):
        if at <= until:
            found[host] = state
    return found


def _reigns(moments: t.Sequence[tuple[str, Moment]], stops: t.Sequence[tuple[float, str]], *, begin: float, end: float) -> tuple[float, float]:
    """How long no manager was master, and more than one, between two moments."""
    cuts = sorted({begin, end, *(moment.time for _host, moment in moments if begin < moment.time < end), *(at for at, _host in stops if begin < at < end)})
    without = several = 0.0
    for one, other in zip(cuts, cuts[1:]):
        masters = sum(1 for state in _states(moments, stops, one).values() if state == _MASTER)
        without += other - one if masters == 0 else 0
        several += other - one if masters > 1 else 0
    return without, several


def _timeline(
    phase: t.Mapping[str, t.Any], moments: t.Iterable[tuple[str, Moment]], summary: t.Mapping[str, t.Any], *, seen: t.Iterable[Line]
) -> tuple[Line, ...]:
    begin, end = phase["begin"], phase["end"]
    done = [Line(each["time"] - begin, summary["hosts"][each["manager"]], _VERBS[each["verb"]]) for each in phase["events"] if each["verb"] in _VERBS]
    logged = [
        Line(moment.time - begin, host, "is %s" % moment.state if moment.state else "has the subnet up, routed by %s" % (moment.engine or "?"))
        for host, moment in moments
        if begin <= moment.time <= end
    ]
    return tuple(sorted([*done, *logged, *seen], key=lambda line: line.seconds))


def _seen(answer: t.Mapping[str, t.Any], summary: t.Mapping[str, t.Any], begin: float) -> list[Line]:
    """When the node that observes has seen another master than before, since the change."""
    hosts = {manager["guid"]: manager["host"] for state in ("before", "after") for manager in summary[state]["managers"]}
    found: list[Line] = []
    last = ""
    for each in answer["seen"]:
        real = summary["ports"].get(each["guid"], [""])[0]
        if each["state"] == MASTER and real != last:
            last = real
            found += [Line(each["time"] - begin, hosts.get(real, real), "is the master that other nodes see")] if each["time"] >= begin else []
    return found


def _pkey_words(found: t.Mapping[str, t.Sequence[int]], wanted: t.Mapping[str, t.Sequence[int]], summary: t.Mapping[str, t.Any]) -> list[str]:
    words = []
    for guid, keys in wanted.items():
        own = found.get(guid[2:], ())
        missing = [key for key in keys if key not in own]
        others = [key for key in own if key not in keys and key & _DEFAULT != _DEFAULT]
        if missing or others:
            parts = ["%s 0x%04x" % (sign, key) for sign, several in (("without", missing), ("with", others)) for key in several]
            words.append("%s: %s" % (_name(guid[2:], summary), ", ".join(parts)))
    return words


def _problems(answer: t.Mapping[str, t.Any], summary: t.Mapping[str, t.Any], found: Rehearsed) -> list[str]:
    """How the end of the change differs from what is declared."""
    after = answer["phases"][1]
    words = []
    if found.seconds is None:
        words.append("%s is not master, or did not bring the subnet up" % summary["after"]["managers"][0]["host"])
    late = [event for event in after["events"] if not event["met"] and event["verb"] in _WAITS]
    words += ["%s: %s took too long" % (summary["hosts"][each["manager"]], _WAITS[each["verb"]]) for each in late]
    words += ["opensm of %s ended with status %d" % (summary["hosts"][name], status) for name, status in answer["ended"].items()]
    silent = [guid for guid in summary["ports"] if guid not in after["picture"]["lids"]]
    if silent:
        words.append("%d of %d ports are not found after the change, such as %s" % (len(silent), len(summary["ports"]), _name(silent[0], summary)))
    pairs, lost = found.pairs["after"]
    if lost > found.pairs["before"][1]:
        words.append("%d pairs of ports have no route, of %d" % (lost, pairs))
    if found.pkeys:
        words.append("%d ports have other P_Keys than declared" % len(found.pkeys))
    asked = [engine for engine in summary["after"]["engines"] if engine and engine != "no_fallback"]
    engine = found.engines["after"]
    if asked and engine and engine not in asked:
        words.append("the routing engine is %s, declared: %s" % (engine, ", ".join(asked)))
    return words


def judge(answer: t.Mapping[str, t.Any], summary: t.Mapping[str, t.Any]) -> Rehearsed:
    """Compare what happened with what is declared."""
    phases = dict(zip(("before", "after"), answer["phases"]))
    after = phases["after"]
    moments, stops = _moments(answer, summary), _stops(answer, summary)
    states = {name: _states(moments, stops, phase["end"]) for name, phase in phases.items()}
    masters = {name: next((host for host, state in own.items() if state == _MASTER), "") for name, own in states.items()}
    designated = summary["after"]["managers"][0]["host"]
    settled = any(event["verb"] == "settle" and event["met"] for event in after["events"][-1:])
    up = [moment.time for host, moment in moments if host == designated and moment.up and after["begin"] <= moment.time <= after["end"]]
    without, several = _reigns(moments, stops, begin=after["begin"], end=after["end"])
    lids = {name: phase["picture"]["lids"] for name, phase in phases.items()}
    logs = {summary["hosts"][name]: parse_log(text) for name, text in answer["logs"].items()}
    found = Rehearsed(
        timeline=_timeline(after, moments, summary, seen=_seen(answer, summary, after["begin"])),
        masters=tuple(masters.items()),
        states=states,
        seconds=(up[-1] - after["begin"] if up else 0.0) if settled else None,
        without=without,
        several=several,
        moved=tuple((_name(guid, summary), lid, lids["after"][guid]) for guid, lid in lids["before"].items() if lid != lids["after"].get(guid, lid)),
        ports=len(lids["after"]),
        pairs={name: (phase["picture"]["pairs"], phase["picture"]["lost"]) for name, phase in phases.items()},
        lost=tuple((_name(one, summary), _name(other, summary)) for one, other in after["picture"]["examples"][:_SHOWN]),
        engines={name: _engine(moments, masters[name], phase["end"]) for name, phase in phases.items()},
        pkeys=tuple(_pkey_words(after["picture"]["pkeys"], summary["after"]["pkeys"], summary)),
        checked=len(summary["after"]["pkeys"]),
        said={host: tuple(said.text for said in log.said) for host, log in logs.items() if log.said},
        problems=(),
    )
    return found._replace(problems=tuple(_problems(answer, summary, found)))


def _engine(moments: t.Sequence[tuple[str, Moment]], master: str, until: float) -> str:
    """The engine of the last sweep of a manager."""
    return next((moment.engine for host, moment in reversed(moments) if host == master and moment.up and moment.time <= until), "")
