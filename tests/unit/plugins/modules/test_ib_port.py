# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports of a recorded fabric: Hca1 and Hca3 are on Switch1, Hca2 and Hca4 on Switch2, with two cables between the switches."""

from __future__ import annotations

import pathlib
import re
import types
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._port import _converge as _port_control
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._port._converge import converge
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ib_port import OPTIONS

CORPUS = pathlib.Path(__file__).parents[3] / "corpus"
MASTER = "sminfo: sm lid 7 sm guid 0x%s, activity count 1 priority 13 state 3 SMINFO_MASTER\n"
HCA1, HCA4, SWITCH = "100001", "10000a", "200000"
WIDTHS = {1: "1X", 2: "4X", 4: "8X", 8: "12X", 16: "2X"}
SPEEDS = {1: "2.5 Gbps", 2: "5.0 Gbps", 4: "10.0 Gbps"}


def recorded(name: str) -> str:
    return (CORPUS / name).read_text(encoding="utf-8")


class Tools:
    """The recorded fabric with LIDs, and one port that accepts settings."""

    def __init__(self, *missing: str, master: str = HCA4) -> None:
        self.missing, self.master = missing, master
        self.topology = recorded("ibnetdiscover/sim_no_sm_lid0.txt").replace("lid 0 lmc", "lid 7 lmc")
        self.query = recorded("ibportstate/sim_query.txt")
        self.settings: list[str] = []
        self.is_deaf = False

    def has(self, tool: str) -> bool:
        return tool not in self.missing

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        said = {"ibnetdiscover": self.topology, "iblinkinfo": recorded("iblinkinfo/sim_4hca_line_mode.txt"), "sminfo": MASTER % self.master}
        if argv[0] in said:
            return Output(0, said[argv[0]], "")
        assert argv[1:5] == ["-C", "mlx5_0", "-P", "1"]
        if argv[0] == "ibportstate":
            self.settings.append(" ".join(argv[5:]))
            self.query = self._set(argv[-2], int(argv[-1])) if argv[-1].isdigit() and len(argv) > 8 else self._after(argv[-1])
        return Output(0, self.query, "")

    def _set(self, name: str, value: int) -> str:
        """Return what the port has enabled after width or speed is set."""
        words = {"width": ("LinkWidthEnabled", WIDTHS), "speed": ("LinkSpeedEnabled", SPEEDS)}
        if name not in words or self.is_deaf:
            return self.query
        key, bits = words[name]
        return re.sub("(?m)^(%s:\\.+).*$" % key, lambda match: match[1] + " or ".join(text for bit, text in bits.items() if value & bit), self.query)

    def _after(self, setting: str) -> str:
        swap = {"disable": ("LinkUp", "Disabled"), "enable": ("Disabled", "LinkUp")}.get(setting, ("", ""))
        return self.query.replace(*swap)


@pytest.fixture
def host(tmp_path: pathlib.Path) -> str:
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gids/0").write_text("fe80:0000:0000:0000:0000:0000:0010:0001\n")
    for name, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "lid": "0x7", "sm_lid": "0x7", "link_layer": "InfiniBand"}.items():
        (port / name).write_text(text + "\n")
    return str(tmp_path)


