# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings as JUnit XML. Pure. Names from nodes are escaped as text."""

from __future__ import annotations

import re
import typing as t
from xml.sax.saxutils import quoteattr

from ._accepted import is_error, words

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _attribute(text: t.Any) -> str:
    return quoteattr(_NOT_XML.sub("?", str(text)))


class Case(t.NamedTuple):
    """A test case of JUnit."""

    group: str
    """`fabric` or `verify`: the first part of its class name; the code is the second."""
    name: str
    finding: t.Mapping[str, t.Any] | None = None
    """The finding; None for a passed test."""
    waits: bool = False
    """Whether the host deviates only because of a fault of its fabric."""

    @property
    def failed(self) -> bool:
        return self.finding is not None and is_error(self.finding)

    def text(self) -> str:
        if self.waits:
            return '  <testcase classname=%s name=%s><skipped message="it waits for the fabric"/></testcase>' % tuple(map(_attribute, (self.group, self.name)))
        if self.finding is None:
            return "  <testcase classname=%s name=%s/>" % (_attribute(self.group), _attribute(self.name))
        message = "found %s, expected %s; %s" % tuple(self.finding.get(key, "") for key in ("found", "expected", "next_step"))
        if self.finding.get("accepted"):
            message += "; " + words(self.finding["accepted"])
        group = _attribute("%s.%s" % (self.group, self.finding.get("code", "")))
        kind = "failure" if self.failed else "skipped"
        return "  <testcase classname=%s name=%s><%s message=%s/></testcase>" % (group, _attribute(self.name), kind, _attribute(message))


def junit(suite: str, cases: t.Sequence[Case]) -> str:
    """A failure for each error; skipped for everything else, such as a warning, an accepted finding, or a host that waits for its fabric."""
    failures = sum(case.failed for case in cases)
    skipped = sum(case.waits or case.finding is not None for case in cases) - failures
    head = '<testsuite name=%s tests="%d" failures="%d" skipped="%d">' % (_attribute(suite), len(cases), failures, skipped)
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *(case.text() for case in cases), "</testsuite>", ""])
