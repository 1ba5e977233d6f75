# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Carry out a decision: interfaces that go, files, the boot unit, then what the network stack and the kernel shall do."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import PREFIX, apply_file
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _ifupdown
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import IFUPDOWN, NETWORKD
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernel import Kernel
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import Decision, decide

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look

# How long a network stack may take until what it was told to do is to be seen.
SETTLE_TIMEOUT = 15.0
SETTLE_STEP = 0.25

# After this time networkd is told once more: a reload alone does not wake up an interface that it had given up on.
NUDGE_AFTER = 3.0

# Where a network stack says why.
SEE = {NETWORKD: "'networkctl status' and 'journalctl -u systemd-networkd'", IFUPDOWN: "'ifquery --state' and 'ip address'"}


class Applier:
    """One run of one decision. C(look_again) observes the node anew; C(sleep) and C(clock) are for tests."""

    def __init__(
        self,
        module: AnsibleModule,
        run: Runner,
        found: Look,
        backend: str,
        look_again: t.Callable[[], Look],
        root: str = "/",
        backup: bool = False,
        sleep: t.Callable[[float], None] = time.sleep,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._module = module
        self._run = run
        self._found = found
        self._backend = backend
        self._look = look_again
        self._root = root
        self._backup = backup
        self._sleep = sleep
        self._clock = clock
        self._kernel = Kernel(run, root)
        self.backups: list[str] = []

    def apply(self, decision: Decision) -> Decision:
        """Returns what is decided on the node as it is then: nothing is left to do, and reasons may have come up."""
        self._refuse_unborn(decision)
        self._release(decision)
        changed = self._files(decision)
        self._unit(decision, changed)
        netdevs = self._found.node.netdevs
        for target in decision.targets:
            if target.name in netdevs:
                self._kernel.mode_and_mtu(target, netdevs[target.name])
        # Also on another network stack: files of an earlier one may have gone.
        if _networkd_files(changed) and self._found.evidence.active("systemd-networkd.service"):
            self._run(["networkctl", "reload"])
        if self._backend == NETWORKD and decision.targets:
            self._networkd(decision, changed)
        else:
            self._ifupdown(decision)
        return self._settle(decision)

    def _refuse_unborn(self, decision: Decision) -> None:
        missing = [target.name for target in decision.targets if not target.is_child and target.name not in self._found.node.netdevs]
        if missing:
            raise Refused(
                "%s: no such interface on this node yet; load ib_ipoib first (role rdma.ofed.kernel_modules, or 'modprobe ib_ipoib')" % ", ".join(missing),
                missing=missing,
            )

    def _release(self, decision: Decision) -> None:
        """Interfaces before their files: were this run to end in between, the files would still tell the next one what to do."""
        for record in decision.removed:
            if record.name in self._found.ifupdown_up and self._run.has("ifdown"):
                self._run(["ifdown", "--force", record.name], ok=None)
        netdevs = self._look().node.netdevs if decision.removed else {}
        for record in decision.removed:
            if record.name in netdevs:
                self._kernel.release(record, netdevs[record.name])

    def _files(self, decision: Decision) -> list[str]:
        """The paths that were changed. Only files that others write to as well are worth a backup."""
        changed = []
        for change in decision.plan.changes:
            if not change.what.startswith(PREFIX):
                continue
            path = change.what[len(PREFIX) :]
            # The unit is disabled while systemd can still read what it is wanted by.
            if path == _boot.UNIT_PATH and not change.after:
                self._run(["systemctl", "disable", _boot.UNIT])
            rooted = change._replace(what=PREFIX + self._root.rstrip("/") + path)
            saved = apply_file(self._module, rooted, 0o755 if path == _boot.SCRIPT_PATH else 0o644, self._backup and path == _ifupdown.MAIN)
            if saved:
                self.backups.append(saved)
            changed.append(path)
        return changed

    def _unit(self, decision: Decision, changed: t.Sequence[str]) -> None:
        if _boot.UNIT_PATH in changed:
            self._run(["systemctl", "daemon-reload"])
        if any(change.what.startswith("service ") and change.after == "yes" for change in decision.plan.changes):
            self._run(["systemctl", "enable", _boot.UNIT])

    def _networkd(self, decision: Decision, changed: t.Sequence[str]) -> None:
        """A reload makes new children and configures the interfaces whose files it finds changed; others are told to."""
        # A child that somebody has deleted comes back when its parent is configured anew.
        orphaned = {target.parent for target in decision.targets if _touches(decision, target.name, ("device",))}
        if orphaned and not _networkd_files(changed):
            self._run(["networkctl", "reload"])
        astray = [
            target.name
            for target in decision.targets
            if target.name in self._found.node.netdevs
            and not any(path.endswith("-%s.network" % target.name) for path in changed)
            and (target.name in orphaned or _touches(decision, target.name, ("addresses", "link")))
        ]
        if astray:
            self._run(["networkctl", "reconfigure", *astray])

    def _nudge(self, again: Decision, netdevs: t.Collection[str]) -> None:
        """Tell networkd once more; a child that is not there comes, if at all, with its parent.

        Whatever it answers, what is left to do in the end is the better message.
        """
        late = [target for target in again.targets if _touches(again, target.name, ("device", "addresses", "link"))]
        names = {target.name if target.name in netdevs else target.parent for target in late}
        there = sorted(name for name in names if name in netdevs)
        if there:
            self._run(["networkctl", "reconfigure", *there], ok=None)

    def _ifupdown(self, decision: Decision) -> None:
        """An interface that ifupdown has up is changed under its feet, without a bounce; others it brings up itself."""
        for target in decision.targets:
            netdev = self._found.node.netdevs.get(target.name)
            if netdev is None or target.name not in self._found.ifupdown_up:
                if netdev is not None:
                    # ifup fails on an address that is there already.
                    for address in netdev.addresses:
                        self._kernel.delete_address(target.name, address)
                # Without --force a stale entry in ifupdown's list would make this do nothing.
                self._run(["ifup", "--force", target.name], timeout=120)
                continue
            self._kernel.addresses(target, netdev)
            if not netdev.up:
                self._kernel.set_link(target.name, "up")

    def _settle(self, decision: Decision) -> Decision:
        """Look until nothing is left to do."""
        start = self._clock()
        nudged = self._backend != NETWORKD
        while True:
            node = self._look().node
            again = decide(node, decision.targets, self._backend)
            if not again.plan:
                return again
            passed = self._clock() - start
            if not nudged and passed >= NUDGE_AFTER:
                nudged = True
                self._nudge(again, node.netdevs)
            if passed >= SETTLE_TIMEOUT:
                left = [change.words() for change in again.plan.changes]
                raise CommandFailed(
                    "%s did not do within %g s what it was told to; left: %s; see %s" % (self._backend, SETTLE_TIMEOUT, "; ".join(left), SEE[self._backend]),
                    left=left,
                )
            self._sleep(SETTLE_STEP)


def _networkd_files(paths: t.Sequence[str]) -> bool:
    return any(path.endswith((".network", ".netdev")) for path in paths)


def _touches(decision: Decision, name: str, aspects: t.Sequence[str]) -> bool:
    return any(change.what == "%s %s" % (name, aspect) for change in decision.plan.changes for aspect in aspects)


__all__ = ("SETTLE_TIMEOUT", "Applier")
