# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""One thing that is not as declared. Pure data: its words are made in _words.py, and decisions use its fields."""

from __future__ import annotations

import enum
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change

# What a finding has in place of the content of a file: no value that a node can have.
DECLARED = "<declared>"
OTHER = "<other>"
# The designated host, where its name is not known.
DESIGNATED = "<designated>"
ANY = "<any>"


class Topic(str, enum.Enum):
    """Objects that no plan changes, beside those of Kind. It says what Finding.subject names."""

    PORT = "port"
    """A port as `rdma link` shows it; aspects: `link_layer`, `sm_lid`."""
    SUBNET_MANAGER = "subnet_manager"
    """A fabric."""
    OPENSM = "opensm"
    """This node's opensm, without a subject; aspects: `state`, `enabled`."""
    IPOIB = "ipoib"
    """All interfaces of this node, without a subject."""
    GPU_MEMORY = "gpu_memory"
    """The way from the adapters to GPU memory, without a subject."""


class Code(str, enum.Enum):
    """What is wrong, and what `Finding.detail` holds."""

    DIFFERS = "differs"
    """One value is not the other; no detail."""
    NO_PORT = "no_port"
    """Detail: the ports of the node, and what became of the name."""
    LINK_DOWN = "link_down"
    PORT_NOT_CONFIGURED = "port_not_configured"
    """The link is up, and the port is not ACTIVE."""
    NO_SM_LID = "no_sm_lid"
    NO_MASTER = "no_master"
    """Detail: why."""
    NOT_MASTER = "not_master"
    """Detail: the state of the subnet manager that answers."""
    OTHER_MASTER = "other_master"
    SEVERAL_MASTERS = "several_masters"
    """Detail: how many."""
    OPENSM_DESIGNATED = "opensm_designated"
    """opensm is missing on the designated host."""
    OPENSM_ENDED = "opensm_ended"
    """opensm is missing on a host that runs one from boot on."""
    OPENSM_STANDBY = "opensm_standby"
    """opensm is missing on a host that stands by. Detail: the designated host, "" for none."""
    OPENSM_SURPLUS = "opensm_surplus"
    """opensm is there on another host. Detail: the designated host, "" for none."""
    NO_INTERFACE = "no_interface"
    REFUSED = "refused"
    """The planner refuses the declared state on this node. Detail: why."""
    MTU_CLAMPED = "mtu_clamped"
    """The broadcast group allows no more. Detail: the MTU in bytes that the partition needs."""
    GPU_OUT_OF_REACH = "gpu_out_of_reach"
    """Detail: why."""
    GPU_NOT_REGISTERED = "gpu_not_registered"
    OTHER_STACK = "other_stack"
    HALF_STACK = "half_stack"
    """The installation of the stack did not come to its end."""


class Finding(t.NamedTuple):
    """One aspect of one object that is not as declared."""

    code: Code
    kind: t.Union[Kind, Topic]
    subject: str = ""
    aspect: str = ""
    wanted: str = ""
    found: str = ""
    detail: str = ""

    @property
    def lasting(self) -> bool:
        """Whether waiting can't mend it: the kernel keeps the MTU of a broadcast group that it has joined, and files, packages and names stay."""
        return self.code == Code.MTU_CLAMPED or self.kind in (Kind.FILE, Kind.STACK, Kind.RDMA_DEVICE)


def of_change(change: Change) -> Finding:
    """What a planner would change."""
    if change.kind == Kind.FILE:
        return Finding(Code.DIFFERS, Kind.FILE, change.subject, wanted=DECLARED if change.after else "", found=OTHER if change.before else "")
    return Finding(Code.DIFFERS, change.kind, change.subject, change.aspect, change.after, change.before)
