# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted resets. Pure."""

from __future__ import annotations

import typing as t


class Wanted(t.NamedTuple):
    """The options."""

    tried: str = "nothing"
    """`nothing`, `reset`, `reboot` or `power_cycle`: what was already done to activate the pending changes."""
    disconnect_rdma_users: bool = False
    cut_ssh_connection: bool = False
    allow_container: bool = False
