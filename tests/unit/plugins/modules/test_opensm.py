# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import signal
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _apply, _converge
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import _settle
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._judge import Misplaced
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._plan import Election
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._handover import Handover
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind
from support.module_files import FakeModule
from support.opensm_instance import INSTANCE

PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid="0x0000000000100001", link_layer="InfiniBand", state="INIT")
MASTER = "sminfo: sm lid 2 sm guid 0x100003, activity count 7 priority 14 state 3 SMINFO_MASTER\n"
DEFAULTS: dict[str, t.Any] = {
    "state": "present",
    "instances": [INSTANCE],
    "partitions": {},
    "node_names": None,
    "routing_engine": None,
    "root_guids": None,
    "qos": None,
    "qos_policy": None,
    "sm_key": None,
    "log_max_size": 128,
    "log_flags": None,
    "options": {},
    "secret_options": {},
    "wait_timeout": 60,
    "known_hosts": ["node1", "node2"],
    "allow_foreign_master": False,
    "stack_replaced": False,
}


class Module(FakeModule):
    defaults = DEFAULTS
    check_mode = True


class Tools:
    """sminfo answers with a master, smpquery with a description; `bare` is a node without installed tools."""

    def __init__(self, bare: bool = False, description: str = "MF0;switch", master: str = MASTER) -> None:
        self.bare, self.description, self.master = bare, description, master
        self.calls: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return not self.bare

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        if argv[0] == "sminfo":
            return Output(0, self.master, "")
        if argv[0] == "saquery":
            return Output(0, "", "")
        return Output(0, "Node Description:..%s\n" % self.description, "")


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_converge, "read_ports", lambda *_: (PORT,))
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: Found())


def test_check_mode_on_a_bare_node_needs_no_tools() -> None:
    result = _converge.converge(t.cast(t.Any, Module()), Tools(bare=True))
    assert result["changed"] and result["reasons"] == []
    assert result["changes"][-1] == "service rdma-opensm@ib.service: stopped -> running"
    (fabric,) = result["fabrics"]
    assert (fabric["port"], fabric["port_guid"], fabric["unit"]) == ("mlx5_0/1", "0x0000000000100001", "rdma-opensm@ib.service")


def test_absent_members_of_partitions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/etc/rdma-ofed/opensm/ib/partitions.conf"
    before = "Default=0x7fff :\n    ALL=full;\n\nstorage=0x0001 :\n    0x0000000000100002=full; # node2\n"
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: Found(files={path: before}))
    absent = [{"fabric": "ib", "pkey": 1, "host": host, "membership": "limited"} for host in ("node2", "node3")]
    text = "Default=0x7fff :\n    ALL=full;\n\n# storage=0x0001 has no members.\n"
    module = Module(partitions={"ib": text}, absent_members=absent)
    result = _converge.converge(t.cast(t.Any, module), Tools(bare=True))
    assert [(fabric["kept_hosts"], fabric["missing_hosts"]) for fabric in result["fabrics"]] == [(["node2"], ["node3"])]
    assert [("node2" in text, "node3" in text) for text in module.warnings] == [(True, False), (False, True)]
    (after,) = (entry["after"] for entry in result["diff"] if entry["after_header"] == path)
    assert after == before.replace("=full; # node2", "=limited; # node2")


def test_check_mode_foresees_the_refusal() -> None:
    with pytest.raises(Refused, match="MF0;switch"):
        _converge.converge(t.cast(t.Any, Module()), Tools())
    allowed = _converge.converge(t.cast(t.Any, Module(allow_foreign_master=True)), Tools())
    assert "node description 'MF0;switch'" in allowed["reasons"][0]


def test_check_mode_foresees_the_refusal_of_what_runs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Found(running=("rdma-opensm@ib.service",), enabled=("rdma-opensm@ib.service",))
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: ours)
    with pytest.raises(Refused, match="MF0;switch"):
        _converge.converge(t.cast(t.Any, Module()), Tools())

    def refuse(*_arguments: t.Any) -> None:
        raise Refused("another key")

    monkeypatch.setattr(_converge, "require_one_key", refuse)
    with pytest.raises(Refused, match="another key"):
        _converge.converge(t.cast(t.Any, Module()), Tools(description="node2 mlx5_0"))


def test_check_mode_names_the_host_that_is_master() -> None:
    result = _converge.converge(t.cast(t.Any, Module()), Tools(description="node2 mlx5_0"))
    assert result["reasons"][0].startswith("the master of fabric ib is node2 now")


def test_a_run_without_the_package_says_so_before_anything_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_converge, "apply", lambda *_, **__: pytest.fail("something was changed"))
    with pytest.raises(Unsupported, match="opensm, sminfo, saquery, smpquery not found"):
        _converge.converge(t.cast(t.Any, Module(check_mode=False)), Tools(bare=True))


def test_a_run_without_umad_says_what_to_do(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_converge, "systemd_runs", lambda: True)
    monkeypatch.setattr(_converge, "UMAD", str(tmp_path / "abi_version"))
    with pytest.raises(Unsupported, match="ib_umad is not loaded"):
        _converge.converge(t.cast(t.Any, Module(check_mode=False)), Tools())


