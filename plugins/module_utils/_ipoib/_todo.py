# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a plan says: back-ends carry it out, and know nothing of how it was made."""

from __future__ import annotations

import typing as t

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
    """The command that may help, which interrupts the traffic of the interface. "" for none."""
    see: str
    """The commands that say more."""
    carries_run: bool
    """The connection of this run goes through the interface."""

    def words(self) -> str:
        return "the back-end reports %s as %s" % (self.name, self.said)

    def reason(self) -> str:
        """Of a run that changes nothing of the interface."""
        text = "%s: %s reports it as %s, although its state is the declared one; this run leaves it alone: %s"
        return text % (self.name, self.backend, self.said, self.remedy())

    def remedy(self) -> str:
        if self.carries_run:
            return "the connection to this node goes through it, so have it configured over another one; for the cause, see %s" % self.see
        if not self.retry:
            return "for the cause, see %s" % self.see
        return "run '%s' (this interrupts its traffic); for the cause, see %s" % (self.retry, self.see)


class IpoibPlan(t.NamedTuple):
    """What to do, and what to report."""

    plan: Plan
    interfaces: tuple[Interface, ...] = ()
    removed: tuple[Record, ...] = ()
    """Interfaces of an earlier run that are not declared: bonds first, then children."""
    reasons: tuple[str, ...] = ()
    renames: tuple[Naming, ...] = ()
    """Interfaces that get their name now."""
    pending: tuple[Pending, ...] = ()
    """What the next start of the node will bring."""
    deferred: frozenset[str] = frozenset()
    """The interfaces that wait for it."""
    cutting: tuple[str, ...] = ()
    """How the connection of this run would be disturbed, in words."""
    touched: frozenset[str] = frozenset()
    """The interfaces of which anything changes, be it only their files. The back-end is told of no other."""
    dissents: tuple[Dissent, ...] = ()
    """The interfaces that the back-end has not configured by our files."""

    def touches(self, name: str, aspects: t.Sequence[str] = ()) -> bool:
        """Whether the interface changes in one of `aspects`; in any where none is given."""
        return any(change.is_about(Kind.INTERFACE, name) and (not aspects or change.aspect in aspects) for change in self.plan.changes)

    @property
    def dissenting(self) -> frozenset[str]:
        return frozenset(dissent.name for dissent in self.dissents)

    @property
    def left_alone(self) -> tuple[Dissent, ...]:
        """A run does not mend what it changes nothing of: the traffic of an interface that works matters more."""
        return tuple(dissent for dissent in self.dissents if dissent.name not in self.touched)

    @property
    def live(self) -> tuple[Interface, ...]:
        """The interfaces that are carried out now."""
        return tuple(interface for interface in self.interfaces if interface.name not in self.deferred)
