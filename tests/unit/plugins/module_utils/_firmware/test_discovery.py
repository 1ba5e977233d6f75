# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the adapters of several hosts make of the declarations."""

from __future__ import annotations

import random
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Joined
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._discovery import join, read
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._found import Seen, SeenAdapter
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row
from support import hostile

VFS, ETH = Row("NUM_OF_VFS", "16", "0", "16"), Row("LINK_TYPE_P2", "ETH(2)", "IB(1)", "ETH(2)")
CX5, CX7 = "MT_0000000008", "MT_0000000838"


def adapter(psid: str = CX5, version: str = "16.35.4030", *rows: Row, pci: str = "0000:03:00.0", **more: t.Any) -> SeenAdapter:
    return SeenAdapter(pci, psid, "", psid, version, version, rows)._replace(**more)


def host(name: str, *adapters: SeenAdapter) -> Subject:
    return Subject(name, found=Seen(adapters, ("mstflint", "mstconfig")))


def values(found: Joined, name: str) -> dict[str, t.Any]:
    declared = {value.variable: value.value for value in found.values[name]}
    assert problems(declared) == []
    return declared


def test_a_board_that_a_host_lacks_is_declared_there_as_everywhere() -> None:
    found = join([host("node1", adapter(CX5, "16.35.4030", VFS)), host("node2", adapter(CX7, "28.39.1002", ETH)), host("login")])
    assert values(found, "node1") == values(found, "node2") == values(found, "login")
    assert values(found, "login") == {
        "hca_firmware_versions": {CX5: "16.35.4030", CX7: "28.39.1002"},
        "hca_firmware_config": [{"psid": CX5, "parameters": {"NUM_OF_VFS": 16}}, {"psid": CX7, "parameters": {"LINK_TYPE_P2": "ETH"}}],
    }
    assert found.dangers == []
    sources = {name: found.values[name][0].source for name in ("node1", "login")}
    assert sources == {"node1": "the firmware of the adapters, by PSID", "login": "the firmware of boards that other hosts have, by PSID"}


def test_versions_are_listed_as_numbers() -> None:
    found = join([host("node1", adapter(CX5, "16.9.1000")), host("node2", adapter(CX5, "16.35.1000"))])
    assert found.dangers == ["adapters with PSID %s have different firmware: 16.9.1000 on node1; 16.35.1000 on node2" % CX5]


def test_a_few_hosts_of_many_that_differ() -> None:
    usual = [host("node%d" % number, adapter(CX5, "16.35.4030", VFS)) for number in range(1, 498)]
    odd = [host("node498", adapter(CX5, "16.35.2000", VFS)), host("node499", adapter()), host("node500", adapter(CX5, "16.35.4030", VFS, ETH))]
    found = join([*usual, *odd, host("login", adapter(CX7, "28.39.1002"))])
    assert found.dangers == [
        "adapters with PSID %s have different firmware: 16.35.2000 on node498; 16.35.4030 on node[1-497,499-500]" % CX5,
        "adapters with PSID %s have different values of LINK_TYPE_P2: ETH(2) on node500; the default on node[1-499]" % CX5,
        "adapters with PSID %s have different values of NUM_OF_VFS: 16 on node[1-498,500]; the default on node499" % CX5,
    ]
    assert values(found, "node498")["hca_firmware_versions"] == {CX5: "16.35.2000", CX7: "28.39.1002"}
    assert values(found, "node499")["hca_firmware_config"] == []
    assert values(found, "login") == values(found, "node1")


def test_what_was_not_read_is_not_declared_even_if_others_have_it() -> None:
    found = join([host("node1", adapter(CX5, "16.35.4030", VFS)), host("node2", adapter(CX5, "", parameters=None, errors=("it does not answer",)))])
    assert values(found, "node2") == {"hca_firmware_versions": {}, "hca_firmware_config": []}
    assert found.dangers == []


