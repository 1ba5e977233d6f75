# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Install or remove packages: preview the exact transaction, judge it, carry it out."""

from __future__ import annotations

import contextlib
import os
import re
import time
import typing as t

from .._distro._registry import NAMES, by_name, names_of
from .._errors import CommandFailed, Impossible, RdmaError, Refused, Unsupported
from .._facts._machine import read_os
from .._host._files import read_text, write_text
from .._host._lock import LOCK_DIRECTORY
from .._host._turn import comes, locks
from .._host._write import lock_file
from .._plan import Change, Kind, Plan
from .._tools import _packages as packages
from .._tools._packages import Package, Transaction
from ._obstacles import is_interrupted, wait_for_turn

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner
    from .._tools._packages import Manager

_PREVIEW_SECONDS = 600.0
_SECONDS = 7200.0
# A run waits for another process as long as apt does on request. Check mode waits less, so that it does not delay the other hosts.
_LOCK_SECONDS, _FORESEEING_SECONDS = 300.0, 20.0
_DAY = 86400.0
# Other forms are left to the package manager: patterns, versions, paths.
_PLAIN = re.compile(r"^[A-Za-z0-9][A-Za-z0-9+._-]*$")

# Debian's maintainer scripts run it before they start a service. Its exit status 101 forbids the start: see invoke-rc.d(8).
_POLICY = "usr/sbin/policy-rc.d"
_SAVED = _POLICY + ".rdma-ofed"
_LOCK = "policy"
_PAUSE_SECONDS = 0.5
_MARK = "# Of rdma.ofed, for one installation. Without the process %d it forbids nothing.\n"
_SCRIPT = """#!/bin/sh
%skill -0 %d 2>/dev/null && exit 101
[ ! -x '%s' ] || exec '%s' "$@"
exit 0
"""


def script(pid: int, saved: str) -> str:
    """A policy that forbids all starts while the process `pid` lives. If that was killed, the site's own policy in the file `saved` applies."""
    return _SCRIPT % (_MARK % pid, pid, saved, saved)


@contextlib.contextmanager
def _alone(root: str) -> t.Iterator[None]:
    """Let only one run at a time change the policy: otherwise the first to end would restore the site's policy, and the other would remove it."""
    with lock_file(os.path.join(root, LOCK_DIRECTORY), _LOCK) as lock:
        if not comes(lambda: locks(lock), _SECONDS, _PAUSE_SECONDS):
            raise Refused("another run of this collection has been installing packages on this node for %d s; wait until it ends" % _SECONDS)
        yield


@contextlib.contextmanager
def forbidden(root: str = "/") -> t.Iterator[None]:
    """Context in which no service starts. The site's own policy is put aside and restored afterwards, as are the leftovers of a killed run."""
    path, saved = os.path.join(root, _POLICY), os.path.join(root, _SAVED)
    with _alone(root):
        if not _is_ours(path) and os.path.lexists(path):
            os.rename(path, saved)
        write_text(path, script(os.getpid(), saved), 0o755)
        try:
            yield
        finally:
            # A policy that was installed in the meantime is kept.
            if not _is_ours(path):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(saved)
            elif os.path.lexists(saved):
                os.rename(saved, path)
            else:
                os.unlink(path)


def _is_ours(path: str) -> bool:
    return _MARK.partition("%d")[0] in read_text(path)


def installed(found: t.Mapping[str, Package]) -> dict[str, str]:
    """The versions of the installed packages."""
    return {name: package.version for name, package in found.items() if package.is_installed}


def changes_of(transaction: Transaction, found: t.Mapping[str, Package]) -> tuple[Change, ...]:
    """One change per package, by name."""
    before = installed(found)
    rows = {name: (version or before.get(name, ""), "") for name, version in transaction.removed.items()}
    rows.update((name, (before.get(name, ""), version)) for name, version in transaction.installed.items())
    return tuple(Change(Kind.PACKAGE, name, "", old, new) for name, (old, new) in sorted(rows.items()))


