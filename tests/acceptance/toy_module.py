# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds a third-party module on a node: toy_module.py FILE KERNEL [MODULE...]. It calls functions of these modules, as they are on disk now."""

from __future__ import annotations

import pathlib
import subprocess
import sys

sys.path.insert(0, "/usr/lib/dkms")
sys.dont_write_bytecode = True

import kmodfile


def exports(kernel: str, name: str) -> dict[str, int]:
    """Return the symbols of a module of the stack with their versions."""
    base = pathlib.Path("/lib/modules", kernel)
    path = next(line.partition(":")[0] for line in (base / "modules.dep").read_text(encoding="utf-8").splitlines() if "/%s.ko" % name in line.partition(":")[0])
    text = subprocess.run(["modprobe", "--show-exports", str(base / path)], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    return {row[1]: int(row[0], 16) for row in map(str.split, text.splitlines())}


def main() -> None:
    file, kernel, *names = sys.argv[1:]
    wanted = {"module_layout": 7}
    for name in names:
        wanted.update({symbol: version for symbol, version in exports(kernel, name).items() if symbol == name + "_standin"})
    name = pathlib.Path(file).stem
    pathlib.Path(file).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(file).write_bytes(kmodfile.module(name, kernel, "1.0", names, [name + "_standin"], wanted, ()))


if __name__ == "__main__":
    main()