def run(host: str, tools: Tools, *, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
    given = {name: option.get("default") for name, option in OPTIONS.items()}
    module = types.SimpleNamespace(params={**given, "node_name_map": "/nowhere", **options}, check_mode=check)
    return converge(t.cast(t.Any, module), t.cast(t.Any, tools), host)


def test_a_host_is_switched_off_and_on(host: str) -> None:
    tools = Tools()
    foreseen = run(host, tools, check=True, node="Hca3", state="disabled")
    assert foreseen["changed"] and foreseen["before"] == foreseen["after"] and tools.settings == []
    off = run(host, tools, node="Hca3", state="disabled")
    assert foreseen["changes"] == off["changes"] == ["Switch1 port 2 state: enabled -> disabled"]
    assert off["controlled"] == {"name": "Switch1", "node_guid": "0x0000000000200000", "lid": 7, "number": 2}
    assert (off["peer"]["name"], off["before"]["phys_state"], off["after"]["phys_state"]) == ("Hca3", "LinkUp", "Disabled")
    spot = {"guid": off["controlled"]["node_guid"], "number": 2}
    assert not run(host, tools, state="disabled", **spot)["changed"]
    assert run(host, tools, state="enabled", **spot)["after"]["phys_state"] == "LinkUp"
    assert not run(host, tools, state="enabled", **spot)["changed"]
    assert tools.settings == ["7 2 disable", "7 2 enable"]


def test_a_port_that_does_not_take_its_settings_keeps_its_link(host: str) -> None:
    tools = Tools()
    tools.is_deaf = True
    with pytest.raises(RdmaError, match="has the speeds SDR after they were set to SDR, DDR, so its link was not retrained"):
        run(host, tools, node="Hca3", speeds=["DDR"])
    assert "7 2 reset" not in tools.settings


def test_a_port_that_is_disabled_is_not_bounced(host: str) -> None:
    tools = Tools()
    run(host, tools, node="Hca3", state="disabled")
    del tools.settings[:]
    spot = {"guid": "0x0000000000200000", "number": 2}
    # The settings are stored for the time when it is enabled.
    assert run(host, tools, speeds=["DDR"], **spot)["changes"] == ["Switch1 port 2 speeds: SDR -> SDR, DDR"]
    assert tools.settings == ["7 2 espeed 30", "7 2 speed 3"]
    assert not run(host, tools, speeds=["DDR"], state="disabled", **spot)["changed"]
    with pytest.raises(InvalidInput, match="state is 'reset'; allowed: enabled"):
        run(host, tools, state="reset", **spot)
    # Enabled and set at once, it trains its link once.
    assert run(host, tools, speeds=["SDR"], state="enabled", **spot)["after"]["phys_state"] == "LinkUp"
    assert tools.settings[2:] == ["7 2 espeed 30", "7 2 speed 1", "7 2 enable"]


def test_a_reset_is_done_each_time(host: str) -> None:
    tools = Tools()
    for _try in range(2):
        assert run(host, tools, node="Switch1", number=3, state="reset")["changes"] == ["Switch1 port 3 state: enabled -> reset"]
    assert tools.settings == ["7 3 reset"] * 2


def test_settings_are_made_before_the_link_is_trained(host: str) -> None:
    tools = Tools()
    result = run(host, tools, node="Hca3", speeds=["DDR"], widths=["1X", "4X"])
    assert result["changes"] == ["Switch1 port 2 widths: 4X -> 1X, 4X", "Switch1 port 2 speeds: SDR -> SDR, DDR", "Switch1 port 2 state: enabled -> reset"]
    assert tools.settings == ["7 2 width 3", "7 2 espeed 30", "7 2 speed 3", "7 2 reset"]
    assert (result["after"]["widths"], result["after"]["speeds"]) == (["1X", "4X"], ["SDR", "DDR"])
    # These are set already.
    assert not run(host, Tools(), node="Hca3", speeds=["SDR"], widths=["4X"])["changed"]


@pytest.mark.parametrize(
    ("master", "target", "words"),
    [
        (HCA4, {"node": "Hca1"}, ["Hca1 (this run goes through it)"]),
        (HCA1, {"node": "Switch1", "number": 1}, ["Hca1 (this run goes through it, and it is the subnet manager)"]),
        (HCA4, {"node": "Hca4"}, ["Hca4 (it is the subnet manager)"]),
    ],
)
@pytest.mark.parametrize("state", ["disabled", "reset"])
def test_the_fabric_keeps_its_manager_and_this_host(host: str, state: str, master: str, target: t.Mapping[str, t.Any], words: t.Sequence[str]) -> None:
    tools = Tools(master=master)
    with pytest.raises(Refused) as caught:
        run(host, tools, state=state, **target)
    assert all(word in caught.value.msg for word in [*words, "rdma_allow_disconnect: true"]), caught.value.msg
    assert tools.settings == []
    assert run(host, tools, state=state, allow_disconnect=True, **target)["changed"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, "node is ''"),
        ({"node": "Hca1", "guid": "0x1"}, "node is 'Hca1'"),
        ({"guid": "what"}, "guid is 'what'"),
        ({"node": "Hca3", "number": 0}, "number is 0"),
        ({"node": "Hca3", "speeds": ["NDR"]}, "speeds is 'NDR'; allowed: of Switch1 port 2: SDR, DDR, QDR"),
    ],
)
def test_input_that_is_wrong(host: str, options: t.Mapping[str, t.Any], word: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(host, Tools(), **options)
    assert word in caught.value.msg


@pytest.mark.parametrize(("missing", "word"), [("ibportstate", "package infiniband-diags"), ("ibnetdiscover", "can't be read: ibnetdiscover is not installed")])
def test_a_missing_tool(host: str, missing: str, word: str) -> None:
    with pytest.raises(RdmaError, match=word):
        run(host, Tools(missing), node="Hca3")


def test_without_a_port_or_a_subnet_manager(host: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(RdmaError, match="no InfiniBand port"):
        run(str(tmp_path / "elsewhere"), Tools(), node="Hca3")
    tools = Tools()
    tools.topology = recorded("ibnetdiscover/sim_no_sm_lid0.txt")
    with pytest.raises(RdmaError, match="has no LID"):
        run(host, tools, node="Hca3")


def test_a_switch_with_the_subnet_manager_is_known_by_its_port(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[t.Mapping[str, str]] = []
    monkeypatch.setattr(_port_control, "require_allowed", lambda subnet, port, needed: kept.append(needed))
    run(host, Tools(master=SWITCH), node="Switch1", number=3, state="reset", check=True)
    assert kept == [{"0x0000000000100000": "this run goes through it", "0x0000000000200000": "it is the subnet manager"}]


@pytest.mark.parametrize("tools", [Tools("sminfo"), Tools(master="0")])
def test_without_a_subnet_manager_this_host_stays_in_the_fabric(host: str, tools: Tools) -> None:
    with pytest.raises(Refused, match=r"loses Hca1 \(this run goes through it\)\."):
        run(host, tools, node="Hca1", state="disabled")
    assert run(host, tools, node="Hca4", state="disabled")["changed"]


def test_a_port_is_enabled_without_consent(host: str) -> None:
    """Enabling a port takes no link down, and may restore access to the subnet manager."""
    tools = Tools()
    run(host, tools, node="Hca4", state="disabled", allow_disconnect=True)
    assert run(host, tools, node="Hca4", state="enabled")["changes"] == ["Switch2 port 2 state: disabled -> enabled"]


def test_states_of_links_are_not_needed(host: str) -> None:
    assert run(host, Tools("iblinkinfo"), node="Hca3", state="disabled")["changed"]


def test_a_fabric_that_is_not_seen_is_not_touched(host: str) -> None:
    tools = Tools()
    real, tools.topology = tools.topology, ""
    with pytest.raises(RdmaError, match="the fabric of port mlx5_0/1 can't be read: "):
        run(host, tools, node="Hca3", state="disabled")
    tools.topology = real
    port = pathlib.Path(host, "sys/class/infiniband/mlx5_0/ports/1")
    (port / "state").write_text("1: DOWN\n")
    (port / "phys_state").write_text("3: Disabled\n")
    # A missing tool does not explain the failure.
    tools.missing = ("iblinkinfo",)
    with pytest.raises(RdmaError) as caught:
        run(host, tools, node="Hca3", state="disabled")
    assert "this host does not see the fabric: its port mlx5_0/1 is DOWN (Disabled)" in caught.value.msg and "iblinkinfo" not in caught.value.msg
    assert tools.settings == []


def test_what_a_port_supports_may_be_unknown(host: str) -> None:
    tools = Tools()
    tools.query = re.sub("(?m)^LinkSpeedSupported:.*$", "LinkSpeedSupported:..............255", tools.query)
    with pytest.raises(InvalidInput, match="allowed: of Switch1 port 2: none is known"):
        run(host, tools, node="Hca3", speeds=["DDR"])


def test_numbers_of_ports_end_at_254(host: str) -> None:
    with pytest.raises(InvalidInput, match="number is 255; allowed: the number of a port, 1 to 254"):
        run(host, Tools(), node="Switch1", number=255)
    with pytest.raises(RdmaError) as caught:
        run(host, Tools(), node="Switch1", number=254)
    assert "1 to 254" not in caught.value.msg


def test_a_port_that_has_lost_all_its_widths_keeps_its_link(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = Tools()
    monkeypatch.setitem(WIDTHS, 1, "nothing")
    with pytest.raises(RdmaError, match=r"has the widths \(none\) after they were set to 1X"):
        run(host, tools, node="Hca3", widths=["1X"])
    assert "7 2 reset" not in tools.settings


def test_a_switch_alone_names_no_port(host: str) -> None:
    with pytest.raises(InvalidInput, match="number is not set; allowed: the number of one of its ports"):
        run(host, Tools(), node="Switch1", state="disabled")
