# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which host is it that holds the master subnet manager? Pure."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Declared, Master, Observed

# What an HCA says of itself until rdma-ndd gives it the name of its host: the board or the driver, not the host.
_NAMELESS = re.compile(r"^(MT\d+\b|ConnectX|Mellanox|NVIDIA|Connect-IB|HFI)", re.IGNORECASE)


def names_in(description: str) -> set[str]:
    """The host names that a node description can mean: C(node1.example.org mlx5_0) means C(node1)."""
    return {word.split(".")[0].lower() for word in re.split(r"[\s;:,]+", description) if word}


def is_designated(declared: Declared, observed: Observed, master: Master) -> bool | None:
    """Does the master run on the designated host? None where nothing tells.

    By port GUID where that is possible: on the designated host itself, and elsewhere if its GUIDs are known. Otherwise
    by the node description, which rdma-ndd sets to the name of the host.
    """
    own = any(port.port_guid == master.guid for port in observed.ports)
    if own or declared.designated:
        return own and declared.designated
    if declared.designated_guids:
        return master.guid in declared.designated_guids
    if not declared.designated_host or not master.description or _NAMELESS.match(master.description):
        return None
    known = {name.split(".")[0].lower() for name in (declared.designated_host, *declared.designated_names) if name}
    return bool(known & names_in(master.description))


def short(master: Master) -> str:
    """The master in words: its host where the description names one, else its port GUID."""
    if master.description and not _NAMELESS.match(master.description):
        return "%s (%s)" % (master.description, master.guid)
    return master.guid
