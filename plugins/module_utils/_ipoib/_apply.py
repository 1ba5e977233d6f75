# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Apply a plan: remove interfaces, write files, set up the boot unit, then configure the kernel and the back-end.

If a run is interrupted at any step, the next run finds what is left to do: interfaces are removed before the files that describe them, and files
are written before what is created from them.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import time
import typing as t

from .._errors import CommandFailed, RdmaError, Refused
from .._host._files import apply_file
from .._host._saved import Access, Saved, access_of, settled
from .._host._units import YES, Systemd
from .._plan import Kind
from . import _boot, _registry, _rename, _takeover
from ._backend import Backend, Driver, Tools
from ._found import Found
from ._kernel import Kernel
from ._look import has_bonding
from ._saved import LEDGER
from ._todo import IpoibPlan

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

# How long the effects of a back-end may take to show, in seconds. A busy node with many interfaces takes a while.
SETTLE_TIMEOUT = 60.0
# A busy node can need longer, and says that it is still at work on the interfaces.
BUSY_TIMEOUT = 600.0
SETTLE_STEP = 0.25

# After this time the back-end is told again: a reload alone does not retry an interface that it has given up on. Then after three times as
# long, and so on: a command sent while it is still busy with an interface can be lost.
NUDGE_AFTER = 3.0
NUDGE_FACTOR = 3


