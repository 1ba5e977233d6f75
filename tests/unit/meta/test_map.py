# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tests of a room of the plugins are in the directory of the same path, and shared code of tests is in `tests/unit/support`."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNIT = ROOT / "tests/unit"
TESTS = sorted((UNIT / "plugins").rglob("test_*.py"))


def test_each_folder_of_tests_mirrors_a_room() -> None:
    rooms = {path.parent.relative_to(UNIT) for path in TESTS}
    assert [str(room) for room in sorted(rooms) if not list((ROOT / room).glob("*.py"))] == []


def test_no_name_of_a_test_repeats_that_of_its_room() -> None:
    rooms = [path for path in TESTS if path.parent.name.startswith("_")]
    assert [str(path.relative_to(UNIT)) for path in rooms if re.match("test%s(_|\\.py)" % path.parent.name, path.name)] == []


def test_what_tests_share_is_in_one_folder() -> None:
    assert [path.name for path in UNIT.glob("*.py")] == ["conftest.py"]


def test_no_test_imports_another() -> None:
    """Code that two tests need is in `support`."""
    importing = re.compile(r"^(from|import) (\.|test_|plugins\.)", re.MULTILINE)
    assert [str(path.relative_to(UNIT)) for path in sorted(UNIT.rglob("test_*.py")) if importing.search(path.read_text(encoding="utf-8"))] == []