class Foreseen(t.NamedTuple):
    """What earlier tasks of a check-mode run would have done to the packages of the node."""

    installed: t.Mapping[str, str] = {}
    """Names and versions."""
    removed: t.Collection[str] = ()
    lifted: bool = False
    """Whether the packages of a vendor's stack would no longer be protected."""

    def rest(self, transaction: Transaction) -> Transaction:
        """The remainder of a transaction that the package manager previewed without those tasks."""
        installed = {name: version for name, version in transaction.installed.items() if self.installed.get(name) != version}
        return Transaction({name: version for name, version in transaction.removed.items() if name not in self.removed}, installed)


def lists_are_old(manager: Manager, now: float, root: str = "/") -> bool:
    """Whether the package lists are missing or older than a day. Lists that refresh themselves are never old."""
    ages = []
    for path in manager.lists:
        with contextlib.suppress(OSError):
            ages.append(os.stat(os.path.join(root, path)).st_mtime)
    return manager.lists_age and now - max(ages, default=0.0) > _DAY


def _preview(run: Runner, manager: Manager, argv: tuple[str, ...], *, lifted: bool) -> Transaction:
    output = run(manager.preview_argv(argv, lifted=lifted), ok=None, timeout=_PREVIEW_SECONDS)
    failed = manager.preview_failure(output)
    found = manager.foreseen(output.stdout)
    if not failed and output.rc and not (found.installed or found.removed):
        failed = (output.stderr or output.stdout).strip()
    if failed:
        raise Impossible("%s: %s" % (manager.name, " ".join(failed.split())))
    return found


class _Done(t.NamedTuple):
    """What was done, or would be."""

    transaction: Transaction = Transaction({}, {})
    plan: Plan = Plan()
    missing: t.Sequence[str] = ()
    """Of the names to install, those that were not installed."""


