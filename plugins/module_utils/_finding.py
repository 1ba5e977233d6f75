# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One problem of a node or of a fabric. Pure data: words are made where it is shown, and decisions use its fields.

Each code has a paragraph of its own in docs/findings.md.
"""

from __future__ import annotations

import enum
import typing as t

from ._plan import LASTING_KINDS, Kind

if t.TYPE_CHECKING:
    from ._plan import Change

# A placeholder in findings for the content of a file. No node can have this value.
DECLARED = "<declared>"
OTHER = "<other>"
# The designated host, where its name is unknown.
DESIGNATED = "<designated>"
ANY = "<any>"


class Severity(str, enum.Enum):
    """In order, worst first."""

    ERROR = "error"
    """Something is not as declared, or work is lost or slowed down."""
    WARNING = "warning"
    """It may become an error, or is one in combination with others."""
    NOTICE = "notice"
    """It means little on its own."""


class Topic(str, enum.Enum):
    """Objects that no plan changes, in addition to those of Kind. It tells what Finding.subject names."""

    PORT = "port"
    """A port as `rdma link` shows it; aspects: `link_layer`, `sm_lid`."""
    PORTS = "ports"
    """All ports of this node, without a subject."""
    ADAPTER = "adapter"
    """A card, by the PCI address of its first function."""
    INTERRUPTS = "interrupts"
    """Those of a card, by the PCI address of its function."""
    SETTING = "setting"
    """A setting of the running kernel or of its CPUs."""
    ADAPTERS = "adapters"
    """All adapters of this node, without a subject."""
    SUBNET_MANAGER = "subnet_manager"
    """A fabric."""
    OPENSM = "opensm"
    """This node's opensm, without a subject; aspects: `state`, `enabled`."""
    IPOIB = "ipoib"
    """All interfaces of this node, without a subject."""
    LIMIT = "limit"
    """The limit of locked memory: of a `session`, a `service` or a `container`. Aspect `nofile`: that of open files."""
    DAEMON = "daemon"
    """A daemon that starts jobs, sessions or containers; aspects: `memlock`, `nofile`."""
    GPU_MEMORY = "gpu_memory"
    """The path from the adapters to GPU memory, without a subject."""
    COUNTER = "counter"
    """A port of a fabric by GUID and number; the aspect is the counter."""
    NODE = "node"
    """One or several nodes of a fabric, in `ends`."""
    LINK = "link"
    """A cable: its two ports, in `ends`."""
    SWITCHES = "switches"
    """Equal switches: their PSID, or device ID."""
    PARTITION = "partition"
    """A P_Key."""
    HOST = "host"
    """A host of the inventory."""
    PAIR = "pair"
    """Two hosts of the inventory: client and server, in `ends`."""
    JOB = "job"
    """A job test on hosts of the inventory, in `ends`; the aspect is the test."""


