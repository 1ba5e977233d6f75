# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What rdma-core loads by itself: its udev rules start rdma-load-modules@.service for the devices that are there."""

from __future__ import annotations

import glob
import os
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import show_units
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import INFINIBAND_PATH, RDMA_PATH

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

UNITS = {RDMA_PATH: "rdma-load-modules@rdma.service", INFINIBAND_PATH: "rdma-load-modules@infiniband.service"}
PATIENCE = 10.0


def lists_of_devices(root: str = "/") -> tuple[str, ...]:
    """The lists that udev has loaded for the RDMA devices of this node; none where no udev runs, as in containers."""
    ports = glob.glob(os.path.join(root, "sys/class/infiniband/*/ports/*/link_layer"))
    if not ports or not os.path.exists(os.path.join(root, "run/udev/control")):
        return ()
    infiniband = any(read_text(port).strip() == "InfiniBand" for port in ports)
    return (RDMA_PATH, INFINIBAND_PATH) if infiniband else (RDMA_PATH,)


def settle(run: Runner, root: str = "/", patience: float = PATIENCE, *, pause: float = 0.5) -> None:
    """Wait for what the installation of rdma-core has just set going. `patience` and `pause` are seconds."""
    units = [UNITS[path] for path in lists_of_devices(root)]
    if not units or not run.has("udevadm"):
        return
    run(["udevadm", "settle", "--timeout=30"], ok=None, timeout=40)
    end = time.monotonic() + patience
    while any(unit.active not in ("active", "failed") for unit in show_units(run, units).values()) and time.monotonic() < end:
        time.sleep(pause)
