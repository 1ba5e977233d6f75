# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state that the network stack reports for an interface counts as well as the kernel's."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils import _finding
from ansible_collections.rdma.ofed.plugins.module_utils._check._words import result
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._expectation import Around
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import Options, unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._expect import findings
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed, look_whole
from support.ipoib_node import FakeNode, wait_briefly

IB0: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}]
IB1: list[t.Any] = [{"name": "ib1", "addresses": ["10.21.0.1/24"]}]
MOVED: list[t.Any] = [{"name": "ib1", "addresses": ["10.21.0.2/24"]}]
SSH = {"SSH_CONNECTION": "10.20.0.9 50000 10.20.0.1 22"}
OURS = "/etc/systemd/network/50-rdma-ib0.network"
GENERATED = "/run/systemd/network/10-netplan-ib0.network"
CASES = [
    ("systemd-networkd", "ADMIN_STATE=configured\nNETWORK_FILE=" + OURS, ""),
    ("systemd-networkd", "ADMIN_STATE=configuring\nNETWORK_FILE=" + OURS, ""),
    ("systemd-networkd", "ADMIN_STATE=unmanaged", "unmanaged"),
    ("systemd-networkd", "ADMIN_STATE=failed\nNETWORK_FILE=" + OURS, "failed"),
    ("systemd-networkd", "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/05-x.network", "configured by /etc/systemd/network/05-x.network"),
    ("netplan", "ADMIN_STATE=configured\nNETWORK_FILE=" + GENERATED, ""),
    ("netplan", "ADMIN_STATE=unmanaged", "unmanaged"),
    ("networkmanager", "connected", ""),
    ("networkmanager", "connected (externally)", "connected (externally)"),
    ("networkmanager", "unmanaged", "unmanaged"),
    ("ifupdown", "ib0=ib0", ""),
    ("ifupdown", "ib1=ib1", "not configured"),
    ("ifupdown", "ib0=storage", "configured by the stanza storage"),
]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.3)


def say(node: FakeNode, stack: str, said: str) -> None:
    node.set("ib0", "ifindex", "7")
    if stack == "networkmanager":
        node.nm_states["ib0"] = said
    elif stack == "ifupdown":
        node.ifstate = said + "\n"
        node.write("run/network/ifstate", said)
    else:
        node.write("run/systemd/netif/links/7", said)


@pytest.mark.parametrize(("stack", "said", "words"), CASES)
def test_a_run_waits_for_it_and_ends_with_what_it_says(tmp_path: pathlib.Path, stack: str, said: str, words: str) -> None:
    node = FakeNode(tmp_path, stack)
    node.appear("ib0")
    say(node, stack, said)
    if not words:
        assert node.call(interfaces=IB0)["changed"]
        return
    with pytest.raises(CommandFailed) as raised:
        node.call(interfaces=IB0)
    assert "still missing: the back-end reports ib0 as %s; see" % words in raised.value.msg
    assert raised.value.details["changed"]


@pytest.mark.parametrize(("stack", "said", "words"), CASES)
def test_verify_tells(tmp_path: pathlib.Path, stack: str, said: str, words: str) -> None:
    node = FakeNode(tmp_path, stack)
    node.appear("ib0")
    node.call(interfaces=IB0)
    say(node, stack, said)
    found = condensed(look_whole(node, {}, str(tmp_path)), {"ib0": ""})
    found_wrong = findings(Options(IB0, allow_removal=True), found, Around(found.ports, tuple(found.netdevs.values())))
    assert [(each.subject, each.aspect, each.wanted, each.found) for each in found_wrong] == ([("ib0", "manager", stack, words)] if words else [])


def test_the_next_step_is_no_run_which_has_nothing_to_do(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "ifupdown")
    node.appear("ib0")
    node.call(interfaces=IB0)
    say(node, "ifupdown", "ib1=ib1")
    found = condensed(look_whole(node, {}, str(tmp_path)), {"ib0": ""})
    (finding,) = findings(Options(IB0, allow_removal=True), found, Around(found.ports, tuple(found.netdevs.values())))
    command = "ip address flush dev ib0; ifup --force ib0"
    assert result(finding)["next_step"] == "run '%s' (this interrupts its traffic); for the cause, see 'ifquery --state' and 'ip address'" % command
    # If a command would cut the connection, none is suggested.
    found = condensed(look_whole(node, SSH, str(tmp_path)), {"ib0": ""})
    (finding,) = findings(Options(IB0, allow_removal=True), found, Around(found.ports, tuple(found.netdevs.values())))
    assert result(finding)["next_step"] == (
        "the connection to this node goes through it, so configure it over another one; for the cause, see 'ifquery --state' and 'ip address'"
    )


