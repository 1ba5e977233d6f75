# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way into a virtual machine: where its files are, and commands on it by SSH."""

from __future__ import annotations

import pathlib
import shlex
import subprocess

from . import _qemu
from ._say import LabError
from ._settings import Settings
from ._topology import Node

# A machine whose network goes down before its sshd says good-bye leaves the other end waiting for ever.
_ALIVE = ("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=6")
SSH_OPTIONS = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", *_ALIVE)


def folder(lab: Settings, node: Node) -> pathlib.Path:
    return lab.machines / node.name


def ssh(lab: Settings, node: Node, *command: str) -> list[str]:
    """The command line that runs a command on a node, or a shell. It ends when the node goes away without a word."""
    port = str(_qemu.load(folder(lab, node)).ssh_port)
    options = ["-i", str(lab.machines / "key"), "-p", port, *SSH_OPTIONS, "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
    return ["ssh", *options, "root@127.0.0.1", *([shlex.join(command)] if command else [])]


def run(lab: Settings, node: Node, script: str, check: bool = True) -> str:
    """The output of a shell script on a node. With C(check) off, "" where the node can't be reached."""
    try:
        done = subprocess.run(ssh(lab, node, "sh", "-c", script), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as exc:
        if not check:
            return ""
        raise LabError("%s does not answer within %d s. See %s." % (node.name, exc.timeout, folder(lab, node) / "console.log")) from exc
    if check and done.returncode:
        raise LabError("'%s' failed on %s: %s" % (script, node.name, done.stderr.strip() or "status %d" % done.returncode))
    return done.stdout
