# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which host holds the master subnet manager. Pure."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Found, Master, Wanted

# The node description until rdma-ndd sets it: it names the board or the driver, not the host.
_NAMELESS = re.compile(r"^(MT\d+\b|ConnectX|Mellanox|NVIDIA|Connect-IB|HFI)", re.IGNORECASE)


def names_in(description: str) -> set[str]:
    """The host names that a node description can mean: `node1.example.org mlx5_0` means `node1`."""
    return {word.split(".")[0].lower() for word in re.split(r"[\s;:,]+", description) if word}


def is_designated(wanted: Wanted, found: Found, master: Master) -> bool | None:
    """Whether the master runs on the designated host; None where that can't be known.

    It is recognised by port GUID on the designated host itself, and elsewhere if its GUIDs are known. Otherwise by the
    node description, which rdma-ndd sets to the host name.
    """
    own = any(port.port_guid == master.guid for port in found.ports)
    if own or wanted.designated:
        return own and wanted.designated
    if wanted.designated_guids:
        return master.guid in wanted.designated_guids
    if not wanted.designated_host or not master.description or _NAMELESS.match(master.description):
        return None
    known = {name.split(".")[0].lower() for name in (wanted.designated_host, *wanted.designated_names) if name}
    return bool(known & names_in(master.description))


def short(master: Master) -> str:
    """The master in words: its host where the description names one, else its port GUID."""
    if master.description and not _NAMELESS.match(master.description):
        return "%s (%s)" % (master.description, master.guid)
    return master.guid
