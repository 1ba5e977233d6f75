# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records which test proves which feature on which system, and writes docs/compatibility.md and docs/features.md.

A test declares it with `@pytest.mark.proves("packages", el9=LOOK_ALIKE, debian12=REAL)`: one or more features, and how each system was present. `make
test-all` and `make nightly` write the results of such tests to tests/proofs.json. `make compatibility` does so with what is in build/junit.

The record is true to commits: JUnit files name the commit that was tested, and nothing is recorded of a working tree with changes.
"""

from __future__ import annotations

import ast
import json
import pathlib
import subprocess
import sys
import typing as t
import xml.etree.ElementTree as ET

import pages
from common import JUNIT, ROOT, say
from features import FEATURES, GOLDEN, HOW, LOOK_ALIKE, REAL, SYSTEMS
from pages import PAGES, RECORD, Outcome, Proof

VARIABLE = "RDMA_COMMIT"
"""Name of the environment variable, and of the property in JUnit files, with the commit that is tested; empty if the working tree has changes."""
FOLDERS = ("tests/acceptance", "tests/acceptance_vm", "tests/browser", "tests/unit", "molecule")
PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"
_RESULTS = (PASSED, SKIPPED, FAILED)
"""Worst last."""


def marks(path: pathlib.Path, root: pathlib.Path = ROOT) -> list[Proof]:
    """Return the proofs declared in a test file. Raises ValueError for unknown names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {"REAL": REAL, "LOOK_ALIKE": LOOK_ALIKE, "GOLDEN": GOLDEN}
    tables: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict):
            tables[node.targets[0].id] = {
                str(key.value): constants[value.id]
                for key, value in zip(node.value.keys, node.value.values)
                if isinstance(key, ast.Constant) and isinstance(value, ast.Name) and value.id in constants
            }
    file = str(path.relative_to(root))
    found: list[Proof] = []
    for node in tree.body:
        # A class proves with all of its tests, those of its bases included.
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found += _of(node.decorator_list, "%s::%s" % (file, node.name), constants, tables)
    wrong = [proof for proof in found if proof.feature not in FEATURES or proof.system not in SYSTEMS or proof.how not in HOW]
    if wrong:
        raise ValueError("not known: %s" % (wrong,))
    return found


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def _of(expressions: t.Iterable[ast.expr], test: str, constants: t.Mapping[str, str], tables: t.Mapping[str, t.Mapping[str, str]]) -> list[Proof]:
    calls = [node for each in expressions for node in ast.walk(each) if isinstance(node, ast.Call) and _name(node) == "proves"]
    return [
        Proof(test, str(ast.literal_eval(feature)), system, how)
        for call in calls
        for feature in call.args
        for system, how in _systems(call, constants, tables).items()
    ]


def _systems(call: ast.Call, constants: t.Mapping[str, str], tables: t.Mapping[str, t.Mapping[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for keyword in call.keywords:
        value = keyword.value
        name = value.id if isinstance(value, ast.Name) else str(value.value) if isinstance(value, ast.Constant) else ast.dump(value)
        found.update(tables.get(name, {}) if keyword.arg is None else {keyword.arg: constants.get(name, name)})
    return found


def all_marks(root: pathlib.Path = ROOT) -> list[Proof]:
    return [proof for folder in FOLDERS for path in sorted((root / folder).rglob("test_*.py")) for proof in marks(path, root)]


def outcomes(folder: pathlib.Path) -> dict[str, Outcome]:
    """Read the JUnit files of a directory: by test, the worst result of its cases and their total time. Files that name no commit, or are not complete, are
    left out.
    """
    found: dict[str, Outcome] = {}
    for path in sorted(folder.glob("*.xml")):
        try:
            suites = list(ET.parse(path).getroot().iter("testsuite"))
        except ET.ParseError:
            continue
        for suite in suites:
            commit = next((each.get("value", "") for each in suite.iter("property") if each.get("name") == VARIABLE), "")
            for case in suite.iter("testcase") if commit else ():
                for test in _tests(case):
                    before = found.get(test, Outcome(PASSED, commit, "", 0.0))
                    result = max(before.result, _result(case), key=_RESULTS.index)
                    seconds = round(before.seconds + float(case.get("time", 0)), 1)
                    found[test] = Outcome(result, commit, suite.get("timestamp", "")[:10], seconds)
    return found


def _tests(case: ET.Element) -> t.Iterator[str]:
    """Return the ID of a test without its parameters; of a test of a class, that of the class, too."""
    *folders, last = case.get("classname", "").split(".")
    inner = ""
    if last[:1].isupper():
        inner, last = "::" + last, folders.pop()
        yield "%s.py%s" % ("/".join([*folders, last]), inner)
    yield "%s.py%s::%s" % ("/".join([*folders, last]), inner, case.get("name", "").partition("[")[0])


def _result(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED
    return SKIPPED if case.find("skipped") is not None else PASSED


def recorded(path: pathlib.Path = RECORD) -> dict[str, Outcome]:
    """Return the recorded outcomes by test."""
    return {test: Outcome(**outcome) for test, outcome in json.loads(path.read_text(encoding="utf-8")).items()} if path.exists() else {}


def rendered(record: t.Mapping[str, Outcome]) -> str:
    """Return the text of the record: a line per test."""
    return "{\n%s\n}\n" % ",\n".join("%s: %s" % (json.dumps(test), json.dumps(record[test]._asdict())) for test in sorted(record))


def tested_commit(root: pathlib.Path = ROOT) -> str:
    """Return the commit that the working tree has, "" if it has changes or there is no history. What is written here itself is no change."""
    # A project below the top of a repository would be another one.
    argv = ["git", "status", "--porcelain", "--untracked-files=all", "--", ".", *(":(exclude)%s" % path.relative_to(ROOT) for path in (RECORD, *PAGES))]
    try:
        status, head = (subprocess.run(each, cwd=root, capture_output=True, encoding="utf-8", check=False) for each in (argv, ["git", "rev-parse", "HEAD"]))
    except OSError:
        return ""
    return "" if status.returncode or head.returncode or status.stdout.strip() else head.stdout.strip()


def write(found: t.Mapping[str, Outcome]) -> None:
    """Merge outcomes into the record, and write the pages. Removed tests leave the record."""
    proofs = all_marks()
    known = {proof.test for proof in proofs}
    record = {test: outcome for test, outcome in {**recorded(), **found}.items() if test in known}
    RECORD.write_text(rendered(record), encoding="utf-8")
    for path, page in PAGES.items():
        path.write_text(page(proofs, record), encoding="utf-8")


def record(found: t.Mapping[str, Outcome], commit: str) -> str:
    """Record what a run on this commit has found. Returns the line to tell."""
    if not commit:
        return "tests/proofs.json stays as it is: the working tree has changes, so that no commit was tested"
    if tested_commit() != commit:
        return "tests/proofs.json stays as it is: the working tree changed during the run"
    write(found)
    return "the results are in tests/proofs.json, docs/compatibility.md and docs/features.md"


def main() -> None:
    write(outcomes(JUNIT))
    for line in pages.old(all_marks(), recorded()):
        say(line)


if __name__ == "__main__":
    if sys.argv[1:] == ["commit"]:
        print(tested_commit())
    else:
        main()
