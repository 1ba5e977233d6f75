#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds packages of ready-made modules for one kernel: kernel_debs.py KERNEL FOLDER. FOLDER has the bundle's other packages."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import kmodfile


def make(name: str, version: str, kernel: str, folder: pathlib.Path, files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch)
        tree.chmod(0o755)
        for path, content in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(content)
        (tree / "DEBIAN").mkdir()
        lines = "Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: lab <lab@example.invalid>\nDescription: modules for %s\n"
        (tree / "DEBIAN/control").write_text(lines % (name, version, kernel), encoding="utf-8")
        if files:
            (tree / "DEBIAN/postinst").write_text("#!/bin/sh\n/sbin/depmod -a %s || true\n" % kernel, encoding="utf-8")
            (tree / "DEBIAN/postrm").write_text("#!/bin/sh\n/sbin/depmod -a %s || true\n" % kernel, encoding="utf-8")
            for script in ("postinst", "postrm"):
                (tree / "DEBIAN" / script).chmod(0o755)
        target = folder / ("%s_%s_amd64.deb" % (name, version))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", scratch, str(target)], check=True)


def main() -> None:
    kernel, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    for deb in sorted(folder.glob("*-dkms_*.deb")):
        name, version, _arch = deb.stem.split("_")
        files: dict[str, bytes] = {}
        if name == "mlnx-ofed-kernel-dkms":
            line = re.sub(r"^(\d+\.\d+)\.OFED\.(.*)-1$", r"\2", version)
            for module in kmodfile.DEPENDS:
                image = kmodfile.image(module, kernel, line, kmodfile.inbox_module(kernel, module))
                files["lib/modules/%s/updates/dkms/%s.ko" % (kernel, module)] = image
        make(name[: -len("dkms")] + "modules", "%s.kver.%s" % (version, kernel), kernel, folder, files)


if __name__ == "__main__":
    main()
