# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pages on what was tested contain exactly what the tests have proved."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/tools"))

import features
import pages
import proofs
from pages import Outcome, Proof

TEST = """
import pytest
from proofs import LOOK_ALIKE, REAL

THERE = {"el8": LOOK_ALIKE, "debian12": REAL}


@pytest.mark.proves("packages", "modules", **THERE)
@pytest.mark.proves("opensm", sles15="golden file", el9=REAL)
def test_it():
    pass


@pytest.mark.proves("gpudirect", el9=LOOK_ALIKE)
class TestRpm(Legacy):
    pass
"""
RAN = """<testsuites><testsuite timestamp="2026-11-25T02:00:00"><properties><property name="RDMA_COMMIT" value="abc"/></properties>
<testcase classname="tests.acceptance.test_a" name="test_it[one]" time="1.25"/>
<testcase classname="tests.acceptance.test_a" name="test_it[two]" time="2">%s</testcase>
<testcase classname="molecule.a.tests.test_b" name="test_it[ansible://node1-x]" time="1"/>
<testcase classname="molecule.a.tests.test_b" name="test_it[ansible://node2-x]" time="1"/>
<testcase classname="molecule.a.tests.test_b.TestRpm" name="test_one" time="1"/>
<testcase classname="molecule.a.tests.test_b.TestRpm" name="test_two" time="1">%s</testcase>
</testsuite></testsuites>"""


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "tests/acceptance/test_a.py"
    path.parent.mkdir(parents=True)
    path.write_text(TEST, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.name)
def test_the_page_is_up_to_date(path: pathlib.Path) -> None:
    assert path.read_text(encoding="utf-8") == pages.PAGES[path](proofs.all_marks(), proofs.recorded()), "run make compatibility"


def test_the_record_has_a_line_per_test_in_order() -> None:
    assert pages.RECORD.read_text(encoding="utf-8") == proofs.rendered(proofs.recorded()), "run make compatibility"


def test_no_claim_waits_for_its_proof_for_too_long() -> None:
    assert pages.overdue(proofs.all_marks(), proofs.recorded()) == {}, "run make nightly"


def test_what_a_feature_is_about_exists() -> None:
    paths = [path for feature in features.FEATURES.values() for path in feature.code]
    assert [path for path in paths if not (ROOT / path).exists() or path.split("/")[0] not in ("plugins", "roles", "playbooks", "meta")] == []


MARKS = proofs.all_marks()
STAND_INS = ("mlnx_ofed", "doca", "dkms", "reload", "gpudirect", "firmware", "parameters", "batches")
"""What no test has the real thing of: packages and drivers of vendors, GPUs, adapters."""
ABOUT_THE_LAB = (
    "molecule/firmware/tests/test_locks.py",
    "tests/acceptance/test_role_examples.py",
    "tests/acceptance/test_stack_standins.py",
    "tests/acceptance/test_vendor_opensm.py",
    "tests/browser/test_site.py",
)
"""Tests of stand-ins, of documents, and of what is no part of the project: they prove no feature on a system."""


def test_every_feature_is_proved_by_a_test() -> None:
    assert set(features.FEATURES) - {proof.feature for proof in MARKS} == set()


def test_every_file_of_tests_on_nodes_says_what_it_proves() -> None:
    folders = ("tests/acceptance", "tests/acceptance_vm", "tests/browser", "molecule")
    files = {str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("test_*.py")}
    assert files - {proof.test.partition("::")[0] for proof in MARKS} == set(ABOUT_THE_LAB)


def test_a_stand_in_is_no_more_than_a_look_alike() -> None:
    assert [proof for proof in MARKS if proof.feature in STAND_INS and proof.how == "real"] == []


def test_only_debian_is_real_and_unit_tests_are_golden_files() -> None:
    assert [proof for proof in MARKS if proof.how == "real" and not proof.system.startswith("debian")] == []
    assert [proof for proof in MARKS if proof.test.startswith("tests/unit/") and proof.how != "golden file"] == []


def test_what_a_promise_names_as_proof_on_nodes_proves_a_feature() -> None:
    page = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    promised = set(re.findall(r"`((?:molecule|tests/acceptance|tests/acceptance_vm)/[^`:]+\.py::test_\w+)`", page))
    assert {test for test in promised - {proof.test for proof in MARKS} if not test.startswith(ABOUT_THE_LAB)} == set()


