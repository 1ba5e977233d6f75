# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the installed opensm can't do for the adapters of its host, judged by its template. Pure.

Distributions ship opensm 3.3; vendors ship a build of their own. The vendor's build has the key virt_enabled, without which virtual functions of
ConnectX-4 and later stay down, and the comment of force_link_speed_ext lists the link speeds that a build knows.
"""

from __future__ import annotations

import typing as t

from .._tools._smpquery import LANE_GBPS
from ._conf import parse_conf

if t.TYPE_CHECKING:
    from .._facts._ports import Port

_VIRTUAL = "virt_enabled"
# Link speeds that some builds do not know.
_NEW = ("HDR", "NDR", "XDR")
_ADVICE = "the opensm of DOCA-OFED or MLNX_OFED (ofed_source), UFM, or a managed switch can"


def lacks(template: str, ports: t.Iterable[Port], virtual: t.Collection[str]) -> list[str]:
    """The limits, in words. `ports`: those it may be bound to. `virtual`: the adapters with virtual functions. Empty without a template."""
    if not template:
        return []
    found = []
    for speed in _NEW:
        named = sorted(port.name for port in ports if port.speed == speed)
        if named and "%g Gbps" % LANE_GBPS[speed] not in template:
            words = "the installed opensm does not support the speed %s of port %s, and may report or route it as slower: %s"
            found.append(words % (speed, ", ".join(named), _ADVICE))
    if virtual and _VIRTUAL not in parse_conf(template):
        words = "the installed opensm has no key %s: the ports of virtual functions (of %s) stay down, unless the adapter is a ConnectX-3 or older: %s"
        found.append(words % (_VIRTUAL, ", ".join(sorted(virtual)), _ADVICE))
    return found
