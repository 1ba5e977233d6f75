#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Installs NVIDIA's driver 535 on a container node, as built on a stack with peer memory. Needs kmodfile.py in the same directory."""

from __future__ import annotations

import os
import pathlib
import subprocess

from kmodfile import PEER_MEMORY, module

VERSION = "535.104.05"


def main() -> None:
    release = os.uname().release
    folder = pathlib.Path("/lib/modules", release, "updates")
    folder.mkdir(exist_ok=True)
    pages = ["nvidia_p2p_get_pages"]
    parameter = ["parmtype=peerdirect_support:int"]
    (folder / "nvidia.ko").write_bytes(module("nvidia", release, VERSION, (), pages, {}, ()))
    peermem = module("nvidia_peermem", release, VERSION, ("nvidia", "ib_core"), (), dict.fromkeys([*pages, PEER_MEMORY], 7), parameter)
    (folder / "nvidia-peermem.ko").write_bytes(peermem)
    subprocess.run(["depmod"], check=True)
    subprocess.run(["modprobe", "nvidia"], check=True)


if __name__ == "__main__":
    main()
