# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images that must not be burned are refused."""

from __future__ import annotations

import pytest
from firmware import CONNECTX5, Host, Task, emulation, flash, module, run, slot

REFUSED = {
    "other-board": ["MT_0000000099", CONNECTX5],
    "damaged": ["connectx5.bin"],
    "older": ["16.28.1002", "16.35.3006", "allow_downgrade"],
}


def burn(images: str, check: bool = False, **consent: bool) -> Task:
    return module("mstflint", check, devices=[{"psid": CONNECTX5}], images="/srv/firmware/" + images, **consent)


@pytest.mark.proves("firmware", debian12="look-alike", debian13="look-alike")
def test_what_is_refused_is_not_burned(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    before = [(emulation(host, pci)["burns"], flash(host, pci)) for host in mixed]
    cases = [(folder, check) for folder in REFUSED for check in (True, False)]
    for results in run(mixed, *(burn("%s/connectx5.bin" % folder, check) for folder, check in cases)):
        for (folder, _check), result in zip(cases, results):
            assert result["failed"], (folder, result)
            assert [word for word in REFUSED[folder] if word not in result["msg"]] == [], result["msg"]
    assert [(emulation(host, pci)["burns"], flash(host, pci)) for host in mixed] == before


@pytest.mark.proves("firmware", debian12="look-alike", debian13="look-alike")
def test_a_downgrade_and_back(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    consent = {"allow_downgrade": True, "allow_container": True}
    older = "older/connectx5.bin"
    for predicted, done in run(mixed, burn(older, check=True, **consent), burn(older, **consent)):
        assert done["changes"] == predicted["changes"] == ["adapter %s firmware: 16.35.3006 -> 16.28.1002" % pci]
    assert {flash(host, pci)["FW Version"] for host in mixed} == {"16.28.1002"}
    assert [back["changed"] for (back,) in run(mixed, burn("wanted", allow_container=True))] == [True, True]
