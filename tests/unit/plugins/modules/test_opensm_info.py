# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._master import Known, known_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._report import report
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance

OURS = "0x0002c90300001001"
THEIRS = "0x0002c90300001011"
LINE = "sminfo: sm lid 1 sm guid %s, activity count %d priority 14 state 3 SMINFO_MASTER\n"
RECORD = "SMInfoRecord dump:\n\t\tLID...%d\n\t\tGUID...%s\n\t\tActCount...%d\n\t\tPriority...%d\n\t\tSMState...%d\n"


class Tools:
    """A master on this node and a standby on node2."""

    def __init__(self, installed: bool = True, hangs: bool = False, broken: bool = False) -> None:
        self.installed, self.hangs, self.broken = installed, hangs, broken
        self.count = 0

    def has(self, tool: str) -> bool:
        return self.installed

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] == "sminfo" and self.broken:
            return Output(1, "", "ibwarn: can't open\nsminfo: iberror: failed: Failed to open port")
        if argv[0] == "sminfo":
            self.count += 0 if self.hangs else 1
            return Output(0, LINE % (OURS, self.count), "")
        if argv[0] == "saquery":
            return Output(0, RECORD % (1, OURS, 5, 14, 3) + RECORD % (2, THEIRS, 1, 13, 2), "")
        if argv[0] == "smpquery":
            return Output(0, "Node Description:....%s\n" % ("node1 mlx5_0" if argv[-1] == "1" else "node2 mlx5_0"), "")
        return Output(0, "Id=rdma-opensm@ib.service\nActiveState=active\nMainPID=42\n", "")


@pytest.fixture
def node(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a node with one port and an instance on it."""
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gids/0").write_text("fe80:0000:0000:0001:0002:c903:0000:1001\n")
    for name, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "lid": "0x1", "sm_lid": "0x1", "link_layer": "InfiniBand"}.items():
        (port / name).write_text(text + "\n")
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    instance = Instance("ib", OURS, 14)
    path = tmp_path / instance.path("opensm.conf").lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_text(instance.files()[instance.path("opensm.conf")])
    return tmp_path


def test_who_manages_the_fabric_and_what_runs_here(node: pathlib.Path) -> None:
    result = report(Tools(), names=[], inventory=Known(hosts=("node1", "node2")), root=str(node))
    (fabric,), (instance,) = result["fabrics"], result["instances"]
    assert (fabric["fabric"], fabric["port"], fabric["subnet_prefix"], fabric["alive"], fabric["problem"]) == ("ib", "mlx5_0/1", "0xfe80000000000001", True, "")
    assert (fabric["master"]["host"], fabric["master"]["here"]) == ("node1", True)
    assert [(manager["host"], manager["state"], manager["priority"], manager["here"]) for manager in fabric["managers"]] == [
        ("node1", "MASTER", 14, True),
        ("node2", "STANDBY", 13, False),
    ]
    assert instance == {
        "unit": "rdma-opensm@ib.service",
        "fabric": "ib",
        "active": "active",
        "enabled": False,
        "pid": 42,
        "port_guid": OURS,
        "priority": 14,
        "log_file": "/var/log/opensm/ib/opensm.log",
    }


def test_who_a_manager_is_says_its_port_guid(node: pathlib.Path) -> None:
    """Host names in the inventory differ from those in the node descriptions."""
    inventory = known_of({"known_hosts": ["mgmt1", "node1", "node2"], "known_guids": {"mgmt1": [OURS], "node1": [THEIRS.upper().replace("0X", "0x")]}})
    (fabric,) = report(Tools(), names=[], inventory=inventory, root=str(node))["fabrics"]
    assert fabric["master"]["node_description"] == "node1 mlx5_0"
    assert [manager["host"] for manager in (fabric["master"], *fabric["managers"])] == ["mgmt1", "mgmt1", "node1"]


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        (Tools(installed=False), "sminfo, saquery, smpquery not installed"),
        (Tools(hangs=True), "the master answers, but its activity count does not change: it hangs"),
        (
            Tools(broken=True),
            "sminfo -C mlx5_0 -P 1 failed with exit status 1: ibwarn: can't open; sminfo: iberror: failed: Failed to open port",
        ),
    ],
)
def test_what_is_wrong_is_data_and_no_failure(tools: Tools, problem: str, node: pathlib.Path) -> None:
    (fabric,) = report(tools, names=["mlx5_0/1"], inventory=Known(), root=str(node))["fabrics"]
    assert (fabric["problem"], fabric["alive"]) == (problem, False)


def test_a_port_that_is_not_there(node: pathlib.Path) -> None:
    with pytest.raises(InvalidInput, match=r"ports\[0\] is 'mlx5_9/1'; allowed: a port of this node: mlx5_0/1 \(port GUID"):
        report(Tools(), names=["mlx5_9/1"], inventory=Known(), root=str(node))
