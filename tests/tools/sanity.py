# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs `ansible-test sanity` with all tests and no ignores, with every supported Python on this machine.

`sanity-quick` uses the oldest and the newest Python; `sanity-rest` runs the tests that depend on the Python with the others.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import typing as t
import xml.etree.ElementTree as ElementTree

import timing
from common import BUILD, JUNIT, ROOT, main, run, say
from pythons import extremes, installed, pyenv_folders

COPY = BUILD / "sanity/ansible_collections/rdma/ofed"
RESULTS = COPY / "tests/output/junit"
OF_EACH_PYTHON = ("compile", "import")
"""Tests that ansible-test runs once for each Python; the others give the same result with every Python."""

# ansible-test downloads get-pip for the virtual environments of its tests, which fails on closed networks. It looks into its cache first: this stand-in uses
# the pip bundled with Python. ensurepip sets PIP_CONFIG_FILE to /dev/null, so the machine's package index settings must be saved and restored around it.
GET_PIP = """import ensurepip
import os
import subprocess
import sys

env = dict(os.environ)
ensurepip.bootstrap()
args = [arg for arg in sys.argv[1:] if arg not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *args], env=env))
"""


# The programs of this repository are not part of the collection: ruff and mypy check them. ansible-test has rules that apply only to shipped files (no
# interpreter lines, no name "_").
NOT_SHIPPED = ("docs/site/", "molecule/", "tests/acceptance/", "tests/acceptance_vm/", "tests/bench/", "tests/browser/", "tests/lab/", "tests/tools/")


def copy_checkout() -> None:
    """Copy the checkout: ansible-test requires a real directory .../ansible_collections/rdma/ofed in a git repository of its own."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout.split("\0")
    shutil.rmtree(COPY, ignore_errors=True)
    for name in filter(None, names):
        source = ROOT / name
        if source.is_file() and not name.startswith(NOT_SHIPPED):  # git still lists a removed file before the commit
            target = COPY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for argv in (["git", "init", "--quiet"], ["git", "add", "--all"]):
        run(argv, cwd=COPY)


def write_get_pip() -> None:
    """Write the stand-in under the name that this ansible-test expects, which includes its pinned pip version."""
    import ansible_test._internal.python_requirements as requirements

    source = pathlib.Path(requirements.__file__).read_text(encoding="utf-8")
    cache = pathlib.Path("~/.ansible/test/cache").expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    for version in set(re.findall(r"\bpip='([0-9.]+)'", source)):
        stand_in = cache / ("get_pip_%s.py" % version.replace(".", "_"))
        if not stand_in.exists():
            stand_in.write_text(GET_PIP, encoding="utf-8")


def arguments(part: str, pythons: t.Sequence[str], ends: t.Sequence[str]) -> list[str]:
    """Return the arguments of ansible-test for one part of the tests. `ends` are the oldest and the newest of `pythons`."""
    if part == "sanity":
        return []
    chosen = [name for name in pythons if (name in ends) == (part == "sanity-quick")]
    tests = [] if part == "sanity-quick" else [word for name in OF_EACH_PYTHON for word in ("--test", name)]
    return [*tests, *(word for name in chosen for word in ("--target-python", name))]


def alone(name: str) -> str:
    """Return the command that runs one test. `name` may end in -python-X.Y."""
    test, _separator, python = name.partition("-python-")
    return "make sanity SANITY_ARGS='--test %s%s'" % (test, python and " --python %s" % python)


def keep_results(part: str, start: float) -> None:
    """Save the results. ansible-test writes a file when a test ends, which also gives each test's duration."""
    JUNIT.mkdir(parents=True, exist_ok=True)
    for path in sorted(RESULTS.glob("*.xml"), key=lambda path: path.stat().st_mtime):
        ended = path.stat().st_mtime
        for case in ElementTree.parse(path).iter("testcase"):
            name, problems = case.attrib["name"], [*case.iter("failure"), *case.iter("error")]
            why = timing.brief([line for problem in problems for line in (problem.text or "").splitlines()])
            timing.test(part, name, seconds=max(0.0, ended - start), failed=bool(problems), why=why, alone=alone(name))
        start = ended
        shutil.copy2(path, JUNIT / path.name)


def sanity() -> None:
    part, *more = sys.argv[1:]
    copy_checkout()
    write_get_pip()
    env = dict(os.environ)
    folders = [folder for folder in env["PATH"].split(os.pathsep) if not folder.endswith("/shims")]
    env["PATH"] = os.pathsep.join([str(ROOT / ".venv/bin"), *folders, *pyenv_folders()])
    say("ansible-test sanity (first time: some minutes)")
    found = installed()
    chosen = arguments(part, [python.name for python in found], [python.name for python in extremes(found)])
    start = time.time()
    try:
        run([str(ROOT / ".venv/bin/ansible-test"), "sanity", "--color", "no", "--junit", *chosen, *more], cwd=COPY, env=env)
    finally:
        keep_results(part, start)


if __name__ == "__main__":
    main(sanity)
