# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run on a screen, for any number of hosts: how many are done, which are not and why, and the next step.

Pure; linear in hosts except for sorting.
"""

from __future__ import annotations

import typing as t

from .._hosts import natural
from ._ends import FAILED, Record
from ._groups import grouped, hosts_in_short, lines
from ._leaving import WHOLE, causes, deferred_words, words

_UNKNOWN = "failed; see its error above"
_UNTOUCHED = "not touched: the run ended before its batch"
_NEXT = "Next: correct what is listed, and run the same command again. With --limit %s, it runs for these hosts only"
_LATER = "Not for the image, but for the nodes that boot it:"
# The most host names in a suggested command line.
_MOST_LIMITED = 40


class Host(t.NamedTuple):
    """One host at the end of a run."""

    dropped: bool = False
    """Whether it failed or was unreachable, and was dropped from the rest of the run."""
    leaves: t.Mapping[str, t.Sequence[str]] = {}
    """The roles that it was left out of, with the reasons."""
    record: Record = Record()
    deviates: bool = False
    """Whether a table above shows its findings."""
    deviations: t.Sequence[str] = ()
    """The problems, where the summary repeats them."""
    untouched: bool = False
    """Whether the run ends before it reaches this host."""
    deferred: t.Mapping[str, str] = {}
    """The roles that do nothing in the tree of an image, with what it lacks for them. This does not count as left out."""

    @property
    def is_done(self) -> bool:
        return not (self.dropped or self.leaves or self.deviates or self.untouched)

    def reasons(self) -> list[str]:
        """Why it is not done, in words."""
        found = [words(role, reason) for role, reason in causes(self.leaves)]
        if self.record.kind and (self.dropped or self.deviates):
            named = "%s: " % self.record.task if self.record.task and self.record.kind == FAILED else ""
            found.append("%s: %s%s" % (self.record.kind, named, self.record.said or "no reason was given"))
        if self.deviations and not found:
            more = "; and %d more, see the table above" % (len(self.deviations) - 1) if self.deviations[1:] else ""
            return ["not as declared: %s%s" % (self.deviations[0], more)]
        if self.deviates and not found:
            return ["not as declared; see the table above"]
        return found or ([_UNKNOWN] if self.dropped else [_UNTOUCHED] if self.untouched else [])


def render(hosts: t.Mapping[str, Host], *, predicted: bool = False) -> str:
    """The summary. `predicted`: in check mode, where nothing was changed."""
    bad = {name: hosts[name].reasons() for name in sorted(hosts, key=natural) if not hosts[name].is_done}
    changed = sum(host.record.changed for host in hosts.values())
    dropped = sum(host.dropped and not host.deviates and (WHOLE in host.leaves or not host.leaves) for host in hosts.values())
    untouched = sum(host.untouched and not host.dropped for host in hosts.values())
    counts = [
        "%d of %s done" % (len(hosts) - len(bad), _hosts(len(hosts))),
        "%d %s" % (changed, "would be changed" if predicted else "changed") if changed else "",
        "%d failed or unreachable" % dropped if dropped else "",
        "%d partly left out or not as declared" % (len(bad) - dropped - untouched) if len(bad) > dropped + untouched else "",
        "%d not touched" % untouched if untouched else "",
    ]
    text = ["Summary: " + ", ".join(filter(None, counts))]
    text += ["  " + line for line in lines(grouped(bad))]
    later = {name: deferred_words(host.deferred) for name, host in sorted(hosts.items(), key=lambda item: natural(item[0])) if host.deferred}
    text += [_LATER, *("  " + line for line in lines(grouped(later)))] if later else []
    return "\n".join([*text, _NEXT % _limit(list(bad))] if bad else text)


def _hosts(number: int) -> str:
    return "%d host%s" % (number, "" if number == 1 else "s")


def _limit(names: t.Sequence[str]) -> str:
    return ",".join(names) if len(names) <= _MOST_LIMITED else "and a list of their names (%s)" % hosts_in_short(names)