def test_a_test_says_what_it_proves(root: pathlib.Path) -> None:
    test = "tests/acceptance/test_a.py::test_it"
    rows = [("packages", "el8", "look-alike"), ("packages", "debian12", "real"), ("modules", "el8", "look-alike"), ("modules", "debian12", "real")]
    rows += [("opensm", "sles15", "golden file"), ("opensm", "el9", "real")]
    found = [Proof(test, *row) for row in rows]
    assert proofs.all_marks(root) == [*found, Proof("tests/acceptance/test_a.py::TestRpm", "gpudirect", "el9", "look-alike")]


def test_a_name_that_is_not_known_is_an_error(root: pathlib.Path) -> None:
    path = root / "tests/acceptance/test_a.py"
    path.write_text(TEST.replace("el9=REAL", "el99=REAL"), encoding="utf-8")
    with pytest.raises(ValueError, match="el99"):
        proofs.all_marks(root)


@pytest.mark.parametrize(("second", "result"), [("", "passed"), ("<skipped/>", "skipped"), ("<failure/>", "failed"), ("<error/>", "failed")])
def test_the_worst_of_its_cases_is_the_result_of_a_test(tmp_path: pathlib.Path, second: str, result: str) -> None:
    (tmp_path / "acceptance.1.xml").write_text(RAN % (second, second), encoding="utf-8")
    (tmp_path / "broken-off.xml").write_text("<testsuites><testsuite", encoding="utf-8")
    assert proofs.outcomes(tmp_path) == {
        "tests/acceptance/test_a.py::test_it": Outcome(result, "abc", "2026-11-25", 3.2),
        "molecule/a/tests/test_b.py::test_it": Outcome("passed", "abc", "2026-11-25", 2.0),
        "molecule/a/tests/test_b.py::TestRpm": Outcome(result, "abc", "2026-11-25", 2.0),
        "molecule/a/tests/test_b.py::TestRpm::test_one": Outcome("passed", "abc", "2026-11-25", 1.0),
        "molecule/a/tests/test_b.py::TestRpm::test_two": Outcome(result, "abc", "2026-11-25", 1.0),
    }


def test_a_file_of_a_changed_working_tree_tells_nothing(tmp_path: pathlib.Path) -> None:
    (tmp_path / "acceptance.1.xml").write_text((RAN % ("", "")).replace('value="abc"', 'value=""'), encoding="utf-8")
    assert proofs.outcomes(tmp_path) == {}


def passed(date: str, commit: str = "", result: str = "passed") -> Outcome:
    return Outcome(result, commit, date, 1.0)


FOUND = [Proof("a", "opensm", "el9", "look-alike"), Proof("b", "opensm", "el9", "real"), Proof("c", "modules", "el9", "real")]


def test_a_cell_has_the_strongest_and_latest_proof_of_the_tests_that_passed() -> None:
    assert pages.cells(FOUND, {"a": passed("2026-11-25"), "b": passed("2026-11-24", "x")}) == {("opensm", "el9"): pages.Cell("real", "2026-11-24", "x")}
    failed = {"a": passed("2026-11-25"), "b": passed("2026-11-26", result="failed")}
    assert pages.cells(FOUND, failed) == {("opensm", "el9"): pages.Cell("look-alike", "2026-11-25", "")}
    assert "`b` (failed 2026-11-26)" in pages.compatibility(FOUND, failed)
    assert "`c` (not run)" in pages.compatibility(FOUND, failed)
    both = [*FOUND, Proof("d", "opensm", "el9", "real")]
    assert pages.cells(both, {"b": passed("2026-11-24"), "d": passed("2026-11-23")})["opensm", "el9"].date == "2026-11-24"


def test_a_feature_says_how_and_where_it_was_tested() -> None:
    proof = [Proof("molecule/ipoib_vm/test_a.py::a", "bonds", "debian12", "real"), Proof("tests/unit/test_a.py::b", "bonds", "el9", "golden file")]
    text = pages.features(proof, {each.test: passed("2026-11-2%d" % number) for number, each in enumerate(proof)})
    assert "| Bonds of IPoIB interfaces | real: Debian 12; golden file: RHEL 9 | unit tests, virtual machines | 2026-11-21 |  |" in text
    assert "| Removal | no result on record |  |  |  |" in text


