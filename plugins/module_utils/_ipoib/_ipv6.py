# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether an interface can have IPv6 addresses."""

from __future__ import annotations

import os
import typing as t

from .._host._files import read_text
from ._found import DEFAULT

_SYSCTL = "proc/sys/net"


def ipv6_switch(root: str, name: str) -> str:
    """The path of the file that contains `1` where IPv6 is disabled on an interface."""
    return os.path.join(root, _SYSCTL, "ipv6/conf", name, "disable_ipv6")


def is_ipv6_off(root: str, name: str) -> bool:
    return read_text(ipv6_switch(root, name)).strip() == "1"


def ipv6_refused(root: str, names: t.Iterable[str], enabled: bool = False) -> dict[str, str]:
    """Why an interface, or `DEFAULT`, can't have IPv6 addresses; those that can are left out. `enabled`: whether the back-end enables IPv6 itself."""
    if os.path.isdir(os.path.join(root, _SYSCTL)) and not os.path.isdir(os.path.join(root, _SYSCTL, "ipv6/conf")):
        reason = "the kernel of this node has no IPv6: remove ipv6.disable=1 from its command line, or omit the address"
        return dict.fromkeys([*names, DEFAULT], reason)
    reason = "net.ipv6.conf.%s.disable_ipv6 is 1, and /proc/sys can't be written on this node: set it to 0 from outside"
    # os.access also detects a /proc/sys that is mounted read-only, as in containers.
    off = [name for name in [*names, DEFAULT] if not enabled and is_ipv6_off(root, name) and not os.access(ipv6_switch(root, name), os.W_OK)]
    return {name: reason % name for name in off}
