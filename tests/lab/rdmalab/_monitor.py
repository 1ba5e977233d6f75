# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The monitor of a virtual machine (QMP): requests and answers, one JSON object per line."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import time
import typing as t

from ._say import LabError

SOCKET = "monitor"
"""Name of the socket in the machine's directory."""
_ANSWER_SECONDS = 60
_MOVE_SECONDS = 300
_FASTEST = 1 << 40


class Monitor:
    """A connection, used with `with`."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection.settimeout(_ANSWER_SECONDS)
        # The length of a socket path is limited; this one is short for any directory.
        directory = os.open(folder, os.O_RDONLY)
        try:
            self._connection.connect("/proc/self/fd/%d/%s" % (directory, SOCKET))
        except OSError as exc:
            self._connection.close()
            raise LabError("%s is not reachable by its monitor: %s. Is it running? See 'lab status'." % (folder.name, exc.strerror)) from exc
        finally:
            os.close(directory)
        self._name = folder.name
        self._lines = self._connection.makefile("r", encoding="utf-8")
        self._lines.readline()
        self.ask("qmp_capabilities")

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *exception: object) -> None:
        self._lines.close()
        self._connection.close()

    def ask(self, command: str, arguments: t.Mapping[str, t.Any] | None = None, file: t.IO[bytes] | None = None) -> t.Any:
        """Send a command and return the answer. A `file` is passed to QEMU with the command."""
        request = json.dumps({"execute": command, "arguments": arguments or {}}).encode() + b"\n"
        try:
            if file:
                socket.send_fds(self._connection, [request], [file.fileno()])
            else:
                self._connection.sendall(request)
            for line in self._lines:
                answer = json.loads(line)
                if "error" in answer:
                    raise LabError("QEMU of %s refuses '%s': %s" % (self._name, command, answer["error"].get("desc", answer["error"])))
                if "return" in answer:
                    return answer["return"]
        except OSError as exc:
            raise LabError("QEMU of %s does not answer '%s': %s." % (self._name, command, exc)) from exc
        raise LabError("QEMU of %s ended before it answered '%s'." % (self._name, command))

    def write_state(self, path: pathlib.Path) -> None:
        """Write memory and devices of a stopped machine to a file."""
        self.ask("migrate-set-parameters", {"max-bandwidth": _FASTEST})
        with path.open("wb") as file:
            self.ask("getfd", {"fdname": "state"}, file)
            self.ask("migrate", {"uri": "fd:state"})
            self._wait_until_moved()

    def read_state(self, path: pathlib.Path) -> None:
        """Read the state into a machine that was started for it. The machine stays stopped."""
        with path.open("rb") as file:
            self.ask("getfd", {"fdname": "state"}, file)
            self.ask("migrate-incoming", {"uri": "fd:state"})
            self._wait_until_moved()

    def _wait_until_moved(self) -> None:
        end = time.monotonic() + _MOVE_SECONDS
        while True:
            status = self.ask("query-migrate").get("status", "")
            if status == "completed":
                return
            if status in ("failed", "cancelled"):
                raise LabError("the state of %s could not be moved: QEMU says '%s'." % (self._name, status))
            if time.monotonic() > end:
                raise LabError("the state of %s is not moved after %d s: QEMU says '%s'." % (self._name, _MOVE_SECONDS, status))
            time.sleep(0.05)
