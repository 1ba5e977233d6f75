# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, RdmaError, UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxlink as tool
from hypothesis import given, settings
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus"
LINKS = sorted((CORPUS / "mlxlink").glob("*.txt"))
ERRORS = sorted((CORPUS / "mlxlink_error").glob("*.txt"))
PCI = "0000:03:00.0"
BF3 = (CORPUS / "mlxlink/bf3_p1_m_c_text.txt").read_text()

LINK = tool.Link(
    state="Active",
    physical_state="LinkUp",
    speed="100G",
    width="4x",
    fec="Standard RS-FEC - RS(528,514)",
    auto_negotiation="ON",
    loopback="No Loopback",
    enabled_speeds=("100G_4X",),
    cable_speeds=("100G_4X", "50G_2X", "40G", "25G", "10G", "1G"),
    opcode=0,
    recommendation="No issue was observed",
    firmware="32.43.2402",
    cable=tool.Cable(
        identifier="QSFP28",
        type="Passive copper cable",
        technology="Copper cable, passive, unequalized",
        vendor="FS",
        part_number="Q28-PC03",
        serial_number="S2202655321-1",
        revision="A",
        length_m=3.0,
        compliance="100GBASE-CR4, 25GBASE-CR CA-25G-L or 50GBASE-CR2 with RS (Clause91) FEC",
    ),
    counters=tool.Counters(
        minutes=25074.8,
        effective_errors=0,
        effective_ber=0.0,
        raw_errors_per_lane=(0, 0, 0, 0),
        raw_ber=0.0,
        link_downs=0,
        link_recoveries=0,
    ),
)


class Says:
    """A Runner that gives one answer after another and records the commands."""

    def __init__(self, *outputs: Output, tools: t.Collection[str] = tool.TOOLS) -> None:
        self.outputs = list(outputs)
        self.tools = tools
        self.argv: list[list[str]] = []

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.argv.append(list(argv))
        return self.outputs.pop(0)

    def has(self, name: str) -> bool:
        return name in self.tools


def test_text_says_all_of_a_link() -> None:
    assert tool.link_of(tool.parse_text(BF3)) == LINK


def test_colours_are_no_part_of_a_value() -> None:
    text = "\x1b[31m \n\x1b[0m\nOperational Info\n----------------\nState          : \x1b[32mActive\n\x1b[0mSpeed      : IB-EDR\n"
    link = tool.link_of(tool.parse_text(text))
    assert (link.state, link.speed) == ("Active", "IB-EDR")


def test_what_is_not_there_is_empty() -> None:
    assert tool.link_of(tool.parse_text("Operational Info\n----------------\nState   : N/A\nFEC :\n")) == tool.Link()


def test_a_port_without_cable() -> None:
    rows = {"Identifier": "N/A", "Transfer Distance [m]": "0.0", "Temperature [C]": "61 [-10..80]", "Vendor Part Number": ""}
    assert tool.link_of({"Module Info": rows}).cable == tool.Cable(temperature_c=61.0)


@pytest.mark.parametrize(("text", "ber"), [("15E-255", 0.0), ("5E-10", 5e-10), ("2e-5", 2e-5), ("N/A", None), ("", None), ("0", None)])
def test_bit_error_rates(text: str, ber: float | None) -> None:
    assert tool.ber_of(text) == ber


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_every_recorded_error_is_named(path: pathlib.Path) -> None:
    text = path.read_text()
    assert tool.error_of(text).startswith(("FW burnt on device", "Failed to open device"))
    with pytest.raises(CommandFailed, match=r"^F\w+ "):
        tool.query(Says(Output(1, "\x1b[31m \n\x1b[0m \n", text)), "mstlink", PCI, port=1)


def test_a_query_asks_for_everything_at_once() -> None:
    run = Says(Output(0, BF3, ""))
    assert tool.query(run, "mlxlink", PCI, port=1) == LINK
    assert run.argv == [["mlxlink", "-d", PCI, "-m", "-c"]]


def test_a_port_number_is_given_where_there_are_several() -> None:
    run = Says(Output(0, BF3, ""))
    tool.query(run, "mlxlink", PCI, port=2)
    assert run.argv[0][:5] == ["mlxlink", "-d", PCI, "-p", "2"]


def test_an_exit_status_alone_is_an_error() -> None:
    with pytest.raises(CommandFailed, match="exit status 9"):
        tool.query(Says(Output(9, "", "")), "mlxlink", PCI, port=1)


NAMES = st.from_regex(r"[A-Za-z][A-Za-z ()\[\]]{0,30}[a-z\])]", fullmatch=True)
VALUES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 :,._-]{0,40}[A-Za-z0-9]", fullmatch=True)
SECTIONS = st.dictionaries(NAMES.filter(lambda name: name != "Supported Info"), st.dictionaries(NAMES, VALUES, min_size=1, max_size=5), min_size=1, max_size=4)


@settings(max_examples=30)
@given(SECTIONS)
def test_what_is_rendered_is_read_back(sections: dict[str, dict[str, str]]) -> None:
    lines = []
    for title, rows in sections.items():
        lines += ["", title, "-" * len(title), *("%-35s: %s" % row for row in rows.items())]
    assert tool.parse_text("\n".join(lines)) == sections


PIECES = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(["Operational Info\n-----\n", "Module Info\n---\n", "State : x\n", "Status Opcode : ²\n", "Symbol BER : 9E-9\n", "-E- ", "\x1b[31m"]),
    ),
    max_size=10,
).map("".join)


@given(PIECES)
def test_no_text_raises_anything_but_ours(text: str) -> None:
    with contextlib.suppress(UnexpectedOutput):
        tool.link_of(tool.parse_text(text))
    with contextlib.suppress(RdmaError):
        tool.query(Says(Output(0, text, text)), "mlxlink", PCI, port=1)


@given(st.sampled_from([*LINKS, *ERRORS]), st.integers(0, 4000), st.integers(0, 40), PIECES)
def test_no_damaged_recording_raises_anything_but_ours(path: pathlib.Path, at: int, length: int, put: str) -> None:
    text = path.read_text()
    with contextlib.suppress(UnexpectedOutput):
        tool.link_of(tool.parse_text(text[:at] + put + text[at + length :]))
