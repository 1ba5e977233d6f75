# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import shutil
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset import _converge as _reset_converge
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset import _look as _reset_look
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset._plan import Card, Host, plan
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxfwreset import Query
from support.module_files import FakeModule
from support.module_results import pending_words

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "corpus"
FIRST, SECOND = "0000:03:00.0", "0000:04:00.0"
FLINT = "Image type:            FS4\nFW Version:            %s\nFW Version(Running):   %s\nPSID:                  MT_0000000008\n"
CONFIG = """
Device #1:
----------
Device type:    ConnectX5
Device:         %s
Configurations:                              Default         Current         Next Boot
%s
"""
DEFAULTS: dict[str, t.Any] = {
    "state": "query",
    "adapters": [],
    "tried": "nothing",
    "foreseen": [],
    "disconnect_rdma_users": False,
    "cut_ssh_connection": False,
    "allow_container": True,
    "wait_timeout": 0,
}


def recorded(name: str) -> str:
    return (CORPUS / name).read_text()


class Module(FakeModule):
    defaults = DEFAULTS


class Tools:
    """Two cards whose pending firmware and parameters take effect with a reset."""

    def __init__(self, absent: t.Collection[str] = ()) -> None:
        self.absent = {"mlxconfig", "mlxfwreset", "flint", "lscpu", *absent}
        self.firmware = {FIRST: ("16.35.2000", "16.35.3006"), SECOND: ("16.35.2000", "16.35.2000")}
        self.links = {FIRST: ("IB(1)", "ETH(2)"), SECOND: ("IB(1)", "IB(1)")}
        self.reset = recorded("mlxfwreset/emulated_4_21_reset.txt")
        self.reset_rc = 0
        self.effective = True
        self.calls: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return tool not in self.absent

    def resets(self) -> list[list[str]]:
        return [argv for argv in self.calls if argv[0] == "mstfwreset" and argv[-1] == "reset"]

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        pci = argv[argv.index("-d") + 1] if "-d" in argv else ""
        if argv[0] == "mstflint":
            running, burned = self.firmware[pci]
            return Output(0, FLINT % (burned, running), "")
        if argv[0] == "mstconfig":
            rows = (("LINK_TYPE_P1", "IB(1)", *self.links[pci]), ("NUM_OF_VFS", "0", "8", "8"))
            return Output(0, CONFIG % (pci, "\n".join("         %-36s%-16s%-16s%-16s" % row for row in rows)), "")
        if argv[0] == "mstfwreset":
            if argv[-1] == "query":
                return Output(0, recorded("mlxfwreset/emulated_4_21_query.txt"), "")
            if self.effective:
                self.firmware[pci] = (self.firmware[pci][1],) * 2
                self.links[pci] = (self.links[pci][1],) * 2
            return Output(self.reset_rc, self.reset, "")
        if argv[0] == "lscpu":
            return Output(0, "Hypervisor vendor:    KVM\n", "")
        return Output(0, "[]", "")


@pytest.fixture
def root(tmp_path: pathlib.Path) -> str:
    """Return the root of a node with two ConnectX-5 cards: one with two functions, one with one."""
    tree = tmp_path / "root"
    for index, pci in enumerate((FIRST, FIRST[:-1] + "1", SECOND)):
        device = tree / "sys/bus/pci/devices" / pci
        device.mkdir(parents=True)
        for name, value in (("vendor", "0x15b3"), ("device", "0x1017"), ("class", "0x020700")):
            (device / name).write_text(value + "\n")
        (device / "driver").symlink_to("../../../../bus/pci/drivers/mlx5_core")
        hca = tree / "sys/class/infiniband" / ("mlx5_%d" % index)
        hca.mkdir(parents=True)
        (hca / "device").symlink_to(device)
        (hca / "board_id").write_text("MT_0000000008\n")
    ib0 = tree / "sys/class/net/ib0"
    ib0.mkdir(parents=True)
    (ib0 / "type").write_text("32\n")
    (ib0 / "device").symlink_to(tree / "sys/bus/pci/devices" / FIRST)
    return str(tree)


def converge(root: str, tools: Tools, tmp_path: pathlib.Path, check_mode: bool = False, **params: t.Any) -> dict[str, t.Any]:
    return _reset_converge.converge(t.cast(t.Any, Module(check_mode, **params)), tools, {}, root=root)


