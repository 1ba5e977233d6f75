# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface of a network back-end, and of the driver that applies its files.

A new back-end takes files of its own in _backends and a line in _registry. All methods are pure except `look`, `put_aside` and `put_back`;
the driver that `drive` returns acts on the node.
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
    from ._parsed import Parsed
    from ._wanted import Interface

Files = t.Mapping[str, str]
Interfaces = t.Sequence["Interface"]

# How long bringing up an interface may take, in seconds.
UP_TIMEOUT = 120


class Evidence(t.NamedTuple):
    """What identifies back-ends on a node."""

    units: t.Mapping[str, Unit] = {}
    tools: frozenset[str] = frozenset()
    files: Files = {}

    def is_active(self, name: str) -> bool:
        return name in self.units and self.units[name].runs


class Tools(t.NamedTuple):
    """What drivers work with."""

    run: Runner
    kernel: Kernel
    put_aside: t.Callable[[], None] = lambda: None
    put_back: t.Callable[[], None] = lambda: None
    """`put_aside` and `put_back` of all back-ends, see Backend."""


class Driver:
    """Drives one back-end. Every step is safe to repeat. The driver of `NoBackend` leaves everything to the kernel part."""

    kernel_first = True
    """Whether modes, MTUs and bonds are set before the back-end is told, because it can't set them or requires it."""
    makes_bonds = True
    """Whether the back-end creates bonds itself, so that only existing bonds are changed before it is told."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._run = tools.run
        self._kernel = tools.kernel

    def give_up(self, names: t.Sequence[str], found: Found) -> None:
        """Release these interfaces while the files that describe them still exist."""

    def give_back(self, names: t.Mapping[str, str], found: Found) -> None:
        """Configure interfaces by the files of others. Raises RdmaError where that fails. `names`: each with the UUID of its profile, as in
        `Backend.profile`. `found`: the state before ours were removed.
        """

    def forget(self, paths: t.Sequence[str]) -> None:
        """Handle the removal of this back-end's files where another back-end is in use."""

    def finish(self) -> None:
        """Carry out the `leftover` of the back-end."""

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        """Configure the interfaces of `todo.touched` as the files say, and leave all others alone: the plan, check mode and the protection of the
        management connection know only these. `changed`: the paths that were written or removed.
        """

    def busy(self, found: Found) -> bool:
        """Whether it is still working on an interface, so that another command would make it start over."""
        return False

    def nudge(self, again: IpoibPlan, found: Found) -> None:
        """Try again after a while, for interfaces that still change or dissent in `again`."""


class Format(t.Protocol):
    """The file format of a back-end: a module of functions."""

    def render(self, interfaces: Interfaces) -> dict[str, str]:
        """The complete files, by path."""

    def is_ours(self, path: str, text: str) -> bool:
        """Whether a file belongs to this collection, judged by its name and its first line."""

    def records(self, files: Files) -> dict[str, Record]:
        """What the files of this collection say, by interface."""

    def conflicts(self, interface: Identity, files: Files) -> tuple[str, ...]:
        """The foreign files that configure an interface, under any of its names."""

    def without(self, interface: Identity, path: str, text: str) -> str | None:
        """The text of a foreign file without the interface, "" where nothing is left; None where the interface can't be taken out of it alone."""


class Reader(t.Protocol):
    """What the files of a back-end say, ours or those of others: a module of functions, for a discovery."""

    def parse(self, name: str, paths: t.Sequence[str], files: Files) -> Parsed:
        """The settings of an interface. `paths`: its files, among all `files`."""


