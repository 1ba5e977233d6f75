# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module on a node made of files, with cards that answer like real ones."""

from __future__ import annotations

import copy
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _session
from ansible_collections.rdma.ofed.plugins.module_utils._host._lock import card_locks
from support.firmware_node import Node, Parameter
from support.mlxconfig_runs import converge, verbs
from support.module_results import pending_words

FIRST, SECOND, THIRD = "0000:03:00.0", "0000:81:00.0", "0000:82:00.0"


@pytest.fixture(name="node")
def dual_port_card(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return one card with two functions."""
    monkeypatch.setattr(_session, "WAITS", (0.0, 0.0))
    node = Node(tmp_path)
    node.add(FIRST, "mlx5_0")
    node.add("0000:03:00.1", "mlx5_1")
    return node


def run(node: Node, parameters: t.Mapping[str, t.Any], check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    return converge(node, [{"all": True, "parameters": parameters}], check, **params)


WANTED = {"LINK_TYPE_P1": "eth", "SRIOV_EN": True, "NUM_OF_VFS": "0x10", "HOST_CHAINING_DESCRIPTORS[0..1]": [3, 5]}


def test_a_container_does_not_own_the_cards(node: Node) -> None:
    """The build host's cards, seen from the container in which an image is built."""
    node.root.joinpath(".dockerenv").touch()
    for check in (True, False):
        with pytest.raises(Refused, match="rdma_allow_container"):
            run(node, {"NUM_OF_VFS": 4}, check, allow_container=False)
    assert "set" not in verbs(node)
    assert run(node, {"NUM_OF_VFS": 4}, allow_container=True)["changed"]
    assert not run(node, {"NUM_OF_VFS": 4}, allow_container=False)["changed"]


def test_what_only_the_burned_firmware_has_waits_for_it(node: Node) -> None:
    """Regression: with image and parameter declared together, the parameter ended every run before the image could be activated."""
    wanted = {"NUM_OF_VFS": 16, "BRAND_NEW_FEATURE": 3}
    with pytest.raises(InvalidInput, match="BRAND_NEW_FEATURE"):
        run(node, wanted)
    with pytest.raises(InvalidInput, match="BRAND_NEW_FEATURE"):
        run(node, wanted, awaiting_firmware=[SECOND])
    # Any function of the card identifies it.
    predicted = run(node, wanted, check=True, awaiting_firmware=["0000:03:00.1"])
    done = run(node, wanted, awaiting_firmware=["0000:03:00.1"])
    assert predicted["pending"] == done["pending"] and predicted["changes"] == done["changes"] == [FIRST + " NUM_OF_VFS: 8 -> 16"]
    (entry,) = done["waiting"]
    assert entry in done["pending"] and len(done["pending"]) == 2
    assert {key: entry[key] for key in ("kind", "subject", "aspect", "after", "needs")} == {
        "kind": "firmware_parameter",
        "subject": FIRST,
        "aspect": "BRAND_NEW_FEATURE",
        "after": "3",
        "needs": "reboot",
    }
    assert entry["why"] and not run(node, wanted, awaiting_firmware=[FIRST])["changed"]
    # With its firmware, the parameter is set.
    node.cards[FIRST].parameters["BRAND_NEW_FEATURE"] = Parameter(0)
    done = run(node, wanted, awaiting_firmware=[FIRST])
    assert done["waiting"] == [] and done["changes"] == [FIRST + " BRAND_NEW_FEATURE: 0 -> 3"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SRIOVEN", "did you mean SRIOV_EN"),
        ("LINK_TYPE", "LINK_TYPE_P1 or LINK_TYPE_P2"),
        ("HOST_CHAINING_DESCRIPTORS[8]", "HOST_CHAINING_DESCRIPTORS[0..7]"),
        ("MAX_ACC_OUT_READ", "ADVANCED_PCI_SETTINGS=1"),
    ],
)
def test_a_misspelt_name_does_not_wait(node: Node, name: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(node, {name: 1}, awaiting_firmware=[FIRST])
    assert words in caught.value.msg and "set" not in verbs(node)


def test_without_tools_check_mode_says_that_it_can_not_foresee(node: Node) -> None:
    node.tools = set()
    answer = run(node, {"NUM_OF_VFS": 4}, check=True)
    assert not answer["changed"] and "nothing can be predicted: the tools are not installed" in answer["reasons"][0]
    with pytest.raises(Unsupported):
        run(node, {"NUM_OF_VFS": 4})


def test_set_then_nothing_then_a_restart(node: Node) -> None:
    before = copy.deepcopy(node.cards[FIRST].parameters)
    predicted = run(node, WANTED, check=True)
    assert verbs(node) == ["query", "dry set"]
    assert {name: one.next for name, one in node.cards[FIRST].parameters.items()} == {name: one.next for name, one in before.items()}
    done = run(node, WANTED)
    assert verbs(node) == ["query", "dry set", "set", "query"]
    for key in ("changes", "diff", "pending", "reboot_required", "reasons", "changed"):
        assert predicted[key] == done[key]
    assert done["changes"] == [
        FIRST + " LINK_TYPE_P1: IB(1) -> ETH(2)",
        FIRST + " NUM_OF_VFS: 8 -> 16",
        FIRST + " HOST_CHAINING_DESCRIPTORS[1]: 3 -> 5",
    ]
    assert done["reboot_required"] and len(done["pending"]) == 3
    again = run(node, WANTED)
    assert verbs(node) == ["query"]
    assert not again["changed"] and again["diff"] == [] and again["pending"] == done["pending"]
    node.cards[FIRST].restart()
    after = run(node, WANTED)
    assert not after["changed"] and after["pending"] == [] and not after["reboot_required"]
    (device,) = after["devices"]
    assert device["functions"] == [FIRST, "0000:03:00.1"] and device["rdma"] == ["mlx5_0", "mlx5_1"]
    assert device["parameters"]["LINK_TYPE_P1"] == {"default": "IB(1)", "current": "ETH(2)", "next": "ETH(2)"}


def test_only_what_differs_is_set(node: Node) -> None:
    run(node, WANTED)
    third = run(node, {**WANTED, "NUM_OF_VFS": 32})
    assert third["changes"] == [FIRST + " NUM_OF_VFS: 16 -> 32"]
    assert [call for call in node.calls if "-y" in call] == [["mstconfig", "-y", "-d", FIRST, "set", "NUM_OF_VFS=32"]]


def test_everything_wrong_is_told_before_anything_is_set(node: Node) -> None:
    node.add(SECOND, "mlx5_2", "0x101b")
    wrong = {
        "LINK_TYPE": 2,
        "SRIOVEN": True,
        "LINK_TYPE_P2": "VPI",
        "SAFE_MODE_ENABLE": False,
        "NUM_OF_VFS": True,
        "HOST_CHAINING_DESCRIPTORS[8]": 1,
        "INTERNAL_CPU_MODEL": 1,
        "MAX_ACC_OUT_READ": 4,
    }
    with pytest.raises(InvalidInput) as caught:
        converge(node, [{"pci": "03:00.1", "parameters": {"LINK_TYPE_P1": "ETH"}}, {"type": "ConnectX-6", "parameters": wrong}])
    assert "set" not in verbs(node)
    text = caught.value.msg
    for part in (
        "did you mean LINK_TYPE_P1 or LINK_TYPE_P2?",
        "did you mean SRIOV_EN?",
        "LINK_TYPE_P2 (0000:81:00.0) is 'VPI'; allowed: ETH(2), IB(1)",
        "SAFE_MODE_ENABLE is read only",
        "NUM_OF_VFS is not a boolean",
        "HOST_CHAINING_DESCRIPTORS[0..7]",
        "the tool knows it, but not for this card with its current firmware and settings",
        "it exists only with ADVANCED_PCI_SETTINGS=1",
    ):
        assert part in text
    assert len(caught.value.problems) == len(wrong)


@pytest.mark.parametrize(("value", "allowed"), [("VPI", "ETH(2), IB(1)"), (7, "ETH(2), IB(1)"), ("0x3", "ETH(2), IB(1)")])
def test_the_tool_judges_values_and_we_say_which(node: Node, value: t.Any, allowed: str) -> None:
    with pytest.raises(InvalidInput, match="mstconfig says: Unknown value") as caught:
        run(node, {"LINK_TYPE_P1": value, "NUM_OF_VFS": 4})
    (problem,) = caught.value.problems
    assert problem.allowed == allowed and problem.variable == "devices[0].parameters.LINK_TYPE_P1 (0000:03:00.0)"
    assert "set" not in verbs(node)


def told(node: Node, parameters: t.Mapping[str, t.Any]) -> list[str]:
    """Return all errors as text."""
    with pytest.raises(InvalidInput) as caught:
        run(node, parameters)
    assert "set" not in verbs(node)
    return [str(problem) for problem in caught.value.problems]


def test_each_wrong_value_is_told_with_its_own_reason(node: Node) -> None:
    path = "devices[0].parameters.%s (0000:03:00.0) is "
    sizes = {"NUM_OF_VFS": 100000, "LINK_TYPE_P2": "ETH", "BOOT_PKEY": "0x11170"}
    assert told(node, sizes) == [
        path % "NUM_OF_VFS" + "'100000'; allowed: 0 to 65535 (mstconfig says: The value 100000 is not valid, as its size is 16 bits)",
        path % "BOOT_PKEY" + "'0x11170'; allowed: 0 to 65535 (mstconfig says: The value 70000 is not valid, as its size is 16 bits)",
    ]
    assert verbs(node) == ["query", "dry set", "dry set", "dry set", "dry set", "show_confs"]
    kinds = {"LINK_TYPE_P1": "IBX", "NUM_OF_VFS": "many", "SRIOV_EN": 3, "BOOT_PKEY": 5}
    assert told(node, kinds) == [
        path % "LINK_TYPE_P1" + "'IBX'; allowed: ETH(2), IB(1) (mstconfig says: Unknown value IBX)",
        path % "NUM_OF_VFS" + "'many'; allowed: a number (mstconfig says: Cannot parse the value)",
        path % "SRIOV_EN" + "'3'; allowed: False(0), True(1) (mstconfig says: Unknown value 3)",
    ]
    assert told(node, {"SRIOVEN": True, "BOOT_PKEY": 70000, "NUM_OF_VFS": 4})[1].startswith(path % "BOOT_PKEY" + "'70000'; allowed: 0 to 65535")


def test_one_wrong_value_is_not_asked_for_twice(node: Node) -> None:
    assert len(told(node, {"NUM_OF_VFS": 100000})) == 1
    assert verbs(node) == ["query", "dry set", "show_confs"]


def test_values_that_are_refused_only_together(node: Node) -> None:
    node.clash = frozenset({"NUM_OF_VFS", "BOOT_PKEY"})
    assert told(node, {"NUM_OF_VFS": 4, "BOOT_PKEY": 1}) == [
        "devices[0].parameters (0000:03:00.0) is 'NUM_OF_VFS=4 BOOT_PKEY=1'; allowed: values that are compatible (mstconfig says: These do not go together)"
    ]


def test_a_range_is_one_problem(node: Node) -> None:
    (far,) = told(node, {"HOST_CHAINING_DESCRIPTORS[0..99]": 8})
    assert far == "devices[0].parameters (0000:03:00.0) is 'HOST_CHAINING_DESCRIPTORS[0..99]'; allowed: HOST_CHAINING_DESCRIPTORS[0..7]"
    (value,) = told(node, {"HOST_CHAINING_DESCRIPTORS[0..7]": "many"})
    assert value.startswith("devices[0].parameters.HOST_CHAINING_DESCRIPTORS[0..7] (0000:03:00.0) is 'many'")


def test_suggestions_come_from_the_card_and_from_the_tool(node: Node) -> None:
    (near,) = told(node, {"NUM_OF_VF": 8})
    assert near == "devices[0].parameters (0000:03:00.0) is 'NUM_OF_VF'; allowed: a parameter of this adapter (did you mean NUM_OF_VFS?)"
    (known,) = told(node, {"BOOT_RETRY_CNT": 3})
    assert "(the tool knows BOOT_RETRY_CNT1, but not for this card with its current firmware and settings; see: mstconfig -d" in known
    node.cards[FIRST].parameters["BOOT_RETRY_CNT1"] = Parameter(0)
    (there,) = told(node, {"BOOT_RETRY_CNT": 3})
    assert "a parameter of this adapter (did you mean BOOT_RETRY_CNT1" in there


def test_an_array_as_a_whole_needs_indices(node: Node) -> None:
    with pytest.raises(InvalidInput, match=r"elements of the array: HOST_CHAINING_DESCRIPTORS\[0\.\.7\]"):
        run(node, {"HOST_CHAINING_DESCRIPTORS": 4})


def test_a_limit_of_the_firmware_stops_at_the_first_card_of_its_kind(node: Node) -> None:
    node.add(SECOND, "mlx5_2", psid="MT_0000000009")
    node.add(THIRD, "mlx5_3")
    with pytest.raises(CommandFailed, match="larger than maximum allowed 127") as caught:
        run(node, {"NUM_OF_VFS": 1000, "LINK_TYPE_P1": "ETH"})
    assert "Not touched: 0000:81:00.0 (mlx5_2), 0000:82:00.0 (mlx5_3)" in caught.value.msg
    assert verbs(node).count("set") == 1
    assert caught.value.details["changed"] is False
    assert all(card.value("LINK_TYPE_P1") == "IB(1)" for card in node.cards.values())


def test_a_set_that_fails_halfway_says_what_was_set_and_converges_later(node: Node) -> None:
    node.cards[FIRST].fail_after = 1
    with pytest.raises(CommandFailed, match="erase count") as caught:
        run(node, {"LINK_TYPE_P1": "ETH", "NUM_OF_VFS": 16})
    assert "Set for the next start: 0000:03:00.0 LINK_TYPE_P1: IB(1) -> ETH(2). Not set: NUM_OF_VFS" in caught.value.msg
    assert caught.value.details["changed"] is True
    assert caught.value.details["changes"] == [FIRST + " LINK_TYPE_P1: IB(1) -> ETH(2)"]
    node.cards[FIRST].fail_after = -1
    assert run(node, {"LINK_TYPE_P1": "ETH", "NUM_OF_VFS": 16})["changes"] == [FIRST + " NUM_OF_VFS: 8 -> 16"]


def test_a_failure_beside_a_success(node: Node) -> None:
    node.add(SECOND, "mlx5_2", "0x101b").fail_after = 0
    with pytest.raises(CommandFailed, match=r"Set on other adapters: 0000:03:00.0 NUM_OF_VFS: 8 -> 4") as caught:
        run(node, {"NUM_OF_VFS": 4})
    assert caught.value.details["changes"] == [FIRST + " NUM_OF_VFS: 8 -> 4"]


def test_what_exists_only_after_another_parameter_is_set(node: Node) -> None:
    wanted = {"ADVANCED_PCI_SETTINGS": True, "MAX_ACC_OUT_READ": 44}
    predicted = run(node, wanted, check=True)
    done = run(node, wanted)
    assert predicted["changes"] == done["changes"]
    assert done["changes"] == [FIRST + " ADVANCED_PCI_SETTINGS: False(0) -> True(1)", FIRST + " MAX_ACC_OUT_READ: not available -> 44"]
    assert node.cards[FIRST].value("MAX_ACC_OUT_READ") == "44"
    assert not run(node, wanted)["changed"] and verbs(node) == ["query"]
    with pytest.raises(InvalidInput, match="MAX_ACC_OUT_READ exists only with that value"):
        run(node, {"ADVANCED_PCI_SETTINGS": False, "MAX_ACC_OUT_READ": 44})
    both = [{"all": True, "state": "default", "names": list(wanted)}]
    assert converge(node, both)["changed"]
    assert not converge(node, both)["changed"]


def test_a_bad_value_of_a_later_parameter_is_found_before_the_first_set(node: Node) -> None:
    with pytest.raises(InvalidInput, match="allowed: a number"):
        run(node, {"ADVANCED_PCI_SETTINGS": True, "MAX_ACC_OUT_READ": "many"})
    assert "set" not in verbs(node)


def test_defaults(node: Node) -> None:
    run(node, WANTED)
    named = converge(node, [{"all": True, "state": "default", "names": ["SRIOV_EN", "HOST_CHAINING_DESCRIPTORS[0..7]"]}])
    assert named["changes"] == [FIRST + " SRIOV_EN: True(1) -> False(0)", FIRST + " HOST_CHAINING_DESCRIPTORS[1]: 5 -> 3"]
    run(node, WANTED)
    everything = [{"all": True, "state": "default", "parameters": {"LINK_TYPE_P1": "ETH"}}]
    predicted = converge(node, everything, check=True)
    done = converge(node, everything)
    assert predicted["changes"] == done["changes"]
    assert sorted(done["changes"]) == [
        FIRST + " HOST_CHAINING_DESCRIPTORS[1]: 5 -> 3",
        FIRST + " NUM_OF_VFS: 16 -> 0",
        FIRST + " SRIOV_EN: True(1) -> False(0)",
    ]
    assert not converge(node, everything)["changed"]


def test_firmware_that_tells_only_the_next_values(node: Node) -> None:
    node.cards[FIRST].knows_states = False
    done = run(node, {"NUM_OF_VFS": 4})
    assert pending_words(done) == [FIRST + " NUM_OF_VFS: unknown -> 4 (needs reboot)"]
    assert run(node, {"NUM_OF_VFS": 4})["pending"] == []
    with pytest.raises(InvalidInput, match="does not report its defaults"):
        converge(node, [{"all": True, "state": "default", "names": ["NUM_OF_VFS"]}])


def test_backups_come_before_the_first_change(node: Node) -> None:
    assert run(node, {"NUM_OF_VFS": 4}, check=True, backup=True)["backup_files"] == []
    done = run(node, {"NUM_OF_VFS": 4}, backup=True)
    assert verbs(node) == ["query", "dry set", "backup", "set", "query"]
    (path,) = done["backup_files"]
    assert pathlib.Path(path).read_text(encoding="utf-8").startswith("MLNX_RAW_TLV_FILE")
    assert run(node, {"NUM_OF_VFS": 4}, backup=True)["backup_files"] == []
    for one in node.cards[FIRST].parameters.values():
        one.next = one.default
    assert run(node, {"NUM_OF_VFS": 4}, backup=True)["backup_files"] == []


def test_busy_cards_are_asked_again(node: Node) -> None:
    node.cards[FIRST].refusals = ["Timed out trying to take the ICMD semaphore"] * 2
    assert run(node, {"NUM_OF_VFS": 4})["changed"]
    node.cards[FIRST].refusals = ["Timed out trying to take the ICMD semaphore"] * 3
    with pytest.raises(CommandFailed, match=r"0000:03:00\.0 \(mlx5_0, mlx5_1\): .*the semaphores of the card are held.*repeat the task later"):
        run(node, {"NUM_OF_VFS": 5})


def test_what_an_interrupted_run_left_passes(node: Node) -> None:
    said = "Failed to query device current configuration ME_ICMD_STATUS_CR_FAIL"
    node.cards[FIRST].refusals = [said] * 2
    assert run(node, {"NUM_OF_VFS": 4})["changed"]
    node.cards[FIRST].refusals = [said] * 3
    with pytest.raises(CommandFailed, match="another process uses the card, perhaps one of an interrupted run; repeat the task later"):
        run(node, {"NUM_OF_VFS": 5})


def test_a_card_that_goes_while_it_is_asked_is_no_wrong_value(node: Node) -> None:
    node.cards[FIRST].dry_refusals = ["Failed to identify the device"]
    with pytest.raises(CommandFailed, match=r"can't determine whether it accepts .*the card may have left the PCI bus: see dmesg"):
        run(node, {"NUM_OF_VFS": 4, "LINK_TYPE_P1": "ETH"})


def test_the_other_program_where_one_does_not_know_the_card(node: Node) -> None:
    node.tools.add("mlxconfig")
    node.blind = {"mstconfig"}
    assert run(node, {"NUM_OF_VFS": 4})["devices"][0]["tool"] == "mlxconfig"
    node.blind = {"mlxconfig"}
    assert run(node, {"NUM_OF_VFS": 5})["devices"][0]["tool"] == "mstconfig"
    with pytest.raises(CommandFailed, match="Unsupported device"):
        run(node, {"NUM_OF_VFS": 6}, tool="mlxconfig")
    node.tools.clear()
    with pytest.raises(Unsupported, match="mstflint"):
        run(node, {"NUM_OF_VFS": 4})


def test_a_read_only_parameter_does_not_lock_those_beside_it(node: Node) -> None:
    assert run(node, {"SAFE_MODE_ENABLE": True, "NUM_OF_VFS": 16})["changes"] == [FIRST + " NUM_OF_VFS: 8 -> 16"]
    with pytest.raises(InvalidInput) as caught:
        run(node, {"SAFE_MODE_ENABLE": False, "NUM_OF_VFS": 8})
    assert "SAFE_MODE_ENABLE" in caught.value.msg and "NUM_OF_VFS" not in caught.value.msg


def test_an_unchanged_run_asks_each_of_eight_cards_once(node: Node) -> None:
    for index in range(1, 8):
        node.add("0000:a%d:00.0" % index, "mlx5_a%d" % index)
    assert not run(node, {"NUM_OF_VFS": 8})["changed"]
    assert verbs(node) == ["query"] * 8


def test_a_card_that_vanishes_is_named(node: Node) -> None:
    node.cards[FIRST].refusals = ["Failed to open the device"]
    said = r"0000:03:00\.0 \(mlx5_0, mlx5_1\): mstconfig can't query it: Failed to open the device \(the task must run as root"
    with pytest.raises(CommandFailed, match=said):
        run(node, {"NUM_OF_VFS": 4})


def test_selectors_that_choose_nothing(node: Node) -> None:
    entries = [{"psid": "MT_0000000009", "parameters": {"NUM_OF_VFS": 4}}]
    with pytest.raises(InvalidInput, match=r"this node has: 0000:03:00.0 ConnectX5 PSID MT_0000000008 mlx5_0 mlx5_1"):
        converge(node, entries)
    ignored = converge(node, entries, missing="ignore")
    assert ignored["devices"] == [] and node.calls == []


def test_another_run_holds_the_card(node: Node) -> None:
    with card_locks([FIRST], 1, str(node.root)), pytest.raises(RdmaError, match="process"):
        run(node, {"NUM_OF_VFS": 4}, lock_timeout=0)
    assert node.calls == []


@pytest.mark.parametrize("check", [True, False])
def test_a_card_that_can_not_be_queried_does_not_stop_the_others(node: Node, check: bool) -> None:
    node.add(SECOND, "mlx5_2").refusals = ["Failed to open the device"]
    with pytest.raises(CommandFailed, match=r"0000:81:00\.0.*can't query it") as caught:
        run(node, {"NUM_OF_VFS": 16}, check)
    details = caught.value.details
    assert details["changed"] and details["changes"] == [FIRST + " NUM_OF_VFS: 8 -> 16"] and [one["subject"] for one in details["pending"]] == [FIRST]
    assert [one["pci"] for one in details["unread"]] == [SECOND] and "Failed to open the device" in details["unread"][0]["why"]
    assert node.cards[FIRST].value("NUM_OF_VFS") == ("8" if check else "16")
    # Input errors are reported before anything is set.
    node.cards[SECOND].refusals = ["Failed to open the device"]
    with pytest.raises(InvalidInput, match="SRIOVEN"):
        run(node, {"SRIOVEN": 1}, check)
