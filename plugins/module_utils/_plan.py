# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The difference between the wanted and the found state, as data.

Planners create it, appliers carry it out, and both decide on its fields. The words for people are made in _words.py.
"""

from __future__ import annotations

import enum
import typing as t

from . import _words
from ._errors import CommandFailed

# What a change needs before it takes effect, mildest first.
# "upgrade" is no step of this run: it waits for consent, or for the playbook of that name.
# "rebuild" waits for third-party modules to be built for the stack, which only the site can do.
# "restart" is the restart of a service, which the run itself carries out.
NEEDS = ("", "restart", "interface_bounce", "driver_reload", "device_reset", "reboot", "cold_boot", "rebuild", "upgrade")

REBOOTS = ("reboot", "cold_boot")

# The fields of a change in the result of a module, besides its kind.
_TEXTS = ("subject", "aspect", "before", "after", "needs")


class Kind(str, enum.Enum):
    """The object of a change. It tells what Change.subject names."""

    FILE = "file"
    """A path. `before` and `after` are the complete content; "" where there is no file."""
    UNIT = "unit"
    """A systemd unit; aspects: `state`, `enabled`, `masked`."""
    PARTITION = "partition"
    """The name of a partition; the aspect is its fabric, the values are its P_Key."""
    BROADCAST_GROUP = "broadcast_group"
    """The fabric and the name of a partition, `ib/storage`; aspects: `mtu`, `rate`, `sl`."""
    PROCESS = "process"
    """A process ID; the aspect is the name of its program."""
    INTERFACE = "interface"
    """A network interface; aspects: `name`, `device`, `mode`, `mtu`, `bond`, `addresses`, `routes`, `state`."""
    RDMA_DEVICE = "rdma_device"
    """An RDMA device of an adapter; the aspect is its `name`, which is to follow a policy: the values are the name and the policy."""
    RDMA_LINK = "rdma_link"
    """A software RDMA device."""
    MODULE = "module"
    """A kernel module, loaded or not."""
    PARAMETER = "parameter"
    """A kernel module; the aspect is the name of the parameter."""
    INITRAMFS = "initramfs"
    """The path of an image."""
    PACKAGE = "package"
    """The name of a package; aspect `hold` for whether its version may change."""
    STACK = "stack"
    """The RDMA stack of a node; the aspect is what was declared about it."""
    PROTECTION = "protection"
    """The packages protected from replacement by other repositories; the values are the stack."""
    DRIVER = "driver"
    """The loaded driver, as opposed to the installed one."""
    KERNEL = "kernel"
    """The release of a kernel; the change is whether it has the driver."""
    PROTOCOL = "protocol"
    """An upper-layer protocol."""
    OPENIB_CONF = "openib_conf"
    """A key of openib.conf."""
    FIRMWARE = "firmware"
    """The PCI address of an HCA; aspects: `version`, `psid`, `running_version`, `running_psid`."""
    FIRMWARE_PARAMETER = "firmware_parameter"
    """The PCI address of an HCA; the aspect is the name of the parameter."""
    SYSCTL = "sysctl"
    """A setting of the kernel below /proc/sys, in the notation of `sysctl`."""
    FIREWALL = "firewall"
    """A network interface; aspects: `zone` of firewalld now, `permanent_zone`, `rule` of ufw."""
    FABRIC_PORT = "fabric_port"
    """A port of a switch, `leaf1 port 6`; aspects: `state`, `speeds`, `widths`."""


LASTING_KINDS: t.Final = frozenset((Kind.FILE, Kind.STACK, Kind.RDMA_DEVICE))
"""The kinds whose differences don't disappear by waiting."""


class Change(t.NamedTuple):
    """One step from the found to the wanted state."""

    kind: Kind
    subject: str
    """The object on the node; the kind tells what it is."""
    aspect: str
    """The property of the subject; "" where the kind has only one."""
    before: str
    after: str
    """"" where the object does not exist, or is not to exist."""
    needs: str = ""
    """One of NEEDS: what makes it take effect."""
    blocked_by: str = ""
    """The reason that blocks it now; empty where it is allowed."""

    def words(self) -> str:
        """The change in one line, for people."""
        return _words.change(self, self.before, self.after)

    def is_about(self, kind: Kind, subject: str | None = None, aspect: str | None = None) -> bool:
        """Whether it changes this object, or any of the kind where `subject` is None; with `aspect`, only that property of it."""
        return self.kind == kind and subject in (None, self.subject) and aspect in (None, self.aspect)

    @classmethod
    def of_row(cls, row: t.Sequence[t.Any]) -> Change:
        """The change from its list form, such as in the memo of a job."""
        if len(row) == len(cls._fields):
            return cls(Kind(row[0]), *row[1:])
        # From a job started by an earlier release of the collection: the object in words, before, after, needs, blocked_by.
        word, _space, rest = str(row[0]).partition(" ")
        if word in (Kind.FILE.value, Kind.PACKAGE.value, Kind.KERNEL.value):
            return cls(Kind(word), rest, "", *row[1:])
        return cls(Kind.STACK, "", rest, *row[1:])

    def key(self) -> tuple[str, str, str]:
        """The changed property, regardless of its values."""
        return (self.kind.value, self.subject, self.aspect)


