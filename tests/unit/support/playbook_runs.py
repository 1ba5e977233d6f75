# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of real playbooks on this machine. Each start of Ansible costs a second: one host for each case in one run costs less than one run for each."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import typing as t

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHECKOUT = ROOT / "build/checkout"
"""The collection as it is here, with a name that Ansible finds."""
MANY_HOSTS = {"ANSIBLE_CALLBACK_PLUGINS": str(pathlib.Path(__file__).parent / "callbacks")}
"""The environment of runs whose hosts together use filters often: see `filters_first`."""


class Done(t.NamedTuple):
    """What a run ended with."""

    status: int
    output: str

    @property
    def said(self) -> str:
        """In one line: where Ansible breaks lines is not compared."""
        return " ".join(self.output.split())

    @property
    def failed(self) -> t.Dict[str, str]:
        """What each host that failed ended with."""
        return dict(re.findall(r"^fatal: \[([^]]+)\]: FAILED! => (.*?)(?=^\S|^$|\Z)", self.output, re.MULTILINE | re.DOTALL))


def run(program: str, *arguments: str, folder: pathlib.Path, collections: pathlib.Path = CHECKOUT, **environment: str) -> Done:
    """A program of Ansible, as `playbook`."""
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(collections), ANSIBLE_LOCALHOST_WARNING="false", LC_ALL="C.UTF-8", HOME=str(folder))
    env.update(environment)
    argv = [sys.executable, "-m", "ansible", program, *arguments]
    done = subprocess.run(argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=600, check=False)
    return Done(done.returncode, done.stdout + done.stderr)


def collection_of(folder: pathlib.Path, stand_ins: t.Mapping[str, str]) -> pathlib.Path:
    """The collection in links, with other text in some files below `plugins`."""
    collection = folder / "ansible_collections/rdma/ofed"
    for each in ("plugins/action", "plugins/modules"):
        (collection / each).mkdir(parents=True)
        for path in (ROOT / each).glob("*.py"):
            (collection / each / path.name).symlink_to(path)
    for path in (ROOT / "plugins").iterdir():
        if not (collection / "plugins" / path.name).exists():
            (collection / "plugins" / path.name).symlink_to(path)
    for name in ("galaxy.yml", "meta", "playbooks", "roles"):
        (collection / name).symlink_to(ROOT / name)
    for name, text in stand_ins.items():
        path = collection / "plugins" / name
        if path.is_symlink():
            path.unlink()
        path.write_text(text, encoding="utf-8")
    return folder
