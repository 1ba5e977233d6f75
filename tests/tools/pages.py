# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pages on what was tested, made of the marks of the tests and the record of their results, and how old these results are."""

from __future__ import annotations

import collections
import datetime
import pathlib
import subprocess
import typing as t

from common import ROOT
from features import FEATURES, HOW, SYSTEMS

RECORD = ROOT / "tests/proofs.json"
DAYS = 7
"""How long a change of code may wait for its proof: `make nightly` takes hours, and proves a commit that is no longer the last one when it ends."""

_DEFINITIONS = """- **real**: on that system, with its own packages.
- **look-alike**: a Debian with the package manager, the names and the paths of that system, or packages that stand for those of a vendor.
- **golden file**: only the files and commands that would be written are compared with known ones.

**No test uses real InfiniBand hardware.** The fabric is a simulation with the real opensm and diagnostics, or a driver without hardware on virtual machines.
The stacks of vendors, GPUs, adapters and schedulers other than Slurm are stand-ins on all systems, so none of their entries is more than a look-alike.
The firmware tools are the real ones, on emulated adapters. The rebuilds of RHEL are tried as RHEL is.
"""
_MADE = "<!-- Made by `make compatibility` of tests/proofs.json. Do not edit. -->\n"
_HOW_OLD = "The code may have changed since the day of an entry; a test fails if a change waits for its proof for more than %d days.\n" % DAYS
_PLACES = {"tests/acceptance_vm/": "virtual machines", "molecule/ipoib_vm/": "virtual machines", "tests/unit/": "unit tests", "tests/browser/": "Chromium"}


class Proof(t.NamedTuple):
    """States that a test proves a feature on a system, and how the system was present."""

    test: str
    """Test ID: FILE::FUNCTION or FILE::CLASS."""
    feature: str
    system: str
    how: str


class Outcome(t.NamedTuple):
    """Result of a test, all its cases together."""

    result: str
    """passed, skipped or failed."""
    commit: str
    """The commit that was tested; "" for results from before commits were recorded."""
    date: str
    seconds: float


Record = t.Mapping[str, Outcome]


class Cell(t.NamedTuple):
    """The strongest proof of a feature on a system; of several, the last one."""

    how: str
    date: str
    commit: str


def _proved(proofs: t.Iterable[Proof], record: Record) -> t.Iterator[tuple[Proof, Outcome]]:
    for proof in proofs:
        outcome = record.get(proof.test)
        if outcome and outcome.result == "passed":
            yield proof, outcome


def cells(proofs: t.Iterable[Proof], record: Record) -> dict[tuple[str, str], Cell]:
    """Return the proofs of each feature on each system. Where a test failed, the others of its cell count."""
    found: dict[tuple[str, str], list[Cell]] = collections.defaultdict(list)
    for proof, outcome in _proved(proofs, record):
        found[proof.feature, proof.system].append(Cell(proof.how, outcome.date, outcome.commit))
    return {key: max(ways, key=lambda cell: (-HOW.index(cell.how), cell.date, cell.commit)) for key, ways in found.items()}


def compatibility(proofs: t.Sequence[Proof], record: Record) -> str:
    """Return the text of docs/compatibility.md."""
    found = cells(proofs, record)
    rows = [["", *SYSTEMS.values()], ["---"] * (len(SYSTEMS) + 1)]
    for name, feature in FEATURES.items():
        row = (found.get((name, system)) for system in SYSTEMS)
        rows.append([feature.title, *("%s, %s" % (cell.how, cell.date) if cell else "" for cell in row)])
    lines = [_MADE + "# Compatibility\n\nWhat was tried on which system, how, and on which day it last passed. No entry: untried.\n", _DEFINITIONS, _HOW_OLD]
    lines += [*("| %s |" % " | ".join(row) for row in rows), "", "## The tests", ""]
    for name, feature in FEATURES.items():
        tests = sorted({proof.test for proof in proofs if proof.feature == name})
        lines += ["- %s: %s" % (feature.title, ", ".join("`%s` (%s)" % (test, _state(record.get(test))) for test in tests) or "none")]
    return "\n".join(lines) + "\n"


def _state(outcome: Outcome | None) -> str:
    if not outcome:
        return "not run"
    return outcome.date if outcome.result == "passed" else "%s %s" % (outcome.result, outcome.date)


