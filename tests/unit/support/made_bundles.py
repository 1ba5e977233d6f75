# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bundles of MLNX_OFED that contain only what identifies them."""

from __future__ import annotations

import os
import pathlib
import shutil
import tarfile


def make_bundle(folder: pathlib.Path, version: str) -> pathlib.Path:
    """Create an unpacked bundle."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ((".mlnx", version + "\n"), (".arch", os.uname().machine + "\n"), ("distro", "debian12.1\n"), ("mlnxofedinstall", "#!/usr/bin/perl\n")):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "mlnxofedinstall").chmod(0o755)
    return folder


def make_archive(path: pathlib.Path, version: str) -> None:
    """Create a bundle as the vendor ships it: one directory in an archive."""
    folder = make_bundle(path.with_name("packed"), version)
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, arcname=path.name[: -len(".tgz")])
    shutil.rmtree(folder)