@dataclasses.dataclass
class Applier:
    """Applies one plan once."""

    module: AnsibleModule
    run: Runner
    found: Found
    backend: Backend
    look: t.Callable[[], Found]
    replan: t.Callable[[Found], IpoibPlan]
    root: str = "/"
    backup: bool = False
    backups: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.kernel = Kernel(self.run, self.root)
        self.tools = Tools(self.run, self.kernel, self._put_aside, self._put_back)

    def apply(self, todo: IpoibPlan) -> IpoibPlan:
        """Apply the plan. Returns the plan for the resulting state; it is empty, and may have new reasons."""
        self._refuse_unborn(todo)
        self._need_bonding(todo)
        driver = self.backend.drive(self.tools, self.found._replace(taken=self.found.taken._replace(continued=todo.continued)), todo.interfaces)
        excused = frozenset(dissent.name for dissent in todo.left_alone)
        restored = todo.restored
        handed_over = self._release(todo)
        # systemd, too, triggers a rewrite of such files when it reloads its units.
        self._put_aside()
        pending = _takeover.unfinished(self.found)
        changed = self._files(todo)
        # An interrupted run has written these, and told nothing.
        changed += [path for interface in todo.live if interface.name in pending for path in self.backend.render([interface], self.found)]
        self._unit(todo, changed)
        self._forget(todo)
        found = self.found
        if todo.removed or handed_over:
            # The removed interfaces have taken others with them.
            found = self.look()
            again = self.replan(found)
            # The files are written by now.
            todo = again._replace(touched=again.touched | todo.touched)
        found = self._prepare(todo, found, driver)
        driver.apply(todo, changed, found)
        troubles = self._give_back(restored)
        LEDGER.write(settled(LEDGER.read(self.root), restored), self.root)
        self._put_back()
        after = self._settle(driver, excused)
        return after._replace(reasons=(*after.reasons, *troubles))

    def prepare(self, todo: IpoibPlan) -> IpoibPlan:
        """Write the files and set up the boot unit, for interfaces that appear when an image boots. Returns the plan for the resulting state."""
        self._unit(todo, self._files(todo))
        LEDGER.write(settled(LEDGER.read(self.root), todo.restored), self.root)
        again = self.replan(self.look())
        again.plan.require_empty()
        return again

    def _give_back(self, restored: t.Mapping[str, Saved]) -> list[str]:
        """Have the back-ends configure interfaces by files that were restored. Returns why one did not: such files are not ours, so that is no failure."""
        troubles = []
        for backend in _registry.BACKENDS:
            paths = [path for path in restored if any(fnmatch.fnmatchcase(path, pattern) for pattern in backend.patterns)]
            names: dict[str, str] = {}
            chosen: set[str] = set()
            # Of several files for one interface, the one that it was configured from counts.
            for path in sorted(paths, key=lambda path: bool(restored[path].active)):
                profile, saved = backend.profile(path, restored[path].text, self.found), restored[path]
                names.update((name, profile or names.get(name, "")) for name in saved.subjects if name not in chosen or name in saved.active)
                chosen.update(saved.active)
            if names and backend.listens(self.found):
                try:
                    backend.drive(self.tools, self.found).give_back(names, self.found)
                except RdmaError as exc:
                    troubles.append("%s: the original file was restored, and %s did not apply it: %s" % (", ".join(names), backend.name, exc.msg))
        return troubles

    def _configured(self, path: str, text: str, names: t.Iterable[str]) -> list[str]:
        """The interfaces whose active profile is that of this file."""
        uuid, active = self.backend.profile(path, text, self.found), self.backend.active(self.found)
        return [name for name in names if uuid and name in active and active[name].uuid == uuid]

    def _put_aside(self) -> None:
        for backend in _registry.BACKENDS:
            backend.put_aside(self.root)

    def _put_back(self) -> None:
        for backend in _registry.BACKENDS:
            backend.put_back(self.root)

    def _refuse_unborn(self, todo: IpoibPlan) -> None:
        there = {*self.found.netdevs, *(naming.name for naming in todo.renames)}
        missing = [interface.name for interface in todo.live if not interface.is_child and interface.bond is None and interface.name not in there]
        if missing:
            raise Refused(
                "%s: this node does not have this interface yet; load ib_ipoib first (role rdma.ofed.kernel_modules, or 'modprobe ib_ipoib')"
                % ", ".join(missing),
                missing=missing,
            )

    def _need_bonding(self, todo: IpoibPlan) -> None:
        """Load the bonding driver before the ports are changed. Without max_bonds=0 it would create a bond0."""
        bonds = [interface.name for interface in todo.live if interface.bond is not None and interface.name not in self.found.netdevs]
        if not bonds or has_bonding(self.root) or not self.run.has("modprobe"):
            return
        argv = ["modprobe", "bonding", "max_bonds=0"]
        done = self.run(argv, ok=None)
        if not has_bonding(self.root):
            said = done.stderr.strip() or "modprobe printed nothing, exit status %d" % done.rc
            raise Refused("%s can't be made: the kernel of this node did not load the driver bonding: %s; nothing was changed" % (", ".join(bonds), said))

    def _release(self, todo: IpoibPlan) -> list[str]:
        """Remove interfaces before their files: if this run is interrupted in between, the files still tell the next run what to do.

        Returns the wanted interfaces that were managed by another back-end so far.
        """
        found, gone = self.found, [record.name for record in todo.removed]
        records = {backend: backend.format.records(found.files) for backend in _registry.BACKENDS}
        known = {name for names in records.values() for name in names}
        handed_over: list[str] = []
        for backend in _registry.BACKENDS:
            # A bond before its ports, which are released with it.
            names = sorted(records[backend], key=lambda name: name in found.netdevs and found.netdevs[name].kind != "bond")
            others = [name for name in names if backend.strips and backend is not self.backend and name not in gone]
            leaving = [name for name in gone if name in names or (backend.lists_active and name not in known)]
            if leaving or others:
                backend.drive(self.tools, found, todo.interfaces).give_up([*leaving, *others], found)
            handed_over += others
        self._release_links(todo)
        return handed_over

    def _release_links(self, todo: IpoibPlan) -> None:
        """Remove bonds first: that changes the state of their ports."""
        for bonds in (True, False) if todo.removed else ():
            netdevs = self.look().netdevs
            for record in todo.removed:
                if record.name in netdevs and (netdevs[record.name].kind == "bond") == bonds:
                    self.kernel.release(record, netdevs[record.name])

    def _files(self, todo: IpoibPlan) -> list[str]:
        """Write the files and return the changed paths. Only files of others are backed up."""
        changed = []
        for change in todo.plan.about(Kind.FILE):
            path = change.subject
            if path == LEDGER.path:
                # It tells the next run what is left to do, until that is done.
                continue
            # Disable the unit while systemd can still read its [Install] section.
            if path == _boot.UNIT_PATH and not change.after:
                Systemd(self.run).disable(_boot.UNIT)
            access = Access(_registry.file_mode(path))
            if path in todo.adopted:
                active = self._configured(path, change.before, todo.adopted[path])
                self.backups.append(LEDGER.note(path, change.after, todo.adopted[path], by=self.backend.name, root=self.root, active=active))
            if path in todo.restored:
                access = access_of(todo.restored[path].copy, self.root)
            backup = self.backup and path in _registry.SHARED
            saved = apply_file(self.module, change, mode=access.mode, owner=access.owner, backup=backup, root=self.root)
            if saved:
                self.backups.append(saved)
            changed.append(path)
        return changed

    def _unit(self, todo: IpoibPlan, changed: t.Sequence[str]) -> None:
        if _boot.UNIT_PATH in changed:
            Systemd(self.run).daemon_reload()
        if any(change.is_about(Kind.UNIT, _boot.UNIT) and change.after == YES for change in todo.plan.changes):
            Systemd(self.run).enable(_boot.UNIT)

    def _forget(self, todo: IpoibPlan) -> None:
        """Tell former back-ends that their files are gone, before the present back-end is told of its own."""
        found = self.found
        gone = [change.subject for change in todo.plan.about(Kind.FILE) if not change.after]
        told = self.backend.tells(found)
        for backend in _registry.BACKENDS:
            paths = [path for path in gone if backend.name not in told and backend.format.is_ours(path, found.files.get(path, ""))]
            if paths and backend.listens(found):
                backend.drive(self.tools, found).forget(paths)
        for backend in _registry.BACKENDS:
            if backend.leftover in todo.plan.changes:
                backend.drive(self.tools, found).finish()

    def _prepare(self, todo: IpoibPlan, found: Found, driver: Driver) -> Found:
        """Do what has to precede the back-end: names, modes, MTUs and bonds. Returns the state of the node afterwards."""
        for old, new in _rename.steps(todo.renames, found.netdevs):
            self.kernel.set_link(old, "name", new)
        if todo.renames:
            found = self.look()
        if not driver.kernel_first:
            return found
        leaving = [each.name for each in todo.live if each.name in found.netdevs and found.netdevs[each.name].master not in ("", each.master)]
        for name in leaving:
            self.kernel.set_link(name, "nomaster")
        # Children that a bond needs and whose parent's mode does not affect them.
        coming = [each for each in todo.live if each.is_child and each.master and each.name not in found.netdevs and not driver.makes_bonds]
        for interface in coming:
            self.kernel.add_child(interface)
        if leaving or coming:
            found = self.look()
        # Ports before bonds: a bond can only have an MTU that all of its ports can have.
        for interface in todo.live:
            if interface.bond is None and interface.name in found.netdevs:
                self.kernel.mode_and_mtu(interface, found.netdevs[interface.name])
        bonds = [each for each in todo.live if each.bond is not None and (each.name in found.netdevs or not driver.makes_bonds) and todo.touches(each.name)]
        for interface in bonds:
            self.kernel.bond(interface, found)
        return self.look() if bonds else found

    def _settle(self, driver: Driver, excused: t.Collection[str]) -> IpoibPlan:
        """Look until nothing is left to do. `excused`: interfaces that the back-end had not configured before, and that this run does not change."""
        start = time.monotonic()
        deadline, due = start + SETTLE_TIMEOUT, start + NUDGE_AFTER
        while True:
            found = self.look()
            again = self.replan(found)
            said = tuple(dissent for dissent in again.dissents if dissent.name not in excused)
            if not again.plan and not said:
                return again
            now = time.monotonic()
            busy = now >= due and driver.busy(found)
            if busy and now < start + BUSY_TIMEOUT:
                deadline = max(deadline, now + SETTLE_TIMEOUT / NUDGE_FACTOR)
            if due <= now < deadline and not busy:
                driver.nudge(again._replace(dissents=said), found)
                # The back-end may take long to carry out this command.
                told = time.monotonic()
                deadline, due = max(deadline, told + SETTLE_TIMEOUT / NUDGE_FACTOR), start + NUDGE_FACTOR * (told - start)
                continue
            if now >= deadline:
                left = [change.words() for change in again.plan.changes]
                left += [dissent.words() for dissent in said]
                raise CommandFailed(
                    "%s did not apply the change within %d s; still missing: %s; see %s"
                    % (self.backend.name or "the node", round(now - start), "; ".join(left), self.backend.see),
                    left=left,
                )
            time.sleep(SETTLE_STEP)


def made(todo: IpoibPlan, look: t.Callable[[], Found], replan: t.Callable[[Found], IpoibPlan]) -> dict[str, t.Any]:
    """What an unfinished run has changed, for its result."""
    try:
        left = replan(look()).plan.changes
    except RdmaError:
        # No plan covers the present state of the node, so it was changed.
        return {"changed": True}
    made = [change.words() for change in todo.plan.changes if change not in left]
    return {"changed": bool(made), "changes": made}
