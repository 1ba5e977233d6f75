# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a function in network and mount namespaces of its own, with real interfaces and sockets."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import traceback
import typing as t

import pytest

_NEW_NETWORK_AND_MOUNTS = 0x40000000 | 0x00020000

needs_root = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="it makes network namespaces")


def command(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def unshare() -> None:
    """Leave the parent's namespaces; /sys shows the new one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NETWORK_AND_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    command("mount", "--make-rprivate", "/")
    command("mount", "-t", "sysfs", "sysfs", "/sys")
    command("ip", "link", "set", "lo", "up")


def in_namespace(work: t.Callable[[], t.Any]) -> t.Any:
    """Return the result of `work`, passed as JSON from a process in namespaces of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            unshare()
            answer = {"result": work()}
        except BaseException:
            # A child must not return into pytest.
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writer, "w") as stream:
            json.dump(answer, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        answer = json.loads(stream.read())
    os.waitpid(pid, 0)
    assert "error" not in answer, answer["error"]
    return answer["result"]


@contextlib.contextmanager
def container(name: str) -> t.Iterator[int]:
    """Start another process in namespaces of its own and return its process ID. It idles until it is ended."""
    ready, ready_writer = os.pipe()
    end_reader, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(end)
            unshare()
            ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
            os.write(ready_writer, b"x")
            os.read(end_reader, 1)
        finally:
            os._exit(0)
    os.close(ready_writer)
    assert os.read(ready, 1) == b"x"
    try:
        yield pid
    finally:
        os.close(end)
        os.waitpid(pid, 0)
