# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ibsim process and its console."""

from __future__ import annotations

import json
import os
import pathlib
import re
import select
import subprocess
import time

PROMPT = b"sim> "


def limits(topology: str) -> list[str]:
    """Return the options for a large fabric. The defaults of ibsim are 2048 nodes, 256 switches and 13312 ports."""
    widths = [(kind, int(ports)) for kind, ports in re.findall(r"^(Switch|Ca)\s+(\d+)", topology, re.MULTILINE)]
    switches = sum(1 for kind, _ports in widths if kind == "Switch")
    needed = {"-N": (len(widths), 2048), "-S": (switches, 256), "-P": (sum(ports + 1 for _kind, ports in widths), 13312)}
    return [word for option, (count, room) in needed.items() if count > room for word in (option, str(count))]


class Ibsim:
    """The process. `faults` is the file with the console commands to repeat when the process restarts."""

    def __init__(self, topology: pathlib.Path, port: int, faults: pathlib.Path) -> None:
        self.topology, self.port, self.faults = topology, port, faults
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        argv = ["ibsim", "-s", "-r", *limits(self.topology.read_text(encoding="utf-8")), "-l", str(self.port), str(self.topology)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.read(10)
        for command in self.standing():
            self.tell(command)

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def command(self, line: str) -> str:
        """Run a console command and return its output."""
        answer = self.tell(line)
        verb, _, target = line.strip().partition(" ")
        if verb.lower() in ("unlink", "relink") and "not found" not in answer:
            standing = [other for other in self.standing() if other.partition(" ")[2] != target]
            self.faults.write_text(json.dumps(standing + ([line.strip()] if verb.lower() == "unlink" else [])))
        return answer

    def standing(self) -> list[str]:
        return list(json.loads(self.faults.read_text())) if self.faults.exists() else []

    def tell(self, line: str) -> str:
        assert self.process is not None and self.process.stdin is not None
        # The console reads lines of at most 126 bytes.
        self.process.stdin.write(line.strip().encode()[:126] + b"\n")
        return self.read(3)

    def read(self, timeout: float) -> str:
        """Return the output up to the next prompt."""
        assert self.process is not None and self.process.stdout is not None
        out = b""
        end = time.monotonic() + timeout
        while not out.endswith(PROMPT) and time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                chunk = os.read(self.process.stdout.fileno(), 65536)
                if not chunk:
                    break
                out += chunk
        return out.decode(errors="replace").removesuffix(PROMPT.decode())
