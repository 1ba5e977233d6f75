# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records which test proves which feature on which system. docs/compatibility.md is generated from the marks of the tests that passed.

A test declares it with `@pytest.mark.proves("packages", el9=LOOK_ALIKE, debian12=REAL)`: one or more features, and how each system was present. `make
compatibility` adds the tests that passed, according to the JUnit files in build/junit, to tests/proofs.json, and writes the page. Tests in tests/unit run with
each change and need no record.
"""

from __future__ import annotations

import ast
import collections
import json
import pathlib
import sys
import typing as t
import xml.etree.ElementTree as ET

from common import JUNIT, ROOT

REAL, LOOK_ALIKE, GOLDEN = "real", "look-alike", "golden file"
HOW = (REAL, LOOK_ALIKE, GOLDEN)
"""Strongest first."""
SYSTEMS = {
    "el8": "RHEL 8",
    "el9": "RHEL 9",
    "el10": "RHEL 10",
    "sles15": "SLES 15",
    "sles16": "SLES 16",
    "ubuntu20": "Ubuntu 20.04",
    "ubuntu22": "Ubuntu 22.04",
    "ubuntu24": "Ubuntu 24.04",
    "ubuntu26": "Ubuntu 26.04",
    "debian11": "Debian 11",
    "debian12": "Debian 12",
    "debian13": "Debian 13",
}
FEATURES = {
    "bootstrap": "A Python for the modules",
    "packages": "Packages of the distribution",
    "modules": "Kernel modules",
    "networkd": "IPoIB with systemd-networkd",
    "networkmanager": "IPoIB with NetworkManager",
    "ifcfg": "IPoIB with ifcfg files of Red Hat",
    "netplan": "IPoIB with netplan",
    "ifupdown": "IPoIB with ifupdown",
    "wicked": "IPoIB with wicked",
    "opensm": "The subnet manager of the distribution",
    "reboot": "All of it after a reboot",
    "remove": "Removal",
    "mlnx_ofed": "MLNX_OFED",
    "doca": "DOCA-OFED",
    "gpudirect": "GPUDirect RDMA",
    "firmware": "Firmware and its parameters",
}
RECORD = ROOT / "tests/proofs.json"
PAGE = ROOT / "docs/compatibility.md"
FOLDERS = ("tests/acceptance", "tests/acceptance_vm", "tests/unit")
HEAD = """<!-- Made by `make compatibility` of what the tests proved. Do not edit. -->
# Compatibility

What was tried, and how. The rebuilds of RHEL are tried as RHEL is.

- **real**: on that system, with its own packages.
- **look-alike**: a Debian with the package manager, the names and the paths of that system, or packages that stand for those of a vendor.
- **golden file**: only the files and commands that would be written are compared with known ones.
- no entry: untried.

The stacks of vendors, GPUs and adapters are stand-ins on all systems, so none of their cells is more than a look-alike. The firmware tools are
the real ones.

"""


class Proof(t.NamedTuple):
    """States that a test proves a feature on a system, and how the system was present."""

    test: str
    """Test ID: FILE::FUNCTION."""
    feature: str
    system: str
    how: str


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
        if isinstance(node, ast.FunctionDef):
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


def cells(proofs: t.Iterable[Proof], passed: t.Container[str]) -> dict[tuple[str, str], str]:
    """Return the strongest way in which a passed test proved each feature on each system."""
    found: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for proof in proofs:
        if proof.test in passed or proof.test.startswith("tests/unit/"):
            found[proof.feature, proof.system].append(proof.how)
    return {cell: min(ways, key=HOW.index) for cell, ways in found.items()}


def page(proofs: t.Sequence[Proof], passed: t.Container[str]) -> str:
    """Return the text of docs/compatibility.md."""
    found = cells(proofs, passed)
    rows = [["", *SYSTEMS.values()], ["---"] * (len(SYSTEMS) + 1)]
    rows += [[words, *(found.get((feature, system), "") for system in SYSTEMS)] for feature, words in FEATURES.items()]
    lines = ["| %s |" % " | ".join(row) for row in rows] + ["", "## The tests", ""]
    for feature, words in FEATURES.items():
        tests = sorted({proof.test for proof in proofs if proof.feature == feature and (proof.test in passed or proof.test.startswith("tests/unit/"))})
        lines += ["- %s: %s" % (words, ", ".join("`%s`" % test for test in tests) or "none")]
    return HEAD + "\n".join(lines) + "\n"


def recorded() -> dict[str, str]:
    """Return the recorded tests with the day on which they passed."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else {}


def outcomes(folder: pathlib.Path) -> dict[str, str]:
    """Read the JUnit files of a directory. Returns, by test, the day if all its cases passed, else ""."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.xml")):
        for suite in ET.parse(path).getroot().iter("testsuite"):
            day = suite.get("timestamp", "")[:10]
            for case in suite.iter("testcase"):
                test = "%s.py::%s" % (case.get("classname", "").replace(".", "/"), case.get("name", "").partition("[")[0])
                sound = found.get(test) != "" and all(case.find(mark) is None for mark in ("failure", "error", "skipped"))
                found[test] = day if sound else ""
    return found


def write(folder: pathlib.Path = JUNIT) -> None:
    """Merge the tests that ran into the record and write the page. Removed and failed tests leave the record."""
    proofs = all_marks()
    known = {proof.test for proof in proofs}
    record = {test: day for test, day in sorted({**recorded(), **outcomes(folder)}.items()) if test in known and day}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(proofs, record), encoding="utf-8")


if __name__ == "__main__":
    write(*map(pathlib.Path, sys.argv[1:]))
