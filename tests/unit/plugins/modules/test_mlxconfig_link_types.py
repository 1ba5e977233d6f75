# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A link type declared for a card model, while the node's management port is on a card of that model."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _session
from support.firmware_node import Node
from support.mlxconfig_runs import converge, verbs

FABRIC, MANAGEMENT = "0000:03:00.0", "0000:41:00.0"
DECLARED = [{"type": "ConnectX-5", "parameters": {"LINK_TYPE_P1": "IB", "LINK_TYPE_P2": "IB", "NUM_OF_VFS": 16}}]


@pytest.fixture(name="node")
def two_cards_of_a_model(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return two cards with Ethernet on all ports; the second port of the second card is for management."""
    monkeypatch.setattr(_session, "WAITS", (0.0, 0.0))
    node = Node(tmp_path)
    node.tools = {"mstconfig", "ip"}
    for number, pci in enumerate((FABRIC, FABRIC[:-1] + "1", MANAGEMENT, MANAGEMENT[:-1] + "1")):
        card = node.add(pci, "mlx5_%d" % number)
        for port in ("LINK_TYPE_P1", "LINK_TYPE_P2"):
            card.parameters[port].current = card.parameters[port].next = 2
        interface(node, "eth%d" % number, pci)
    return node


def interface(node: Node, name: str, pci: str, *, up: bool = False, carrier: bool = False, type_: str = "1") -> None:
    base = "sys/class/net/%s/" % name
    for file, text in (("type", type_), ("flags", "0x1003" if up else "0x1002"), ("carrier", "1" if carrier else "0"), ("mtu", "1500")):
        node.write(base + file, text + "\n")
    if not (node.root / base / "device").is_symlink():
        (node.root / base / "device").symlink_to(node.root / "sys/bus/pci/devices" / pci)


def addresses(*texts: str) -> dict[str, t.Any]:
    return {"addr_info": [{"family": "inet", "local": text.partition("/")[0], "prefixlen": int(text.partition("/")[2])} for text in texts]}


def refused(node: Node, **params: t.Any) -> str:
    """Check that check mode and run fail with the same message and set nothing on any card. Returns the message."""
    texts = []
    for check in (True, False):
        with pytest.raises(Refused) as caught:
            converge(node, DECLARED, check, **params)
        texts.append(caught.value.msg)
        assert not {"set", "backup"} & set(verbs(node))
    assert texts[0] == texts[1]
    return texts[0]


def test_idle_ports_change_their_type(node: Node) -> None:
    # A port with the wrong peer is often enabled but has no link.
    interface(node, "eth0", FABRIC, up=True)
    assert len(converge(node, DECLARED)["changes"]) == 6


def test_a_port_with_an_address_is_refused_by_name(node: Node) -> None:
    node.links["eth3"] = addresses("192.0.2.7/24")
    text = refused(node)
    assert text.startswith(MANAGEMENT + " (mlx5_2, mlx5_3) LINK_TYPE_P2: ETH(2) -> IB(1) would remove the interface eth3 (0000:41:00.1) at the next start")
    assert "that interface has the address 192.0.2.7/24" in text and "rdma_allow_link_type: ['0000:41:00.1']" in text
    assert "eth2" not in text and "by pci, psid" in text


@pytest.mark.parametrize("consent", ["0000:41:00.1", "41:00.1", "eth3", "mlx5_3"])
def test_consent_is_for_one_port(node: Node, consent: str) -> None:
    node.links = {"eth3": addresses("192.0.2.7/24"), "eth1": addresses("198.51.100.9/24")}
    text = refused(node, allow_link_type=[consent])
    assert "eth1 (0000:03:00.1)" in text and "eth3" not in text
    assert converge(node, DECLARED, allow_link_type=[consent, "eth1"])["changed"]


def test_consent_for_another_port_is_none(node: Node) -> None:
    node.links["eth3"] = addresses("192.0.2.7/24")
    assert "eth3" in refused(node, allow_link_type=["0000:41:00.0", "mlx5_2", "eth2"])


def test_a_member_of_a_bond_is_refused(node: Node) -> None:
    node.links = {"eth2": {"master": "bond0"}, "bond0": {"linkinfo": {"info_kind": "bond"}, **addresses("192.0.2.7/24")}}
    node.write("sys/class/net/bond0/bonding/slaves", "eth2\n")
    text = refused(node)
    assert "eth2 (0000:41:00.0) at the next start" in text and "that interface has the address 192.0.2.7/24 and is a member of bond0" in text


def test_a_port_with_a_link_is_refused(node: Node) -> None:
    interface(node, "eth2", MANAGEMENT, up=True, carrier=True)
    assert "eth2 (0000:41:00.0) at the next start of the card, and that interface is up with a link" in refused(node)


def test_the_default_route_and_the_connection_of_the_run(node: Node) -> None:
    node.write("proc/net/route", "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\neth3 00000000 010200C0 0003 0 0 100 00000000 0 0 0\n")
    assert "eth3 (0000:41:00.1) at the next start of the card, and that interface carries the default route." in refused(node)
    node.write("proc/net/route", "")
    node.environ = {"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.7 22"}
    node.routes = [{"dst": "192.0.2.1", "dev": "eth3"}]
    assert "that interface carries the connection that manages this node." in refused(node)


def test_only_a_change_of_the_running_type_takes_a_port_away(node: Node) -> None:
    """A pending wrong type is reverted, regardless of the users of the port."""
    node.links["eth3"] = addresses("192.0.2.7/24")
    node.cards[MANAGEMENT].parameters["LINK_TYPE_P2"].next = 1
    back = [{"pci": MANAGEMENT, "parameters": {"LINK_TYPE_P2": "ETH"}}]
    assert converge(node, back)["changes"] == [MANAGEMENT + " LINK_TYPE_P2: IB(1) -> ETH(2)"]
    assert not converge(node, back)["changed"]
    # If the firmware does not report the current type, the pending one counts.
    node.cards[MANAGEMENT].knows_states = False
    with pytest.raises(Refused, match="eth3"):
        converge(node, DECLARED)


def test_other_parameters_ask_for_no_interface(node: Node) -> None:
    node.links["eth3"] = addresses("192.0.2.7/24")
    assert converge(node, [{"all": True, "parameters": {"NUM_OF_VFS": 16}}])["changed"]
    assert not any(call[0] == "ip" for call in node.calls)


def test_ports_of_one_function_are_told_apart_by_their_number(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ConnectX-3 has one function for both ports."""
    node = Node(tmp_path)
    node.tools = {"mstconfig", "ip"}
    card = node.add(FABRIC, "mlx4_0", device="0x1003")
    for port in ("LINK_TYPE_P1", "LINK_TYPE_P2"):
        card.parameters[port].current = card.parameters[port].next = 2
    for number, name in enumerate(("eth0", "eth1")):
        interface(node, name, FABRIC)
        node.write("sys/class/net/%s/dev_port" % name, "%d\n" % number)
        node.write("sys/class/infiniband/mlx4_0/ports/%d/link_layer" % (number + 1), "Ethernet\n")
        node.write("sys/class/infiniband/mlx4_0/ports/%d/gids/0" % (number + 1), "fe80:0000:0000:0000:0c42:a103:0002:000%d\n" % number)
    node.links["eth1"] = addresses("192.0.2.7/24")
    first, both = ([{"all": True, "parameters": dict.fromkeys(names, "IB")}] for names in (["LINK_TYPE_P1"], ["LINK_TYPE_P1", "LINK_TYPE_P2"]))
    assert converge(node, first, check=True)["changed"]
    with pytest.raises(Refused, match=r"LINK_TYPE_P2.*eth1"):
        converge(node, both)