def test_a_query_says_what_is_pending_and_touches_nothing(root: str, tmp_path: pathlib.Path) -> None:
    tools = Tools()
    result = converge(root, tools, tmp_path)
    assert (result["changed"], result["changes"], result["reboot_required"]) == (False, [], False)
    assert pending_words(result) == [
        "adapter " + FIRST + " running firmware: 16.35.2000 -> 16.35.3006 (needs device_reset)",
        FIRST + " LINK_TYPE_P1: IB(1) -> ETH(2) (needs device_reset)",
    ]
    first, second = result["adapters"]
    assert (first["functions"], first["rdma"], first["level"], first["can_reset"]) == ([FIRST, FIRST[:-1] + "1"], ["mlx5_0", "mlx5_1"], 3, True)
    assert (first["type"], first["psid"]) == ("ConnectX5", "MT_0000000008")
    assert (second["needs"], second["pending"], second["can_reset"]) == ("", [], True)
    assert tools.resets() == [] and json.dumps(result)


def test_a_reset_is_one_for_each_card_and_the_same_in_check_mode(root: str, tmp_path: pathlib.Path) -> None:
    tools = Tools()
    foreseen = converge(root, tools, tmp_path, check_mode=True, state="reset")
    assert tools.resets() == []
    done = converge(root, tools, tmp_path, state="reset")
    assert done == foreseen
    assert done["reasons"] == [FIRST + ": a reset takes ib0 down, and addresses, P_Key children and virtual functions have to be made again"]
    assert tools.resets() == [["mstfwreset", "-y", "-d", FIRST, "-l", "3", "reset"]]
    assert done["changed"] and done["pending"] == [] and [adapter["reset"] for adapter in done["adapters"]] == [True, False]
    again = converge(root, tools, tmp_path, state="reset")
    assert (again["changed"], again["changes"], len(tools.resets())) == (False, [], 1)


def entry(pci: str, aspect: str = "LINK_TYPE_P1", kind: str = "firmware_parameter", before: str = "IB(1)", after: str = "ETH(2)") -> dict[str, t.Any]:
    """Return an entry of mlxconfig, which does not know the needed reset."""
    return {"kind": kind, "subject": pci, "aspect": aspect, "before": before, "after": after, "needs": "reboot", "why": []}


def test_check_mode_knows_what_that_needs_which_nothing_has_set_yet(root: str, tmp_path: pathlib.Path) -> None:
    """The results before and after it is set are the same, for a card that can be reset and for one that cannot."""

    class Idle(Tools):
        def __init__(self, absent: t.Collection[str] = ()) -> None:
            super().__init__(absent)
            self.links[FIRST] = ("IB(1)", "IB(1)")
            self.firmware[FIRST] = ("16.35.2000",) * 2

    for absent in ((), ("mstfwreset",)):
        before, after = Idle(absent), Tools(absent)
        burned = entry(FIRST, "running_version", "firmware", "16.35.2000", "16.35.3006")
        foreseen = [burned, entry(FIRST[:-1] + "1"), entry(FIRST, kind="module"), entry("0000:99:00.0")]
        assert converge(root, before, tmp_path)["pending"] == []
        assert converge(root, before, tmp_path, foreseen=foreseen) == converge(root, after, tmp_path)
        said = converge(root, before, tmp_path, check_mode=True, state="reset", foreseen=foreseen)
        assert said == converge(root, after, tmp_path, state="reset") and before.resets() == []
        # The real reset relies on what the cards report.
        assert converge(root, before, tmp_path, state="reset", foreseen=foreseen)["changed"] is False
    # Predicted changes count if something else is pending.
    back = [entry(FIRST, after="IB(1)"), burned]
    assert [change["aspect"] for change in converge(root, Tools(), tmp_path, foreseen=back)["pending"]] == ["running_version"]


@pytest.mark.parametrize("wrong", [{}, {**entry(FIRST), "needs": ""}, {**entry(FIRST), "kind": "nothing"}, {**entry(FIRST), "why": "text"}])
def test_what_is_no_pending_change_is_refused(root: str, tmp_path: pathlib.Path, wrong: dict[str, t.Any]) -> None:
    with pytest.raises(InvalidInput, match=r"foreseen\[1\] is"):
        converge(root, Tools(), tmp_path, foreseen=[entry(FIRST), wrong])


