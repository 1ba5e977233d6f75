# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When the driver may be reloaded. Pure."""

from __future__ import annotations

import typing as t


class Wanted(t.NamedTuple):
    """The options."""

    policy: str = "if_idle"
    because: tuple[str, ...] = ()
    """Reasons to reload the driver even if it is the installed one."""
    cut_ssh_connection: bool = False
    allow_reload: bool = False
    allow_container: bool = False
    assume_changed: bool = False
    """Whether the run that this check mode predicts would install another driver."""
