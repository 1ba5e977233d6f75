# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The only place that writes files of a node, and that opens files which other users could have replaced."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
import typing as t

_SUFFIX = "rdma-ofed"
_MOST_LINKS = 40
# No controlling terminal, no inheritance by child processes, and no blocking on a FIFO.
_CAREFUL = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK


def _is_ours(found: os.stat_result) -> bool:
    """Whether only root, or the user who runs this, can change it."""
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def open_folder(path: str) -> int:
    """A descriptor of a directory. Links in the path are followed only if root alone could have created them. Raises OSError otherwise."""
    left = [part for part in reversed(os.path.abspath(path).split("/")) if part]
    links = 0
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while left:
            name = left.pop()
            target = _link(folder, name)
            if target is not None:
                links += 1
                if links > _MOST_LINKS or not _is_ours(os.fstat(folder)):
                    raise OSError(errno.ELOOP, "a link in a directory that others may write to is not followed", path)
                left += [part for part in reversed(target.split("/")) if part not in ("", ".")]
                name = "/" if target.startswith("/") else "."
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
    except BaseException:
        os.close(folder)
        raise
    return folder


def _link(folder: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None


def open_regular(path: str, *, owned: bool = False) -> t.BinaryIO:
    """Open a regular file; with `owned`, one that belongs to root or the current user. Raises OSError for anything else; does not block on a FIFO."""
    folder = open_folder(os.path.dirname(path))
    try:
        handle = os.open(os.path.basename(path), os.O_RDONLY | _CAREFUL, dir_fd=folder)
    finally:
        os.close(folder)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or (owned and found.st_uid not in (0, os.geteuid())):
        os.close(handle)
        raise OSError(errno.EPERM, "it is not a regular file that root owns", path)
    return os.fdopen(handle, "rb")


def lock_file(folder: str, name: str, *, make: bool = True) -> t.TextIO:
    """Open a lock file in a directory that only root can write to. Raises OSError, without `make` also where the file is missing."""
    if make:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not _is_ours(os.fstat(handle)):
            raise OSError(errno.EPERM, "others may write to this directory", folder)
        # Not readable by others, who could otherwise hold the lock as well.
        lock = os.open(name, os.O_RDWR | (os.O_CREAT if make else 0) | _CAREFUL, 0o600, dir_fd=handle)
        return os.fdopen(lock, "r+", encoding="utf-8")
    finally:
        os.close(handle)


def leftovers(path: str) -> t.Pattern[str]:
    """A pattern for the names of temporary files that interrupted writes of a file have left in its directory."""
    return re.compile(r"\.%s\.[0-9a-f]{16}\.%s\Z" % (re.escape(os.path.basename(path)), _SUFFIX))


def shell_leftovers(path: str) -> tuple[str, str]:
    """The same for a shell: a text to be quoted, and the glob pattern that follows it."""
    directory, name = os.path.split(path)
    return os.path.join(directory, ".%s." % name), "*.%s" % _SUFFIX


def _remove_leftovers(folder: int, path: str) -> None:
    """Remove leftovers whose writer is dead, so that the kernel has released its lock."""
    form = leftovers(path)
    for name in filter(form.match, os.listdir(folder)):
        with contextlib.suppress(OSError):
            handle = os.open(name, os.O_RDONLY | _CAREFUL, dir_fd=folder)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name, dir_fd=folder)
            finally:
                os.close(handle)


def _draft(folder: int, path: str) -> tuple[int, str]:
    """Create a new, locked file, accessible only for its owner, that no other process uses. Returns its descriptor and name."""
    while True:
        name = ".%s.%s.%s" % (os.path.basename(path), secrets.token_hex(8), _SUFFIX)
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFUL, 0o600, dir_fd=folder)
        # Another writer may take it for a leftover, and then holds the lock or has removed the file. Some file systems do not support locks.
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except OSError as exc:
            free = not isinstance(exc, BlockingIOError)
        if free and os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)


def replace_file(path: str, data: bytes, mode: int, *, owner: tuple[int, int] | None = None, install: t.Callable[[str], None] | None = None) -> None:
    """Write to a new file beside the target and rename it: a reader sees the old or the new one, also after a power failure. Raises OSError.

    The new file has an unpredictable name, no link is followed, and permissions are set on the descriptor: a user who can write to the directory can't
    redirect the write to another file. `owner`: IDs of user and group, if they are not those of this process. `install` replaces the target in another way; it
    gets the path of the new file.
    """
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    folder = open_folder(os.path.dirname(path))
    try:
        _remove_leftovers(folder, path)
        handle, name = _draft(folder, path)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                if owner is not None:
                    os.fchown(stream.fileno(), *owner)
                os.fchmod(stream.fileno(), mode)
                stream.flush()
                os.fsync(stream.fileno())
                if install is None:
                    os.rename(name, os.path.basename(path), src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    install(os.path.join(os.path.dirname(path), name))
        except Exception:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise
    finally:
        os.close(folder)
