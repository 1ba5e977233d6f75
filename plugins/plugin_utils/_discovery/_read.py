# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what the looks at all hosts have found, concern by concern. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils._concern import Concern, Subject
from ...module_utils._concerns._registry import CONCERNS, TABLES
from ...module_utils._discovered import Joined, Left, Reading, Value
from ...module_utils._record import decode


class Found(t.NamedTuple):
    values: dict[str, list[Value]]
    """By host."""
    groups: dict[str, list[str]]
    """New groups with their hosts in order."""
    left: dict[str, list[str]]
    """What is not expressed, in words, by host; "" for what concerns the site."""
    dangers: dict[str, list[str]]
    """Likewise."""


DEFAULTS: t.Mapping[str, t.Any] = {name: entry["default"] for table in TABLES.values() for name, entry in table.items() if "default" in entry}


def _words(left: Left) -> str:
    return "%s: %s" % (left.what, left.why)


def _about(subject: Subject, concern: Concern) -> Subject | None:
    """The host from the point of view of one concern; None where its look has no result."""
    discovery = concern.discovery
    if discovery.hints is None:
        return subject
    data = subject.recall(concern.name)
    if data is None:
        return None
    try:
        return subject._replace(found=data if discovery.seen is None else decode(discovery.seen, data))
    except (TypeError, ValueError):
        return None


def read(subjects: t.Sequence[Subject]) -> Found:
    """The declarations of all hosts."""
    found = Found({subject.host: [] for subject in subjects}, {}, {}, {})
    for concern in CONCERNS.values():
        abouts = {subject.host: _about(subject, concern) for subject in subjects}
        known = [about for about in abouts.values() if about is not None]
        for host, about in abouts.items():
            missing = Reading((), [Left(concern.name, "the look has no result; run the module rdma.ofed.%s there in check mode for the reason" % concern.name)])
            reading = missing if about is None else concern.discovery.read(about)
            found.values[host] += reading.values
            found.left.setdefault(host, []).extend(map(_words, reading.left))
            found.dangers.setdefault(host, []).extend(reading.dangers)
        joined = Joined() if concern.discovery.join is None else concern.discovery.join(known)
        for host, values in joined.values.items():
            found.values[host] += values
        found.groups.update({name: list(hosts) for name, hosts in joined.groups.items()})
        found.left.setdefault("", []).extend(map(_words, joined.left))
        found.dangers.setdefault("", []).extend(joined.dangers)
    return found
