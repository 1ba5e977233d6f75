# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a discovery, for people. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils._foreign import shown
from ...module_utils._site._groups import MOST_LINES, grouped, hosts_in_short, lines
from . import _yaml

if t.TYPE_CHECKING:
    from ._lift import Outlier

# A file has room for all of them.
_ALL = 1_000_000
_TITLES = {
    "dangers": "Dangerous",
    "outliers": "Differs between hosts",
    "left": "Not expressed by the files",
    "missing": "Not looked at, so nothing is known of",
}


class Report(t.NamedTuple):
    hosts: t.Sequence[str]
    missing: t.Sequence[str]
    """Hosts of the group that were not looked at."""
    left: t.Mapping[str, t.Sequence[str]]
    """By host; "" for the site."""
    dangers: t.Mapping[str, t.Sequence[str]]
    outliers: t.Sequence[Outlier]
    folder: str
    files: t.Sequence[str]
    """None in check mode."""


def _by_host(found: t.Mapping[str, t.Sequence[str]], most: int) -> list[str]:
    own = {host: [shown(word) for word in words] for host, words in found.items() if host}
    return [*(shown(word) for word in dict.fromkeys(found.get("", ()))), *lines(grouped(own, most), most)]


def _value(value: t.Any) -> str:
    return _yaml.entry("", value)[0].partition(": ")[2] or "a list or mapping; see the files"


def _outliers(outliers: t.Sequence[Outlier], most: int) -> list[str]:
    words = [
        "%s: %s has %s, and most hosts of %s have %s"
        % (hosts_in_short(outlier.hosts), outlier.variable, _value(outlier.found), outlier.group, _value(outlier.usual))
        for outlier in outliers
    ]
    return words if len(words) <= most else [*words[: most - 1], "and %d more" % (len(words) - most + 1)]


def render(report: Report, *, full: bool) -> str:
    """The report. `full`: however many lines that takes, for the file; else in a part of a screen."""
    most = _ALL if full else MOST_LINES
    parts = {
        "dangers": _by_host(report.dangers, most),
        "outliers": _outliers(report.outliers, most),
        "left": _by_host(report.left, most),
        "missing": [hosts_in_short(report.missing)] if report.missing else [],
    }
    text = ["Discovered: %d host%s" % (len(report.hosts), "" if len(report.hosts) == 1 else "s")]
    for name, own in parts.items():
        if own:
            text += ["%s:" % _TITLES[name], *("  " + line for line in own)]
    if not report.files:
        return "\n".join([*text, "Nothing was written in check mode"])
    text += ["Written to %s: %s" % (report.folder, ", ".join(report.files) if full or len(report.files) <= most else "%d files" % len(report.files))]
    return "\n".join([*text, "Next: read them, and run rdma.ofed.site --check --diff with -i %s behind your inventory" % report.folder])
