# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _iblinkinfo
from hypothesis import given
from hypothesis import strategies as st

TEXT = (pathlib.Path(__file__).resolve().parents[4] / "corpus/iblinkinfo/sim_4hca_line_mode.txt").read_text(encoding="utf-8")


def test_the_ends_of_active_links_are_listed() -> None:
    assert _iblinkinfo.parse_active(TEXT) == {
        "0x0000000000100001": "Hca1",
        "0x0000000000100004": "Hca2",
        "0x0000000000100007": "Hca3",
        "0x000000000010000a": "Hca4",
        "0x0000000000200000": "Switch1",
        "0x0000000000200001": "Switch2",
    }
    assert _iblinkinfo.parse_active("") == {}


def test_every_port_is_read() -> None:
    found = _iblinkinfo.parse_ports(TEXT)
    assert len(found.ports) == 20 and found.unread == ()
    assert found.ports[0] == _iblinkinfo.LinkPort(
        port_guid="0x0000000000100007",
        port=1,
        description="Hca3",
        lid=5,
        link=_iblinkinfo.LinkState("Active", "LinkUp", "4X", "SDR"),
        peer_guid="0x0000000000200000",
        peer_port=2,
        peer_description="Switch1",
        better=("12X", "QDR"),
    )
    down = next(port for port in found.ports if (port.description, port.port) == ("Switch1", 4))
    assert down == _iblinkinfo.LinkPort("0x0000000000200000", 4, "Switch1", 2, _iblinkinfo.LinkState("Down", "Polling"))


SWITCH, HCA = "0x0000000000200000", "0x0000000000100001"
LIVE = ("4X", "25.78125 Gbps", "Active", "LinkUp")


def line_of(near: str, far: str, *, link: tuple[str, str, str, str] = LIVE, external: str = "", better: str = " ") -> str:
    """Return the line of a link with the widths of the tool's own format."""
    middle = "%6d %4d[%2s] ==(%3s %18s %6s/%8s)==>  " % (2, 1, external, *link)
    return '%s "%30s" %s%s %6d %4d[%2s] "%s" (%s)\n' % (SWITCH, near, middle, HCA, 1, 1, "", far, better)


# A description has at most 64 bytes.
DOWN = '" %6d %4d[%2s] ==(%14s%6s/%8s)==>  %11s[  ] "" ( )' % (2, 1, "", "", "Down", "Polling", "")
OTHER = '" %6d %4d[  ] ==(%3s %18s %6s/%8s)==>  %s %6d %4d[  ] "x" ( )' % (7, 9, *LIVE, HCA, 3, 3)
PIECES = st.sampled_from(['"', "==(", ")==>  ", "     2    1[  ]", "Down/ Polling", SWITCH, HCA, " ( )", "Port not available", "x", " " * 9, DOWN, OTHER])
hostile = st.lists(PIECES, max_size=8).map(lambda parts: "".join(parts)[:64].strip()) | st.text('"()[]=>/ 01x', max_size=64).map(str.strip)


@given(hostile, hostile)
def test_no_description_forges_a_line(near: str, far: str) -> None:
    (port,) = _iblinkinfo.parse_ports(line_of(near, far)).ports
    assert (port.port_guid, port.port, port.description, port.lid) == (SWITCH, 1, near, 2)
    assert (port.link.state, port.peer_guid, port.peer_port, port.peer_description) == ("Active", HCA, 1, far)


@pytest.mark.parametrize("cut", range(0, len(DOWN), 8))
def test_a_port_does_not_count_as_down_for_a_name(cut: int) -> None:
    name = DOWN[cut : cut + 64].strip()
    assert set(_iblinkinfo.parse_active(line_of("leaf1", name) + line_of(name, "leaf1"))) == {SWITCH, HCA}


def test_what_could_be_read_in_two_ways_is_not_read() -> None:
    # Longer than any description.
    assert _iblinkinfo.parse_ports(line_of("leaf1", 40 * "x" + DOWN[:-5])).ports == ()


def test_the_port_to_ask_through_is_named() -> None:
    argv: list[str] = []

    def run(words: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        argv.extend(words)
        return Output(0, TEXT, "")

    assert len(_iblinkinfo.active_ports(t.cast(t.Any, run), "mlx5_2", 1)) == 6
    assert argv[1:5] == ["-C", "mlx5_2", "-P", "1"]


@pytest.mark.parametrize(
    ("inside", "better", "link", "wanted"),
    [
        (LIVE, " ", ("Active", "LinkUp", "4X", "EDR"), ("", "")),
        (("4X", "10.0 Gbps (FDR10)", "Active", "LinkUp"), "Could be 12X ", ("Active", "LinkUp", "4X", "FDR10"), ("12X", "")),
        (("1X", "106.25 Gbps", "Initialize", "LinkUp"), "Could be 4X Could be 212.5 Gbps", ("Initialize", "LinkUp", "1X", "NDR"), ("4X", "XDR")),
        (
            ("undefined (0)", "undefined (7)", "Armed", "PortConfigurationTraining"),
            "",
            ("Armed", "PortConfigurationTraining", "undefined (0)", "undefined (7)"),
            ("", ""),
        ),
    ],
)
def test_widths_and_speeds(inside: tuple[str, str, str, str], better: str, link: tuple[str, ...], wanted: tuple[str, str]) -> None:
    (port,) = _iblinkinfo.parse_ports(line_of("sw", "node1", link=inside, better=better)).ports
    assert (tuple(port.link), port.better) == (link, wanted)


@pytest.mark.parametrize("name", ['a" lid 7 "b', "x ==( y", ") ( )", '"'])
def test_names_may_have_any_character(name: str) -> None:
    (port,) = _iblinkinfo.parse_ports(line_of(name, name, external="12")).ports
    assert (port.description, port.port, port.peer_port) == (name, 1, 1)


def test_what_is_no_port_is_kept() -> None:
    broken = "0x01 what else\n"
    assert _iblinkinfo.parse_ports(TEXT + broken) == _iblinkinfo.parse_ports(TEXT)._replace(unread=(broken.strip(),))
