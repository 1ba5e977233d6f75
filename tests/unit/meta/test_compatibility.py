# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The compatibility page contains exactly what the tests have proved."""

from __future__ import annotations

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/tools"))

import proofs

TEST = """
import pytest
from proofs import LOOK_ALIKE, REAL

THERE = {"el8": LOOK_ALIKE, "debian12": REAL}


@pytest.mark.proves("packages", "modules", **THERE)
@pytest.mark.proves("opensm", sles15="golden file", el9=REAL)
def test_it():
    pass
"""
RAN = """<testsuites><testsuite timestamp="2026-11-25T02:00:00">
<testcase classname="tests.acceptance.test_a" name="test_it[one]"/>
<testcase classname="tests.acceptance.test_a" name="test_it[two]">%s</testcase>
</testsuite></testsuites>"""


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "tests/acceptance/test_a.py"
    path.parent.mkdir(parents=True)
    path.write_text(TEST, encoding="utf-8")
    return tmp_path


def test_the_page_is_up_to_date() -> None:
    assert proofs.PAGE.read_text(encoding="utf-8") == proofs.page(proofs.all_marks(), proofs.recorded()), "run make compatibility"


def test_a_test_says_what_it_proves(root: pathlib.Path) -> None:
    test = "tests/acceptance/test_a.py::test_it"
    rows = [("packages", "el8", "look-alike"), ("packages", "debian12", "real"), ("modules", "el8", "look-alike"), ("modules", "debian12", "real")]
    rows += [("opensm", "sles15", "golden file"), ("opensm", "el9", "real")]
    assert proofs.all_marks(root) == [proofs.Proof(test, *row) for row in rows]


def test_a_name_that_is_not_known_is_an_error(root: pathlib.Path) -> None:
    path = root / "tests/acceptance/test_a.py"
    path.write_text(TEST.replace("el9=REAL", "el99=REAL"), encoding="utf-8")
    with pytest.raises(ValueError, match="el99"):
        proofs.all_marks(root)


@pytest.mark.parametrize(("second", "day"), [("", "2026-11-25"), ("<skipped/>", ""), ("<failure/>", ""), ("<error/>", "")])
def test_a_test_proves_where_all_of_it_passed(tmp_path: pathlib.Path, second: str, day: str) -> None:
    (tmp_path / "acceptance.1.xml").write_text(RAN % second, encoding="utf-8")
    assert proofs.outcomes(tmp_path) == {"tests/acceptance/test_a.py::test_it": day}


def test_a_cell_has_the_strongest_proof_of_the_tests_that_passed() -> None:
    found = [
        proofs.Proof("a", "opensm", "el9", proofs.LOOK_ALIKE),
        proofs.Proof("b", "opensm", "el9", proofs.REAL),
        proofs.Proof("c", "modules", "el9", proofs.REAL),
    ]
    assert proofs.cells(found, {"a", "b"}) == {("opensm", "el9"): "real"}
    assert proofs.cells(found, {"a"}) == {("opensm", "el9"): "look-alike"}
    assert "| Kernel modules |  |" in proofs.page(found, {"a"})
