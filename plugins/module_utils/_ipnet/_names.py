# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The keys of the kernel that matter, as paths below /proc/sys. Pure."""

from __future__ import annotations

import re

CONF = "net/ipv4/conf/%s/%s"
ARP_KEYS = ("arp_ignore", "arp_announce", "rp_filter")
LIMITS = ("gc_thresh1", "gc_thresh2", "gc_thresh3")
FAMILIES = (4, 6)
# The kernel's own limits, the same in all versions (net/ipv4/arp.c, net/ipv6/ndisc.c).
DEFAULTS = (128, 512, 1024)

_KEY = re.compile(r"^net/ipv4/conf/[A-Za-z0-9_][A-Za-z0-9._-]{0,14}/(?:%s)\Z|^net/ipv[46]/neigh/default/(?:%s)\Z" % ("|".join(ARP_KEYS), "|".join(LIMITS)))


def limit_key(family: int, name: str) -> str:
    """The key of a limit of the neighbour table of an IP version."""
    return "net/ipv%d/neigh/default/%s" % (family, name)


def is_key(key: str) -> bool:
    """Whether it is a key that the collection sets: other ones are not read, and not written."""
    return _KEY.match(key) is not None