def test_a_stranger_keeps_everything_as_it_is(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_converge, "systemd_runs", lambda: True)
    monkeypatch.setattr(_converge, "UMAD", str(tmp_path))
    monkeypatch.setattr(_converge, "apply", lambda *_, **__: pytest.fail("something was changed"))
    with pytest.raises(Refused, match="no host of this inventory"):
        _converge.converge(t.cast(t.Any, Module(check_mode=False)), Tools())


@pytest.fixture
def two_ports(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, t.Any]]:
    """Return instances of two fabrics on a node with two ports. Each port is on the wrong fabric if it sees port GUID 0x100003."""
    ports = (PORT, PORT._replace(name="mlx5_1/1", device="mlx5_1", port_guid="0x0000000000100002"))
    monkeypatch.setattr(_converge, "read_ports", lambda *_: ports)
    monkeypatch.setattr(_converge, "systemd_runs", lambda: True)
    monkeypatch.setattr(_converge, "UMAD", str(tmp_path))
    monkeypatch.setattr(_converge, "require_one_key", lambda *_: None)
    elsewhere = {**INSTANCE, "other_guids": ["0x0000000000100003"]}
    return [{**elsewhere, "port": "mlx5_0/1"}, {**elsewhere, "fabric": "storage", "port": "mlx5_1/1", "role": "standby", "priority": 13}]


