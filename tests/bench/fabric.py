# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The collection and large_fabric are imported from paths added at run time.
# mypy: disable-error-code="import-untyped,import-not-found,no-any-return"

"""Measures how long ib_fabric_info takes to parse the output of the tools for 10,000 hosts, and its memory. Fails above the limits."""

from __future__ import annotations

import gc
import pathlib
import resource
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "tests/unit")]

import conftest  # noqa: F401  # makes the collection importable
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._choice import Filter
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._report import read_fabric, shown
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ib_fabric_info import OPTIONS
from common import SetupError, main
from support import large_fabric

HOSTS = 10000
SECONDS = 2.0
MEGABYTES = 300


def bench() -> None:
    tools = large_fabric.Tools(large_fabric.fat_tree(HOSTS))
    options = {name: option.get("default") for name, option in OPTIONS.items()}
    # As the module does.
    gc.disable()
    # Other load on the machine only adds time, so the minimum counts.
    taken = []
    for _ in range(3):
        begun = time.process_time()
        found = shown(read_fabric(tools, Port("mlx5_0/1", "mlx5_0", 1), {**options, "node_name_map": "/nowhere"}), Filter())
        taken.append(time.process_time() - begun)
        totals = found["totals"]
        del found
    seconds, megabytes = min(taken), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    words = "ib_fabric_info: %d hosts, %d switches, %d links: %.2f s (%g s are allowed), %.0f MB with the output of the tools (%d MB are allowed)"
    print(words % (totals["cas"], totals["switches"], totals["links"], seconds, SECONDS, megabytes, MEGABYTES), flush=True)
    if seconds > SECONDS or megabytes > MEGABYTES:
        raise SetupError("ib_fabric_info is over its limits")


if __name__ == "__main__":
    main(bench)
