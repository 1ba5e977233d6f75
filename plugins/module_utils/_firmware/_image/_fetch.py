# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetch image files, with a checksum, from the node or from a server."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import typing as t

from ..._errors import CommandFailed
from ..._host._download import mismatch

CACHE = "var/cache/rdma.ofed/firmware"
_TIMEOUT = 60
_BLOCK = 1 << 18
_MEGABYTE = 1000000
LARGEST = 512 * _MEGABYTE
"""Maximum size of a download. Images are far smaller: they have to fit into the flash of an adapter."""
LONGEST = 1800.0
"""Time limit of a whole download, in seconds. A limit per read would never expire with a server that sends a byte now and then."""

Download = t.Callable[..., t.IO[bytes]]
"""Opens a URL for reading, with a timeout in seconds. Raises OSError or ValueError on failure."""


class Location(t.NamedTuple):
    """The location of an image: a file on the node, or a URL. `checksum` is `sha256:DIGITS`; "" for none."""

    path: str = ""
    url: str = ""
    checksum: str = ""


def location_of(value: str | t.Mapping[str, str]) -> Location:
    """Parse a declared image: a path, or a mapping with `path` or `url`, and `checksum`."""
    if isinstance(value, str):
        return Location(path=value)
    return Location(value.get("path") or "", value.get("url") or "", (value.get("checksum") or "").lower())


def _kept(location: Location, directory: str) -> str:
    """The path of a download. The directory keeps images under their digests."""
    return os.path.join(directory, location.checksum.partition(":")[2])


def cached(location: Location, directory: str) -> str:
    """The path of an image that was downloaded before; "" where it was not, or where the file is damaged."""
    path = _kept(location, directory)
    return path if os.path.isfile(path) and not mismatch(path, location.checksum) else ""


def _receive(source: t.IO[bytes], target: t.IO[bytes], *, clock: t.Callable[[], float]) -> None:
    """Copy a download, within the limits of size and time. Raises CommandFailed."""
    # Where available, read1 makes one network access per block, so that the time is checked in between.
    read: t.Callable[[int], bytes] = getattr(source, "read1", source.read)
    began, size = clock(), 0
    while True:
        block = read(_BLOCK)
        if not block:
            return
        size += len(block)
        if size > LARGEST:
            text = "its download was stopped after %d MB, because no firmware image is that large: the address may be that of another file"
            raise CommandFailed(text % (LARGEST // _MEGABYTE))
        if clock() - began > LONGEST:
            text = "its download was stopped after %d s and %d kB: the server or the network is too slow; copy the image to the node another way"
            raise CommandFailed(text % (LONGEST, size // 1000))
        target.write(block)


def fetch(location: Location, directory: str, download: Download) -> str:
    """Download the image at a URL and return its path."""
    path = _kept(location, directory)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as target:
            try:
                with contextlib.closing(download(location.url, timeout=_TIMEOUT)) as source:
                    _receive(source, target, clock=time.monotonic)
            except (OSError, ValueError) as exc:
                raise CommandFailed("it can't be downloaded: %s" % exc) from exc
        fault = mismatch(temporary, location.checksum)
        if fault:
            raise CommandFailed(fault)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path
