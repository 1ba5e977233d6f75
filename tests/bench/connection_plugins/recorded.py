# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stands for a node and the way to it: answers a module with what a node of the lab answered, so that only the controller costs something.

Everything above a connection is as in a run: modules are packed and handed over as ansible-core pipelines them. What ssh itself costs is not in it.
"""

from __future__ import annotations

import hashlib
import pathlib
import re
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: recorded
short_description: Answer modules from recordings
description:
  - Modules are recognized in what pipelining sends. Nothing is run.
options:
  host:
    description: The name of the host.
    vars: [{name: inventory_hostname}]
  answers:
    description: The folder that bench_scale writes. It has a file C(CASE-CLASS-MODULE-NUMBER) for each answer, and C(calls) to count them.
    vars: [{name: bench_answers}]
  case:
    description: The run that was recorded, or V(unreachable), or V(broken).
    vars: [{name: bench_case}]
  kind:
    description: The class of the host.
    vars: [{name: bench_kind}]
  number:
    description: The number of the host, for its addresses and GUIDs.
    type: int
    vars: [{name: bench_number}]
"""

_MODULE = re.compile(rb"ansible_collections\.rdma\.ofed\.plugins\.modules\.(\w+)|ansible\.modules\.(\w+)")
_NO_PYTHON = (127, b"", b"/bin/sh: 1: /usr/bin/python3: not found\n")


def named(text: str, name: str, number: int) -> str:
    """The answer of a node as that of another one. tests/bench/record.py writes the placeholders."""
    guid = "0002c903%07x" % (0x10000 + number)
    own = {
        "@NAME@": name,
        "@ADDRESS@": "10.%d.%d.%d" % (20 + number // 62500, number // 250 % 250, number % 250 + 1),
        "@GUID@": guid,
        "@GID@": ":".join(re.findall("..?.?.?", guid)),
        "@HARDWARE@": ":".join(re.findall("..?", guid)),
        "@MACHINE@": hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
    }
    return re.sub("@[A-Z]+@", lambda found: own[found[0]], text)


class Connection(ConnectionBase):
    """A node that is not there."""

    transport = "recorded"
    has_pipelining = True

    def _connect(self) -> Connection:
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        case = self.get_option("case")
        if case == "unreachable":
            raise AnsibleConnectionFailure("ssh: connect to host %s port 22: Connection refused" % self.get_option("host"))
        if case == "broken":
            return _NO_PYTHON
        if in_data is None:
            return self._answer("shell")
        found = _MODULE.search(in_data)
        if not found:
            raise AnsibleError("bench: no module is recognized in what was sent")
        return self._answer((found[1] or found[2]).decode())

    def _answer(self, what: str) -> tuple[int, bytes, bytes]:
        name, folder = self.get_option("host"), pathlib.Path(self.get_option("answers"))
        # The workers of a run share no memory.
        with (folder / "calls" / ("%s-%s" % (name, what))).open("ab") as calls:
            number = calls.tell()
            calls.write(b".")
        path = folder / "-".join([self.get_option("case"), self.get_option("kind"), what, str(number)])
        if what == "ping":
            return 0, b'{"ping": "pong"}', b""
        if not path.is_file():
            raise AnsibleError("bench: %s was not recorded" % path.name)
        return 0, named(path.read_text(encoding="utf-8"), name, self.get_option("number")).encode(), b""

    def put_file(self, in_path: str, out_path: str) -> t.Any:
        raise AnsibleError("bench: set pipelining")

    fetch_file = put_file

    def close(self) -> None:
        self._connected = False