class Code(str, enum.Enum):
    """The kind of problem, and the content of `Finding.detail`."""

    DIFFERS = "differs"
    """Two values differ; no detail."""
    NO_PORT = "no_port"
    """Detail: the ports of the node, and what the name became."""
    NO_RAIL = "no_rail"
    """The adapter of a rail is missing; wanted: its PCI address or port GUID."""
    LINK_DOWN = "link_down"
    """Detail: UNDECLARED for a port that no variable names."""
    TOO_FEW_PORTS = "too_few_ports"
    """Detail: the ports that are not as required."""
    PORT_NOT_CONFIGURED = "port_not_configured"
    """The link is up, but the port is not ACTIVE."""
    NO_SM_LID = "no_sm_lid"
    NO_MASTER = "no_master"
    """Detail: why."""
    NOT_MASTER = "not_master"
    """Detail: the state of the subnet manager that answers."""
    UNNAMED_MASTER = "unnamed_master"
    """The node of the master does not answer, so its host is unknown."""
    OTHER_MASTER = "other_master"
    SEVERAL_MASTERS = "several_masters"
    """Detail: how many."""
    FAILED_OVER = "failed_over"
    """The master is on a host that is standby for the designated one."""
    SPLIT_FABRIC = "split_fabric"
    """The master differs from that of most hosts of the fabric."""
    MASTER_UNKNOWN = "master_unknown"
    """The node itself can't query the subnet manager. Detail: why."""
    NO_MANAGEMENT = "no_management"
    """A virtual function that may not send management datagrams. Detail: its port."""
    NO_INFINIBAND = "no_infiniband"
    """No InfiniBand is declared for the node, and it has none."""
    OPENSM_DESIGNATED = "opensm_designated"
    """opensm is missing on the designated host."""
    OPENSM_ENDED = "opensm_ended"
    """opensm is missing on a host that starts it at boot, and it has failed."""
    OPENSM_STOPPED = "opensm_stopped"
    """The same, and it was stopped. Detail: the fabric."""
    OPENSM_STANDBY = "opensm_standby"
    """opensm is missing on a standby host. Detail: the designated host, "" for none."""
    OPENSM_SURPLUS = "opensm_surplus"
    """opensm runs on another host. Detail: the designated host, "" for none."""
    # Messages of opensm about its own configuration. Detail: its words.
    ROUTING_FALLBACK = "routing_fallback"
    """It routes with an engine that is not declared."""
    PARTITIONS_REFUSED = "partitions_refused"
    OPENSM_OBJECTS = "opensm_objects"
    """It objects to another file."""
    OPENSM_UNBOUND = "opensm_unbound"
    OPENSM_RESTARTS = "opensm_restarts"
    """It crashes repeatedly. Detail: its message about its port, "" for none."""
    PKEY_DIFFERS = "pkey_differs"
    """The membership of a port differs from partitions.conf. Detail: the fabric."""
    MEMBERSHIP_DIFFERS = "membership_differs"
    """The membership of a port differs from the declared partitions of its host. Detail: the fabric."""
    NO_INTERFACE = "no_interface"
    """Detail: why, one of the ABSENT_*."""
    NO_LEASE = "no_lease"
    """An interface that is to get an address by DHCP has none."""
    NO_CARRIER = "no_carrier"
    """A P_Key child on an ACTIVE port. Detail: its P_Key."""
    REFUSED = "refused"
    """The planner refuses the declared state on this node. Detail: why."""
    MTU_CLAMPED = "mtu_clamped"
    """The broadcast group allows no larger MTU. Detail: the MTU in bytes that the partition needs."""
    MTU_MIXED = "mtu_mixed"
    """Most hosts of the IPoIB subnet have another value. Detail: the subnet."""
    MODE_MIXED = "mode_mixed"
    """Likewise."""
    DUPLICATE_ADDRESS = "duplicate_address"
    """Found: the address. Detail: the other hosts that have it."""
    FIREWALL_DROPS = "firewall_drops"
    """An interface whose traffic a firewall drops, and nothing else is declared. Detail: the firewall."""
    PENDING = "pending"
    """Set, but not in effect. Detail: what it needs."""
    LOW_LIMIT = "low_limit"
    """Detail: the foreign line that sets it, "" where unknown."""
    DAEMON_LIMIT = "daemon_limit"
    """A daemon started before the limit was raised. Detail: its unit."""
    GPU_OUT_OF_REACH = "gpu_out_of_reach"
    """Detail: why."""
    GPU_NOT_REGISTERED = "gpu_not_registered"
    OTHER_STACK = "other_stack"
    UNCHECKED = "unchecked"
    """A host without a result. Found: why."""
    # Links and cables, according to mlxlink or mstlink.
    LINK_DIAGNOSIS = "link_diagnosis"
    """The firmware of the adapter names a cause."""
    CABLE_UNDECLARED = "cable_undeclared"
    """The part number is not among those that the site uses."""
    CABLE_FOR_ETHERNET = "cable_for_ethernet"
    """According to its part number, the cable in an InfiniBand port is for Ethernet only."""
    CABLE_SLOW = "cable_slow"
    BIT_ERRORS = "bit_errors"
    """Too many bits are wrong after error correction."""
    LINK_UNREAD = "link_unread"
    PCIE_DEGRADED = "pcie_degraded"
    """A card has fewer or slower lanes than it and its slot support."""
    FIRMWARE_PENDING = "firmware_pending"
    """Burned or set, and effective after the next start of the adapter."""
    HALF_STACK = "half_stack"
    """The installation of the stack was not completed."""
    # What slows down an adapter.
    MAX_READ_REQUEST = "max_read_request"
    """Detail: the bits that set the wanted value."""
    MAX_PAYLOAD = "max_payload"
    RELAXED_ORDERING_OFF = "relaxed_ordering_off"
    ASPM_ON = "aspm_on"
    """The link enters states that save power."""
    ACS_REDIRECTS = "acs_redirects"
    """Wanted: GPUs below the same switch. Found: bridges that redirect traffic with them. Detail: the first bridge."""
    INTERRUPTS_REMOTE = "interrupts_remote"
    """Wanted: the CPUs of the NUMA node of the adapter. Found: how many interrupts are served elsewhere."""
    INTERRUPTS_ON_ONE_CPU = "interrupts_on_one_cpu"
    """Likewise. Detail: the CPU."""
    IOMMU_TRANSLATES = "iommu_translates"
    CPU_GOVERNOR = "cpu_governor"
    """Detail: the profile of TuneD, "" for none."""
    CPU_IDLE_DEEP = "cpu_idle_deep"
    """Wanted and found: microseconds. Detail: the name of the state."""
    NUMA_BALANCING = "numa_balancing"
    THP_DEFRAG = "thp_defrag"
    """Each allocation waits for transparent hugepages."""
    # Port counters. Detail: the course of the counter.
    SYMBOL_ERRORS = "symbol_errors"
    LINK_RECOVERS = "link_recovers"
    LINK_DOWNED = "link_downed"
    RECEIVE_ERRORS = "receive_errors"
    REMOTE_ERRORS = "remote_errors"
    RELAY_ERRORS = "relay_errors"
    DISCARDS = "discards"
    CONSTRAINT_ERRORS = "constraint_errors"
    LINK_INTEGRITY = "link_integrity"
    BUFFER_OVERRUNS = "buffer_overruns"
    MANAGEMENT_DROPS = "management_drops"
    CONGESTION = "congestion"
    SATURATED = "saturated"
    # The present state of a fabric.
    LINK_DEGRADED = "link_degraded"
    """A link is below what both of its ends, or port and cable, support, or below what is declared."""
    UNEXPECTED_MANAGER = "unexpected_manager"
    """Detail: its state."""
    DUPLICATE_NAME = "duplicate_name"
    DEFAULT_NAME = "default_name"
    """Adapters have the default description of their firmware. Detail: how many."""
    HOSTS_UNMATCHED = "hosts_unmatched"
    """No declared host has a node of its name, and no GUIDs are known. Detail: how many hosts."""
    DUPLICATE_GUID = "duplicate_guid"
    FIRMWARE_DIFFERS = "firmware_differs"
    PARTITION_MEMBER = "partition_member"
    """A declared port is not in its partition."""
    HOST_ABSENT = "host_absent"
    """A host of the inventory has no node."""
    # Changes of a fabric since its baseline.
    LINK_LOST = "link_lost"
    """Detail: the states of the two ports."""
    LINK_NEW = "link_new"
    LINK_MOVED = "link_moved"
    """Ends: the two former ones, then the two present ones of the cable."""
    LINKS_SWAPPED = "links_swapped"
    """Ends: those of the two former cables."""
    LINK_SLOWER = "link_slower"
    NODE_LOST = "node_lost"
    """Detail: how many other nodes were reached only through it."""
    NODE_NEW = "node_new"
    """Detail: likewise."""
    NODE_REPLACED = "node_replaced"
    # A pair of hosts. Ends: the client, then the server. The aspect is the test.
    PAIR_NO_DEVICE = "pair_no_device"
    """About one end. Detail: the message of the tool."""
    PAIR_FAILED = "pair_failed"
    """Detail: why there is no result."""
    PAIR_LOSS = "pair_loss"
    PAIR_SLOW = "pair_slow"
    PAIR_LATENCY = "pair_latency"
    PAIR_OUTLIER = "pair_outlier"
    """Detail: the median of all."""
    # A job of an ordinary user. Ends: its hosts. The aspect is the test. Detail: what the tool, the scheduler or the daemon said.
    JOB_REFUSED = "job_refused"
    JOB_NOT_STARTED = "job_not_started"
    JOB_ENDED = "job_ended"
    """It was cancelled from outside, or ended by the scheduler."""
    JOB_MEMLOCK = "job_memlock"
    """The hard limit of locked memory is too low."""
    JOB_MEMLOCK_SOFT = "job_memlock_soft"
    """The soft limit is too low, and the hard limit is not."""
    JOB_TOOL_MISSING = "job_tool_missing"
    JOB_FAILED = "job_failed"
    JOB_TIMED_OUT = "job_timed_out"
    JOB_NO_MEMORY = "job_no_memory"
    """The adapter could not register memory."""
    JOB_NO_DEVICE = "job_no_device"
    JOB_NO_LOGIN = "job_no_login"
    """The user can't log in from node to node."""
    JOB_NO_PMI = "job_no_pmi"
    """The MPI library and the launcher have no common interface."""
    JOB_NO_TRANSPORT = "job_no_transport"
    """The MPI library found no transport over RDMA."""
    JOB_OVER_TCP = "job_over_tcp"
    """NCCL does not use InfiniBand. Detail: what it uses."""
    JOB_WRONG_DATA = "job_wrong_data"
    JOB_SLOW = "job_slow"
    JOB_LATENCY = "job_latency"


