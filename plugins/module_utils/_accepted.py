# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings that a site knows and accepts for a while: `rdma_accepted`. Pure; the date of today is an argument.

Each entry has the code of a finding and the place where it is accepted. The first matching entry counts, but valid entries precede expired ones.
"""

from __future__ import annotations

import datetime
import fnmatch
import re
import typing as t

from ._errors import Problem, describe, did_you_mean, unknown_keys
from ._finding import Code, Severity
from ._foreign import decimal

KEYS = ("code", "host", "port", "link", "until", "reason")
_PLACES = ("host", "port", "link")
_TEXTS = ("code", "host", "port", "reason")
# Nothing is known about an unchecked host, so that can't be accepted.
_CODES = tuple(code.value for code in Code if code != Code.UNCHECKED)
_AWAY = "a host that is away is left out of a run with --limit '!HOST', or taken out of its group until it is back"
_PATTERN = re.compile(r"[*?\[]")
_DATE = "a date such as 2026-12-31, the last day on which it counts"
_ENDS = "one end of the link, or a list of both, such as leaf1/12: the name or GUID of a node, and the number of its port"


class Accepted(t.NamedTuple):
    """One entry. "" and () match everything."""

    code: str
    host: str = ""
    """A shell pattern."""
    port: str = ""
    link: tuple[str, ...] = ()
    """One or both ends of a link, as `node/port`."""
    until: str = ""
    """The last day, in ISO 8601 format."""
    reason: str = ""

    def expired(self, today: str) -> bool:
        return bool(self.until) and self.until < today

    def result(self, today: str) -> dict[str, t.Any]:
        """The entry in the shape of the key `accepted` of a finding."""
        return {"until": self.until, "reason": self.reason, "expired": self.expired(today)}


class Spot(t.NamedTuple):
    """Where a finding is: a host or node, and its port."""

    names: frozenset[str]
    """The names of the host or node, in lower case."""
    ports: frozenset[str] = frozenset()
    """The names of its port, in lower case; none for a finding that is about no port."""

    def fits(self, host: str, port: str) -> bool:
        """Whether a host pattern and a port match. "" matches everything."""
        named = not host or any(fnmatch.fnmatchcase(name, host.lower()) for name in self.names)
        return named and (not port or port.lower() in self.ports)

    def is_end(self, text: str) -> bool:
        """Whether `node/port` is this end of a link."""
        node, _slash, port = text.lower().rpartition("/")
        return node in self.names and port in self.ports


def _fits(entry: Accepted, code: str, spots: t.Sequence[Spot]) -> bool:
    if entry.code != code:
        return False
    if (entry.host or entry.port) and not any(spot.fits(entry.host, entry.port) for spot in spots):
        return False
    if not entry.link:
        return True
    # A finding of a node is about no link: only findings of the fabric, which have both ends, match a link.
    ends = [next((position for position, spot in enumerate(spots) if spot.is_end(end)), -1) for end in entry.link]
    return len(spots) > 1 and -1 not in ends and len(set(ends)) == len(ends)


def match(entries: t.Iterable[Accepted], code: str, spots: t.Sequence[Spot], *, today: str) -> Accepted | None:
    """The entry that accepts a finding, or accepted it until it expired; None where there is none."""
    fitting = [entry for entry in entries if _fits(entry, code, spots)]
    return min(fitting, key=lambda entry: entry.expired(today), default=None)


def counts(accepted: t.Mapping[str, t.Any] | None) -> bool:
    """Whether the key `accepted` of a finding prevents it from counting as an error."""
    return bool(accepted) and not (accepted or {}).get("expired")


def words(accepted: t.Mapping[str, t.Any]) -> str:
    """`accepted until 2026-12-31: cable is ordered`."""
    verb = "was accepted" if accepted.get("expired") else "accepted"
    return "%s%s: %s" % (verb, " until %s" % accepted["until"] if accepted.get("until") else "", accepted.get("reason", ""))


def is_date(text: str) -> bool:
    """Whether it is a date in ISO 8601 format, which sorts as text."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _ends(value: t.Any) -> t.Sequence[t.Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def _is_end(value: t.Any) -> bool:
    node, _slash, port = value.rpartition("/") if isinstance(value, str) else ("", "", "")
    return bool(node) and decimal(port) is not None


def _entry_problems(where: str, entry: t.Any) -> list[Problem]:
    if not isinstance(entry, t.Mapping):
        return [Problem(where, entry, "a mapping with the keys %s" % ", ".join(KEYS))]
    found = unknown_keys(where, entry, KEYS)
    code = entry.get("code")
    if code not in _CODES:
        hint = _AWAY if code == Code.UNCHECKED.value else did_you_mean(code, _CODES)
        found.append(Problem(where + ".code", code, "the code of a finding, see docs/findings.md", hint))
    for key in _TEXTS[1:]:
        if key in entry and not (isinstance(entry[key], str) and entry[key].strip()):
            hint = 'put it in quotes, such as "0000:03:00.0/1"' if key == "port" else ""
            found.append(Problem("%s.%s" % (where, key), entry[key], "a text", hint))
    if "reason" not in entry:
        found.append(Problem(where + ".reason", None, "why it is accepted, for later readers"))
    if not any(key in entry for key in _PLACES):
        found.append(Problem(where, code, "one of the keys %s" % ", ".join(_PLACES), 'host: "*" stands for all hosts'))
    if "until" in entry and not is_date(str(entry["until"])):
        found.append(Problem(where + ".until", str(entry["until"]), _DATE))
    if "link" in entry and not (1 <= len(_ends(entry["link"])) <= 2 and all(map(_is_end, _ends(entry["link"])))):
        found.append(Problem(where + ".link", entry["link"], _ENDS))
    return found


def problems(variable: str, value: t.Any) -> list[Problem]:
    """Problems of a list of entries."""
    if not isinstance(value, (list, tuple)):
        return [Problem(variable, value, "a list of findings that are accepted")]
    return [problem for index, entry in enumerate(value) for problem in _entry_problems("%s[%d]" % (variable, index), entry)]


def gone(variable: str, value: t.Any, hosts: t.Iterable[str], *, codes: t.Container[str]) -> list[str]:
    """The entries for a host that is not in the inventory, in words. `codes`: of findings about hosts; others may be about any node of a fabric."""
    known = {name.lower() for host in hosts for name in (str(host), str(host).partition(".")[0])}
    entries = [(index, entry) for index, entry in enumerate(value if isinstance(value, (list, tuple)) else ()) if not _entry_problems("", entry)]
    return [
        "%s[%d].host is %s, and no host of the inventory has that name: if it has left or was renamed, remove or correct the entry"
        % (variable, index, describe(entry["host"]))
        for index, entry in entries
        if entry["code"] in codes and entry.get("host") and not _PATTERN.search(entry["host"]) and entry["host"].lower() not in known
    ]


def entries_of(value: t.Iterable[t.Mapping[str, t.Any]]) -> tuple[Accepted, ...]:
    """Parse a list that has passed `problems`. YAML turns text that looks like a date into one."""
    return tuple(
        Accepted(
            **{key: str(entry.get(key, "")) for key in _TEXTS},
            until=str(entry.get("until", "")),
            link=tuple(map(str, _ends(entry["link"]))) if "link" in entry else (),
        )
        for entry in value
    )


def is_error(deviation: t.Mapping[str, t.Any]) -> bool:
    """Whether a host fails because of it."""
    return deviation.get("severity", Severity.ERROR.value) == Severity.ERROR.value and not counts(deviation.get("accepted"))
