# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection to node/interrupter.py on a machine: one SSH session that must survive all tests."""

from __future__ import annotations

import io
import json
import pathlib
import shlex
import socket
import subprocess
import tarfile
import time
import typing as t

import ansible
import yaml
from common import BUILD

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = "/run/interrupter"
# Seconds until a snapshot must match: a network stack may still be writing its state.
SETTLE = 20.0


class Execution(t.NamedTuple):
    """Result of one execution of the module."""

    killed: bool
    steps: list[str]
    durations: list[float]
    """Duration of each step in seconds."""
    result: dict[str, t.Any]
    seconds: float


class Agent:
    """One node. `hosts` are the nodes of the inventory by name."""

    def __init__(self, inventory: pathlib.Path, node: str) -> None:
        nodes = yaml.safe_load(inventory.read_text(encoding="utf-8"))["all"]
        own = nodes["children"]["rdma"]["hosts"][node]
        variables = {**nodes.get("vars", {}), **nodes["children"]["rdma"].get("vars", {}), **own}
        self.node = node
        self.port = int(variables["ansible_port"])
        self.options = shlex.split(variables["ansible_ssh_common_args"])
        self.variables = {name: variables[name] for name in ("ansible_ssh_private_key_file", "ansible_python_interpreter")}
        self.ssh = ["ssh", *self.options, "-i", variables["ansible_ssh_private_key_file"], "-p", str(self.port), "root@127.0.0.1"]
        subprocess.run([*self.ssh, "mkdir -p %s && tar -C %s -xzm && modprobe ib_ipoib" % (FOLDER, FOLDER)], input=payload(), check=True)
        self._process = subprocess.Popen(
            [*self.ssh, "PYTHONPATH=%s exec python3 -B -u %s/interrupter.py" % (FOLDER, FOLDER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *exception: object) -> None:
        """End the remote program by closing its input."""
        self._process.communicate(timeout=60)

    def _ask(self, **request: t.Any) -> t.Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "%s: the connection that was open before has ended" % self.node
        return json.loads(line)

    def look(self) -> dict[str, t.Any]:
        answer: dict[str, t.Any] = self._ask(look=True)
        return answer

    def run(self, options: dict[str, t.Any], **how: t.Any) -> Execution:
        """Execute the module; `how` as in the interrupter's `execute`."""
        return Execution(**self._ask(options=options, **how))

    def settled(self, wanted: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the differences between the node and an earlier snapshot once they have settled; empty if there are none."""
        end = time.monotonic() + SETTLE
        while True:
            left = difference(wanted, self.look()["snapshot"])
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.5)

    def timers(self) -> list[str]:
        """Return the module's active timers."""
        found: list[str] = self._ask(timers=True)
        return found

    def lets_in(self) -> bool:
        """Return whether the node answers a new connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.settimeout(60)
            return connection.recv(4) == b"SSH-"


def difference(wanted: dict[str, t.Any], found: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the differences of nested mappings: path -> (wanted, found)."""
    result: dict[str, t.Any] = {}
    for key in sorted({*wanted, *found}):
        one, other = wanted.get(key), found.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            result.update({"%s %s" % (key, rest): pair for rest, pair in difference(one, other).items()})
        elif one != other:
            result[key] = (one, other)
    return result


def payload() -> bytes:
    """Return the program with its imports: ansible-core's module_utils, and the collection as installed."""
    buffer = io.BytesIO()
    core = pathlib.Path(ansible.__file__).parent / "module_utils"
    collection = BUILD / "collections/ansible_collections/rdma/ofed/plugins"
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:

        def add(source: pathlib.Path, name: str) -> None:
            archive.add(source, name, filter=lambda member: None if "__pycache__" in member.name or "/powershell/" in member.name else member)

        add(HERE / "node/interrupter.py", "interrupter.py")
        add(core, "ansible/module_utils")
        add(collection, "ansible_collections/rdma/ofed/plugins")
        archive.addfile(tarfile.TarInfo("ansible/__init__.py"))
    return buffer.getvalue()
