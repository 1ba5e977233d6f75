# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _fabric
from ansible_collections.rdma.ofed.plugins.module_utils._tools._sminfo import SmInfo

OURS = "0x0000000000100001"
THEIRS = "0x0000000000100003"
PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid=OURS)
US = SmInfo(1, OURS, 5, 14, 3)
THEM = SmInfo(2, THEIRS, 5, 14, 3)
GOOD = _fabric.View("ACTIVE", "LinkUp", US, (US,))


class Fabric:
    """sminfo, saquery and smpquery of a fabric whose master changes with each question of sminfo; the last one stays."""

    def __init__(self, *masters: SmInfo | None, description: str = "node2 mlx5_0") -> None:
        self.masters, self.description = list(masters), description

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        master = self.masters[0]
        if argv[0] == "sminfo":
            master = self.masters.pop(0) if len(self.masters) > 1 else master
            if master is None:
                return Output(255, "", "sminfo: iberror: failed: query")
            text = "sminfo: sm lid %d sm guid %s, activity count 1 priority %d state %d SMINFO_MASTER\n"
            return Output(0, text % (master.lid, hex(int(master.guid, 16)), master.priority, master.state), "")
        return Output(0, "Node Description:....%s\n" % self.description, "")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (GOOD, ""),
        (GOOD._replace(phys_state="Polling"), "no link (physical state Polling)"),
        (GOOD._replace(answer=None), "no subnet manager answers"),
        (GOOD._replace(answer=US._replace(state=2)), "is in state STANDBY"),
        (GOOD._replace(answer=THEM, managers=(THEM,)), "%s is master, not %s" % (THEIRS, OURS)),
        (GOOD._replace(managers=None), "does not answer"),
        (GOOD._replace(managers=(US, THEM)), "there are 2 masters"),
        (GOOD._replace(managers=()), "there are 0 masters: none"),
        (GOOD._replace(managers=(THEM,)), "names %s as master" % THEIRS),
        (GOOD._replace(state="INIT"), "state INIT, not ACTIVE"),
        (GOOD._replace(managers=(US, THEM._replace(state=2))), ""),
    ],
)
def test_what_is_missing(view: _fabric.View, text: str) -> None:
    found = _fabric.missing(view, OURS)
    assert found == "" if not text else text in found


def test_an_allowed_foreign_master_is_enough() -> None:
    assert _fabric.missing(_fabric.View("ACTIVE", "LinkUp", THEM, (THEM,)), OURS, foreign=True) == ""


@pytest.mark.parametrize(
    ("description", "host"),
    [
        ("node2 mlx5_0", "node2"),
        ("NODE2.cluster.example HCA-1", "node2"),
        ("n3 mlx5_0", "n3.cluster.example"),
        ("node22 mlx5_0", ""),
        ("MF0;sw1:MQM8700/U1", ""),
        ("", ""),
    ],
)
def test_hosts_are_known_by_their_node_description(description: str, host: str) -> None:
    assert _fabric.known_host(description, ["node1", "node2", "n3.cluster.example"]) == host


def test_nobody_or_ourselves_is_in_the_way() -> None:
    _fabric.make_way(Fabric(None), PORT, {OURS}, [], "ib", 30)
    _fabric.make_way(Fabric(US), PORT, {OURS}, [], "ib", 30)


def test_a_stranger_is_refused_at_once_and_named() -> None:
    with pytest.raises(Refused) as caught:
        _fabric.make_way(Fabric(THEM, description="MF0;sw1:MQM8700/U1"), PORT, {OURS}, ["node2"], "ib", 30)
    assert all(word in caught.value.msg for word in (THEIRS, "LID 2", "MF0;sw1:MQM8700/U1", "opensm_allow_foreign_master: true"))
    assert caught.value.details["master"]["port_guid"] == THEIRS


def test_a_host_of_the_inventory_is_waited_for() -> None:
    _fabric.make_way(Fabric(THEM, THEM, None), PORT, {OURS}, ["node2"], "ib", 30)
    with pytest.raises(Refused, match="node2 is still master of fabric ib after 30 s"):
        _fabric.make_way(Fabric(THEM), PORT, {OURS}, ["node2"], "ib", 30)


def test_settle_tells_what_was_seen_and_what_to_do(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RdmaError) as caught:
        _fabric.settle(Fabric(None), PORT, "rdma-opensm@ib.service", "ib", 5)
    assert "after 5 s" in caught.value.msg and "journalctl -u rdma-opensm@ib.service" in caught.value.msg
