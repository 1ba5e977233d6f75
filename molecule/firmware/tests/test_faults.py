# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards that fail: the message, and that no other card is affected."""

from __future__ import annotations

import pytest
from firmware import CONNECTX5, CONNECTX6, RESTORE, Host, Result, configure, fault, module, parsed, query, run, shell, slot


def outcome(result: Result) -> tuple[bool, bool]:
    """Return whether the module failed, and whether it changed something."""
    return result["failed"], result["changed"]


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_a_busy_card_is_asked_again_and_one_that_stays_busy_is_named(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    steps = (fault(pci, "busy=once"), RESTORE, fault(pci, "none"), fault(pci, "busy"), RESTORE, fault(pci, "none"))
    for _fault, once, _whole, _busy, always, _none in run(mixed, *steps):
        assert outcome(once) == (False, False), once
        assert always["failed"], always
        assert pci in always["msg"]
        assert "semaphore" in always["msg"].lower()


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_a_parameter_that_can_only_be_read_is_refused_before_any_card_is_set(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    devices = [{"psid": CONNECTX6, "parameters": {"NUM_OF_VFS": 4}}, {"psid": CONNECTX5, "parameters": {"SRIOV_EN": False, "LINK_TYPE_P2": "IB"}}]
    for _fault, refused, _none, after in run(
        mixed, fault(pci, "read-only=LINK_TYPE"), module("mlxconfig", allow_container=True, devices=devices), fault(pci, "none"), RESTORE
    ):
        assert refused["failed"], refused
        assert "LINK_TYPE_P2" in refused["msg"]
        assert pci in refused["msg"]
        assert outcome(after) == (False, False), after


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_a_value_that_the_card_rejects_leaves_the_others_as_it_says(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    wanted = configure(psid=CONNECTX5, parameters={"SRIOV_EN": False, "LINK_TYPE_P1": "ETH"})
    steps = (fault(pci, "rejects=LINK_TYPE"), wanted, fault(pci, "none"), query(pci, "SRIOV_EN", "LINK_TYPE_P1"), RESTORE)
    for _fault, result, _none, left, back in run(mixed, *steps):
        assert result["failed"], result
        for word in (pci, "LINK_TYPE_P1"):
            assert word in result["msg"], result["msg"]
        found = parsed(left["stdout"])
        assert found["LINK_TYPE_P1"][2] == "IB(1)"
        # The tool writes one group of parameters after another: what was written before the refusal stays and is reported.
        assert result["changed"] is (found["SRIOV_EN"][2] == "False(0)")
        assert ("SRIOV_EN: True(1) -> False(0)" in result["msg"]) is result["changed"]
        assert not back["failed"], back


@pytest.mark.proves("firmware", debian12="look-alike", debian13="look-alike")
def test_a_card_that_vanishes_is_named(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    for _fault, result, _none, after in run(mixed, fault(pci, "vanishes=1"), RESTORE, fault(pci, "none"), RESTORE):
        assert result["failed"], result
        assert pci in result["msg"]
        assert outcome(after) == (False, False), after


@pytest.mark.proves("firmware", debian12="look-alike", debian13="look-alike")
def test_a_burn_that_fails_names_the_card_and_those_not_burned(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    newer = module("mstflint", devices=[{"psid": CONNECTX5}], images={CONNECTX5: "/srv/firmware/newer/connectx5.bin"}, allow_container=True)
    back = module("mstflint", devices=[{"psid": CONNECTX5}], images="/srv/firmware/wanted", allow_downgrade=True, allow_container=True)
    burns, flash = shell("cxemu-ctl %s show | sed -n 's/^burns=//p'" % pci), shell("mstflint -d %s query" % pci)
    steps = (fault(pci, "burn-fails"), newer, fault(pci, "none"), burns, newer, burns, back, flash)
    for _fault, failed, _none, before, done, after, restored, said in run(mixed, *steps):
        assert failed["failed"], failed
        assert pci in failed["msg"]
        assert failed["not_burned"] == [pci]
        assert outcome(done) == (False, True), done
        assert int(after["stdout"], 16) == int(before["stdout"], 16) + 1
        assert not restored["failed"], restored
        assert "FW Version: 16.35.3006" in " ".join(said["stdout"].split())