# No role changes these, and they are rarely declared.
_PERFORMANCE = (
    Code.MAX_READ_REQUEST,
    Code.MAX_PAYLOAD,
    Code.RELAXED_ORDERING_OFF,
    Code.ASPM_ON,
    Code.ACS_REDIRECTS,
    Code.INTERRUPTS_REMOTE,
    Code.INTERRUPTS_ON_ONE_CPU,
    Code.IOMMU_TRANSLATES,
    Code.CPU_GOVERNOR,
    Code.CPU_IDLE_DEEP,
    Code.NUMA_BALANCING,
    Code.THP_DEFRAG,
)
_SEVERITIES: t.Mapping[Code, Severity] = {
    **dict.fromkeys(_PERFORMANCE, Severity.NOTICE),
    **dict.fromkeys(
        (Code.SYMBOL_ERRORS, Code.DISCARDS, Code.CONSTRAINT_ERRORS, Code.CONGESTION, Code.UNEXPECTED_MANAGER, Code.FIRMWARE_DIFFERS, Code.NODE_REPLACED),
        Severity.WARNING,
    ),
    **dict.fromkeys((Code.PAIR_OUTLIER, Code.FAILED_OVER, Code.NO_MANAGEMENT, Code.NO_INFINIBAND, Code.DEFAULT_NAME, Code.HOSTS_UNMATCHED), Severity.WARNING),
    # Hosts with and without connected mode can communicate: a site may want that.
    **dict.fromkeys((Code.PENDING, Code.DAEMON_LIMIT, Code.MODE_MIXED, Code.FIREWALL_DROPS), Severity.WARNING),
    **dict.fromkeys((Code.REMOTE_ERRORS, Code.RELAY_ERRORS, Code.MANAGEMENT_DROPS, Code.SATURATED, Code.LINK_NEW, Code.NODE_NEW), Severity.NOTICE),
}
SEVERITIES = tuple(Severity)
# Only a person can fix these.
BY_HAND = frozenset(
    (
        Code.LINK_DOWN,
        Code.TOO_FEW_PORTS,
        Code.LINK_DIAGNOSIS,
        Code.LINK_DEGRADED,
        Code.CABLE_UNDECLARED,
        Code.CABLE_FOR_ETHERNET,
        Code.CABLE_SLOW,
        Code.BIT_ERRORS,
        Code.PCIE_DEGRADED,
        *_PERFORMANCE,
    )
)

