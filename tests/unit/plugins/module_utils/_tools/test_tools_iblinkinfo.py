# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _iblinkinfo

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


LINE = '0x0000000000200000 "%s" 2 1[%s] ==(%s)==>  0x0000000000100001 1 1[  ] "%s" (%s)\n'


@pytest.mark.parametrize(
    ("inside", "better", "link", "wanted"),
    [
        ("4X      25.78125 Gbps Active/  LinkUp", " ", ("Active", "LinkUp", "4X", "EDR"), ("", "")),
        ("4X  10.0 Gbps (FDR10) Active/  LinkUp", "Could be 12X ", ("Active", "LinkUp", "4X", "FDR10"), ("12X", "")),
        ("1X  106.25 Gbps Initialize/  LinkUp", "Could be 4X Could be 212.5 Gbps", ("Initialize", "LinkUp", "1X", "NDR"), ("4X", "XDR")),
        (
            "undefined (0)  undefined (7) Armed/PortConfigurationTraining",
            "",
            ("Armed", "PortConfigurationTraining", "undefined (0)", "undefined (7)"),
            ("", ""),
        ),
    ],
)
def test_widths_and_speeds(inside: str, better: str, link: tuple[str, ...], wanted: tuple[str, str]) -> None:
    (port,) = _iblinkinfo.parse_ports(LINE % ("sw", "  ", inside, "node1", better)).ports
    assert (tuple(port.link), port.better) == (link, wanted)


@pytest.mark.parametrize("name", ['a" lid 7 "b', "x ==( y", ") ( )", '"'])
def test_names_may_have_any_character(name: str) -> None:
    (port,) = _iblinkinfo.parse_ports(LINE % (name, "12", "4X 2.5 Gbps Active/  LinkUp", name, " ")).ports
    assert (port.description, port.port, port.peer_port) == (name, 1, 1)


def test_what_is_no_port_is_kept() -> None:
    broken = "0x01 what else\n"
    assert _iblinkinfo.parse_ports(TEXT + broken) == _iblinkinfo.parse_ports(TEXT)._replace(unread=(broken.strip(),))
