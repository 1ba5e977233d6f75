# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules in ZIP archives that a node has compiled before: the same code as without that."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import zipfile

import pytest

if sys.version_info < (3, 11):
    pytest.skip("the lab runs on Python 3.11", allow_module_level=True)

FOLDER = pathlib.Path(__file__).parents[2] / "lab" / "python"


def _says(archive: pathlib.Path, kept: pathlib.Path) -> str:
    """Import a module from the archive in a new Python that keeps compiled modules in a folder; return what it prints."""
    code = "import rdmalab_compiled as c; c.FOLDER = %r; c.install(); import sys; sys.path.insert(0, %r); import told" % (str(kept), str(archive))
    done = subprocess.run([sys.executable, "-B", "-c", code], env={"PYTHONPATH": str(FOLDER)}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _packed(archive: pathlib.Path, source: str) -> pathlib.Path:
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("told.py", source)
    return archive


def test_a_module_is_compiled_once(tmp_path: pathlib.Path) -> None:
    archive, kept = _packed(tmp_path / "one.zip", "print('one')"), tmp_path / "kept"
    assert _says(archive, kept) == "one"
    (first,) = kept.iterdir()
    written = first.stat().st_mtime_ns
    # Ansible sends the same module in another file.
    assert _says(_packed(tmp_path / "again.zip", "print('one')"), kept) == "one"
    assert [path.stat().st_mtime_ns for path in kept.iterdir()] == [written]


def test_a_changed_module_is_compiled(tmp_path: pathlib.Path) -> None:
    kept = tmp_path / "kept"
    assert _says(_packed(tmp_path / "one.zip", "print('one')"), kept) == "one"
    assert _says(_packed(tmp_path / "two.zip", "print('two')"), kept) == "two"


@pytest.mark.parametrize("damage", [b"", b"no code", b"\xe3"])
def test_what_is_damaged_is_compiled(tmp_path: pathlib.Path, damage: bytes) -> None:
    archive, kept = _packed(tmp_path / "one.zip", "print('one')"), tmp_path / "kept"
    _says(archive, kept)
    (first,) = kept.iterdir()
    first.write_bytes(damage)
    assert _says(archive, kept) == "one"
    assert first.read_bytes() != damage


def test_without_a_place_to_keep_it_a_module_is_compiled(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kept").write_text("a file", encoding="utf-8")
    assert _says(_packed(tmp_path / "one.zip", "print('one')"), tmp_path / "kept") == "one"