def test_nothing_is_declared_where_the_tools_are_missing() -> None:
    """A declaration, for whichever board, would install them."""
    bare = Subject("node2", found=Seen((adapter(CX7, "", parameters=None, flash_psid=""),), ()))
    found = join([host("node1", adapter(CX5, "16.35.4030", VFS)), bare, Subject("login", found=Seen((), ()))])
    assert values(found, "node2") == {"hca_firmware_versions": {}, "hca_firmware_config": []}
    assert values(found, "login") == values(found, "node1") != values(found, "node2")
    assert len(read(bare).left) == 2
    # One of the two tools is there.
    half = bare._replace(found=bare.found._replace(tools=("flint",)))
    assert values(join([host("node1", adapter(CX5, "16.35.4030", VFS)), half]), "node2") == {
        "hca_firmware_versions": {CX5: "16.35.4030"},
        "hca_firmware_config": [],
    }


def test_what_others_have_is_not_declared_for_an_unknown_board() -> None:
    unknown = host("node2", adapter("", "", flash_psid="", parameters=None))
    assert values(join([host("node1", adapter(CX5, "16.35.4030", VFS)), unknown]), "node2") == {"hca_firmware_versions": {}, "hca_firmware_config": []}


def test_a_parameter_whose_default_is_not_known_is_not_said_to_have_it() -> None:
    usual, silent = host("node1", adapter(CX5, "16.35.4030", VFS)), adapter(parameters=(), without_defaults=True)
    assert join([usual, host("node2", silent)]).dangers == []
    assert join([usual, host("node2", adapter(unknown=("NUM_OF_VFS",)))]).dangers == []
    assert len(join([usual, host("node2", adapter(unknown=("OTHER",)))]).dangers) == 1


def test_adapters_of_one_board_in_one_host_with_different_firmware() -> None:
    subject = host("node1", adapter(CX5, "16.35.4030"), adapter(CX5, "16.35.2000", pci="0000:41:00.0"))
    assert values(join([subject]), "node1")["hca_firmware_versions"] == {}
    assert [left.what for left in read(subject).left] == ["firmware of %s" % CX5]


def test_an_adapter_without_a_driver_is_declared_by_address() -> None:
    subject = host("node1", adapter("", "16.35.4030", VFS, flash_psid=CX5))
    assert values(join([subject]), "node1") == {
        "hca_firmware_versions": {CX5: "16.35.4030"},
        "hca_firmware_config": [{"pci": "0000:03:00.0", "parameters": {"NUM_OF_VFS": 16}}],
    }


def test_firmware_of_a_baseboard_is_left_to_it() -> None:
    subject = host("node1", adapter(CX5, "16.35.4030", apart="nvswitch"))
    assert values(join([subject]), "node1") == {"hca_firmware_versions": {}, "hca_firmware_config": []}
    assert "belongs to that of the baseboard" in read(subject).left[0].why


def test_no_answer_of_an_adapter_becomes_a_declaration_that_is_refused() -> None:
    chance = random.Random(1)
    texts = ("", "1", "True(1)", "ETH(2)", "N/A", "0xffffffff", "4294967295", "Array[0..7]", "8(3)", "99999999999999999999", "0012", "X[1]", *hostile.NAMES)

    def row() -> Row:
        return Row(chance.choice(("NUM_OF_VFS", "A_B[3]", "A_B[4]", "A_B[99999]", *hostile.NAMES)), *(chance.choice(texts) for _value in range(3)))

    for _round in range(2000):
        subjects = []
        for number in range(chance.randrange(1, 4)):
            cards = []
            for slot in range(chance.randrange(3)):
                rows = {each.name: each for each in (row() for _number in range(chance.randrange(4)))}
                psid, version = chance.choice((CX5, "", *hostile.NAMES)), chance.choice(("16.35.4030", "", *hostile.NAMES))
                cards.append(adapter(psid, version, *rows.values(), pci="0000:%02x:00.0" % slot, flash_psid=chance.choice((psid, CX7))))
            subjects.append(host("node%d" % number, *cards))
        found = join(subjects)
        for subject in subjects:
            values(found, subject.host)
            read(subject)
