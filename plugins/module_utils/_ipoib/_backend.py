# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rest of the package asks of a network back-end, and how that is driven once its files are written.

A new one is files of its own below _backends and a line in _registry. All methods but `look`, `put_aside` and `put_back`
are pure; what acts on a node is the driver that `drive` returns.
"""

from __future__ import annotations

import typing as t

from ._found import Active, Claim, Found, Place, Presence, Record
from ._todo import Dissent, IpoibPlan

if t.TYPE_CHECKING:
    from .._host._run import Runner
    from .._host._units import Unit
    from .._plan import Change
    from ._identity import Identity
    from ._kernel import Kernel
    from ._wanted import Interface

Files = t.Mapping[str, str]
Interfaces = t.Sequence["Interface"]

# How long bringing up an interface may take, in seconds.
UP_TIMEOUT = 120


class Evidence(t.NamedTuple):
    """What back-ends are recognised by."""

    units: t.Mapping[str, Unit] = {}
    tools: frozenset[str] = frozenset()
    files: Files = {}

    def is_active(self, name: str) -> bool:
        return name in self.units and self.units[name].runs


class Tools(t.NamedTuple):
    """What drivers act with."""

    run: Runner
    kernel: Kernel
    put_aside: t.Callable[[], None] = lambda: None
    put_back: t.Callable[[], None] = lambda: None
    """Those of all back-ends, see Backend."""


class Driver:
    """Drives one back-end. Every step is safe to repeat. The driver of no back-end leaves everything to the kernel part."""

    kernel_first = True
    """Modes, MTUs and bonds are set before the back-end is told, because it can't, or needs them so."""
    makes_bonds = True
    """The back-end makes bonds itself, so only those that exist already are changed before it is told."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._run = tools.run
        self._kernel = tools.kernel

    def give_up(self, names: t.Sequence[str], found: Found) -> None:
        """Let go of these interfaces, while the files that describe them still exist."""

    def forget(self, paths: t.Sequence[str]) -> None:
        """Files of this back-end have gone, and it is not the one in use."""

    def finish(self) -> None:
        """Carry out the `leftover` of the back-end."""

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        """Make the interfaces of `todo.touched` what the files say, and leave all others alone: the plan, the check mode and the look at the
        connection of the run know of no others. `changed` are the paths that were written or removed.
        """

    def busy(self, found: Found) -> bool:
        """Whether it is at work on an interface, so that telling it again would make it start over."""
        return False

    def nudge(self, again: IpoibPlan, found: Found) -> None:
        """What to try once more when something is left to do after a while, for interfaces that change or dissent in `again`."""


class Format(t.Protocol):
    """The files of a back-end: a module of functions."""

    def render(self, interfaces: Interfaces) -> dict[str, str]:
        """The files, whole, by path."""

    def is_ours(self, path: str, text: str) -> bool:
        """Whether a file belongs to this collection: by its name and its first line."""

    def records(self, files: Files) -> dict[str, Record]:
        """What the files of this collection say, by interface."""

    def conflicts(self, interface: Identity, files: Files) -> tuple[str, ...]:
        """The foreign files that configure an interface, by whatever they call it."""


class Backend:
    name = ""
    format: Format
    driver: type[Driver] = Driver
    see = "'ip address' and 'journalctl'"
    """Where it says why something did not work."""
    service = ""
    """The unit that has to be active for it to be of use."""
    tool = ""
    """The command that has to be installed for it to be of use."""
    units: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Other units and commands that it is recognised by."""
    patterns: tuple[str, ...] = ()
    """The files that it reads, as globs."""
    modes: t.Mapping[str, int] = {}
    """Permissions of files, by directory, where others must not read them."""
    shared: tuple[str, ...] = ()
    """Files that are not of this collection, and that it edits."""
    renders_through: tuple[str, ...] = ()
    """Back-ends whose files it writes as well, and whose foreign files it therefore looks into itself."""
    strips = False
    """It takes everything off an interface that it lets go of: done before another back-end has the interface."""
    lists_active = False
    """Its list of active interfaces may know more than its files."""
    acts_on_files = False
    """A daemon that does what its files say as soon as it is told of any of them."""
    enables_ipv6 = False
    """It switches IPv6 on by itself for an interface that it gives an IPv6 address."""
    leftover: Change | None = None
    """What an interrupted run may leave to do that shows in no file."""

    # Recognition

    def claim(self, evidence: Evidence) -> Claim | None:
        """Whether it manages interfaces here."""
        return None

    def missing(self, evidence: Evidence) -> str:
        """Why it can't be used here, in words; "" where it can."""
        if self.service and not evidence.is_active(self.service):
            return "ipoib_backend is %s, but %s is not active here: start and enable it, or name another back-end" % (self.name, self.service)
        if self.tool and self.tool not in evidence.tools:
            return "ipoib_backend is %s, but %s is not installed here: install it, or name another back-end" % (self.name, self.tool)
        return ""

    def in_use(self, evidence: Evidence) -> bool:
        """Whether its files count here, whichever service reads them."""
        return self.claim(evidence) is not None

    def recognise(self, evidence: Evidence) -> Presence:
        return Presence(self.claim(evidence), self.missing(evidence), self.in_use(evidence))

    def look(self, run: Runner, evidence: Evidence, root: str) -> Presence:
        """All that is to be known of it on the node."""
        return self.recognise(evidence)

    def presence(self, found: Found) -> Presence:
        return found.backends.get(self.name, Presence())

    def active(self, found: Found) -> t.Mapping[str, Active]:
        """What it has in force, by interface."""
        return self.presence(found).active

    # Files

    def render(self, interfaces: Interfaces, found: Found) -> dict[str, str]:
        return self.format.render(interfaces)

    def edit(self, files: Files, written: t.Collection[str]) -> dict[str, str]:
        """The `shared` files as they shall be once `written` are the files of this collection."""
        return {}

    def outline(self, text: str) -> str:
        """As much of a `shared` file as `edit` needs to tell whether the file changes."""
        return text

    # Capabilities

    def faults(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        """What it can't do with these interfaces, in words."""
        return ()

    def remarks(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        """What may turn out otherwise at boot, in words."""
        return ()

    def aloof(self, interface: Identity, found: Found) -> tuple[Place, ...]:
        """Where it is told to leave an interface alone. Read from foreign files, which a condensed state has not: see _registry.aloof."""
        return ()

    def dissent(self, name: str, found: Found) -> str:
        """What it says of an interface other than that it has configured it by our files, in its words; "" where it says so, or nothing."""
        return ""

    def retry(self, name: str, found: Found) -> str:
        """The shell command that makes the back-end configure the interface by our files; "" where none is known to help."""
        return ""

    def dissents(self, interfaces: Interfaces, found: Found) -> tuple[Dissent, ...]:
        """What it says itself of those of these interfaces that are there: the state that the kernel shows may come from elsewhere."""
        said = {interface.name: self.dissent(interface.name, found) for interface in interfaces if interface.name in found.netdevs}
        return tuple(
            Dissent(name, words, self.name, retry=self.retry(name, found), see=self.see, carries_run=name in found.ssh_path)
            for name, words in said.items()
            if words
        )

    def needs_boot_unit(self, found: Found) -> bool:
        """Whether it can't set connected mode at boot: _boot does."""
        return False

    def held(self, found: Found) -> frozenset[str] | None:
        """The interfaces that it has up by files of this collection; None where that is not known."""
        return frozenset(name for name in self.format.records(found.files) if name in found.netdevs and found.netdevs[name].up)

    # Acting

    def drive(self, tools: Tools, found: Found, interfaces: Interfaces = ()) -> Driver:
        return self.driver(tools)

    def listens(self, found: Found) -> bool:
        """Whether it is there to be told that its files have gone."""
        return True

    def tells(self, found: Found) -> tuple[str, ...]:
        """The back-ends that its driver tells of changed files, after the kernel part: itself, or its renderer as well."""
        return (self.name,)

    def put_aside(self, root: str) -> None:
        """Before the first change: keep files that others write again during the changes."""

    def put_back(self, root: str) -> None:
        """Before their reader looks at them: undo `put_aside` where the text is the same."""

    # The rollback, as lines for a shell

    def shell_files(self, lines: list[str], touched: t.Collection[str]) -> list[str]:
        """The lines that put files back, with what goes around them. `touched` are the back-ends of these files."""
        return lines

    def shell_reload(self, touched: t.Collection[str], found: Found) -> list[str]:
        """After that: what reads the files."""
        return []

    def shell_resume(self, names: t.Sequence[str], found: Found) -> list[str]:
        """In the end: what takes up interfaces that the back-end had."""
        return []
