# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The log of opensm: what it made of its configuration. Pure.

Grammar: osm_log.c, and the sources that read files, of opensm 3.3.24 (https://github.com/linux-rdma/opensm); those of a vendor have the same words. A line is
`Nov 27 07:04:00 475100 [4B002740] 0x01 -> function: text`, and what follows without such a head belongs to it. Errors of the fabric itself, such as a
datagram without an answer, are in it by the thousand. They say nothing of the configuration, and are left out.
"""

from __future__ import annotations

import enum
import re
import typing as t

from .._foreign import hexadecimal, shown

# How much of the end of a log is read.
WINDOW = 512 * 1024
_ERROR = 0x01
# Of one text.
_MOST = 300
# Of all texts.
_MANY = 20

_HEAD = re.compile(r"[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{6} \[[0-9A-F]+\] (0x[0-9a-fA-F]{2}) -> (.*)")
_NUMBERED = re.compile(r"ERR [0-9A-Z]{4}: ")
_STARTED = re.compile(r"OpenSM \d")
_STATE = re.compile(r"Entering ([A-Z]{1,20}) state")
_ENGINE = " tables configured on all switches"
# A sweep ends with either.
_SWEPT = ("SUBNET UP", "Errors during initialization")
_FALLS_BACK = "falling back to default routing"
# `no_fallback` is a word of the list of engines, and no engine: opensm says that it can't set that up, and goes by it.
_NO_FALLBACK = "'no_fallback'"


class Topic(str, enum.Enum):
    """What a text of opensm is about."""

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
    """Which errors belong to a topic."""

    topic: Topic
    functions: tuple[str, ...]
    """The beginnings of their functions."""
    words: tuple[str, ...]
    """One of these is in the text, in lower case."""
    about: str = ""
    """So is this."""


# The first that fits counts.
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
    """One thing that opensm objects to."""

    topic: Topic
    text: str


class Log(t.NamedTuple):
    """What opensm says of itself, as far as the text goes back."""

    started: bool = False
    """Whether the text has the last start."""
    state: str = ""
    """`MASTER`, `STANDBY`, `DISCOVERING`; "" where it has not been said."""
    sweeps: int = 0
    """The heavy sweeps that have ended."""
    engine: str = ""
    """The routing engine of the last of them; "" where it has not been said."""
    failed: tuple[str, ...] = ()
    """The routing engines that did not fit the fabric in the last sweep, or in one that has not ended."""
    said: tuple[Said, ...] = ()
    """What it objects to: since its last start until its first sweep, in the last sweep, and behind that."""

    def about(self, topic: Topic) -> list[str]:
        return [said.text for said in self.said if said.topic is topic]


def _entries(text: str) -> t.Iterator[tuple[int, str]]:
    """Level and text of each entry. An entry of several lines is one. What the text begins with may lack its head."""
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
    """What opensm objects to, if that is about its configuration."""
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
    """What the log says at its end."""
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
    # The start has what is not said again in each sweep: of the port, and of engines that do not exist.
    lasting = [said for said in first if said.topic in (Topic.PORT, Topic.FILES) or "setup" in said.text]
    # opensm writes what is no error when its buffer is full, unless it is told otherwise: the end of a sweep may be late.
    objections = [*lasting, *(last if log.sweeps else []), *current]
    return log._replace(said=tuple(dict.fromkeys(objections)), failed=tuple(failed) or log.failed)
