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
# What a limit is that of.
SESSION, SERVICE = "session", "service"


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
    LIMIT = "limit"
    """The limit of locked memory: SESSION or SERVICE."""
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
    UNNAMED_MASTER = "unnamed_master"
    """The node of the master does not answer, so it is not known which one it is."""
    OTHER_MASTER = "other_master"
    SEVERAL_MASTERS = "several_masters"
    """Detail: how many."""
    OPENSM_DESIGNATED = "opensm_designated"
    """opensm is missing on the designated host."""
    OPENSM_ENDED = "opensm_ended"
    """opensm is missing on a host that runs one from boot on, and has failed."""
    OPENSM_STOPPED = "opensm_stopped"
    """The same, and it was stopped. Detail: the fabric."""
    OPENSM_STANDBY = "opensm_standby"
    """opensm is missing on a host that stands by. Detail: the designated host, "" for none."""
    OPENSM_SURPLUS = "opensm_surplus"
    """opensm is there on another host. Detail: the designated host, "" for none."""
    NO_INTERFACE = "no_interface"
    """Detail: why, one of the ABSENT_*."""
    NO_CARRIER = "no_carrier"
    """A P_Key child on an ACTIVE port. Detail: its P_Key."""
    REFUSED = "refused"
    """The planner refuses the declared state on this node. Detail: why."""
    MTU_CLAMPED = "mtu_clamped"
    """The broadcast group allows no more. Detail: the MTU in bytes that the partition needs."""
    LOW_LIMIT = "low_limit"
    """Detail: the line of others that sets it, "" where none is known."""
    GPU_OUT_OF_REACH = "gpu_out_of_reach"
    """Detail: why."""
    GPU_NOT_REGISTERED = "gpu_not_registered"
    OTHER_STACK = "other_stack"
    HALF_STACK = "half_stack"
    """The installation of the stack did not come to its end."""


# Why an interface is absent: what makes it is missing, or nothing has made it yet.
ABSENT_DRIVER, ABSENT_PORT, ABSENT_PARENT, ABSENT_CHILD, ABSENT_NAME = "driver", "port", "parent", "child", "name"

# What explains others comes before them. Findings of one rank stay in their order.
_RANKS: t.Mapping[Code, int] = {
    Code.OTHER_STACK: 0,
    Code.HALF_STACK: 0,
    Code.NO_PORT: 2,
    Code.LINK_DOWN: 2,
    Code.OPENSM_ENDED: 3,
    Code.OPENSM_STOPPED: 3,
    Code.OPENSM_DESIGNATED: 3,
    Code.OPENSM_STANDBY: 3,
    Code.OPENSM_SURPLUS: 3,
    Code.SEVERAL_MASTERS: 4,
    Code.OTHER_MASTER: 4,
    Code.UNNAMED_MASTER: 4,
    Code.NOT_MASTER: 4,
    Code.NO_MASTER: 4,
    Code.PORT_NOT_CONFIGURED: 5,
    Code.NO_SM_LID: 5,
}
_LAST = 6


def rank_of(code: str, kind: str) -> int:
    """The rank of a finding among those of all hosts. A module that is not loaded explains ports and interfaces that are missing."""
    if kind == Kind.MODULE.value:
        return 1
    return next((rank for known, rank in _RANKS.items() if known.value == code), _LAST)


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
        return self.code == Code.MTU_CLAMPED or self.kind in (Kind.FILE, Kind.STACK, Kind.RDMA_DEVICE, Topic.LIMIT)


def of_change(change: Change) -> Finding:
    """What a planner would change."""
    if change.kind == Kind.FILE:
        return Finding(Code.DIFFERS, Kind.FILE, change.subject, wanted=DECLARED if change.after else "", found=OTHER if change.before else "")
    return Finding(Code.DIFFERS, change.kind, change.subject, change.aspect, change.after, change.before)
