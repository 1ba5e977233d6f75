# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs C(ansible-test sanity), all tests and no ignores, with every supported Python of this machine."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

from common import BUILD, ROOT, main, run, say
from pythons import pyenv_folders

COPY = BUILD / "sanity/ansible_collections/rdma/ofed"

# ansible-test downloads get-pip for the virtual environments of its tests, from a host that closed networks don't reach.
# It looks into its own cache first: this stand-in uses the pip that Python brings along. ensurepip points
# PIP_CONFIG_FILE at /dev/null, so the settings of the machine's package index must be kept over it.
GET_PIP = """import ensurepip
import os
import subprocess
import sys

env = dict(os.environ)
ensurepip.bootstrap()
args = [arg for arg in sys.argv[1:] if arg not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *args], env=env))
"""


# The programs of this repository are no part of the collection: ruff and mypy look at them, ansible-test has rules
# that only make sense for what is shipped (no interpreter lines, no name "_").
NOT_SHIPPED = ("molecule/", "tests/acceptance/", "tests/bench/", "tests/lab/", "tests/tools/")


def copy_checkout() -> None:
    """ansible-test wants a real folder .../ansible_collections/rdma/ofed in a git repository of its own."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout.split("\0")
    shutil.rmtree(COPY, ignore_errors=True)
    for name in filter(None, names):
        source = ROOT / name
        if source.is_file() and not name.startswith(NOT_SHIPPED):  # a file removed, but not yet committed, is still listed
            target = COPY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for argv in (["git", "init", "--quiet"], ["git", "add", "--all"]):
        run(argv, cwd=COPY)


def write_get_pip() -> None:
    """Under the name that this ansible-test looks for: it carries the version of pip that it pins."""
    import ansible_test._internal.python_requirements as requirements

    source = pathlib.Path(requirements.__file__).read_text(encoding="utf-8")
    cache = pathlib.Path("~/.ansible/test/cache").expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    for version in set(re.findall(r"\bpip='([0-9.]+)'", source)):
        stand_in = cache / ("get_pip_%s.py" % version.replace(".", "_"))
        if not stand_in.exists():
            stand_in.write_text(GET_PIP, encoding="utf-8")


def sanity() -> None:
    copy_checkout()
    write_get_pip()
    env = dict(os.environ)
    folders = [folder for folder in env["PATH"].split(os.pathsep) if not folder.endswith("/shims")]
    env["PATH"] = os.pathsep.join([str(ROOT / ".venv/bin"), *folders, *pyenv_folders()])
    say("ansible-test sanity (first time: some minutes)")
    run([str(ROOT / ".venv/bin/ansible-test"), "sanity", "--color", "no", *sys.argv[1:]], cwd=COPY, env=env)


if __name__ == "__main__":
    main(sanity)