# opensm rereads its files at a sweep, which nothing else triggers.
_LASTING = frozenset((Code.MTU_CLAMPED, Code.PARTITIONS_REFUSED, Code.OPENSM_OBJECTS, Code.ROUTING_FALLBACK, *_PERFORMANCE))

# Why an interface is absent: what creates it is missing, or nothing has created it yet.
ABSENT_DRIVER, ABSENT_PORT, ABSENT_PARENT, ABSENT_CHILD, ABSENT_NAME = "driver", "port", "parent", "child", "name"

UNDECLARED = "undeclared"
# The aspect of an interface that its network back-end has not configured.
MANAGER = "manager"

# A finding that explains others precedes them. Findings of one rank keep their order.
_ORDER: tuple[tuple[enum.Enum, ...], ...] = (
    (Code.OTHER_STACK, Code.HALF_STACK),
    # A module that is not loaded explains missing ports and interfaces.
    (Kind.MODULE,),
    (Code.NO_PORT, Code.LINK_DOWN, Code.TOO_FEW_PORTS),
    (Code.OPENSM_ENDED, Code.OPENSM_STOPPED, Code.OPENSM_DESIGNATED, Code.OPENSM_STANDBY, Code.OPENSM_SURPLUS),
    (Code.OPENSM_UNBOUND, Code.OPENSM_RESTARTS),
    (
        Code.SPLIT_FABRIC,
        Code.SEVERAL_MASTERS,
        Code.OTHER_MASTER,
        Code.UNNAMED_MASTER,
        Code.NOT_MASTER,
        Code.NO_MASTER,
        Code.MASTER_UNKNOWN,
        Code.FAILED_OVER,
    ),
    (Code.PORT_NOT_CONFIGURED, Code.NO_SM_LID),
    (Code.PARTITIONS_REFUSED, Code.OPENSM_OBJECTS, Code.ROUTING_FALLBACK),
)