def test_only_the_chosen_adapters_are_looked_at(root: str, tmp_path: pathlib.Path) -> None:
    tools = Tools()
    assert [adapter["pci"] for adapter in converge(root, tools, tmp_path, adapters=["mlx5_2", SECOND])["adapters"]] == [SECOND]
    assert not any(FIRST in argv for argv in tools.calls)
    assert len(converge(root, tools, tmp_path, adapters=["MT_0000000008"])["adapters"]) == 2
    with pytest.raises(InvalidInput, match=r"adapters\[0\] is 'mlx5_9'.*adapters\[2\] is 'ib7'"):
        converge(root, tools, tmp_path, adapters=["mlx5_9", "mlx5_0", "ib7"])


@pytest.mark.parametrize("check_mode", [False, True])
def test_users_of_one_card_do_not_hold_back_another(root: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, check_mode: bool) -> None:
    for index in range(3):
        device = pathlib.Path(root) / "sys/class/infiniband_verbs" / ("uverbs%d" % index)
        device.mkdir(parents=True)
        (device / "ibdev").write_text("mlx5_%d\n" % index)
    for user, refused in ((User("process", "mpi", "pid 7", ("uverbs2",)), False), (User("process", "mpi", "pid 7", ("uverbs1",)), True)):
        monkeypatch.setattr(_reset_look, "read_usage", lambda root, netdevs, ssh, user=user: (user,))
        tools = Tools()
        if refused:
            with pytest.raises(Refused, match=r"in use by mpi \(pid 7\)"):
                converge(root, tools, tmp_path, check_mode, state="reset")
            assert tools.resets() == []
            assert converge(root, tools, tmp_path, check_mode, state="reset", disconnect_rdma_users=True)["changed"]
        else:
            assert converge(root, tools, tmp_path, check_mode, state="reset")["changed"]


def test_a_subnet_manager_and_missing_helpers_are_named_before_the_reset(root: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reset_look, "read_usage", lambda root, netdevs, ssh: (User("sm", "opensm", "pid 8"),))
    tools = Tools(absent=["setpci"])
    with pytest.raises(Refused, match=r"setpci is not installed.*opensm runs on this node"):
        converge(root, tools, tmp_path, state="reset")
    assert tools.resets() == []
    assert len(converge(root, tools, tmp_path)["adapters"][0]["blocked_by"]) == 2


def behind_a_switch(root: str, driver: str = "nvidia", switch: str = "0x15b3") -> None:
    """Give the first card its own PCIe switch, with a GPU, an NVMe drive and an empty slot behind it."""
    base = pathlib.Path(root) / "sys/bus/pci/devices"
    upstream = pathlib.Path(root) / "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
    for path, vendor in ((upstream, switch), (upstream / "0000:02:00.0", switch), (upstream / "0000:02:01.0", switch), (upstream.parent, "0x8086")):
        path.mkdir(parents=True, exist_ok=True)
        (path / "vendor").write_text(vendor + "\n")
        (path / "class").write_text("0x060400\n")
    for pci in (FIRST, FIRST[:-1] + "1"):
        shutil.move(str(base / pci), str(upstream / "0000:02:00.0" / pci))
        (base / pci).symlink_to(upstream / "0000:02:00.0" / pci)
    for pci, name in (("0000:0d:00.0", driver), ("0000:0e:00.0", "nvme"), ("0000:0f:00.0", ""), ("0000:02:01.0", "pcieport")):
        device = upstream / "0000:02:01.0" / pci if pci != "0000:02:01.0" else upstream / pci
        device.mkdir(parents=True, exist_ok=True)
        if name:
            (device / "driver").symlink_to("../../../../bus/pci/drivers/" + name)
        (base / pci).symlink_to(device)


