# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._declared import Description, declarations
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._file import parse_partitions
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import Inventory, problems, render
from support import hostile

GUIDS = {"node%d" % number: ["0x%016x" % (0x100 * number + port) for port in (1, 2)] for number in range(1, 6)}
GROUPS = {"all": list(GUIDS), "rdma": list(GUIDS), "gpu": ["node1", "node2"], "one": ["node3"]}
INVENTORY = Inventory(GROUPS, GUIDS)
DEFAULT = "Default=0x7fff, ipoib : ALL=full;\n"


def declared(text: str) -> Description:
    found = declarations(text, "FILE", INVENTORY)
    assert problems(found.entries, INVENTORY) == []
    return found


def meaning(text: str) -> list[t.Any]:
    return [(rule.name, rule.pkey, rule.flags, rule.members, rule.ipoib) for rule in parse_partitions(text)]


def test_what_opensm_does_without_a_file_is_no_declaration() -> None:
    assert declared("") == declared(DEFAULT) == Description([], [], [])


def test_members_by_group_by_host_and_by_port() -> None:
    members = ["%s=full" % guid for host in ("node1", "node2", "node3") for guid in GUIDS[host]] + [GUIDS["node4"][0] + "=limited", "0x9999=limited"]
    found = declared(DEFAULT + "storage=0x8001, ipoib, mtu=5, rate=7, sl=1, scope=5 : %s;\n" % ", ".join(members))
    assert found.entries[1] == {
        "name": "storage",
        "pkey": "0x0001",
        "ipoib": True,
        "mtu": 4096,
        "rate": 40,
        "sl": 1,
        "scope": "site",
        "members": [
            {"group": "gpu"},
            {"host": "node3"},
            {"port_guid": GUIDS["node4"][0], "membership": "limited"},
            {"port_guid": "0x0000000000009999", "membership": "limited"},
        ],
        "isolate": True,
    }


def test_the_default_partition_that_opensm_adds_to_a_file() -> None:
    found = declared("a=0x8001 : ALL=full;\n")
    assert [entry["name"] for entry in found.entries] == ["Default", "a"]
    assert found.entries[0]["members"] == [{"keyword": "ALL", "membership": "limited"}, {"keyword": "SELF"}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a=0x8001, Q_Key=7 : ALL=full;", "it has Q_Key=7"),
        ("a=0x8001 : mgid=ff12::1, ALL=full;", "it has mgid=ff12::1"),
        ("noname : ALL=full;", "it has no P_Key of its own"),
        ("a=0x8001 : %s=limited, 0x77=limited;" % GUIDS["node1"][0], "at least one full member"),
        ("a b=0x8001 : ALL=full;", "a name of up to 31 letters"),
    ],
)
def test_what_no_declaration_has_is_named(text: str, why: str) -> None:
    found = declared(DEFAULT + text + "\n")
    assert [entry["name"] for entry in found.entries] == ["Default"]
    assert why in found.left[0].why and "opensm_adopt: true keeps" in found.left[0].why


def test_dangers() -> None:
    assert "limited members only" in declared(DEFAULT + "a=0x8001 : 0x1=limited, 0x2=limited;\n").dangers[0]
    assert "opensm drops FILE" in declared("no partition\n").dangers[0]


@pytest.mark.parametrize("name", hostile.NAMES)
def test_hostile_names(name: str) -> None:
    found = declared(DEFAULT + "%s=0x8001 : ALL=full;\n" % name)
    assert all(entry["name"].isprintable() and "{" not in entry["name"] for entry in found.entries)


def test_the_inverse_of_render() -> None:
    """What was declared gives the same partitions after it was rendered, read and declared again."""
    chance = random.Random(5)
    for _round in range(300):
        entries: list[dict[str, t.Any]] = [{"name": "Default", "pkey": "0x7fff", "ipoib": chance.random() < 0.5, "members": [{"keyword": "ALL"}]}]
        for number in range(chance.randrange(3)):
            who = [{"host": "node%d" % host} for host in chance.sample(range(1, 6), chance.randrange(1, 4))]
            who += chance.choice([[], [{"keyword": "SELF"}], [{"group": "gpu"}], [{"port_guid": "0x77"}]])
            for member in who[1:]:
                member.update({"membership": "limited"} if chance.random() < 0.3 else {})
            entry: dict[str, t.Any] = {"name": "part%d" % number, "pkey": number + 1, "members": who, "isolate": True}
            if chance.random() < 0.5:
                entry.update({"ipoib": True, "mtu": chance.choice([2048, 4096]), "rate": chance.choice([10, 40]), "scope": chance.choice(["link", 5])})
            entries.append(entry)
        if problems(entries, INVENTORY):
            continue
        text = render(entries, INVENTORY)
        again = declared(text)
        assert again.left == []
        assert meaning(render(again.entries, INVENTORY) or DEFAULT) == meaning(text) or not again.entries
