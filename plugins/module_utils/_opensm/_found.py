# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The subnet managers of a node as one look found them. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import BEGIN, END
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import HIDDEN
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import SYSTEMD


class Found(t.NamedTuple):
    """Units, processes and files."""

    masked: tuple[str, ...] = ()
    """Those of PACKAGED that can't be started."""
    running: tuple[str, ...] = ()
    """Units, ours and packaged ones, that are active or about to be."""
    replaced: tuple[str, ...] = ()
    """Those of our units whose program or libraries were removed or replaced since they started."""
    enabled: tuple[str, ...] = ()
    """Our instances that start at boot."""
    strays: tuple[int, ...] = ()
    """Process IDs of opensm outside of these units."""
    files: t.Mapping[str, str] = {}
    """Our files that exist, with their content."""
    node_names: str = ""
    """The file of the names of nodes, which is shared."""
    template: str = ""
    """What the installed opensm generates; "" before it is installed, and where nothing needs it."""
    unmaskable: tuple[str, ...] = ()
    """Those of PACKAGED that an administrator has replaced with a unit file of their own."""

    def public(self) -> Found:
        """What the plan of a host without a subnet manager depends on. It has no secrets, and a size that does not depend on the fabric."""
        names = BEGIN + END if BEGIN in self.node_names else ""
        return self._replace(files=dict.fromkeys(self.files, HIDDEN), node_names=names, template="")

    def require_maskable(self) -> None:
        """Raises Refused where a unit of an administrator is in the way."""
        if self.unmaskable:
            raise Refused("%s/%s is a unit of your own, which can't be masked: remove it (or rename it) and run again" % (SYSTEMD, self.unmaskable[0]))
