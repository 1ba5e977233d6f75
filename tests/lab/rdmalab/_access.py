# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Access to a virtual machine: its directory, and commands on it over SSH."""

from __future__ import annotations

import pathlib
import shlex
import subprocess

from . import _qemu
from ._say import LabError
from ._settings import Settings
from ._topology import Node

# If a machine's network goes down before its sshd closes the connection, the client would wait forever.
_ALIVE = ("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=6")
SSH_OPTIONS = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", *_ALIVE)


def folder(lab: Settings, node: Node) -> pathlib.Path:
    return lab.machines / node.name


def ssh(lab: Settings, node: Node, *command: str) -> list[str]:
    """Return the command line that runs a command, or a shell, on a node. It ends when the node stops responding."""
    port = str(_qemu.load(folder(lab, node)).ssh_port)
    options = ["-i", str(lab.machines / "key"), "-p", port, *SSH_OPTIONS, "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
    return ["ssh", *options, "root@127.0.0.1", *([shlex.join(command)] if command else [])]


def run(lab: Settings, node: Node, script: str, check: bool = True) -> str:
    """Run a shell script on a node and return its output. With `check` off, return "" if the node is unreachable."""
    try:
        done = subprocess.run(ssh(lab, node, "sh", "-c", script), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as exc:
        if not check:
            return ""
        raise LabError("%s does not answer within %d s. See %s." % (node.name, exc.timeout, folder(lab, node) / "console.log")) from exc
    if check and done.returncode:
        raise LabError("'%s' failed on %s: %s" % (script, node.name, done.stderr.strip() or "status %d" % done.returncode))
    return done.stdout
