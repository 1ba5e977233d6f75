# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Firmware against its declaration, on a node whose cards answer like real ones."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._expect import findings
from ansible_collections.rdma.ofed.plugins.module_utils._check._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import problems, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._look import look_at_last
from ansible_collections.rdma.ofed.plugins.module_utils._check._words import lines
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _session
from ansible_collections.rdma.ofed.plugins.modules import node_check
from support.expected import at
from support.firmware_node import Node
from support.flint_cards import Cards

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

DEFAULTS = {name: argument.get("default") for name, argument in node_check.OPTIONS.items()}
FIRST, SECOND = "0000:03:00.0", "0000:83:00.0"
DECLARED = {"MT_1": "16.35.3006"}
URL = "https://firmware.example.org/new.bin"


class Both:
    """A node with the tools for images and for parameters."""

    def __init__(self, root: pathlib.Path) -> None:
        self.node = Node(root)
        for pci, name in ((FIRST, "mlx5_0"), (SECOND, "mlx5_1")):
            self.node.add(pci, name, psid="MT_1")
        self.cards = Cards(FIRST, SECOND)
        self.tools = {"mstflint", "mstconfig"}
        (root / "fw").mkdir()
        (root / "fw/new.bin").write_text("MT_1 16.35.3006", encoding="utf-8")

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        return self.cards(argv, ok, timeout) if argv[0] == "mstflint" else self.node(argv, ok, timeout)

    def fields(self, **declared: t.Any) -> list[tuple[str, str, str, str, str]]:
        return [(one.code.value, one.subject, one.aspect, one.wanted, one.found) for one in self._findings(declared)]

    def lines(self, **declared: t.Any) -> list[str]:
        return lines(self._findings(declared))

    def _findings(self, declared: dict[str, t.Any]) -> list[t.Any]:
        given = {**DEFAULTS, "firmware": True, "subnet_manager": False, **{"hca_firmware_" + name: value for name, value in declared.items()}}
        assert problems(given) == []
        wanted = wanted_of(given)
        before = self._files()
        found = findings(wanted, look_at_last(at(self, self.node.root), wanted, Found()))
        assert self.cards.burns == [] and not any("set" in call for call in self.node.calls) and self._files() == before
        return found

    def _files(self) -> list[str]:
        return sorted(os.path.join(folder, name) for folder, folders, names in os.walk(self.node.root) for name in (*folders, *names))


