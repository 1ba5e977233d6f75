# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ansible runs on this machine, by a process that has loaded Ansible. One run with a host per case is cheaper than one run per case."""

from __future__ import annotations

import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing as t

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
def _server(collections: pathlib.Path, settings: t.Tuple[t.Tuple[str, str], ...]) -> subprocess.Popen[str]:
    """Start the server. Ansible reads its settings while it loads. Temporary files of its runs are in a directory that is removed with this process."""
    home = tempfile.mkdtemp(prefix="rdma-ansible-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    env = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", "ANSIBLE_COLLECTIONS_PATH": str(collections), **dict(settings)}
    argv = [sys.executable, str(pathlib.Path(__file__).with_name("ansible_server.py"))]
    server = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    atexit.register(server.communicate)
    return server


def run(program: str, *arguments: str, folder: pathlib.Path, collections: pathlib.Path = CHECKOUT, **environment: str) -> Done:
    """Run an Ansible program, `playbook` or `inventory`, in a directory, with the environment of this process and these variables."""
    settings = {"ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_NOCOLOR": "true", "ANSIBLE_PIPELINING": "true"}
    settings.update({name: value for name, value in environment.items() if name.startswith("ANSIBLE_")})
    server = _server(collections, tuple(sorted(settings.items())))
    assert server.stdin and server.stdout
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    env.update(LC_ALL="C.UTF-8", HOME=str(folder), ANSIBLE_COLLECTIONS_PATH=str(collections), **{**settings, **environment})
    with tempfile.TemporaryDirectory() as files:
        paths = [pathlib.Path(files, name) for name in ("stdout", "stderr")]
        for path in paths:
            path.touch()
        request = {"program": program, "arguments": arguments, "folder": str(folder), "environ": env, "seconds": 600}
        server.stdin.write(json.dumps({**request, "output": str(paths[0]), "errors": str(paths[1])}) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        output, errors = (path.read_text(encoding="utf-8") for path in paths)
        return Done(status, output, errors)


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
