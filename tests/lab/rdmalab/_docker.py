# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The docker command line, one process per call. Failures are LabErrors with Docker's message."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import typing as t

from ._say import LabError

# Every Docker Engine has the classic builder; BuildKit is a separate package in Debian.
_ENVIRONMENT = {**os.environ, "DOCKER_BUILDKIT": "0"}
_ENVIRONMENT.pop("LD_PRELOAD", None)


def docker(*arguments: str, stdin: bytes | t.IO[bytes] = b"", timeout: float = 120, check: bool = True) -> str:
    """Run a command and return its standard output; with `check` off, also if it fails. `stdin` can be the end of a pipe."""
    given: dict[str, t.Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    try:
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            ["docker", *arguments], capture_output=True, timeout=timeout, env=_ENVIRONMENT, check=False, **given
        )
    except FileNotFoundError as exc:
        raise LabError("There is no docker command on this machine: run 'lab up', which installs Docker Engine on Debian.") from exc
    except subprocess.TimeoutExpired as exc:
        raise LabError(
            "'docker %s' did not end within %g s. Is the machine overloaded? See 'docker ps' and 'docker logs'." % (" ".join(arguments), timeout)
        ) from exc
    if check and done.returncode:
        raise LabError("'docker %s' failed: %s" % (" ".join(arguments[:4]), done.stderr.decode(errors="replace").strip() or "status %d" % done.returncode))
    return done.stdout.decode(errors="replace")


def stream(*arguments: str) -> t.Iterator[str]:
    """Yield the lines of a long command as they are printed. If it fails, the LabError has its last lines."""
    last: list[str] = []
    with subprocess.Popen(["docker", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=_ENVIRONMENT) as process:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip()
            last = [*last, line][-15:]
            yield line
    if process.returncode:
        raise LabError("'docker %s' failed. It said last:\n  %s" % (arguments[0], "\n  ".join(last)))


def inspect(names: t.Sequence[str]) -> dict[str, dict[str, t.Any]]:
    """Inspect containers by name. Missing ones are left out."""
    found = json.loads(docker("container", "inspect", *names, check=False) or "[]") if names else []
    return {container["Name"].lstrip("/"): container for container in found}


def files(entries: t.Mapping[str, str | bytes], links: t.Mapping[str, str] | None = None) -> bytes:
    """Return a tar archive for `docker cp -`: contents by path, and targets of symbolic links by path."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in entries.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
        for path, target in (links or {}).items():
            member = tarfile.TarInfo(path.lstrip("/"))
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return buffer.getvalue()
