# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import _look as _links
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links._look import Limits, ethernet_rate
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxlink import Cable, Counters, Link, link_of, parse_text
from hypothesis import given
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "corpus"
BF3 = (CORPUS / "mlxlink/bf3_p1_m_c_text.txt").read_text()
EMULATED = (CORPUS / "mlxlink_error/emulated_4_21_no_access_register.txt").read_text()
FIRST, SECOND = "0000:03:00.0", "0000:03:00.1"
CABLE = Cable("QSFP28", "Passive copper cable", vendor="Mellanox", part_number="MCP1600-E002", serial_number="X1", length_m=2.0)
EDR = Link("Active", "LinkUp", "IB-EDR", "4x", enabled_speeds=("EDR", "FDR", "QDR"), cable_speeds=("EDR", "FDR10", "QDR", "SDR"), opcode=0, cable=CABLE)
NAMED = "; cable: Mellanox MCP1600-E002, Passive copper cable, 2 m, serial X1"


@pytest.fixture
def root(tmp_path: pathlib.Path) -> str:
    """Return the root of a node with one card of two functions, and a virtual function."""
    for index, pci in enumerate((FIRST, SECOND, "0000:03:00.2")):
        device = tmp_path / "sys/bus/pci/devices" / pci
        device.mkdir(parents=True)
        port = tmp_path / "sys/class/infiniband" / ("mlx5_%d" % index) / "ports/1"
        port.mkdir(parents=True)
        (port.parents[1] / "device").symlink_to(device)
        if index == 2:
            (device / "physfn").mkdir()
    return str(tmp_path)


class Says:
    """The first function has the recorded link; the second is emulated, and the tool cannot query it."""

    def __init__(self, tools: t.Collection[str] = ("mstlink",)) -> None:
        self.tools = tools
        self.argv: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.argv.append(list(argv))
        if FIRST not in argv:
            return Output(1, "\x1b[31m \n\x1b[0m \n", EMULATED)
        return Output(0, BF3, "")


def look(run: t.Any, names: list[str], limits: Limits, *, root: str) -> dict[str, t.Any]:
    rates = {"max_effective_ber": limits.effective_ber, "min_speed": limits.min_speed}
    return _links.look(run, {"ports": names, "part_numbers": list(limits.part_numbers), **rates}, root)


def test_a_port_that_can_not_be_asked_is_no_failure(root: str) -> None:
    run = Says()
    result = look(run, [], Limits(), root=root)
    assert result["changed"] is False and json.dumps(result)
    assert result["errors"] == ["mlx5_1/1: FW burnt on device does not support generic access register"]
    first, second = result["ports"]
    assert (first["name"], first["pci"], first["error"], first["state"], first["speed"]) == ("mlx5_0/1", FIRST, "", "Active", "100G")
    assert first["cable"]["part_number"] == "Q28-PC03" and first["counters"]["raw_errors_per_lane"] == [0, 0, 0, 0]
    assert (second["state"], second["cable"]["part_number"], second["counters"]["raw_errors_per_lane"]) == ("", "", [])
    assert first.keys() == second.keys()
    assert [argv[0] for argv in run.argv] == ["mstlink", "mstlink"]


def test_ports_can_be_chosen(root: str) -> None:
    assert [port["name"] for port in look(Says(), ["mlx5_1/1", SECOND + "/1"], Limits(), root=root)["ports"]] == ["mlx5_1/1"]
    with pytest.raises(InvalidInput, match=r"ports\[0\] is 'mlx5_2/1'; allowed: a port of this node: mlx5_0/1 .*, mlx5_1/1 .*ports\[1\] is 'x'"):
        look(Says(), ["mlx5_2/1", "x"], Limits(), root=root)


def test_a_node_without_adapter_needs_no_tool(tmp_path: pathlib.Path, root: str) -> None:
    assert look(Says(()), [], Limits(), root=str(tmp_path / "bare"))["ports"] == []
    with pytest.raises(Unsupported, match="neither mlxlink nor mstlink is installed"):
        look(Says(()), [], Limits(), root=root)


def test_a_good_link_has_no_problems() -> None:
    assert _links.problems_of(EDR, Limits(("MCP1600-E*",))) == []
    assert _links.problems_of(link_of(parse_text(BF3)), Limits()) == []


@pytest.mark.parametrize(
    ("link", "text"),
    [
        (EDR._replace(speed="IB-FDR"), "it runs at IB-FDR, port and cable are capable of EDR" + NAMED),
        (EDR._replace(speed="IB-QDR", cable_speeds=("QDR", "SDR")), "the cable does QDR at most, the port is set to up to EDR" + NAMED),
        (EDR._replace(opcode=2, recommendation="Negotiation failure"), "Negotiation failure (opcode 2)" + NAMED),
        (EDR._replace(counters=Counters(effective_ber=1e-9)), "1e-09 of the bits are wrong after error correction, allowed: 1e-12" + NAMED),
        (EDR._replace(cable=CABLE._replace(part_number="MC2207130")), "the part number of its cable is none of MCP1600-E*, MFA1A00-E*"),
        (Link("Polling", opcode=1024, recommendation="Cable is unplugged"), "Cable is unplugged (opcode 1024)"),
        (Link("Active", speed="40G", enabled_speeds=("100G_4X", "40G"), cable_speeds=("100G_4X",)), "it runs at 40G, port and cable are capable of 100G_4X"),
    ],
)
def test_a_wrong_cable_is_named(link: Link, text: str) -> None:
    problems = _links.problems_of(link, Limits(("MCP1600-E*", "MFA1A00-E*")))
    assert len(problems) == 1 and problems[0].found.startswith(text)


