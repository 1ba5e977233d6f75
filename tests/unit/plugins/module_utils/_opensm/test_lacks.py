# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._lacks import lacks
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import virtual_functions

TEMPLATE = (pathlib.Path(__file__).resolve().parents[4] / "corpus/opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")
NEWER = TEMPLATE.replace("#    4: 53.125 Gbps\n", "#    4: 53.125 Gbps\n#    8: 106.25 Gbps\n")
PORT = Port("mlx5_0/1", "mlx5_0", 1, link_layer="InfiniBand", pci="0000:03:00.0")


@pytest.mark.parametrize(
    ("template", "speed", "virtual", "words"),
    [
        (TEMPLATE, "HDR", (), []),
        (TEMPLATE, "NDR", (), ["speed NDR of port mlx5_0/1"]),
        (NEWER, "NDR", (), []),
        (NEWER, "XDR", (), ["speed XDR"]),
        (TEMPLATE, "EDR", ("0000:03:00.0",), ["no key virt_enabled"]),
        (TEMPLATE + "virt_enabled 2\n", "EDR", ("0000:03:00.0",), []),
        ("", "XDR", ("0000:03:00.0",), []),
    ],
)
def test_what_the_installed_opensm_lacks(template: str, speed: str, virtual: tuple[str, ...], words: list[str]) -> None:
    found = lacks(template, [PORT._replace(speed=speed)], virtual)
    assert len(found) == len(words) and all(word in text for word, text in zip(words, found)), found


def test_adapters_with_virtual_functions(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "sys/bus/pci/devices/0000:03:00.0"
    place.mkdir(parents=True)
    assert virtual_functions([PORT], str(tmp_path)) == ()
    (place / "sriov_numvfs").write_text("4\n")
    assert virtual_functions([PORT, PORT._replace(link_layer="Ethernet", pci="0000:04:00.0")], str(tmp_path)) == ("0000:03:00.0",)
