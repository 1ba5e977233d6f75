# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Image files with a checksum, here or on a server."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed

CACHE = "var/cache/rdma.ofed/firmware"
_BLOCK = 1 << 20
_TIMEOUT = 60


class Location(t.NamedTuple):
    """Where an image is: a file on the node, or a URL. `checksum` is `sha256:DIGITS`, "" for none."""

    path: str = ""
    url: str = ""
    checksum: str = ""


class Download(t.Protocol):
    """Opens a URL for reading, and raises OSError or ValueError where it can't."""

    def __call__(self, url: str, timeout: int) -> t.IO[bytes]: ...


def location_of(value: str | t.Mapping[str, str]) -> Location:
    """A declared image: a path, or a mapping with `path` or `url`, and `checksum`."""
    if isinstance(value, str):
        return Location(path=value)
    return Location(value.get("path") or "", value.get("url") or "", (value.get("checksum") or "").lower())


def _copy(source: t.IO[bytes], target: t.IO[bytes] | None, algorithm: str) -> str:
    """Read all of it, and write it where there is a target; its digest."""
    total = hashlib.new(algorithm)
    while True:
        block = source.read(_BLOCK)
        if not block:
            return total.hexdigest()
        total.update(block)
        if target is not None:
            target.write(block)


def mismatch(path: str, checksum: str) -> str:
    """What is wrong with a file's checksum; "" where it is right or none is wanted."""
    algorithm, _colon, wanted = checksum.partition(":")
    if not checksum:
        return ""
    with open(path, "rb") as stream:
        found = _copy(stream, None, algorithm)
    return "" if found == wanted else "its %s is %s instead of %s" % (algorithm, found, wanted)


def fetch(location: Location, directory: str, download: Download) -> str:
    """The path of the image at a URL. The directory keeps images under their digests: each is downloaded once."""
    algorithm, _colon, wanted = location.checksum.partition(":")
    path = os.path.join(directory, wanted)
    if os.path.isfile(path) and not mismatch(path, location.checksum):
        return path
    os.makedirs(directory, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as target:
            try:
                with contextlib.closing(download(location.url, timeout=_TIMEOUT)) as source:
                    found = _copy(source, target, algorithm)
            except (OSError, ValueError) as exc:
                raise CommandFailed("it can't be downloaded: %s" % exc) from exc
        if found != wanted:
            raise CommandFailed("its %s is %s instead of %s" % (algorithm, found, wanted))
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path
