# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Whether a node has the stack that is declared, for those who only compare. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import same_version
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendor_input import mlnx_version
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import version_fits

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack

INBOX = "inbox"


class WantedStack(t.NamedTuple):
    """The declared stack."""

    source: str
    version: str = ""
    """"" for any."""

    @property
    def words(self) -> str:
        """`doca 2.9.1`."""
        return ("%s %s" % (self.source, self.version)).strip()

    def fits(self, stack: Stack) -> bool:
        """Whether the stack that was found is of this source and release, whole or not."""
        if self.source == INBOX:
            return stack.kind not in ("mlnx_ofed", "doca")
        if stack.kind != self.source:
            return False
        same = version_fits if self.source == "doca" else same_version
        return not self.version or same(self.version, stack.version)


def wanted_stack(variables: t.Mapping[str, t.Any]) -> WantedStack:
    """From the variables of the role ofed."""
    source = str(variables["ofed_source"])
    return WantedStack(source, mlnx_version(variables) if source == "mlnx_ofed" else str(variables.get("ofed_version") or "") if source == "doca" else "")