@pytest.fixture(name="node")
def two_cards(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Both:
    monkeypatch.setattr(_session, "WAITS", (0.0, 0.0))
    return Both(tmp_path)


def test_another_version_than_the_declared_one(node: Both) -> None:
    images = str(node.node.root / "fw")
    assert node.fields(versions=DECLARED, images=images) == [("differs", pci, "version", "16.35.3006", "16.35.2000") for pci in (FIRST, SECOND)]
    # Only the directory declares the newest image.
    assert node.fields(images=images) == node.fields(versions=DECLARED, images=images)
    assert node.lines(images=images)[0] == "adapter 0000:03:00.0 firmware: wanted 16.35.3006, found 16.35.2000 (run rdma.ofed.firmware)"


def test_an_older_image_is_refused_and_no_change(node: Both) -> None:
    for pci in (FIRST, SECOND):
        node.cards.flash[pci] = ["MT_1", "16.99.1000"]
    images = str(node.node.root / "fw")
    ((code, *_rest),) = [one for one in node.fields(images=images) if one[0] != "firmware_pending"]
    assert code == "refused" and "hca_firmware_allow_downgrade of the role" in node.lines(images=images)[-1]
    assert {one[0] for one in node.fields(images=images, allow_downgrade=True)} == {"differs"}


def test_selected_adapters_alone_are_compared(node: Both) -> None:
    assert [one[1] for one in node.fields(images=str(node.node.root / "fw"), devices=[{"pci": SECOND}])] == [SECOND]


def test_firmware_that_is_burned_and_does_not_run(node: Both) -> None:
    node.cards.flash[FIRST] = ["MT_1", "16.35.3006"]
    node.cards.flash[SECOND] = ["MT_1", "16.35.3006"]
    node.cards.running[SECOND] = "16.35.3006"
    assert node.fields(versions=DECLARED) == [("firmware_pending", FIRST, "running_version", "16.35.3006", "16.35.2000")]
    assert "rdma_allow_reset" in node.lines(versions=DECLARED)[0]
    node.cards.reset()
    assert node.fields(versions=DECLARED) == []


def test_a_version_without_an_image_is_no_reason_to_say_nothing(node: Both) -> None:
    (line,) = node.lines(versions={"MT_1": "16.99.1000"}, images=str(node.node.root / "fw"))
    assert line.startswith("firmware of the adapters: wanted as declared, found not possible (adapter 0000:03:00.0 (MT_1) is 'without an image of version")
    assert SECOND in line


def test_an_image_that_was_never_downloaded_is_not_downloaded(node: Both) -> None:
    (line,) = node.lines(images={"MT_1": {"url": URL, "checksum": "sha256:" + "0" * 64}})
    assert URL in line and "never been downloaded to this node" in line and "a version in hca_firmware_versions is compared without an image" in line
    assert "get it from its source again" not in line


def test_parameters_that_are_not_set_and_those_that_are_not_in_use(node: Both) -> None:
    config = [{"all": True, "parameters": {"SRIOV_EN": True, "NUM_OF_VFS": 16}}]
    assert node.fields(config=config) == [("differs", pci, "NUM_OF_VFS", "16", "8") for pci in (FIRST, SECOND)]
    assert node.lines(config=config)[0] == "adapter 0000:03:00.0 NUM_OF_VFS: wanted 16, found 8 (run rdma.ofed.firmware)"
    node.node.cards[FIRST].parameters["NUM_OF_VFS"].next = 16
    node.node.cards[SECOND].parameters["NUM_OF_VFS"] = node.node.cards[FIRST].parameters["NUM_OF_VFS"]
    assert node.fields(config=config) == [("firmware_pending", pci, "NUM_OF_VFS", "16", "8") for pci in (FIRST, SECOND)]
    for card in node.node.cards.values():
        card.restart()
    assert node.fields(config=config) == []


def test_a_parameter_of_the_new_firmware_waits_for_it(node: Both) -> None:
    config = [{"all": True, "parameters": {"BRAND_NEW_FEATURE": 3}}]
    assert all("BRAND_NEW_FEATURE" in line for line in node.lines(config=config))
    with_image = node.fields(config=config, images=str(node.node.root / "fw"))
    # The parameter is not set, so the adapter's next start does not apply it.
    expected = [("differs", pci, "BRAND_NEW_FEATURE", "3", "not available") for pci in (FIRST, SECOND)]
    assert [one for one in with_image if one[2] != "version"] == expected


def test_what_can_not_be_read_is_named_and_the_rest_is_compared(node: Both) -> None:
    config = [{"all": True, "parameters": {"NUM_OF_VFS": 16}}]
    node.cards.faults = {"query " + FIRST: "-E- Cannot open Device: 0000:03:00.0. MFE_CR_ERROR"}
    node.node.cards[SECOND].refusals = ["Failed to open the device"] * 3
    version, parameter, errors = node.lines(versions=DECLARED, config=config, images=str(node.node.root / "fw"))
    assert version.startswith("adapter %s firmware: wanted 16.35.3006" % SECOND) and "%s NUM_OF_VFS: wanted 16, found 8" % FIRST in parameter
    assert "0000:03:00.0 can't be queried: Cannot open Device" in errors and "0000:83:00.0 (mlx5_1): mstconfig can't query it" in errors
    assert errors.count("wanted as declared") == 1
    node.tools.clear()
    (line,) = node.lines(versions=DECLARED, config=config)
    assert "neither mstflint nor flint is installed" in line and "mstconfig" in line


def test_no_tool_is_needed_where_nothing_is_declared_for_the_boards_of_the_node(node: Both) -> None:
    node.tools.clear()
    others = {"MT_2": "16.35.3006"}
    assert node.lines(versions=others) == node.lines(images={"MT_2": {"url": URL, "checksum": "sha256:" + "0" * 64}}) == []
    assert "neither mstflint" in node.lines(versions={**others, **DECLARED})[0]
    assert "neither mstflint" in node.lines(images=str(node.node.root / "fw"))[0]


def test_nothing_is_asked_where_nothing_is_declared(node: Both) -> None:
    assert node.fields() == node.fields(missing="fail") == [] == node.cards.calls == node.node.calls
