# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of changes. Back-ends carry it out without knowing how it was made."""

from __future__ import annotations

import typing as t

from .._host._saved import Saved
from .._plan import Kind, Pending, Plan
from ._found import Record
from ._wanted import Interface, Naming


class Dissent(t.NamedTuple):
    """One interface that the back-end has not configured by our files."""

    name: str
    said: str
    """In the words of the back-end."""
    backend: str
    retry: str
    """The command that may help; it interrupts the traffic of the interface. "" for none."""
    see: str
    """The commands that show more."""
    carries_run: bool
    """Whether the management connection uses the interface."""

    def words(self) -> str:
        return "the back-end reports %s as %s" % (self.name, self.said)

    def reason(self) -> str:
        """The reason to report for a run that does not change the interface."""
        text = "%s: %s reports it as %s, although its state is as declared; this run leaves it alone: %s"
        return text % (self.name, self.backend, self.said, self.remedy())

    def remedy(self) -> str:
        if self.carries_run:
            return "the connection to this node goes through it, so configure it over another one; for the cause, see %s" % self.see
        if not self.retry:
            return "for the cause, see %s" % self.see
        return "run '%s' (this interrupts its traffic); for the cause, see %s" % (self.retry, self.see)


class IpoibPlan(t.NamedTuple):
    """What to do, and what to report."""

    plan: Plan
    interfaces: tuple[Interface, ...] = ()
    removed: tuple[Record, ...] = ()
    """Undeclared interfaces of an earlier run: bonds first, then children."""
    reasons: tuple[str, ...] = ()
    renames: tuple[Naming, ...] = ()
    """Interfaces that are renamed now."""
    pending: tuple[Pending, ...] = ()
    """The changes that the next start of the node will bring."""
    deferred: frozenset[str] = frozenset()
    """The interfaces that wait for it."""
    cutting: tuple[str, ...] = ()
    """How the management connection would be disturbed, in words."""
    touched: frozenset[str] = frozenset()
    """The interfaces that change in any way, even if only in their files. The back-end is told of no others."""
    dissents: tuple[Dissent, ...] = ()
    """The interfaces that the back-end has not configured by our files."""
    adopted: t.Mapping[str, tuple[str, ...]] = {}
    """By path: the interfaces that are taken out of a file of others."""
    continued: t.Mapping[str, str] = {}
    """As in `Takeover`."""
    restored: t.Mapping[str, Saved] = {}
    """The files that become what they were before that."""

    def touches(self, name: str, aspects: t.Sequence[str] = ()) -> bool:
        """Whether the interface changes in one of `aspects`; without aspects, whether it changes at all."""
        return any(change.is_about(Kind.INTERFACE, name) and (not aspects or change.aspect in aspects) for change in self.plan.changes)

    @property
    def dissenting(self) -> frozenset[str]:
        return frozenset(dissent.name for dissent in self.dissents)

    @property
    def left_alone(self) -> tuple[Dissent, ...]:
        """The dissents that a run does not fix, because it does not change the interfaces: the traffic of a working interface matters more."""
        return tuple(dissent for dissent in self.dissents if dissent.name not in self.touched)

    @property
    def live(self) -> tuple[Interface, ...]:
        """The interfaces that are configured now."""
        return tuple(interface for interface in self.interfaces if interface.name not in self.deferred)