class Pending(t.NamedTuple):
    """Something that is set and takes effect only later. In the result of a module it is a mapping: see `result`."""

    change: Change
    """`before` is the value in effect, `after` the value that is set."""
    why: tuple[str, ...] = ()
    """What prevents it from taking effect now, in words."""

    @property
    def is_rebuild(self) -> bool:
        """Whether it waits for a third-party module to be built for the stack."""
        return self.change.needs == "rebuild"

    @property
    def is_upgrade(self) -> bool:
        """Whether it waits for consent to replace the stack."""
        return self.change.needs == "upgrade"

    def result(self) -> dict[str, t.Any]:
        """The entry in the shape of the key `pending` of all modules, and of the fact `rdma_pending`."""
        return {"kind": self.change.kind.value, **{name: getattr(self.change, name) for name in _TEXTS}, "why": list(self.why)}

    @classmethod
    def of_result(cls, entry: t.Mapping[str, t.Any]) -> Pending:
        """The inverse of `result`. Raises KeyError, TypeError or ValueError for an invalid entry."""
        change = Change(Kind(entry["kind"]), *(str(entry[name]) for name in _TEXTS))
        if change.needs not in NEEDS[1:] or isinstance(entry["why"], str):
            raise ValueError(entry)
        return cls(change, tuple(str(line) for line in entry["why"]))

    def words(self) -> str:
        """The entry in one line, for people."""
        return _words.pending(self.change.words(), self.change.needs, self.why)


class Plan(t.NamedTuple):
    """An ordered list of changes, each safe to repeat."""

    changes: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def late(self) -> tuple[Pending, ...]:
        """The changes that are made now and take effect only later."""
        return tuple(Pending(change) for change in self.changes if NEEDS.index(change.needs) >= NEEDS.index("driver_reload"))

    def about(self, kind: Kind, aspect: str | None = None) -> tuple[Change, ...]:
        """The changes of one kind, and of one property if `aspect` names it, in order."""
        return tuple(change for change in self.changes if change.is_about(kind, aspect=aspect))

    def require_empty(self) -> None:
        """Raise CommandFailed where a look after the changes finds that some are still to be made."""
        if self:
            raise CommandFailed("after the changes, something is still missing: %s" % "; ".join(change.words() for change in self.changes))

    def diff(self) -> list[dict[str, str]]:
        """The changes in the shape that `--diff` shows: files one by one, all settings together."""
        files = [
            {"before_header": change.subject, "after_header": change.subject, "before": change.before, "after": change.after}
            for change in self.changes
            if change.kind == Kind.FILE
        ]
        settings = [change for change in self.changes if change.kind != Kind.FILE]
        before = "".join("%s: %s\n" % (_words.subject(change), _words.value(change, change.before)) for change in settings)
        after = "".join("%s: %s\n" % (_words.subject(change), _words.value(change, change.after)) for change in settings)
        return files + ([{"before_header": "settings", "after_header": "settings", "before": before, "after": after}] if settings else [])

    def result(self, pending: t.Iterable[Pending] | None = None, reasons: t.Iterable[str] = ()) -> dict[str, t.Any]:
        """The keys that every module of the collection returns. `pending`: what takes effect only later; by default `late`."""
        waiting = self.late if pending is None else tuple(pending)
        return {
            "changed": bool(self),
            "changes": [change.words() for change in self.changes],
            "diff": self.diff(),
            "pending": [entry.result() for entry in waiting],
            "reboot_required": any(entry.change.needs in REBOOTS for entry in waiting),
            "reasons": list(reasons),
        }


def changes_of(*candidates: Change | None) -> tuple[Change, ...]:
    """The candidates that change anything, in order. Planners list all that they compare, and this function leaves out the rest."""
    return tuple(change for change in candidates if change is not None and change.before != change.after)
