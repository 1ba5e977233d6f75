# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The action that makes the pending changes of a host effective, as far as it is allowed. Pure."""

from __future__ import annotations

import typing as t


def activation(needs: t.Collection[str], *, allow_reload: bool = False, allow_reboot: bool = False, prefer_reboot: bool = False) -> str:
    """`reload`, `reboot` or "". `needs` are those of the pending changes.

    One reboot makes everything effective, so nothing is reloaded before it.
    """
    reload = "driver_reload" in needs
    if allow_reboot and ("device_reset" in needs or "reboot" in needs or (reload and (prefer_reboot or not allow_reload))):
        return "reboot"
    return "reload" if reload and allow_reload else ""
