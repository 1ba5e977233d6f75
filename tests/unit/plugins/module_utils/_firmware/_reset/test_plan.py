# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset._plan import Card, Host, plan, reasons, refuse_blocked, resets, result
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import NEEDS, Change, Kind, Pending
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxfwreset import Query, parse_query
from hypothesis import given
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).resolve().parents[5] / "corpus"
CX5 = parse_query((CORPUS / "mlxfwreset/emulated_4_21_query.txt").read_text())
CX5_DRIVER = parse_query((CORPUS / "mlxfwreset/emulated_4_21_query_driver_sync.txt").read_text())
BF3 = parse_query((CORPUS / "mlxfwreset/bf3_dpu_query.txt").read_text())
NEW = parse_query((CORPUS / "mlxfwreset/composed_query_sync_2.txt").read_text())
PCI = "0000:03:00.0"
FIRMWARE = Change(Kind.FIRMWARE, PCI, "running_version", "16.35.2000", "16.35.3006")
LINK = Change(Kind.FIRMWARE_PARAMETER, PCI, "LINK_TYPE_P1", "IB(1)", "ETH(2)")
CARD = Card(PCI, (PCI, "0000:03:00.1"), "ConnectX5", (LINK,), CX5)
RESET = Wanted()


def test_nothing_pending_needs_nothing() -> None:
    todo = plan(CARD._replace(pending=(), users=("x",)), Host(opensm=True), RESET)
    assert (todo.needs, todo.blocked_by, todo.level) == ("", (), None)
    assert resets([todo]) == ()


@pytest.mark.parametrize("pending", [(LINK,), (FIRMWARE,), (FIRMWARE, LINK)])
def test_a_card_that_can_is_reset_over_pci(pending: tuple[Change, ...]) -> None:
    todo = plan(CARD._replace(pending=pending), Host(), RESET)
    assert (todo.needs, todo.level, todo.sync, todo.blocked_by) == ("device_reset", 3, None, ())


@pytest.mark.parametrize(("pending", "level", "sync"), [((FIRMWARE,), 0, None), ((LINK,), 3, 1), ((FIRMWARE, LINK), 3, 1)])
def test_a_live_patch_is_for_firmware_alone(pending: tuple[Change, ...], level: int, sync: int | None) -> None:
    todo = plan(CARD._replace(pending=pending, query=BF3), Host(), RESET)
    assert (todo.needs, todo.level, todo.sync) == ("device_reset", level, sync)


def test_secure_boot_forbids_no_live_patch() -> None:
    """It writes nothing to the bus, whichever side controls a reset of this card."""
    query = BF3._replace(syncs=())
    todo = plan(CARD._replace(pending=(FIRMWARE,), query=query), Host(secure_boot=True), RESET)
    assert (todo.needs, todo.level) == ("device_reset", 0)
    assert plan(CARD._replace(query=query), Host(secure_boot=True), RESET).needs == "reboot"


def test_a_live_patch_disturbs_nobody() -> None:
    card = CARD._replace(pending=(FIRMWARE,), query=BF3, users=("/data",), ssh="ib0", virtual_functions=2, foreign_drivers=("0000:03:00.1 (vfio-pci)",))
    assert plan(card, Host(opensm=True), RESET).blocked_by == ()


@pytest.mark.parametrize(
    ("card", "host", "text"),
    [
        (CARD._replace(users=("/data (nfs over RDMA from s:/x)",)), Host(), r"in use by /data \(nfs over RDMA from s:/x\) .*disconnect_rdma_users: true"),
        (CARD._replace(virtual_functions=4), Host(), r"in use by 4 virtual functions, which the reset removes .*disconnect_rdma_users"),
        (CARD._replace(ssh="ib0"), Host(), r"connection that manages this node runs over ib0 .*cut_ssh_connection: true"),
        (CARD, Host(opensm=True), r"opensm runs on this node"),
        (CARD._replace(foreign_drivers=("0000:03:00.1 (vfio-pci)",)), Host(), r"0000:03:00.1 \(vfio-pci\) has a driver"),
        (CARD, Host(enclosed="container"), r"this is a container.*allow_container: true"),
        (CARD, Host(missing=("lspci", "setpci")), r"lspci and setpci are not installed"),
        (CARD, Host(missing=("setpci",)), r"setpci is not installed"),
    ],
)
def test_what_stands_in_the_way(card: Card, host: Host, text: str) -> None:
    todo = plan(card, host, RESET)
    assert todo.needs == "device_reset"
    with pytest.raises(Refused, match=text):
        refuse_blocked([todo])
    assert reasons([todo])[0].startswith(PCI + ": a reset is refused now: ")