def features(proofs: t.Sequence[Proof], record: Record) -> str:
    """Return the text of docs/features.md."""
    found, places = cells(proofs, record), collections.defaultdict(set)
    for proof, _outcome in _proved(proofs, record):
        places[proof.feature].add(next((words for prefix, words in _PLACES.items() if proof.test.startswith(prefix)), "containers"))
    rows = ["| feature | tested on | with | last | limits |", "|---|---|---|---|---|"]
    for name, feature in FEATURES.items():
        mine = {system: found[name, system] for system in SYSTEMS if (name, system) in found}
        groups = [(how, [SYSTEMS[system] for system, cell in mine.items() if cell.how == how]) for how in HOW]
        where = "; ".join("%s: %s" % (how, ", ".join(systems)) for how, systems in groups if systems)
        last = max((cell.date for cell in mine.values()), default="")
        rows.append("| %s | %s | %s | %s | %s |" % (feature.title, where or "no result on record", ", ".join(sorted(places[name])), last, feature.limits))
    head = (
        _MADE
        + "# What works\n\nEach feature with how it was tested, and the last day on which its tests passed. [compatibility.md](compatibility.md) has the days\n"
    )
    head += "for each system, and the tests.\n"
    return "\n".join([head, _DEFINITIONS, _HOW_OLD, *rows]) + "\n"


PAGES: dict[pathlib.Path, t.Callable[[t.Sequence[Proof], Record], str]] = {
    ROOT / "docs/compatibility.md": compatibility,
    ROOT / "docs/features.md": features,
}


class Change(t.NamedTuple):
    commit: str
    date: datetime.date


def _git(root: pathlib.Path, *arguments: str) -> str | None:
    """Return the output, None if there is no such thing."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, encoding="utf-8", check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout.strip()


def has_history(root: pathlib.Path = ROOT) -> bool:
    """Return whether the whole history is here. An archive has none, and a shallow clone shows all code as new."""
    return _git(root, "rev-parse", "--is-shallow-repository") == "false" and _git(root, "rev-parse", "--show-toplevel") == str(root)


def changes(cell: Cell, code: t.Sequence[str], root: pathlib.Path = ROOT) -> list[Change]:
    """Return the commits since the proof that changed its code, oldest first. Where the commit of the proof is unknown, its day tells."""
    known = cell.commit and _git(root, "merge-base", "--is-ancestor", cell.commit, "HEAD") is not None
    since = ["%s..HEAD" % cell.commit] if known else ["--since-as-filter=%s 23:59:59 +0000" % cell.date, "HEAD"]
    text = _git(root, "log", "--no-merges", "--reverse", "--format=%h %cs", *since, "--", *code) or ""
    return [Change(commit, datetime.date.fromisoformat(day)) for commit, day in (line.split() for line in text.splitlines())]


def waiting(proofs: t.Sequence[Proof], record: Record, root: pathlib.Path = ROOT) -> dict[str, Change]:
    """Return the features whose code changed after the last proof on one of their systems, with the first such change."""
    # Few runs prove all cells, and git is slow.
    runs = {(feature, cell.date, cell.commit): cell for (feature, _system), cell in cells(proofs, record).items()}
    found: dict[str, Change] = {}
    for (feature, _date, _commit), cell in sorted(runs.items()):
        for change in changes(cell, FEATURES[feature].code, root)[:1]:
            found[feature] = min(found.get(feature, change), change, key=lambda each: each.date)
    return found


def overdue(proofs: t.Sequence[Proof], record: Record, root: pathlib.Path = ROOT) -> dict[str, Change]:
    """Return the features whose code changed more than DAYS before the last commit, and have not been proved since. Nothing depends on the clock."""
    day = _git(root, "log", "-1", "--format=%cs")
    if not day or not has_history(root):
        return {}
    limit = datetime.date.fromisoformat(day) - datetime.timedelta(days=DAYS)
    return {feature: change for feature, change in waiting(proofs, record, root).items() if change.date < limit}


def old(proofs: t.Sequence[Proof], record: Record) -> list[str]:
    return ["%s: %s of %s is newer than the proof" % (FEATURES[feature].title, *change) for feature, change in waiting(proofs, record).items()]
