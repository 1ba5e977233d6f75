# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Image files with a checksum, here or on a server."""

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
"""No image of an adapter is nearly as large: it has to fit into its flash."""
LONGEST = 1800.0
"""Seconds for a download as a whole. A server that sends a byte now and then would never run into a limit for each of them."""

Download = t.Callable[..., t.IO[bytes]]
"""Opens a URL for reading, within `timeout` seconds. Raises OSError or ValueError where it can't."""


class Location(t.NamedTuple):
    """Where an image is: a file on the node, or a URL. `checksum` is `sha256:DIGITS`, "" for none."""

    path: str = ""
    url: str = ""
    checksum: str = ""


def location_of(value: str | t.Mapping[str, str]) -> Location:
    """A declared image: a path, or a mapping with `path` or `url`, and `checksum`."""
    if isinstance(value, str):
        return Location(path=value)
    return Location(value.get("path") or "", value.get("url") or "", (value.get("checksum") or "").lower())


def _kept(location: Location, directory: str) -> str:
    """The directory keeps images under their digests."""
    return os.path.join(directory, location.checksum.partition(":")[2])


def cached(location: Location, directory: str) -> str:
    """The path of the image at a URL that was downloaded before; "" where it was not, or is damaged."""
    path = _kept(location, directory)
    return path if os.path.isfile(path) and not mismatch(path, location.checksum) else ""


def _receive(source: t.IO[bytes], target: t.IO[bytes], *, clock: t.Callable[[], float]) -> None:
    """Copy a download, within the limits. Raises CommandFailed."""
    # One access to the network for each block, where there is a way to ask for that: the time is looked at in between.
    read: t.Callable[[int], bytes] = getattr(source, "read1", source.read)
    began, size = clock(), 0
    while True:
        block = read(_BLOCK)
        if not block:
            return
        size += len(block)
        if size > LARGEST:
            text = "its download was stopped after %d MB, and no firmware image is as large: the address may be that of another file"
            raise CommandFailed(text % (LARGEST // _MEGABYTE))
        if clock() - began > LONGEST:
            text = "its download was stopped after %d s and %d kB: the server or the network is too slow; put the image on the node in another way"
            raise CommandFailed(text % (LONGEST, size // 1000))
        target.write(block)


def fetch(location: Location, directory: str, download: Download) -> str:
    """Download the image at a URL; returns its path."""
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