class _Node(t.NamedTuple):
    """The node, and how to treat it."""

    run: Runner
    manager: Manager
    check_mode: bool
    root: str
    foreseen: Foreseen

    def wait(self) -> bool:
        """Whether another process was working on the packages, and may have changed them."""
        return wait_for_turn(self.manager, _FORESEEING_SECONDS if self.check_mode else _LOCK_SECONDS, self.root)

    def carry_out(self, argv: tuple[str, ...], todo: Transaction, found: t.Mapping[str, Package]) -> _Done:
        rest = self.foreseen.rest(todo)
        plan = Plan(changes_of(rest, found))
        if plan and not self.check_mode:
            self.run(argv, ok=self.manager.done, timeout=_SECONDS)
        return _Done(rest, plan)

    def add(self, names: t.Sequence[str], found: t.Mapping[str, Package]) -> _Done | CommandFailed:
        """Install without a preview where the manager itself can refuse to remove anything. Its error if it changed nothing."""
        try:
            self.run([*self.manager.add, self.manager.keep, *names], ok=self.manager.done, timeout=_SECONDS)
        except CommandFailed as exc:
            if self.manager.database(self.run, self.root) != found:
                raise
            return exc
        after = installed(self.manager.database(self.run, self.root))
        before = installed(found)
        todo = Transaction({}, {name: version for name, version in after.items() if before.get(name) != version})
        return _Done(todo, Plan(changes_of(todo, found)), names)

    def install(self, names: t.Sequence[str], *, start_services: bool) -> _Done:
        run, manager = self.run, self.manager
        found = manager.database(run, self.root)
        # Installed packages keep their versions.
        missing = [name for name in names if not (name in found and found[name].is_installed) and name not in self.foreseen.installed]
        if not missing:
            return _Done()
        if self.wait():
            return self.install(names, start_services=start_services)
        interrupted = bool(packages.broken(found)) or is_interrupted(manager, self.root)
        old = lists_are_old(manager, time.time(), self.root)
        argv = (*manager.add, *missing)
        with forbidden(self.root) if manager.starts_services and not start_services and not self.check_mode else contextlib.nullcontext():
            if interrupted and not self.check_mode:
                # The package manager refuses everything else until this is done.
                run(manager.recover, ok=None, timeout=_SECONDS)
            trouble = ""
            if old and not self.check_mode:
                # An unreachable repository may not be that of the packages.
                output = run(manager.update, ok=None, timeout=_PREVIEW_SECONDS)
                trouble = " ".join((output.stderr or output.stdout).split()) if output.rc else ""
            failed: CommandFailed | None = None
            if manager.keep and not self.check_mode:
                done = self.add(missing, manager.database(run, self.root) if interrupted else found)
                if isinstance(done, _Done):
                    return done
                failed = done
            try:
                todo = _preview(run, manager, argv, lifted=self.foreseen.lifted)
            except Impossible as exc:
                if self.check_mode and (old or interrupted):
                    # The real run refreshes the lists, and completes an interrupted installation.
                    todo = Transaction({}, dict.fromkeys(missing, ""))
                    return self.carry_out(argv, todo, found)._replace(missing=missing)
                words = "%s can't be installed, and nothing was changed. %s%s. Next: configure a repository that has them, or correct the names"
                raise RdmaError(words % (", ".join(missing), exc.msg, "; %s: %s" % (" ".join(manager.update[:1]), trouble) if trouble else "")) from exc
            if todo.removed:
                words = "to install %s, %s would remove %s. Nothing was changed. Next: remove them yourself, or do not declare what they conflict with"
                raise Refused(words % (", ".join(missing), manager.name, ", ".join(sorted(todo.removed))))
            if failed is not None:
                raise failed
            return self.carry_out(argv, todo, found)._replace(missing=missing)

    def remove(self, names: t.Sequence[str], *, keep_needed: bool) -> _Done:
        run, manager = self.run, self.manager
        found = manager.database(run, self.root)
        before = [name for name in self.foreseen.removed if name in found]
        gone = [name for name in names if (name in found or not _PLAIN.match(name)) and name not in before]
        if gone and self.wait():
            return self.remove(names, keep_needed=keep_needed)
        if gone and keep_needed:
            answer = run(["/bin/sh", "-c", manager.removal_script([*gone, *before])], ok=None, timeout=_PREVIEW_SECONDS)
            if answer.rc not in (0, 1):
                raise RdmaError("the dependents of the packages %s can't be determined: %s" % (", ".join(gone), answer.stderr.strip()))
            removable = manager.removable([*gone, *before], answer.stdout, answer.stderr)
            gone = [name for name in gone if name in removable]
        if not gone:
            return _Done()
        try:
            todo = _preview(run, manager, (*manager.uninstall, *gone, *before), lifted=self.foreseen.lifted)
        except Impossible as exc:
            raise RdmaError("%s can't be removed, and nothing was changed. %s" % (", ".join(gone), exc.msg)) from exc
        others = sorted(set(todo.removed).difference(gone, before))
        if keep_needed and others and all(map(_PLAIN.match, gone)):
            raise Refused("with %s, %s would remove %s, too. Nothing was changed" % (", ".join(gone), manager.name, ", ".join(others)))
        return self.carry_out((*manager.uninstall, *gone), todo, found)


def converge(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """Return the result of the module. Raises InvalidInput, Unsupported, Refused, CommandFailed and RdmaError."""
    options = module.params
    system = read_os(root)
    family = by_name(system.family)
    if family is None:
        raise Unsupported(("this node runs %s (family %s); allowed: the families %s. %s" % (system.name, system.family, NAMES, options["unsupported"])).strip())
    names = names_of(family, options["purposes"], options["names"])
    foreseen = Foreseen()
    if module.check_mode:
        given = options["foreseen"] or {}
        foreseen = Foreseen(given.get("installed") or {}, given.get("removed") or (), bool(options["lifted"]))
    node = _Node(run, family.manager, module.check_mode, root, foreseen)
    result: dict[str, t.Any] = {}
    if options["state"] == "present":
        done = node.install(names, start_services=options["start_services"] and not options.get("image"))
        result["missing_purposes"] = [each for each in options["purposes"] if not set(done.missing).isdisjoint(family.names([each]))]
    else:
        done = node.remove(names, keep_needed=options["needed"] == "keep")
    result["transaction"] = {"installed": dict(done.transaction.installed), "removed": sorted(done.transaction.removed)}
    return {**result, **{key: value for key, value in done.plan.result().items() if key in ("changed", "changes", "diff")}}
