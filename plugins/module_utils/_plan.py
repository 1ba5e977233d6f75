# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What stands between the wanted and the found state. Pure data: planners make it, appliers carry it out."""

from __future__ import annotations

import typing as t

# What a change needs before it is effective, mildest first.
NEEDS = ("", "interface_bounce", "driver_reload", "device_reset", "reboot", "cold_boot")


class Change(t.NamedTuple):
    """One step. C(before) and C(after) are texts; a file's are its whole content, "" where it does not exist."""

    what: str
    """The object in the user's words: C(file /etc/modprobe.d/rdma-ofed.conf), C(ib0 mtu), C(service opensm.service enabled)."""
    before: str
    after: str
    needs: str = ""
    """One of NEEDS: what makes it effective."""
    blocked_by: str = ""
    """Why it must not be done now; empty where it may."""

    def words(self) -> str:
        """The change in one line."""
        if self.what.startswith("file "):
            verb = "create" if not self.before else ("remove" if not self.after else "edit")
            return "%s %s" % (verb, self.what)
        return "%s: %s -> %s" % (self.what, self.before or "none", self.after or "none")


class Plan(t.NamedTuple):
    """An ordered list of changes, each safe to repeat."""

    changes: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def pending(self) -> list[str]:
        """The changes that are made now and effective only later, in words."""
        return ["%s (needs %s)" % (change.words(), change.needs) for change in self.changes if NEEDS.index(change.needs) >= NEEDS.index("driver_reload")]

    @property
    def reboot_required(self) -> bool:
        return any(change.needs in ("reboot", "cold_boot") for change in self.changes)

    @property
    def blockers(self) -> list[str]:
        return ["%s: %s" % (change.words(), change.blocked_by) for change in self.changes if change.blocked_by]

    def diff(self) -> list[dict[str, str]]:
        """In the shape that C(--diff) shows: files one by one, all settings together."""
        files = [
            {"before_header": change.what[5:], "after_header": change.what[5:], "before": change.before, "after": change.after}
            for change in self.changes
            if change.what.startswith("file ")
        ]
        settings = [change for change in self.changes if not change.what.startswith("file ")]
        if not settings:
            return files
        return [
            *files,
            {
                "before_header": "settings",
                "after_header": "settings",
                "before": "".join("%s: %s\n" % (change.what, change.before or "none") for change in settings),
                "after": "".join("%s: %s\n" % (change.what, change.after or "none") for change in settings),
            },
        ]

    def result(self) -> dict[str, t.Any]:
        """The keys that every module of the collection returns."""
        return {
            "changed": bool(self),
            "changes": [change.words() for change in self.changes],
            "diff": self.diff(),
            "pending": self.pending,
            "reboot_required": self.reboot_required,
            "reasons": [],
        }


def changes_of(*candidates: Change | None) -> tuple[Change, ...]:
    """The candidates that change anything, in order: planners list what they look at and leave the comparing to this."""
    return tuple(change for change in candidates if change is not None and change.before != change.after)


__all__ = ("NEEDS", "Change", "Plan", "changes_of")
