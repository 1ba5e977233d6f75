# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The log of opensm: what it made of its configuration. Pure.

Grammar: osm_log.c, and the sources that read files, of opensm 3.3.24 (https://github.com/linux-rdma/opensm); vendors' builds use the same words. A line
is `Nov 27 07:04:00 475100 [4B002740] 0x01 -> function: text`; lines without such a head belong to the one before. Errors of the fabric itself, such as a
datagram without an answer, occur by the thousand. They say nothing about the configuration, and are left out.
"""

from __future__ import annotations

import calendar
import enum
import re
import typing as t

from .._foreign import decimal, hexadecimal, shown

# How many bytes at the end of a log are read.
WINDOW = 512 * 1024
_ERROR = 0x01
# The maximum length of one text.
_MOST = 300
# The maximum number of texts.
_MANY = 20

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = re.compile(r"([A-Z][a-z]{2}) ([ 0-9][0-9]) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{6}) ")
_HEAD = re.compile(r"[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{6} \[[0-9A-F]+\] (0x[0-9a-fA-F]{2}) -> (.*)")
_NUMBERED = re.compile(r"ERR [0-9A-Z]{4}: ")
_STARTED = re.compile(r"OpenSM \d")
_STATE = re.compile(r"Entering ([A-Z]{1,20}) state")
_ENGINE = " tables configured on all switches"
# A sweep ends with one of these.
_SWEPT = ("SUBNET UP", "Errors during initialization")
_FALLS_BACK = "falling back to default routing"
# `no_fallback` is a keyword in the list of engines, and no engine: opensm logs that it can't set that up, but honours it.
_NO_FALLBACK = "'no_fallback'"


class Topic(str, enum.Enum):
    """The subject of a message of opensm."""

    PARTITIONS = "partitions"
    ROUTING = "routing"
    ROOTS = "roots"
    QOS = "qos"
    PORT = "port"
    """It can't be bound to its port."""
    FILES = "files"
    """Another file that its configuration names."""


_FAILED = ("cannot", "can't", "can not", "fail", "unable to")


class _Source(t.NamedTuple):
    """The errors that belong to a topic."""

    topic: Topic
    functions: tuple[str, ...]
    """Prefixes of their function names."""
    words: tuple[str, ...]
    """The text contains one of these, in lower case."""
    about: str = ""
    """The text also contains this."""


# The first match counts.
_SOURCES = (
    _Source(
        Topic.PARTITIONS,
        ("parse_part_conf", "mgroup_create", "ip_mgroup_", "osm_prtn_", "prtn_", "partition_"),
        ("parse error", "partition configuration in error", "ip mc group", "create"),
    ),
    _Source(Topic.ROOTS, ("updn_", "dnup_", "ftree_", "fabric_"), _FAILED, about="guid"),
    _Source(
        Topic.PORT,
        ("osm_vendor_init", "osm_vendor_open_port", "osm_vendor_bind", "osm_opensm_bind", "osm_sm_bind", "osm_sm_mad_ctrl_bind", "osm_sa_bind"),
        (*_FAILED, "bad agent", "not an ib node type"),
    ),
    _Source(Topic.QOS, ("yyerror", "osm_qos_", "qos_", "__qos_", "__parser_"), ("",)),
    _Source(
        Topic.ROUTING,
        (
            *("osm_ucast_", "ucast_", "do_ucast_", "do_lid_", "setup_routing_", "parse_config"),
            *("torus_", "ftree_", "updn_", "dnup_", "lash_", "nue_", "dfsssp_", "dor_", "fabric_"),
        ),
        (*_FAILED, "no routing engine", "enable qos", "opening", "parsing", "missing", "no keyword"),
    ),
    _Source(Topic.FILES, ("parse_",), ("fopen", "illegal", "missing", "syntax")),
)


class Said(t.NamedTuple):
    """One objection of opensm."""

    topic: Topic
    text: str


class Log(t.NamedTuple):
    """The state of opensm according to its log, as far as the text goes back."""

    started: bool = False
    """Whether the text includes the last start."""
    state: str = ""
    """`MASTER`, `STANDBY`, `DISCOVERING`; "" where it was not logged."""
    sweeps: int = 0
    """The number of completed heavy sweeps."""
    engine: str = ""
    """The routing engine of the last sweep; "" where it was not logged."""
    failed: tuple[str, ...] = ()
    """The routing engines that did not fit the fabric in the last sweep, or in an unfinished one."""
    said: tuple[Said, ...] = ()
    """Its objections: those from the last start until its first sweep, those of the last sweep, and those after it."""

    def about(self, topic: Topic) -> list[str]:
        return [said.text for said in self.said if said.topic is topic]


def _entries(text: str) -> t.Iterator[tuple[int, str]]:
    """Level and text of each entry. Continuation lines are joined. The first entry may lack its head."""
    level = 0
    parts: list[str] | None = None
    for line in text.splitlines():
        match = _HEAD.match(line)
        if match is None:
            if parts is not None and len(parts) < 4:
                parts.append(line.strip())
            continue
        if parts is not None:
            yield level, " ".join(filter(None, parts))
        level, parts = hexadecimal(match[1], 0), [match[2].strip()]
    if parts is not None:
        yield level, " ".join(filter(None, parts))


def _said(level: int, text: str) -> Said | None:
    """The objection of opensm, if the entry is about its configuration."""
    if _FALLS_BACK in text.lower():
        return Said(Topic.ROUTING, shown(text[:_MOST]))
    function, sign, words = text.partition(": ")
    if not sign or not level & _ERROR or _NO_FALLBACK in text:
        return None
    lowered = words.lower()
    for topic, functions, known, about in _SOURCES:
        if function.startswith(functions) and about in lowered and any(word in lowered for word in known):
            return Said(topic, shown(_NUMBERED.sub("", words, count=1)[:_MOST].strip()))
    return None


def _failed(text: str) -> list[str]:
    """The engine that did not fit: `ucast_mgr_route: ftree: cannot build lid matrices`."""
    function, _sign, words = text.partition(": ")
    engine, _sign, why = words.partition(": ")
    return [engine] if function == "ucast_mgr_route" and why.startswith("cannot build") and " " not in engine else []


def parse_log(text: str) -> Log:
    """The state at the end of the log."""
    log = Log()
    first: list[Said] = []
    last: list[Said] = []
    current: list[Said] = []
    failed: list[str] = []
    for level, words in _entries(text):
        state, (engine, configured, _rest) = _STATE.match(words), words.partition(_ENGINE)
        if _STARTED.match(words):
            log, first, last, current, failed = Log(started=True), [], [], [], []
        elif state is not None:
            log = log._replace(state=state[1])
        elif configured:
            log = log._replace(engine=" ".join(engine.split()[-1:]))
        elif words.startswith(_SWEPT):
            first = first or (current if log.started and not log.sweeps else [])
            last, current = current, []
            log, failed = log._replace(sweeps=log.sweeps + 1, failed=tuple(failed)), []
        else:
            failed += _failed(words)
            said = _said(level, words)
            if said is not None and said not in current and len(current) < _MANY:
                current.append(said)
    # Messages about the port and about unknown engines are logged at the start, and not repeated in each sweep.
    lasting = [said for said in first if said.topic in (Topic.PORT, Topic.FILES) or "setup" in said.text]
    # By default, opensm flushes messages other than errors only when its buffer is full: the end of a sweep may be logged late.
    objections = [*lasting, *(last if log.sweeps else []), *current]
    return log._replace(said=tuple(dict.fromkeys(objections)), failed=tuple(failed) or log.failed)


class Moment(t.NamedTuple):
    """A change of state, or the end of a sweep."""

    time: float
    """Seconds since 1970. The log is taken to be in UTC."""
    state: str = ""
    """`MASTER`, `STANDBY`, `DISCOVERING`; "" for the end of a sweep."""
    up: bool = False
    """Whether the sweep has brought the subnet up."""
    engine: str = ""
    """The routing engine of the sweep."""


def parse_moments(text: str, year: int) -> list[Moment]:
    """The changes of state and the sweeps in a log, which has no year."""
    found: list[Moment] = []
    engine = ""
    for line in text.splitlines():
        head, stamp = _HEAD.match(line), _TIME.match(line)
        if head is None or stamp is None or stamp[1] not in _MONTHS:
            continue
        day, hour, minute, second, micro = (decimal(part.strip(), 0) for part in stamp.groups()[1:])
        now = calendar.timegm((year, _MONTHS.index(stamp[1]) + 1, day, hour, minute, second)) + micro / 1e6
        state, (words, configured, _rest) = _STATE.match(head[2]), head[2].partition(_ENGINE)
        if state is not None:
            found.append(Moment(now, state=state[1]))
        elif configured:
            engine = " ".join(words.split()[-1:])
        elif head[2].startswith(_SWEPT):
            found.append(Moment(now, up=head[2].startswith(_SWEPT[0]), engine=engine))
    return found
