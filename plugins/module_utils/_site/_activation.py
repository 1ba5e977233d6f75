# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What makes the pending changes of a host effective, as far as that is allowed. Pure: it reads the lines of C(rdma_pending)."""

from __future__ import annotations

import re
import typing as t

_NEEDS = re.compile(r"\(needs ([a-z_]+)")


def needs(line: str) -> str:
    """C(driver_reload), C(device_reset), C(reboot) or C(cold_boot), as the line says; "" where it says nothing."""
    match = _NEEDS.search(line)
    return match[1] if match else ""


def activation(lines: t.Iterable[str], allow_reload: bool = False, allow_reboot: bool = False, prefer_reboot: bool = False) -> str:
    """C(reload), C(reboot) or "" for what C(lines) need and is allowed.

    One reboot makes everything effective, so nothing is reloaded before it.
    """
    found = {needs(line) for line in lines}
    if allow_reboot and (found & {"device_reset", "reboot"} or ("driver_reload" in found and prefer_reboot)):
        return "reboot"
    if "driver_reload" in found and allow_reload:
        return "reload"
    return "reboot" if "driver_reload" in found and allow_reboot else ""