def test_dangers_are_accepted_one_by_one() -> None:
    card = CARD._replace(users=("/data",), ssh="ib0", virtual_functions=1)
    host = Host(enclosed="container")
    everything = Wanted(disconnect_rdma_users=True, cut_ssh_connection=True, allow_container=True)
    assert len(plan(card, host, RESET).blocked_by) == 3
    assert plan(card, host, everything).blocked_by == ()
    assert len(plan(card, host, everything._replace(cut_ssh_connection=False)).blocked_by) == 1


def test_draining_ends_users_and_nothing_else() -> None:
    card = CARD._replace(users=("/data",), ssh="ib0", virtual_functions=1, foreign_drivers=("0000:03:00.1 (vfio-pci)",))
    todo = plan(card, Host(enclosed="container", opensm=True, missing=("lspci",)), RESET)
    assert len(todo.blocked_by) == 6
    assert todo.blocked_by == (*todo.lasting, *todo.in_use)
    assert len(todo.in_use) == 1 and "in use by /data" in todo.in_use[0]
    assert plan(CARD._replace(users=("/data",)), Host(), RESET).lasting == ()


def test_opensm_can_not_be_overridden() -> None:
    everything = Wanted(disconnect_rdma_users=True, cut_ssh_connection=True, allow_container=True)
    assert plan(CARD, Host(opensm=True), everything).blocked_by


def test_everything_in_the_way_is_said_at_once() -> None:
    first = plan(CARD._replace(users=("/data",)), Host(opensm=True), RESET)
    second = plan(CARD._replace(pci="0000:04:00.0", ssh="ib2"), Host(), RESET)
    with pytest.raises(Refused) as caught:
        refuse_blocked([first, second])
    assert len(caught.value.details["blocked_by"]) == 3
    refuse_blocked([plan(CARD, Host(), RESET)])


@pytest.mark.parametrize(
    ("card", "host", "wanted", "needs", "text"),
    [
        (CARD, Host(hypervisor=True), RESET, "reboot", "virtual machine"),
        (CARD._replace(query=None, obstacle="mstfwreset is not installed"), Host(), RESET, "reboot", "mstfwreset is not installed"),
        (CARD._replace(query=None), Host(), RESET, "reboot", "no tool can reset this card"),
        (CARD._replace(query=Query((4,))), Host(), RESET, "reboot", "offers no reset"),
        (CARD._replace(query=Query()), Host(), RESET, "cold_boot", "offers no reset"),
        (CARD._replace(query=NEW), Host(), RESET, "reboot", "needs a reboot by default, although it offers a reset"),
        (CARD._replace(query=NEW._replace(levels=(3, 4))), Host(secure_boot=True), RESET, "reboot", "Secure Boot"),
        (CARD._replace(type="BlueField4"), Host(), RESET, "cold_boot", "a BlueField4 loads it when power comes on"),
        (CARD._replace(type="BlueField4"), Host(), RESET._replace(tried="reset"), "cold_boot", "a BlueField4 loads it when power comes on"),
        (CARD, Host(secure_boot=True), RESET, "reboot", "Secure Boot"),
        (CARD, Host(), RESET._replace(tried="reset"), "reboot", "a reset did not activate it"),
        (CARD, Host(), RESET._replace(tried="reboot"), "cold_boot", "a reboot did not activate it"),
        (CARD._replace(pending=(LINK._replace(aspect="INTERNAL_CPU_MODEL"),)), Host(), RESET, "cold_boot", "INTERNAL_CPU_MODEL is read when power comes on"),
        (CARD._replace(type="BlueField3"), Host(hypervisor=True), RESET, "cold_boot", "BlueField keeps running"),
        (CARD._replace(type="BlueField3"), Host(), RESET._replace(tried="reset"), "cold_boot", "BlueField keeps running"),
    ],
)
def test_what_a_reset_does_not_do(card: Card, host: Host, wanted: Wanted, needs: str, text: str) -> None:
    todo = plan(card, host, wanted)
    assert todo.needs == needs and any(text in why for why in todo.why)
    assert resets([todo]) == () and todo.blocked_by == ()
    keys = result([], [todo])
    assert keys["reboot_required"] and not keys["changed"]
    assert keys["pending"] == [Pending(change._replace(needs=needs)).result() for change in card.pending]