class History:
    """A repository with commits on chosen days."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, day: str = "2026-11-01") -> str:
        env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        env |= {name % who: value for who in ("AUTHOR", "COMMITTER") for name, value in (("GIT_%s_NAME", "a"), ("GIT_%s_EMAIL", "a@example.com"))}
        env |= {"GIT_AUTHOR_DATE": day + "T12:00:00Z", "GIT_COMMITTER_DATE": day + "T12:00:00Z"}
        return subprocess.run(["git", *arguments], cwd=self.root, env=env, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.strip()

    def commit(self, path: str, day: str) -> str:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(day, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x", day=day)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def history(tmp_path: pathlib.Path) -> History:
    return History(tmp_path)


BONDS = [Proof("a", "bonds", "debian12", "real")]
CODE = "roles/ipoib/tasks/main.yml"


@pytest.mark.parametrize("known", [True, False])
def test_a_change_of_code_waits_for_its_proof_for_some_days_of_history(history: History, known: bool) -> None:
    proved = history.commit(CODE, "2026-11-01")
    record = {"a": passed("2026-11-02", proved if known else "0" * 40)}
    history.commit("roles/opensm/tasks/main.yml", "2026-11-20")
    assert pages.waiting(BONDS, record, history.root) == {}
    history.commit(CODE, "2026-11-21")
    assert pages.waiting(BONDS, record, history.root)["bonds"].date.day == 21
    assert pages.overdue(BONDS, record, history.root) == {}
    history.commit(CODE, "2026-11-28")
    assert pages.overdue(BONDS, record, history.root) == {}
    last = history.commit("README.md", "2026-11-29")
    assert pages.overdue(BONDS, record, history.root)["bonds"].date.day == 21
    assert pages.overdue(BONDS, {"a": passed("2026-11-29", last)}, history.root) == {}
    # A proof on one system is none on another.
    both = [*BONDS, Proof("b", "bonds", "el8", "look-alike")]
    assert pages.overdue(both, {**record, "b": passed("2026-11-29", last)}, history.root)["bonds"].date.day == 21


def test_without_the_whole_history_nothing_is_overdue(history: History, tmp_path: pathlib.Path) -> None:
    proved = history.commit(CODE, "2026-11-01")
    history.commit(CODE, "2026-11-02")
    history.commit("README.md", "2026-11-29")
    record = {"a": passed("2026-11-01", proved)}
    assert pages.overdue(BONDS, record, history.root)
    history.git("clone", "-q", "--depth=1", "file://%s" % history.root, str(tmp_path / "shallow"))
    assert pages.overdue(BONDS, record, tmp_path / "shallow") == {}
    (tmp_path / "shallow/below").mkdir()
    assert pages.overdue(BONDS, record, tmp_path / "shallow/below") == {}


def test_only_a_clean_working_tree_is_a_commit(history: History, tmp_path: pathlib.Path) -> None:
    commit = history.commit(CODE, "2026-11-01")
    assert proofs.tested_commit(history.root) == commit
    (history.root / "tests").mkdir()
    (history.root / "tests/proofs.json").write_text("{}", encoding="utf-8")
    assert proofs.tested_commit(history.root) == commit
    (history.root / "new").write_text("", encoding="utf-8")
    assert proofs.tested_commit(history.root) == ""
    assert proofs.tested_commit(pathlib.Path("/")) == ""
    assert "stays as it is" in proofs.record({}, "")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_junit_file_names_the_commit(tmp_path: pathlib.Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text("import pathlib, timed\ntimed.JUNIT = pathlib.Path(__file__).parent / 'junit'\n", encoding="utf-8")
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RDMA_"))}
    env = {**outer, "PYTHONPATH": str(ROOT / "tests/tools"), "PYTEST_PLUGINS": "conftest,timed", "RDMA_SUITE": "x", "RDMA_COMMIT": "abc"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *workers, "tests"]
    env["PYTHONPATH"] += os.pathsep + str(tmp_path)
    subprocess.run(argv, cwd=tmp_path, env=env, check=True, stdout=subprocess.DEVNULL)
    (outcome,) = proofs.outcomes(tmp_path / "junit").values()
    assert (outcome.result, outcome.commit) == ("passed", "abc")
