# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Carry out a decision: interfaces that go, files, the boot unit, then what the kernel and the network stack shall do.

Broken off at any step, the next run finds what is left: interfaces go before the files that say what they were, and
the files come before what is made of them.
"""

from __future__ import annotations

import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import apply_file
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _generated, _ifupdown, _netplan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import IFCFG, IFUPDOWN, NETPLAN, NETWORKD, NETWORKMANAGER, WICKED
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Tools
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._drivers import driver_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernel import Kernel
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernelpart import KernelPart
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._stacks import STRIPPING, every, file_mode
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._driver import Driver
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision

# How long a network stack may take until what it was told to do is to be seen.
SETTLE_TIMEOUT = 15.0
SETTLE_STEP = 0.25

# After this time a stack is told once more: a reload alone does not wake up an interface that it had given up on.
NUDGE_AFTER = 3.0

# Where a network stack says why.
SEE = {
    NETWORKD: "'networkctl status' and 'journalctl -u systemd-networkd'",
    IFUPDOWN: "'ifquery --state' and 'ip address'",
    NETWORKMANAGER: "'nmcli device' and 'journalctl -u NetworkManager'",
    NETPLAN: "'netplan get', 'networkctl status' or 'nmcli device'",
    IFCFG: "'ip address', and 'nmcli device' where NetworkManager runs",
    WICKED: "'wicked show all' and 'journalctl -u wickedd'",
}


class Applier:
    """One run of one decision. C(sleep) and C(clock) are for tests."""

    def __init__(
        self,
        module: AnsibleModule,
        run: Runner,
        found: Look,
        backend: str,
        look_again: t.Callable[[], Look],
        judge: t.Callable[[Look], Decision],
        root: str = "/",
        backup: bool = False,
        sleep: t.Callable[[float], None] = time.sleep,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        """C(look_again) observes the node anew, C(judge) decides on what was observed."""
        self._module = module
        self._run = run
        self._found = found
        self._backend = backend
        self._look = look_again
        self._judge = judge
        self._root = root
        self._backup = backup
        self._sleep = sleep
        self._clock = clock
        self._kernel = Kernel(run, root)
        self._tools = Tools(run, self._kernel, look_again, root)
        self.backups: list[str] = []

    def apply(self, decision: Decision) -> Decision:
        """Returns what is decided on the node as it is then: nothing is left to do, and reasons may have come up."""
        self._refuse_unborn(decision)
        driver = driver_of(self._backend, self._tools, self._found.node.variant, decision.targets)
        handed_over = self._release(decision)
        # systemd, too, has netplan write its files again when it reads its units.
        _generated.put_aside(self._root)
        changed = self._files(decision)
        self._unit(decision, changed)
        self._forget(decision)
        found = self._found
        if decision.removed or handed_over:
            # What went has taken other things along.
            found = self._look()
            decision = self._judge(found)
        part = KernelPart(self._kernel, self._look)
        found = part.prepare(decision, found, driver)
        driver.apply(decision, changed, found)
        _generated.put_back(self._root)
        return self._settle(decision, driver)

    def _refuse_unborn(self, decision: Decision) -> None:
        there = {*self._found.node.netdevs, *(naming.name for naming in decision.renames)}
        missing = [target.name for target in decision.live if not target.is_child and target.bond is None and target.name not in there]
        if missing:
            raise Refused(
                "%s: no such interface on this node yet; load ib_ipoib first (role rdma.ofed.kernel_modules, or 'modprobe ib_ipoib')" % ", ".join(missing),
                missing=missing,
            )

    def _release(self, decision: Decision) -> list[str]:
        """Interfaces before their files: were this run to end in between, the files would still tell the next one what to do.

        Returns the interfaces that another network stack had so far and that are wanted.
        """
        node, gone = self._found.node, [record.name for record in decision.removed]
        handed_over: list[str] = []
        known = {name for stack in every(node.variant) for name in stack.records(node.files)}
        for stack in every(node.variant):
            # A bond before its ports: they go with it.
            names = sorted(stack.records(node.files), key=lambda name: name in node.netdevs and node.netdevs[name].kind != "bond")
            others = [name for name in names if stack.name in STRIPPING and stack.name != self._backend and name not in gone]
            # ifupdown's list of what is up may know more than its files.
            leaving = [name for name in gone if name in names or (stack.name == IFUPDOWN and name not in known)]
            if leaving or others:
                driver_of(stack.name, self._tools, node.variant, decision.targets).give_up([*leaving, *others], self._found)
            handed_over += others
        self._release_links(decision)
        return handed_over

    def _release_links(self, decision: Decision) -> None:
        """Bonds go first; their ports look different after that."""
        netdevs = self._look().node.netdevs if decision.removed else {}
        bonds = [record for record in decision.removed if record.name in netdevs and netdevs[record.name].kind == "bond"]
        for record in bonds:
            self._kernel.release(record, netdevs[record.name])
        netdevs = self._look().node.netdevs if bonds else netdevs
        for record in decision.removed:
            if record not in bonds and record.name in netdevs:
                self._kernel.release(record, netdevs[record.name])

    def _files(self, decision: Decision) -> list[str]:
        """The paths that were changed. Only files that others write to as well are worth a backup."""
        changed = []
        for change in decision.plan.about(Kind.FILE):
            path = change.subject
            # The unit is disabled while systemd can still read what it is wanted by.
            if path == _boot.UNIT_PATH and not change.after:
                self._run(["systemctl", "disable", _boot.UNIT])
            mode = 0o755 if path == _boot.SCRIPT_PATH else file_mode(path)
            saved = apply_file(self._module, change, mode=mode, backup=self._backup and path == _ifupdown.MAIN, root=self._root)
            if saved:
                self.backups.append(saved)
            changed.append(path)
        return changed

    def _unit(self, decision: Decision, changed: t.Sequence[str]) -> None:
        if _boot.UNIT_PATH in changed:
            self._run(["systemctl", "daemon-reload"])
        if any(change.is_about(Kind.UNIT, _boot.UNIT) and change.after == _boot.ENABLED for change in decision.plan.changes):
            self._run(["systemctl", "enable", _boot.UNIT])

    def _forget(self, decision: Decision) -> None:
        """Tell former network stacks that their files have gone, before the one in use is told of its own."""
        node = self._found.node
        gone = [change.subject for change in decision.plan.about(Kind.FILE) if not change.after]
        # As netplan's renderer, networkd is told once, in the end: told now, it would make the new bond by itself, and with ports that
        # can't have its MTU yet. A bond that a port was refused by has an Ethernet's largest MTU from then on.
        renders = self._backend == NETPLAN and node.variant.renderer != _netplan.NETWORKMANAGER
        served = (self._backend, *([NETWORKD] if renders else []))
        for stack in every(node.variant):
            paths = [path for path in gone if stack.name not in served and stack.is_ours(path, node.files.get(path, ""))]
            if paths and (stack.name != NETWORKD or self._found.evidence.active("systemd-networkd.service")):
                driver_of(stack.name, self._tools, node.variant, ()).forget(paths)
        if _generated.UNFINISHED in decision.plan.changes:
            driver_of(NETPLAN, self._tools, node.variant, ()).forget([_netplan.PATH])

    def _settle(self, decision: Decision, driver: Driver) -> Decision:
        """Look until nothing is left to do."""
        start = self._clock()
        nudged = False
        while True:
            found = self._look()
            again = self._judge(found)
            if not again.plan:
                return again
            passed = self._clock() - start
            if not nudged and passed >= NUDGE_AFTER and not driver.busy(found):
                nudged = True
                driver.nudge(again, found)
                # It has all the time again: what it was told now may take long by itself.
                start = self._clock()
                continue
            if passed >= SETTLE_TIMEOUT:
                left = [change.words() for change in again.plan.changes]
                raise CommandFailed(
                    "%s did not do within %g s what it was told to; left: %s; see %s" % (self._backend, SETTLE_TIMEOUT, "; ".join(left), SEE[self._backend]),
                    left=left,
                )
            self._sleep(SETTLE_STEP)
