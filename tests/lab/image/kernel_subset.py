#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies the RDMA part of a kernel package's modules: kernel_subset.py FROM TO. Both are directories of the form .../lib/modules/RELEASE."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

WANTED = (
    "kernel/drivers/infiniband/",
    "kernel/drivers/net/ethernet/mellanox/mlx4/",
    "kernel/drivers/net/ethernet/mellanox/mlx5/",
    "kernel/drivers/net/ethernet/mellanox/mlxfw/",
    "kernel/drivers/net/bonding/",
    "kernel/drivers/net/tun.ko",
    "kernel/net/sunrpc/",
)
INDEXES = ("modules.builtin", "modules.builtin.modinfo", "modules.order")


def closure(dependencies: str, wanted: tuple[str, ...] = WANTED) -> set[str]:
    """Return the modules below the wanted paths and all their dependencies. `dependencies` is the text of modules.dep."""
    needs = {module: rest.split() for module, _, rest in (line.partition(":") for line in dependencies.splitlines()) if module}
    found: set[str] = set()
    waiting = [module for module in needs if module.startswith(wanted)]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(needs.get(module, ()))
    return found


def main() -> None:
    source, target = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    if not (source / "modules.dep").exists():
        # The package ships no modules.dep; its maintainer script generates it.
        subprocess.run(["depmod", "-b", str(source.parents[2]), source.name], check=True)
    for module in sorted(closure((source / "modules.dep").read_text())):
        (target / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / module, target / module)
    for index in INDEXES:
        if (source / index).exists():
            shutil.copy2(source / index, target / index)


if __name__ == "__main__":
    main()
