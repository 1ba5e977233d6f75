# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may not be burned is not."""

from __future__ import annotations

import pytest
from firmware import CONNECTX5, Host, card, emulation, flash, module

testinfra_hosts = ["ansible://mixed"]

REFUSED = [
    pytest.param("other-board", ["MT_0000000099", CONNECTX5], id="another PSID"),
    pytest.param("damaged", ["connectx5.bin"], id="damaged"),
    pytest.param("older", ["16.28.1002", "16.35.3006", "allow_downgrade"], id="downgrade"),
]


@pytest.mark.parametrize("check", [True, False], ids=["check", "run"])
@pytest.mark.parametrize(("folder", "words"), REFUSED)
def test_what_is_refused_is_not_burned(host: Host, folder: str, words: list[str], check: bool) -> None:
    pci = card(host, CONNECTX5)
    before = emulation(host, pci)["burns"], flash(host, pci)
    result = module(host, "mstflint", check, devices=[{"psid": CONNECTX5}], images="/srv/firmware/%s/connectx5.bin" % folder)
    assert result.get("failed") is True, result
    for word in words:
        assert word in result["msg"], result["msg"]
    assert (emulation(host, pci)["burns"], flash(host, pci)) == before


def test_a_downgrade_and_back(host: Host) -> None:
    pci = card(host, CONNECTX5)
    older = {"devices": [{"psid": CONNECTX5}], "images": "/srv/firmware/older/connectx5.bin", "allow_downgrade": True, "allow_in_container": True}
    predicted = module(host, "mstflint", check=True, **older)
    done = module(host, "mstflint", **older)
    assert done["changes"] == predicted["changes"] == ["adapter %s firmware: 16.35.3006 -> 16.28.1002" % pci]
    assert flash(host, pci)["FW Version"] == "16.28.1002"
    back = module(host, "mstflint", devices=[{"psid": CONNECTX5}], images="/srv/firmware/wanted", allow_in_container=True)
    assert back["changed"] is True