@pytest.mark.parametrize(
    ("part_number", "rate"),
    [
        ("MCP1600-C001E30N", "100GbE"),
        ("MCP2M00-A003E26L", "25GbE"),
        ("MCP1650-V00AE30", "200GbE"),
        ("MCP1660-W00AE30", "400GbE"),
        ("MCP7H60-W002R26", "400GbE"),
        ("MFA1A00-C003", "100GbE"),
        ("MFS1S00-V003E", "200GbE"),
        ("MMA1B00-C100D", "100GbE"),
        ("mma1b00-c100d ", "100GbE"),
        # InfiniBand, or both.
        ("MCP1600-E001E30", ""),
        ("MFA1A00-E030", ""),
        ("MCP1650-H00AE30", ""),
        ("MFS1S00-H005V", ""),
        ("MCP4Y10-N001", ""),
        ("MMA4Z00-NS", ""),
        ("MFP7E10-N010", ""),
        # Older or third-party cards.
        ("MC2207130-002", ""),
        ("Q28-PC03", ""),
        ("NJAAKK-AU06", ""),
        ("", ""),
    ],
)
def test_part_numbers_of_cables_for_ethernet(part_number: str, rate: str) -> None:
    assert ethernet_rate(part_number) == rate


def test_a_cable_for_ethernet_in_an_infiniband_port() -> None:
    cable = CABLE._replace(part_number="MCP1600-C002E30N")
    (problem,) = _links.problems_of(EDR._replace(cable=cable), Limits())
    assert problem.code == Code.CABLE_FOR_ETHERNET
    assert problem.found.startswith("by its part number, the cable is for Ethernet (100GbE), and the port is InfiniBand; cable: ")
    # Declared by the site; an Ethernet port; and a port whose type is unknown.
    assert _links.problems_of(EDR._replace(cable=cable), Limits(("MCP1600-*",))) == []
    ethernet = EDR._replace(cable=cable, speed="100G", enabled_speeds=("100G_4X",), cable_speeds=("100G_4X",))
    assert _links.problems_of(ethernet, Limits()) == _links.problems_of(Link(cable=cable), Limits()) == []


@pytest.mark.parametrize(
    ("link", "min_speed", "texts"),
    [
        (EDR._replace(enabled_speeds=("HDR", "EDR")), "EDR", []),
        (EDR._replace(speed="IB-FDR"), "FDR", []),
        (EDR, "HDR", ["the cable does EDR at most, HDR is wanted", "it runs at IB-EDR, HDR is wanted"]),
        (EDR._replace(speed="IB-QDR"), "FDR", ["it runs at IB-QDR, FDR is wanted"]),
        (EDR._replace(speed="100G", enabled_speeds=("100G_4X",), cable_speeds=("100G_4X",)), "EDR", []),
        (EDR, "100G", []),
        # Ethernet declarations do not affect the comparison of an InfiniBand port.
        (EDR._replace(speed="IB-SDR"), "100G", ["it runs at IB-SDR, port and cable are capable of EDR"]),
    ],
)
def test_the_declared_speed_is_what_counts(link: Link, min_speed: str, texts: list[str]) -> None:
    assert [problem.found for problem in _links.problems_of(link, Limits(min_speed=min_speed))] == [text + NAMED for text in texts]


def test_a_declared_speed_has_to_be_one(root: str) -> None:
    with pytest.raises(InvalidInput, match="min_speed is 'fast'; allowed: one of SDR, DDR"):
        look(Says(), [], Limits(min_speed="fast"), root=root)


def test_a_link_that_is_down_is_not_slow() -> None:
    assert _links.problems_of(EDR._replace(state="Polling", speed="IB-SDR"), Limits()) == []


@pytest.mark.parametrize(("speed", "kind"), [("EDR", 0), ("IB-HDR", 0), ("100G_4X", 1), ("100GbE", 1), ("2.5G", 1), ("", None), ("N/A", None)])
def test_speeds_are_ranked_within_their_kind(speed: str, kind: int | None) -> None:
    ranked = _links.rank(speed)
    assert (ranked[0] if ranked else None) == kind


@given(
    st.builds(
        Link,
        state=st.sampled_from(["Active", "Polling", ""]),
        speed=st.text(max_size=5) | st.sampled_from(["IB-EDR", "100G"]),
        enabled_speeds=st.lists(st.sampled_from(["EDR", "100G_4X", "x"])).map(tuple),
        cable_speeds=st.lists(st.sampled_from(["SDR", "50G", ""])).map(tuple),
        opcode=st.none() | st.integers(),
        cable=st.builds(Cable, part_number=st.text(max_size=9) | st.sampled_from(["MCP1600-C001", "MFS1S00-H003E"])),
        counters=st.builds(Counters, effective_ber=st.none() | st.floats()),
    )
)
def test_any_link_can_be_judged(link: Link) -> None:
    assert all(problem.found for problem in _links.problems_of(link, Limits(("[",))))


def test_the_module_itself(capsys: pytest.CaptureFixture[str], root: str) -> None:
    pytest.importorskip("ansible", reason="the module itself needs ansible-core")
    import yaml
    from ansible.module_utils.testing import patch_module_args
    from ansible_collections.rdma.ofed.plugins.modules import mlxlink_info

    with patch_module_args({"ports": ["mlx9_9/9"], "_ansible_check_mode": True}), pytest.raises(SystemExit):
        mlxlink_info.main()
    assert "ports[0] is 'mlx9_9/9'" in json.loads(capsys.readouterr().out)["msg"]
    documented = yaml.safe_load(mlxlink_info.RETURN)
    port = look(Says(), [], Limits(), root=root)["ports"][0]
    assert set(documented["ports"]["contains"]) == set(port)
    for part in ("cable", "counters"):
        assert set(documented["ports"]["contains"][part]["contains"]) == set(port[part])
