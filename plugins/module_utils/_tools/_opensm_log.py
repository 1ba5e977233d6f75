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

# How much of the end of a log is read.
WINDOW = 512 * 1024
# Of one text.
_MOST = 300
# Of all texts.
_MANY = 20

_HEAD = re.compile(r"[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{6} \[[0-9A-F]+\] (0x[0-9a-fA-F]{2}) -> (.*)")
_FUNCTION = re.compile(r"(\w+): (.*)")
_NUMBERED = re.compile(r"ERR [0-9A-Z]{4}: +")
_STARTED = re.compile(r"OpenSM \d\S*\Z")
_STATE = re.compile(r"Entering ([A-Z]+) state")
_ENGINE = re.compile(r"(\S+) tables configured on all switches")
# A sweep ends with either.
_SWEPT = ("SUBNET UP", "Errors during initialization")
_FALLS_BACK = re.compile(r"falling back to default routing", re.IGNORECASE)
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


# By function and by text; the first that fits counts.
_TOPICS: tuple[tuple[Topic, t.Pattern[str], t.Pattern[str]], ...] = (
    (
        Topic.PARTITIONS,
        re.compile(r"(?:parse_part_conf|mgroup_create|ip_mgroup_|osm_prtn_|prtn_|partition_)\w*"),
        re.compile(r"PARSE ERROR|Partition configuration in error|IP MC group|[Cc]reate"),
    ),
    (Topic.ROOTS, re.compile(r"(?:updn|dnup|ftree|fabric)_\w+"), re.compile(r"(?:[Ff]ailed|[Cc]an.?t|cannot).*guids? file")),
    (
        Topic.PORT,
        re.compile(r"osm_vendor_(?:init|open_port|bind)|(?:osm_)?\w*(?<!un)bind"),
        re.compile(r"Unable to|[Cc]an.?t |cannot|failed|bad agent|not an IB node type"),
    ),
    (Topic.QOS, re.compile(r"yyerror|osm_qos_\w+|qos_\w+|__qos_\w+|__parser_\w+"), re.compile(r"")),
    (
        Topic.ROUTING,
        re.compile(r"(?:osm_)?ucast_\w+|do_(?:ucast|lid)_\w+|setup_routing_\w+|(?:torus|ftree|updn|dnup|lash|nue|dfsssp|dor|fabric)_\w+|parse_config"),
        re.compile(r"cannot|[Cc]an't|[Ff]ailed|No routing engine|Enable QoS|Opening|parsing|missing|no keyword"),
    ),
    (Topic.FILES, re.compile(r"parse_\w+"), re.compile(r"fopen|illegal|missing|syntax")),
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
    said: tuple[Said, ...] = ()
    """What it objects to: since its last start until its first sweep, and in the last sweep."""

    def about(self, topic: Topic) -> list[str]:
        return [said.text for said in self.said if said.topic is topic]


def _entries(text: str) -> t.Iterator[tuple[int, str]]:
    """Level and text of each entry. An entry of several lines is one. What the text begins with may lack its head."""
    level, parts = 0, None  # type: int, list[str] | None
    for line in text.splitlines():
        match = _HEAD.match(line)
        if match is None:
            if parts is not None and len(parts) < 4:
                parts.append(line.strip())
            continue
        if parts is not None:
            yield level, " ".join(filter(None, parts))
        level, parts = int(match[1], 16), [match[2].strip()]
    if parts is not None:
        yield level, " ".join(filter(None, parts))


def _said(level: int, text: str) -> Said | None:
    """What opensm objects to, if that is about its configuration."""
    if _FALLS_BACK.search(text):
        return Said(Topic.ROUTING, text[:_MOST])
    match = _FUNCTION.match(text)
    if match is None or not level & 0x01 or _NO_FALLBACK in text:
        return None
    function, words = match[1], match[2]
    for topic, functions, known in _TOPICS:
        if functions.fullmatch(function) and known.search(words):
            return Said(topic, _NUMBERED.sub("", words)[:_MOST])
    return None


def parse_log(text: str) -> Log:
    """What the log says at its end. A sweep that has not ended counts only where none has."""
    log = Log()
    first: list[Said] = []
    last: list[Said] = []
    current: list[Said] = []
    for level, words in _entries(text):
        state, engine = _STATE.search(words), _ENGINE.search(words)
        if _STARTED.match(words):
            log, first, last, current = Log(started=True), [], [], []
        elif state is not None:
            log = log._replace(state=state[1])
        elif engine is not None and engine[1]:
            log = log._replace(engine=engine[1])
        elif words.startswith(_SWEPT):
            first = first or (current if log.started and not log.sweeps else [])
            last, current = current, []
            log = log._replace(sweeps=log.sweeps + 1)
        else:
            said = _said(level, words)
            if said is not None and said not in current and len(current) < _MANY:
                current.append(said)
    # The start has what is not said again in each sweep: of the port, and of engines that do not exist.
    lasting = [said for said in first if said.topic in (Topic.PORT, Topic.FILES) or "setup" in said.text]
    shown = [*lasting, *(last if log.sweeps else current)]
    return log._replace(said=tuple(dict.fromkeys(shown)))
