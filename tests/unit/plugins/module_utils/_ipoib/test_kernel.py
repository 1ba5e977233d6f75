# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel part, while other software changes the same interfaces."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found, Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._kernel import Kernel
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface


class FakeIp:
    """Returns these statuses in order, and 0 after the last one."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.argv: list[str] = []

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.argv.append(" ".join(argv))
        status = self.statuses.pop(0) if self.statuses else 0
        if ok is not None and status not in ok:
            raise CommandFailed("status %d" % status)
        return Output(status, "", "")

    def has(self, tool: str) -> bool:
        return True


@pytest.mark.parametrize("netdev", [Netdev("bond0", "bond"), Netdev("ib0.8001", "ipoib_child", parent="ib0")])
def test_what_its_network_stack_deletes_first_is_no_failure(tmp_path: pathlib.Path, netdev: Netdev) -> None:
    run = FakeIp(1)
    Kernel(run, str(tmp_path)).release(Record(netdev.name), netdev)
    assert run.argv == ["ip link delete dev %s" % netdev.name]
    (tmp_path / "sys/class/net" / netdev.name).mkdir(parents=True)
    with pytest.raises(CommandFailed, match="exit status 1"):
        Kernel(FakeIp(1), str(tmp_path)).release(Record(netdev.name), netdev)


def test_a_bond_that_its_network_stack_makes_first_is_made_anew(tmp_path: pathlib.Path) -> None:
    """The mode of a bond with ports cannot be set."""
    run = FakeIp(2)
    Kernel(run, str(tmp_path)).bond(Interface("bond0", bond=Bond(("ib0",))), Found())
    made = "ip link add name bond0 type bond mode active-backup fail_over_mac active miimon 100"
    assert run.argv == [made, "ip link delete dev bond0", made]