def test_what_lies_behind_the_switch_of_a_card_keeps_it_from_a_reset(root: str, tmp_path: pathlib.Path) -> None:
    """This holds on a drained node too: the tool refuses as long as a driver is bound."""
    behind_a_switch(root)
    found = converge(root, Tools(), tmp_path)["adapters"]
    (text,) = found[0]["blocked_when_drained"]
    assert (
        text.startswith("0000:0d:00.0 (nvidia), 0000:0e:00.0 (nvme) behind the PCIe switch of this card would lose the bus") and "nvidia-persistenced" in text
    )
    assert found[1]["blocked_by"] == []
    tools = Tools()
    with pytest.raises(Refused, match=r"0000:0d:00\.0 \(nvidia\)"):
        converge(root, tools, tmp_path, state="reset", disconnect_rdma_users=True)
    assert tools.resets() == []


def test_the_switch_of_a_board_is_not_reset_with_the_card(root: str, tmp_path: pathlib.Path) -> None:
    behind_a_switch(root, switch="0x1000")
    assert converge(root, Tools(), tmp_path)["adapters"][0]["blocked_by"] == []


def test_a_live_patch_leaves_the_bus_alone(root: str, tmp_path: pathlib.Path) -> None:
    card = Card(FIRST, pending=(Change(Kind.FIRMWARE, FIRST, "running_version", "1", "2"),), query=Query((0, 3)), behind=("0000:0d:00.0 (nvidia)",))
    assert plan(card, Host(), Wanted()).blocked_by == ()
    assert plan(card._replace(query=Query((3,))), Host(), Wanted()).lasting != ()


def test_a_power_cycle_is_the_last_resort(root: str, tmp_path: pathlib.Path) -> None:
    result = converge(root, Tools(), tmp_path, tried="power_cycle")
    assert result["adapters"][0]["needs"] == "cold_boot" and "a power cycle did not activate it" in result["adapters"][0]["why"][0]


def test_nothing_is_refused_where_nothing_is_pending(root: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reset_look, "read_usage", lambda root, netdevs, ssh: (User("sm", "opensm", "pid 8"),))
    assert converge(root, Tools(), tmp_path, state="reset", adapters=[SECOND])["changed"] is False


def test_a_virtual_machine_needs_a_reboot(root: str, tmp_path: pathlib.Path) -> None:
    tools = Tools()
    tools.absent -= {"lscpu"}
    result = converge(root, tools, tmp_path, state="reset")
    assert tools.resets() == [] and result["reboot_required"] and result["adapters"][0]["needs"] == "reboot"


def test_a_reset_that_loads_nothing_asks_for_a_reboot(root: str, tmp_path: pathlib.Path) -> None:
    tools = Tools()
    tools.reset, tools.reset_rc, tools.effective = recorded("mlxfwreset_error/emulated_4_21_no_setpci.txt"), 1, False
    result = converge(root, tools, tmp_path, state="reset")
    assert (result["changed"], result["changes"], result["reboot_required"]) == (False, [], True)
    assert result["reasons"][0] == FIRST + ": the reset did not load the firmware: failed to run 'setpci -s 0000:00:1c.0 0x0.w'"
    assert result["adapters"][0]["needs"] == "reboot" and result["adapters"][0]["reset"] is False


def test_what_is_pending_after_a_reset_needs_a_reboot(root: str, tmp_path: pathlib.Path) -> None:
    tools = Tools()
    tools.effective = False
    result = converge(root, tools, tmp_path, state="reset")
    assert (result["changed"], result["reboot_required"]) == (False, True)
    assert any("reset did not activate it" in reason for reason in result["reasons"])
    assert converge(root, tools, tmp_path, tried="reboot")["adapters"][0]["needs"] == "cold_boot"


def test_a_driver_that_does_not_come_back_is_a_failure(root: str, tmp_path: pathlib.Path) -> None:
    class Losing(Tools):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            if argv[-1] == "reset":
                (pathlib.Path(root) / "sys/bus/pci/devices" / FIRST / "driver").unlink()
            return super().__call__(argv, ok, timeout)

    with pytest.raises(CommandFailed, match=FIRST + r" has no driver after 0 s") as caught:
        converge(root, Losing(), tmp_path, state="reset")
    assert caught.value.details["changed"] is True


def test_a_card_that_can_not_be_looked_at_is_a_finding_and_is_not_reset(root: str, tmp_path: pathlib.Path) -> None:
    tools = Tools(absent=["mstflint"])
    assert "whether firmware is pending is unknown" in converge(root, tools, tmp_path)["adapters"][0]["unknown"][0]
    assert converge(root, tools, tmp_path, check_mode=True, state="reset") == converge(root, tools, tmp_path, state="reset")
    assert tools.resets() == []


