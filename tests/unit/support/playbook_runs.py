# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ansible runs on this machine. One run with a host per case is cheaper than one run per case."""

from __future__ import annotations

import atexit
import functools
import os
import pathlib
import re
import shutil
import tempfile
import typing as t

import ansible_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHECKOUT = ROOT / "build/checkout"
"""This checkout of the collection, under a path where Ansible finds it."""


class Done(t.NamedTuple):
    """Result of a run."""

    status: int
    shown: str
    errors: str

    @property
    def output(self) -> str:
        return self.shown + self.errors

    @property
    def said(self) -> str:
        """Return the output as one line, because Ansible wraps lines."""
        return " ".join(self.output.split())

    @property
    def failed(self) -> t.Dict[str, str]:
        """Return the final message of each failed host."""
        return dict(re.findall(r"^fatal: \[([^]]+)\]: FAILED! => (.*?)(?=^\S|^$|\Z)", self.output, re.MULTILINE | re.DOTALL))


@functools.lru_cache(maxsize=None)
def _home() -> str:
    """Return a directory for the temporary files of runs. It is removed with this process."""
    home = tempfile.mkdtemp(prefix="rdma-ansible-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home


def run(program: str, *arguments: str, folder: pathlib.Path, collections: pathlib.Path = CHECKOUT, **environment: str) -> Done:
    """Run an Ansible program, `playbook` or `inventory`, in a directory, with the environment of this process and these variables."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    env.update(ANSIBLE_LOCALHOST_WARNING="false", ANSIBLE_NOCOLOR="true", ANSIBLE_PIPELINING="true")
    env.update(LC_ALL="C.UTF-8", HOME=str(folder), ANSIBLE_COLLECTIONS_PATH=str(collections), **environment)
    # A run may have another PATH, for what it finds on the node.
    loading = {"HOME": _home(), "PATH": os.environ["PATH"]}
    return Done(*ansible_runs.run(program, arguments, folder=folder, environ=env, loading=loading))


def collection_of(folder: pathlib.Path, stand_ins: t.Mapping[str, str]) -> pathlib.Path:
    """Create a copy of the collection from links, with other text in some files below `plugins`."""
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
