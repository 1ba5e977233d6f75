# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""The unit that makes a link at boot, one for each link: it is the record of what this collection made as well. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._soft_links import MODULES, PROTOCOLS, Link, path_of
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER

# Bound to the interface: it starts when that appears, early or late, and ends when it goes, which takes the link along.
# A link that exists already, made by a run or by hand, is none of its business.
_TEXT = (
    HEADER
    + """\
[Unit]
Description=Software RDMA link {name}, {protocol} on {netdev}
BindsTo={device}
After={device} systemd-modules-load.service
Before=remote-fs-pre.target
Wants=remote-fs-pre.target
ConditionPathExists=!/sys/class/infiniband/{name}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=/usr/bin/env modprobe {module}
ExecStart=/usr/bin/env rdma link add {name} type {type} netdev {netdev}
ExecStop=-/usr/bin/env rdma link delete {name}

[Install]
WantedBy={device}
"""
)


def device_unit(netdev: str) -> str:
    """systemd's unit of a network interface, whose name is escaped: `br-lan` is `br\\x2dlan`."""
    escaped = re.sub(r"[^A-Za-z0-9:_.]", lambda match: "\\x%02x" % ord(match.group(0)), netdev)
    return "sys-subsystem-net-devices-%s.device" % escaped


def render(links: t.Iterable[Link]) -> dict[str, str]:
    """The units by path."""
    return {
        path_of(link.name): _TEXT.format(
            device=device_unit(link.netdev), module=MODULES[link.type], name=link.name, netdev=link.netdev, protocol=PROTOCOLS[link.type], type=link.type
        )
        for link in links
    }