@pytest.mark.parametrize(("stack", "said", "words"), [case for case in CASES if case[2]])
def test_what_works_is_left_alone_while_another_interface_changes(tmp_path: pathlib.Path, stack: str, said: str, words: str) -> None:
    """ib0 has its addresses from elsewhere: from the initramfs, or by hand. The run does not wait for it, and verify reports it."""
    node = FakeNode(tmp_path, stack, ports=2)
    for name in ("ib0", "ib1"):
        node.appear(name)
        node.set(name, "ifindex", "7" if name == "ib0" else "8")
    node.call(interfaces=[*IB0, *IB1])
    if stack == "ifupdown":
        node.write("run/network/ifstate", "ib1=ib1" if said == "ib1=ib1" else said + "\nib1=ib1")
    else:
        say(node, stack, said)
    if stack == "networkmanager":
        node.active = {uuid: name for uuid, name in node.active.items() if name != "ib0"}
    ib0 = "%s: %s reports it as %s, although its state is as declared; this run leaves it alone: " % ("ib0", stack, words)
    # With netplan all interfaces are in one file; only networkd distinguishes them.
    changed = MOVED if stack != "netplan" else IB1
    checked = node.call(environ=SSH, check=True, interfaces=[*IB0, *changed])
    done = node.call(environ=SSH, interfaces=[*IB0, *changed])
    assert done["changes"] == checked["changes"]
    assert done["changed"] is (stack != "netplan")
    assert [[text.startswith(ib0) for text in each["reasons"]] for each in (checked, done)] == [[True], [True]]
    assert not [line for line in node.argv if "ib0" in line]
    assert node.addresses["ib0"] == ["10.20.0.1/24"]
    found = condensed(look_whole(node, {}, str(tmp_path)), {"ib0": "", "ib1": ""})
    known = unchanged({"interfaces": [*IB0, *changed]}, found)
    assert known is not None
    assert [text.startswith(ib0) for text in known["reasons"]] == [True]
    found_wrong = findings(Options([*IB0, *changed], allow_removal=True), found, Around(found.ports, tuple(found.netdevs.values())))
    assert [(each.subject, each.aspect) for each in found_wrong] == [("ib0", _finding.MANAGER)]


@pytest.mark.parametrize("stack", ["ifupdown"])
@pytest.mark.parametrize("said", ["ib0=storage", "ib1=ib1"])
def test_a_change_that_brings_it_up_again_needs_a_way_back(tmp_path: pathlib.Path, stack: str, said: str) -> None:
    node = FakeNode(tmp_path, stack)
    node.appear("ib0")
    node.call(interfaces=IB0)
    say(node, stack, said)
    wanted: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24", "10.20.0.3/24"]}]
    with pytest.raises(Refused, match="ib0 would be brought up again by ifupdown"):
        node.call(environ=SSH, interfaces=wanted)


@pytest.mark.parametrize(("stack", "said"), [("systemd-networkd", "ADMIN_STATE=unmanaged"), ("ifupdown", "lo=lo")])
def test_a_child_of_what_works_otherwise_needs_a_way_back(tmp_path: pathlib.Path, stack: str, said: str) -> None:
    """networkd creates a child when it configures the parent, and ifup brings up the parent first."""
    node = FakeNode(tmp_path, stack)
    node.appear("ib0")
    node.call(interfaces=IB0)
    say(node, stack, said)
    child: dict[str, t.Any] = {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.22.0.1/24"]}
    with pytest.raises(Refused, match="ib0 would be set up by %s for its P_Key child ib0.8001" % stack):
        node.call(environ=SSH, interfaces=[*IB0, child])


def test_what_the_run_changes_is_told_again_until_the_back_end_agrees(tmp_path: pathlib.Path) -> None:
    """The kernel shows the declared state, so the plan is empty; only the back end disagrees."""
    for number, stack in enumerate(("systemd-networkd", "networkmanager")):
        node = FakeNode(tmp_path / str(number), stack)
        node.appear("ib0")
        say(node, stack, "ADMIN_STATE=unmanaged" if stack == "systemd-networkd" else "unmanaged")
        with pytest.raises(CommandFailed):
            node.call(interfaces=IB0)
        nudges = ("networkctl reconfigure ib0", "nmcli --wait 60 connection up id rdma-ib0")
        assert sum(line in nudges for line in node.argv) > (stack == "networkmanager"), node.argv