def rank_of(code: str, kind: str) -> int:
    """The rank of a finding among those of all hosts."""
    return next((rank for rank, group in enumerate(_ORDER) if any(first.value in (code, kind) for first in group)), len(_ORDER))


class Measure(t.NamedTuple):
    """The measured value of a counter, and its limit."""

    found: float
    """The growth, or the total where nothing is compared; for PortXmitWait the growth per hour."""
    limit: float
    """The limit for that value."""


class End(t.NamedTuple):
    """A port of a fabric's node; the node itself where the port is 0."""

    node_guid: str
    name: str
    """The name of the node."""
    port: int = 0


class Finding(t.NamedTuple):
    """One aspect of one object that is not as it should be."""

    code: Code
    kind: t.Union[Kind, Topic]
    subject: str = ""
    aspect: str = ""
    wanted: str = ""
    found: str = ""
    detail: str = ""
    measure: t.Optional[Measure] = None
    """Used in place of `wanted` and `found`."""
    ends: t.Tuple[End, ...] = ()
    """Used in place of `subject`."""
    strict: bool = False
    """Whether it is an error, whatever the severity of its code: the site has declared so."""

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if self.strict else _SEVERITIES.get(self.code, Severity.ERROR)

    @property
    def lasting(self) -> bool:
        """Whether waiting can't fix it: the kernel keeps the MTU of a joined broadcast group; files, packages, names and slots do not change."""
        return self.code in _LASTING or self.kind in LASTING_KINDS or self.kind in (Topic.LIMIT, Topic.ADAPTER)


class Form(t.NamedTuple):
    """The words of a code, with placeholders for the fields of a finding."""

    found: str = "{found}"
    expected: str = "{wanted}"
    cause: str = ""
    next_step: str = ""

    def filled(self, fields: t.Mapping[str, t.Any]) -> Form:
        return Form(*(form.format(**fields) for form in self))


def of_change(change: Change) -> Finding:
    """The finding for a change that a planner would make."""
    if change.kind == Kind.FILE:
        return Finding(Code.DIFFERS, Kind.FILE, change.subject, wanted=DECLARED if change.after else "", found=OTHER if change.before else "")
    return Finding(Code.DIFFERS, change.kind, change.subject, change.aspect, change.after, change.before)
