# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Cards are the host's: in a container or chroot, nothing of them is changed without consent."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_machine


def need_host(parameters: t.Mapping[str, t.Any], root: str) -> None:
    """Refuse to change cards from a container or chroot, unless the option `allow_container` is set."""
    kind = read_machine(root).kind
    if kind in ("container", "chroot") and not parameters["allow_container"]:
        way_out = "run it there (allow_container: true, of the roles rdma_allow_container: true, overrides this)"
        raise Refused("this is a %s: its adapters belong to the host, which may be using them; %s" % (kind, way_out))
