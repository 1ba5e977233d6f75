# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Download one large file on the node, as a step of a job. Runs as a script of its own, without Ansible.

`python _download.py FILE sha256:DIGITS`, with the URL in the environment: it may contain a password, and every user can
read command lines. A partial download in `FILE.part` is resumed. `FILE` appears only when it is complete and its checksum matches.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import netrc
import os
import re
import shutil
import sys
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request

URL = "RDMA_OFED_URL"
# The variable that names the file to which a step of a job writes its progress, see _job_runner.py.
PROGRESS = "RDMA_OFED_PROGRESS"
# A job is a separate process, which does not inherit the module's environment.
_INHERITED = re.compile(r"(?i)^(https?|ftp|all|no)_proxy\Z|^SSL_CERT_(FILE|DIR)\Z")
_BLOCK = 1 << 20
_MEGABYTE = 1000000
_TIMEOUT = 60
_ATTEMPTS = 5
_REPORT_SECONDS = 1.0
# With these status codes, the server asks the client to wait or retry.
_TRY_AGAIN = (408, 425, 429)


class Failed(Exception):
    """A failure that another attempt would not fix; the text gives the reason."""


class Opener(t.Protocol):
    """Opens a request, like the openers of urllib."""

    def __call__(self, request: urllib.request.Request, timeout: float) -> t.Any: ...


def _say(text: str) -> None:
    """Write a line to the job's log, unbuffered."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def inherited(environ: t.Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The environment variables for proxies and certificates."""
    return tuple((name, value) for name, value in sorted(environ.items()) if _INHERITED.match(name))


def words(done: int, total: int) -> str:
    """`412 of 3811 MB, 10 %`; `412 MB` where the server does not report the size."""
    if not total:
        return "%d MB" % (done // _MEGABYTE)
    return "%d of %d MB, %d %%" % (done // _MEGABYTE, total // _MEGABYTE, 100 * done // total)


def report(text: str, path: str) -> None:
    """Write the progress to the file `path`; "" means that no job runs and nothing is written."""
    if path:
        with open(path + ".new", "w", encoding="utf-8") as stream:
            stream.write(text)
        os.rename(path + ".new", path)


def request_for(url: str, offset: int) -> urllib.request.Request:
    """The request for the rest of a file. Credentials are sent only to the server in the URL, not to the target of a redirection."""
    parts = urllib.parse.urlsplit(url)
    name, password = parts.username or "", parts.password or ""
    host = parts.netloc.rpartition("@")[2]
    if not name:
        with contextlib.suppress(OSError, netrc.NetrcParseError):
            name, _account, password = netrc.netrc().authenticators(parts.hostname or "") or ("", None, "")
    request = urllib.request.Request(urllib.parse.urlunsplit(parts._replace(netloc=host)), headers={"User-Agent": "rdma.ofed", "Accept-Encoding": "identity"})
    if name:
        pair = "%s:%s" % (urllib.parse.unquote(name), urllib.parse.unquote(password or ""))
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())
    if offset:
        request.add_header("Range", "bytes=%d-" % offset)
    return request


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _number(text: str | None) -> int:
    """A number of bytes in a header; 0 for anything else."""
    return int(text or 0) if re.match(r"[0-9]{0,18}\Z", text or "") else 0


def _begins(response: t.Any) -> int:
    """The offset of the first byte in the response. A server that does not support ranges sends the whole file."""
    if response.status != 206:
        return 0
    match = re.match(r"bytes ([0-9]+)-", response.headers.get("Content-Range") or "")
    return _number(match.group(1)) if match else 0


def _check_room(path: str, missing: int) -> None:
    free = shutil.disk_usage(os.path.dirname(path)).free
    if missing > free:
        raise Failed("%d MB are missing, and %s has room for %d MB" % (missing // _MEGABYTE, os.path.dirname(path), free // _MEGABYTE))


def _receive(response: t.Any, part: str, progress: str) -> bool:
    """Append the response to `part`; return whether the file is complete."""
    offset = _begins(response)
    length = _number(response.headers.get("Content-Length"))
    # 0 if the server does not report it.
    total = offset + length if length else 0
    _check_room(part, total - offset)
    with open(part, "r+b" if offset else "wb") as target:
        target.truncate(offset)
        target.seek(offset)
        told = -_REPORT_SECONDS
        while True:
            block = response.read(_BLOCK)
            target.write(block)
            offset += len(block)
            if not block or time.monotonic() - told >= _REPORT_SECONDS:
                told = time.monotonic()
                report(words(offset, total), progress)
            if not block:
                break
        target.flush()
        os.fsync(target.fileno())
    # A broken connection looks like the end of the file.
    return not total or offset == total


def _attempt(url: str, part: str, opener: Opener, *, progress: str) -> bool:
    try:
        with contextlib.closing(opener(request_for(url, _size(part)), timeout=_TIMEOUT)) as response:
            return _receive(response, part, progress)
    except urllib.error.HTTPError as exc:
        if exc.code == 416:
            # The partial file is already as long as the file.
            return True
        if exc.code < 500 and exc.code not in _TRY_AGAIN:
            raise Failed("it can't be downloaded: HTTP status %d, %s" % (exc.code, exc.reason)) from exc
        raise


def _bring(url: str, part: str, opener: Opener, *, progress: str) -> None:
    """Download the rest. Raises Failed. Only attempts without progress count towards the limit."""
    left = _ATTEMPTS
    why = "the connection breaks off repeatedly"
    while left:
        before = _size(part)
        try:
            if _attempt(url, part, opener, progress=progress):
                return
        except (OSError, ValueError, http.client.HTTPException) as exc:
            why = str(exc) or type(exc).__name__
            _say(why)
        left = _ATTEMPTS if _size(part) > before else left - 1
        if left:
            time.sleep(2 ** (_ATTEMPTS - left))
    raise Failed("it can't be downloaded: %s" % why)


def digest_of(path: str, algorithm: str) -> str:
    total = hashlib.new(algorithm)
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(_BLOCK), b""):
            total.update(block)
    return total.hexdigest()


def mismatch(path: str, checksum: str) -> str:
    """What is wrong with a file that must have the checksum `sha256:DIGITS`; "" where it matches or no checksum is given."""
    algorithm, _colon, wanted = checksum.partition(":")
    if not checksum:
        return ""
    found = digest_of(path, algorithm) if os.path.exists(path) else "that of nothing"
    return "" if found == wanted else "its %s is %s instead of %s" % (algorithm, found, wanted)


def download(url: str, path: str, checksum: str, *, opener: Opener, progress: str = "") -> None:
    """Download the file with the checksum `sha256:DIGITS`. Raises Failed."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    part = path + ".part"
    resumed = _size(part) > 0
    while True:
        _bring(url, part, opener, progress=progress)
        report("comparing the checksum", progress)
        wrong = mismatch(part, checksum)
        if not wrong:
            os.rename(part, path)
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        if not resumed:
            raise Failed(wrong)
        # The partial file of an earlier run may belong to another file.
        _say(wrong + "; starting over")
        resumed = False


def _open(request: urllib.request.Request, timeout: float) -> t.Any:
    return urllib.request.build_opener().open(request, timeout=timeout)


def main() -> None:
    path, checksum = sys.argv[1:]
    try:
        download(os.environ[URL], path, checksum, opener=_open, progress=os.environ.get(PROGRESS, ""))
    except (Failed, OSError) as exc:
        raise SystemExit(str(exc)) from None


if __name__ == "__main__":
    main()
