# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is left of a file of others without an interface. Pure."""

from __future__ import annotations

import posixpath
import typing as t

if t.TYPE_CHECKING:
    from ._backend import Backend
    from ._found import Found
    from ._identity import Identity


def rest_of(backend: Backend, interface: Identity, path: str, *, found: Found, left: t.Mapping[str, str]) -> str | None:
    """The text of a file without the interface, "" where the file is to be removed; None where the interface can't be taken out of it.

    `left`: the texts of files from which other interfaces were taken out before.
    """
    rest = backend.format.without(interface, path, left.get(path, found.files[path])) if _is_plain(path, found) else None
    return None if rest == "" and _hides(path, found) else rest


def _hides(path: str, found: Found) -> bool:
    """Whether a file of the same name in another directory would take effect in its place."""
    return any(other != path and posixpath.basename(other) == posixpath.basename(path) for other in found.files)


def _is_plain(path: str, found: Found) -> bool:
    """Whether the file has no drop-ins of others, which would lose their effect with it, and no line ends that would not stay as they are."""
    drop_ins = path + ".d/" if posixpath.splitext(path)[1] else ""
    return path not in found.returns and not any(drop_ins and other.startswith(drop_ins) for other in found.files)
