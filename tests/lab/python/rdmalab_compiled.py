# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the compiled form of modules that Python imports from ZIP archives. Loaded at each start of the node's Python, by rdmalab_compiled.pth.

Ansible sends each module with all that it imports in such an archive, and Python compiles it every time: half of the time of a task in the lab.
This changes only that time. A module is found by its content, so a changed one is compiled.
"""

from __future__ import annotations

import marshal
import os
import sys
import zipimport

# Without an import of typing, which would be a large part of the start of a Python.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing as t

    Compile = t.Callable[[str, bytes], t.Any]

FOLDER = "/opt/lab/compiled"


def remembering(compile_source: Compile, digest: t.Callable[[int, bytes], bytes], folder: str) -> Compile:
    """Return a function that compiles, or loads what it has compiled before."""

    def compiled(path: str, source: bytes) -> t.Any:
        kept = os.path.join(folder, "%x-%s" % (sys.hexversion, digest(len(source), source).hex()))
        try:
            with open(kept, "rb") as stream:
                return marshal.loads(stream.read())
        except (OSError, EOFError, ValueError, TypeError):
            code = compile_source(path, source)
        try:
            os.makedirs(folder, exist_ok=True)
            new = "%s.%d" % (kept, os.getpid())
            with open(new, "wb") as stream:
                stream.write(marshal.dumps(code))
            os.replace(new, kept)
        except OSError:
            # A full or read-only file system: the next import compiles again.
            pass
        return code

    return compiled


def install() -> None:
    """Replace the compiler of zipimport. An unknown release of Python keeps its own."""
    compile_source = getattr(zipimport, "_compile_source", None)
    if compile_source is not None:
        import _imp

        zipimport._compile_source = remembering(compile_source, _imp.source_hash, FOLDER)  # type: ignore[attr-defined]
