# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which host is it that holds the master subnet manager? Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._opensm._master import names_host, runs_on

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Declared, Master, Observed


def is_designated(declared: Declared, observed: Observed, master: Master) -> bool | None:
    """Does the master run on the designated host? None where nothing tells.

    By port GUID where that is possible: on the designated host itself, and elsewhere if its GUIDs are known. Otherwise
    by the node description, which rdma-ndd sets to the name of the host.
    """
    own = any(port.port_guid == master.guid for port in observed.ports)
    if own or declared.designated:
        return own and declared.designated
    names = (declared.designated_host, *declared.designated_names) if declared.designated_host else ()
    return runs_on(master.guid, master.description, guids=declared.designated_guids, names=names)


def short(master: Master) -> str:
    """The master in words: its host where the description names one, else its port GUID."""
    if names_host(master.description):
        return "%s (%s)" % (master.description, master.guid)
    return master.guid