class Backend:
    name = ""
    format: Format
    reader: Reader
    driver: type[Driver] = Driver
    see = "'ip address' and 'journalctl'"
    """Where it logs why something did not work."""
    service = ""
    """The unit that has to be active so that it can be used."""
    tool = ""
    """The command that has to be installed so that it can be used."""
    units: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Other units and commands that identify it."""
    patterns: tuple[str, ...] = ()
    """The files that it reads, as globs."""
    modes: t.Mapping[str, int] = {}
    """Permissions of files, by directory, where others must not read them."""
    shared: tuple[str, ...] = ()
    """Foreign files that it edits."""
    renders_through: tuple[str, ...] = ()
    """Back-ends whose files it also writes, and whose foreign files it therefore checks itself."""
    read_by: tuple[str, ...] = ()
    """Back-ends whose daemons read its files as well."""
    strips = False
    """Whether releasing an interface removes all of its configuration, so that it has to be done before another back-end takes over."""
    lists_active = False
    """Whether its list of active interfaces may have more entries than its files."""
    acts_on_files = False
    """Whether its daemon applies all of its files as soon as it is told about any of them."""
    enables_ipv6 = False
    """Whether it enables IPv6 on an interface that gets an IPv6 address."""
    leases = False
    """Whether our files can ask for an address by DHCP, with a client identifier."""
    leftover: Change | None = None
    """Work that an interrupted run may leave and that shows in no file."""

    # Recognition

    def claim(self, evidence: Evidence) -> Claim | None:
        """Whether it manages interfaces here; None if not."""
        return None

    def missing(self, evidence: Evidence) -> str:
        """Why it can't be used here, in words; "" where it can."""
        if self.service and not evidence.is_active(self.service):
            return "ipoib_backend is %s, but %s is not active here: start and enable it, or name another back-end" % (self.name, self.service)
        if self.tool and self.tool not in evidence.tools:
            return "ipoib_backend is %s, but %s is not installed here: install it, or name another back-end" % (self.name, self.tool)
        return ""

    def in_use(self, evidence: Evidence) -> bool:
        """Whether its files take effect here, whichever service reads them."""
        return self.claim(evidence) is not None

    def recognise(self, evidence: Evidence) -> Presence:
        return Presence(self.claim(evidence), self.missing(evidence), self.in_use(evidence))

    def look(self, run: Runner, evidence: Evidence, root: str) -> Presence:
        """Look at its state on the node."""
        return self.recognise(evidence)

    def presence(self, found: Found) -> Presence:
        return found.backends.get(self.name, Presence())

    def active(self, found: Found) -> t.Mapping[str, Active]:
        """Its active configuration, by interface."""
        return self.presence(found).active

    # Files

    def render(self, interfaces: Interfaces, found: Found) -> dict[str, str]:
        return self.format.render(interfaces)

    def edit(self, files: Files, written: t.Collection[str]) -> dict[str, str]:
        """The `shared` files as they are to be, once `written` are the files of this collection."""
        return {}

    def devices(self, interface: Identity, files: Files) -> tuple[str, ...]:
        """The foreign files that create the interface, and that `conflicts` leaves out because they do not configure it."""
        return ()

    def unsaid(self, interface: Identity, path: str, files: Files, *, names: t.Mapping[str, str]) -> tuple[str, ...]:
        """Settings in a foreign file that its reader passes over, and that would be lost with the interface. `names`: the declared interfaces, each with its
        declared port GUID or "".
        """
        return ()

    def profile(self, path: str, text: str, found: Found) -> str:
        """The UUID of the profile of a foreign file, as in `active`; "" where it has none, or where an active one does not outlast its file."""
        return ""

    def sways(self, before: Files, after: Files) -> tuple[str, ...]:
        """Settings beyond the interfaces that would be lost where these are taken out of foreign files, in words."""
        return ()

    def handicap(self, found: Found) -> str:
        """What the node lacks for taking interfaces out of foreign files, in words; "" where it lacks nothing."""
        return ""

    def interrupts(self, found: Found) -> bool:
        """Whether it takes an interface down that it has configured from a foreign file so far, in order to configure it from ours. An interface whose
        profile is continued and that does not change stays up in any case.
        """
        return False

    def outline(self, text: str) -> str:
        """The part of a `shared` file that `edit` needs to tell whether the file changes."""
        return text

    # The zone of the firewall, where the daemon of the back-end tells firewalld the zones of its interfaces

    def zone_file(self, name: str) -> str:
        """The path of our file that tells the zone of an interface; "" where firewalld alone knows it."""
        return ""

    def zone_in(self, text: str) -> str:
        """The zone that such a file tells; "" for the default zone."""
        return ""

    def zoned(self, text: str, zone: str) -> str:
        """The text of such a file with another zone."""
        return text

    def tell_zone(self, run: Runner, name: str, path: str) -> None:
        """Let the daemon read the zone of a file, without an interruption. It may be stopped, and reads the file when it starts."""

    # Capabilities

    def faults(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        """What it can't do with these interfaces, in words."""
        return ()

    def remarks(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        """What may differ at boot, in words."""
        return ()

    def aloof(self, interface: Identity, found: Found) -> tuple[Place, ...]:
        """Where it is told to leave an interface alone. Needs foreign files, which a condensed state lacks: see _registry.aloof."""
        return ()

    def dissent(self, name: str, found: Found) -> str:
        """Why it has not configured an interface by our files, in its words; "" where it has, or where it reports nothing."""
        return ""

    def retry(self, name: str, found: Found) -> str:
        """The shell command that makes it configure the interface by our files; "" where no command is known to help."""
        return ""

    def dissents(self, interfaces: Interfaces, found: Found) -> tuple[Dissent, ...]:
        """The existing interfaces that it has not configured by our files. What the kernel shows may come from elsewhere."""
        said = {interface.name: self.dissent(interface.name, found) for interface in interfaces if interface.name in found.netdevs}
        return tuple(
            Dissent(name, words, self.name, retry=self.retry(name, found), see=self.see, carries_run=name in found.ssh_path)
            for name, words in said.items()
            if words
        )

    def needs_boot_unit(self, found: Found) -> bool:
        """Whether it can't set connected mode at boot, so that the unit of _boot has to."""
        return False

    def held(self, found: Found) -> frozenset[str] | None:
        """The interfaces that it has brought up from files of this collection; None where unknown."""
        return frozenset(name for name in self.format.records(found.files) if name in found.netdevs and found.netdevs[name].up)

    # Acting

    def drive(self, tools: Tools, found: Found, interfaces: Interfaces = ()) -> Driver:
        return self.driver(tools)

    def listens(self, found: Found) -> bool:
        """Whether it runs and can be told that its files are gone."""
        return True

    def tells(self, found: Found) -> tuple[str, ...]:
        """The back-ends whose daemons its driver notifies of changed files after the kernel part: itself, or also its renderer."""
        return (self.name,)

    def put_aside(self, root: str) -> None:
        """Before the first change: save files that others rewrite during the changes."""

    def put_back(self, root: str) -> None:
        """Before the daemon reads them: undo `put_aside` where the text is unchanged."""

    # The rollback, as lines of shell code

    def shell_files(self, lines: list[str], touched: t.Collection[str]) -> list[str]:
        """The lines that restore files, with the commands that surround them. `touched`: the back-ends of these files."""
        return lines

    def shell_reload(self, touched: t.Collection[str], found: Found) -> list[str]:
        """After that: the commands that make daemons read the files."""
        return []

    def shell_resume(self, names: t.Sequence[str], found: Found) -> list[str]:
        """At the end: the commands that reactivate interfaces of the back-end."""
        return []
