# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of others from which settings may be taken over, and why one may not be changed. Read-only."""

from __future__ import annotations

import io
import os
import typing as t

from .._distro._registry import by_name
from .._facts._machine import read_os
from .._host._files import under
from ._found import Other

if t.TYPE_CHECKING:
    from .._host._run import Runner

_ETC = "/etc/"
# Where other files of the same name may be, which count once that in /etc is gone.
_PLACES = ("/run", "/usr/local/lib", "/usr/lib", "/lib", "/usr/etc")


def _target(root: str, path: str) -> str:
    """The path of the file itself, where `path` has links."""
    # The view of an image leads out of its root.
    return os.path.normpath("/" + os.path.relpath(os.path.realpath(under(root, path)), os.path.realpath(root)))


def _has_other_line_ends(path: str, text: str) -> bool:
    """Whether the file has line ends that would not stay as they are, or characters that only some programs take for line ends."""
    with open(path, "rb") as stream:
        return b"\r" in stream.read() or text.splitlines(True) != io.StringIO(text, newline="\n").readlines()


def _other(root: str, path: str, text: str) -> Other:
    target = _target(root, path)
    if not path.startswith(_ETC):
        return Other(text, target, "it is not in /etc")
    if not target.startswith(_ETC):
        return Other(text, target, "it is a link to %s, which is not in /etc" % target)
    if not os.path.isfile(under(root, target)):
        return Other(text, target, "it is not a regular file")
    if _has_other_line_ends(under(root, target), text):
        return Other(text, target, "it has unusual line ends")
    if target != path:
        return Other(text, target, needed="%s is a link to it" % path)
    name = path[len(_ETC) - 1 :]
    hidden = [place + name for place in _PLACES if os.path.exists(under(root, place + name))]
    return Other(text, target, needed="%s would count in its place" % hidden[0] if hidden else "")


def read_others(run: Runner, texts: t.Mapping[str, str], root: str) -> dict[str, Other]:
    """What is known about each of these files. Asks the package manager once, and only if there are any."""
    found = {path: _other(root, path, text) for path, text in texts.items()}
    free = sorted({other.path for other in found.values() if not other.obstacle})
    family = by_name(read_os(root).family)
    fixed = family.manager.fixed(run, free) if family and free else frozenset()
    return {path: other._replace(obstacle="it belongs to a package, which would restore it") if other.path in fixed else other for path, other in found.items()}