def test_the_driver_steers_a_reset_under_secure_boot() -> None:
    todo = plan(CARD._replace(query=CX5_DRIVER), Host(secure_boot=True), RESET)
    assert (todo.needs, todo.level, todo.sync) == ("device_reset", 3, 1)


def test_the_firmware_steers_a_reset_where_no_one_else_can() -> None:
    todo = plan(CARD._replace(query=NEW._replace(levels=(3, 4))), Host(), RESET)
    assert (todo.needs, todo.level, todo.sync) == ("device_reset", 3, 2)
    # The driver before the firmware, and the tool before both.
    assert plan(CARD._replace(query=Query((3,), (2, 1))), Host(), RESET).sync == 1
    assert plan(CARD._replace(query=Query((3,), (2, 1, 0))), Host(), RESET).sync is None


def test_the_result_keeps_done_and_left_apart() -> None:
    reset = plan(CARD, Host(), RESET)
    reboot = plan(CARD._replace(pci="0000:04:00.0", query=None, pending=(FIRMWARE._replace(subject="0000:04:00.0"),)), Host(), RESET)
    keys = result(reset.changes, [reboot], ["a note"])
    assert keys["changes"] == [PCI + " LINK_TYPE_P1: IB(1) -> ETH(2)"]
    assert [Pending.of_result(entry).words() for entry in keys["pending"]] == ["adapter 0000:04:00.0 running firmware: 16.35.2000 -> 16.35.3006 (needs reboot)"]
    assert keys["reboot_required"] and keys["reasons"] == ["a note", "0000:04:00.0: no tool can reset this card"]


def test_interfaces_that_go_down_are_named_before() -> None:
    todo = plan(CARD._replace(interfaces=("ib0", "ib1")), Host(), RESET)
    assert "a reset takes ib0, ib1 down" in reasons([todo])[0]


texts = st.tuples(st.sampled_from(["a", "b"])) | st.just(())
queries = st.none() | st.sampled_from([CX5, CX5_DRIVER, BF3, Query()])
cards = st.builds(
    Card,
    st.sampled_from([PCI, "0000:04:00.0"]),
    type=st.sampled_from(["ConnectX5", "BlueField3", ""]),
    pending=st.lists(st.sampled_from([FIRMWARE, LINK, LINK._replace(aspect="PF_BAR2_SIZE")]), unique=True, max_size=3).map(tuple),
    query=queries,
    users=texts,
    ssh=st.sampled_from(["", "ib0"]),
    virtual_functions=st.integers(0, 2),
    foreign_drivers=texts,
    interfaces=texts,
)
hosts = st.builds(Host, st.booleans(), st.sampled_from(["", "container", "chroot"]), st.booleans(), st.booleans(), texts)
all_wanted = st.builds(Wanted, st.sampled_from(["nothing", "reset", "reboot"]), st.booleans(), st.booleans(), st.booleans())


@given(cards, hosts, all_wanted)
def test_a_todo_is_complete_and_never_reboots(card: Card, host: Host, wanted: Wanted) -> None:
    todo = plan(card, host, wanted)
    assert todo.needs in NEEDS and bool(todo.needs) == bool(card.pending)
    assert todo.level in ((0, 3) if todo.needs == "device_reset" else (None,))
    assert bool(todo.why) == (todo.needs in ("reboot", "cold_boot"))
    assert not todo.blocked_by or todo.needs == "device_reset"
    if todo.needs == "device_reset":
        assert wanted.tried == "nothing" and not host.hypervisor
    assert len(todo.changes) == len(card.pending)


@given(cards, hosts, all_wanted)
def test_accepting_dangers_never_adds_an_obstacle(card: Card, host: Host, wanted: Wanted) -> None:
    everything = wanted._replace(disconnect_rdma_users=True, cut_ssh_connection=True, allow_container=True)
    assert set(plan(card, host, everything).blocked_by) <= set(plan(card, host, wanted).blocked_by)
    assert plan(card, host, everything).needs == plan(card, host, wanted).needs