@pytest.mark.parametrize("check", [True, False])
def test_all_cables_that_are_wrong_are_named_at_once(check: bool, two_ports: list[dict[str, t.Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_converge, "apply", lambda *_, **__: pytest.fail("something was changed"))
    with pytest.raises(RdmaError, match=r"mlx5_0/1 .* is declared on fabric ib, .* mlx5_1/1 .* is declared on fabric storage, "):
        _converge.converge(t.cast(t.Any, Module(check, instances=two_ports)), Tools(description="node2 mlx5_0"))


def test_what_fails_on_one_fabric_hides_nothing_on_the_next(two_ports: list[dict[str, t.Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    tools = Tools()
    stopped: list[list[list[str]]] = []

    def plan(bound: t.Any, _fabric: t.Any, **_more: t.Any) -> Election:
        if bound.instance.fabric == "storage":
            raise Misplaced("a cable is plugged into the wrong switch")
        stopped.append([argv[1:] for argv in tools.calls if argv[0] == "systemctl"])
        if len(stopped) < 2:
            return Election("the port has no link")
        raise RdmaError("no link")

    monkeypatch.setattr(_converge, "apply", lambda *_, **__: None)
    monkeypatch.setattr(_converge, "guard", lambda *_: None)
    monkeypatch.setattr(_settle, "plan", plan)
    monkeypatch.setattr(_settle, "INTERVAL_SECONDS", 0)
    with pytest.raises(RdmaError, match=r"^no link\. a cable is plugged into the wrong switch$"):
        _converge.converge(t.cast(t.Any, Module(check_mode=False, instances=two_ports)), tools)
    # At once, without waiting for the other instance: the host at the other end waits for that.
    assert stopped == [[], [["disable", "--now", "rdma-opensm@storage.service"]]]


def test_all_bad_options_are_reported_at_once() -> None:
    bad = [{**INSTANCE, "priority": 16, "port": "x", "subnet_prefix": "0x1"}, INSTANCE]
    with pytest.raises(InvalidInput) as caught:
        _converge.converge(t.cast(t.Any, Module(instances=bad, wait_timeout=0)), Tools())
    assert [problem.variable for problem in caught.value.problems] == [
        "opensm_wait_timeout",
        "opensm_port",
        "opensm_priority",
        "opensm_fabrics.ib.subnet_prefix",
        "instances",
    ]


def test_two_instances_need_two_ports() -> None:
    with pytest.raises(InvalidInput, match="allowed: a port of its own"):
        _converge.converge(t.cast(t.Any, Module(instances=[INSTANCE, {**INSTANCE, "fabric": "storage"}])), Tools(bare=True))


@pytest.mark.parametrize("params", [{"instances": []}, {"state": "absent", "instances": None}])
def test_other_hosts_never_ask_the_fabric(params: dict[str, t.Any]) -> None:
    tools = Tools()
    result = _converge.converge(t.cast(t.Any, Module(**params)), tools)
    assert tools.calls == []
    assert result["changed"] == ("state" not in params)


@pytest.mark.parametrize(("alone", "stops"), [(True, False), (False, True)])
def test_the_only_master_is_not_stopped(alone: bool, stops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = "rdma-opensm@ib.service"
    done: list[str] = []
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: Found(running=(unit,), enabled=(unit,)))
    kept = {Change(Kind.UNIT, unit, "state", "running", "stopped"): "no standby"} if alone else {}
    monkeypatch.setattr(Handover, "without_heir", lambda *_: kept)
    monkeypatch.setattr(_converge, "apply", lambda module, run, plan, **_callbacks: done.extend(change.words() for change in plan.changes))
    result = _converge.converge(t.cast(t.Any, Module(check_mode=False, instances=[])), Tools())
    assert ("service %s: running -> stopped" % unit in done) == stops
    assert ("service %s enabled: yes -> no" % unit in done) == stops
    assert result["changes"] == done
    assert bool(result["reasons"]) == alone


@pytest.mark.parametrize("check", [True, False])
def test_the_only_subnet_manager_is_removed_with_consent(check: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = "rdma-opensm@ib.service"
    done: list[str] = []
    found = Found(running=(unit, "opensm.service"), strays=(7,), recorded=("opensmd.service", "package"), masked=("opensmd.service", "opensm@.service"))
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: found._replace(files={"/etc/rdma-ofed/opensm/ib/opensm.conf": "guid %s\n" % PORT.port_guid}))
    monkeypatch.setattr(_converge, "read_ports", lambda *_: (PORT._replace(phys_state="LinkUp"),))
    monkeypatch.setattr(_converge, "apply", lambda module, run, plan, **_callbacks: done.extend(change.words() for change in plan.changes))
    alone = Tools(master="sminfo: sm lid 1 sm guid 0x100001, activity count 7 priority 14 state 3 SMINFO_MASTER\n")
    with pytest.raises(Refused, match=r"rdma-opensm@ib\.service is the only known subnet manager.*rdma_allow_removal: true"):
        _converge.converge(t.cast(t.Any, Module(check, state="absent", wait_timeout=0)), alone)
    assert done == []
    assert not (check and any(argv[0] == "systemctl" for argv in alone.calls))
    result = _converge.converge(t.cast(t.Any, Module(check, state="absent", wait_timeout=0, allow_removal=True)), alone)
    # What others run, and what others masked, stays.
    assert result["changes"] == [
        "service rdma-opensm@ib.service: running -> stopped",
        "remove file /etc/rdma-ofed/opensm/ib/opensm.conf",
        "service opensmd.service masked: yes -> no",
        "remove file /etc/rdma-ofed/opensm/record",
    ]
    assert done == ([] if check else result["changes"])
    assert result["package_recorded"]
    # One that comes back manages the fabric after ours. If it does not run after all, the result says so.
    recorded = ("opensm.service", "running opensm.service")
    back = found._replace(running=(unit,), recorded=recorded, masked=("opensm.service",), installed=("opensm.service",))
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: back)
    restored = _converge.converge(t.cast(t.Any, Module(check, state="absent", wait_timeout=0, restore=True)), alone)
    assert restored["changes"][-2:] == ["service opensm.service: stopped -> running", "remove file /etc/rdma-ofed/opensm/record"]
    assert restored["reasons"] == ([] if check else ["opensm.service was started again and does not run: see journalctl -u 'opensm.service'"])
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: found._replace(files={"/etc/rdma-ofed/opensm/ib/opensm.conf": "guid %s\n" % PORT.port_guid}))
    # Another subnet manager is master: the fabric loses nothing.
    assert _converge.converge(t.cast(t.Any, Module(check, state="absent")), Tools())["changed"]


def test_one_subnet_manager_that_comes_back_does_not_manage_two_fabrics(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = tuple("rdma-opensm@%s.service" % fabric for fabric in ("ib", "storage"))
    files = {"/etc/rdma-ofed/opensm/%s/opensm.conf" % fabric: "guid %s\n" % PORT.port_guid for fabric in ("ib", "storage")}
    recorded = ("opensm.service", "opensm@.service", "running opensm.service", "running opensm@0x1.service")
    found = Found(running=ours, recorded=recorded, masked=recorded[:2], installed=recorded[:2], files=files)
    monkeypatch.setattr(_converge, "read_ports", lambda *_: (PORT._replace(phys_state="LinkUp"),))
    alone = Tools(master="sminfo: sm lid 1 sm guid 0x100001, activity count 7 priority 14 state 3 SMINFO_MASTER\n")
    module = Module(state="absent", wait_timeout=0, restore=True)
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: found)
    with pytest.raises(Refused, match="is the only known subnet manager"):
        _converge.converge(t.cast(t.Any, module), alone)
    both = found._replace(recorded=(*recorded, "running opensm@0x2.service"))
    monkeypatch.setattr(_converge, "look", lambda *_a, **_: both)
    assert _converge.converge(t.cast(t.Any, module), alone)["changed"]


def test_masking_is_a_link_even_without_systemd(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_apply, "SYSTEMD", str(tmp_path / "system"))
    tools = Tools()
    _apply._mask(tools, "opensm.service", wanted=True, systemd=False)
    assert os.readlink(str(tmp_path / "system/opensm.service")) == "/dev/null"
    _apply._mask(tools, "opensm.service", wanted=False, systemd=False)
    assert not (tmp_path / "system/opensm.service").is_symlink()
    assert tools.calls == []


def test_a_process_that_is_gone_needs_no_killing(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []

    def kill(pid: int, number: int) -> None:
        sent.append(number)
        if number == 0:
            raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill)
    _apply._kill(4711)
    assert sent == [signal.SIGTERM, 0]