@pytest.mark.parametrize("blocked", [False, True])
def test_a_card_that_can_not_be_read_does_not_stop_the_reset_of_another(
    root: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, blocked: bool
) -> None:
    """The reset tool knows the card, its configuration is pending, and its image cannot be read. Its users do not matter."""

    class Broken(Tools):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            if argv[0] == "mstflint" and SECOND in argv:
                return Output(1, "-E- Cannot open Device: %s. Failed to query FW: ICMD bad parameter given\n" % SECOND, "")
            return super().__call__(argv, ok, timeout)

    if blocked:
        monkeypatch.setattr(_reset_look, "ssh_over", lambda functions, ssh, places: "ib2" if SECOND in functions else "")
    tools = Broken()
    tools.links[SECOND] = ("IB(1)", "ETH(2)")
    foreseen = converge(root, tools, tmp_path, check_mode=True, state="reset")
    module = Module(state="reset")
    done = _reset_converge.converge(t.cast(t.Any, module), tools, {}, root=root)
    assert done == foreseen and done["changed"] and [adapter["reset"] for adapter in done["adapters"]] == [True, False]
    assert [argv[3] for argv in tools.resets()] == [FIRST]
    assert any(text.startswith(SECOND + " was not reset, because it can't be read: whether firmware is pending is unknown") for text in module.warnings)


def test_a_card_that_no_tool_can_reset_does_not_stop_the_others(root: str, tmp_path: pathlib.Path) -> None:
    class Old(Tools):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            return Output(3, "-E- Failed to open the device\n", "") if SECOND in argv else super().__call__(argv, ok, timeout)

    result = converge(root, Old(), tmp_path, state="reset")
    assert result["changed"] and len(result["adapters"][1]["unknown"]) == 2
    assert result == {**converge(root, Old(), tmp_path, check_mode=True, state="reset"), "reasons": result["reasons"]}


def test_a_card_that_is_gone_after_a_reset_is_a_failure(root: str, tmp_path: pathlib.Path) -> None:
    class Dying(Tools):
        def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
            if self.resets() and FIRST in argv:
                return Output(1, "-E- Failed to Identify Device: %s.\n" % FIRST, "")
            return super().__call__(argv, ok, timeout)

    with pytest.raises(CommandFailed, match=FIRST + " was reset, and can't be queried since") as caught:
        converge(root, Dying(), tmp_path, state="reset")
    assert caught.value.details["changed"] is True


def test_without_reset_tool_a_reboot_does_it(root: str, tmp_path: pathlib.Path) -> None:
    result = converge(root, Tools(absent=["mstfwreset"]), tmp_path, state="reset")
    assert result["adapters"][0]["needs"] == "reboot" and "neither mlxfwreset nor mstfwreset is installed" in result["reasons"][0]


def test_a_node_without_adapters(tmp_path: pathlib.Path) -> None:
    assert converge(str(tmp_path), Tools(), tmp_path, state="reset")["adapters"] == []


def test_the_module_itself(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ansible", reason="the module itself needs ansible-core")
    import yaml
    from ansible.module_utils.testing import patch_module_args
    from ansible_collections.rdma.ofed.plugins.modules import mlxfwreset

    with patch_module_args({"adapters": ["no such adapter"]}), pytest.raises(SystemExit):
        mlxfwreset.main()
    assert "adapters[0] is 'no such adapter'" in json.loads(capsys.readouterr().out)["msg"]
    documented = yaml.safe_load(mlxfwreset.DOCUMENTATION)["options"]
    assert {name: option["default"] for name, option in documented.items()} == {**DEFAULTS, "allow_container": False, "wait_timeout": 60}


def test_documentation_has_every_key(root: str, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("ansible", reason="the module itself needs ansible-core")
    import yaml
    from ansible_collections.rdma.ofed.plugins.modules import mlxfwreset

    documented = yaml.safe_load(mlxfwreset.RETURN)
    result = converge(root, Tools(), tmp_path)
    assert set(result) - {"changed", "diff"} == set(documented) - {"blocked_by"}
    assert set(result["adapters"][0]) == set(documented["adapters"]["contains"])
