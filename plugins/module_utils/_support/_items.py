# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a vendor's support ticket needs from a node and from its fabric, as data. Pure."""

from __future__ import annotations

import typing as t

from .._ipoib._registry import BACKENDS


class Command(t.NamedTuple):
    """The output of a tool, followed by its standard error."""

    name: str
    """The file in the archive, without suffix."""
    argv: tuple[str, ...]
    timeout: float = 60


class Files(t.NamedTuple):
    """Unchanged files, each below its path."""

    name: str
    """The folder in the archive."""
    patterns: tuple[str, ...]
    """Absolute paths with glob wildcards."""


class Values(t.NamedTuple):
    """Many one-line files, such as those of sysfs, as one text of paths and values."""

    name: str
    patterns: tuple[str, ...]


Item = t.Union[Command, Files, Values]

_UNITS = ("rdma-*", "opensm*", "openibd*", "rdma.service", "mst*", "nv_peer_mem*", "nvidia-peermem*", "ibacm*", "srp_daemon*", "iwpmd*")
_PACKAGES = "rdma|ofed|mlnx|mlx|doca|opensm|infiniband|ibverbs|mst|mft|ucx|openmpi|nvidia|perftest|linux-image|kernel"

NODE: tuple[Item, ...] = (
    Command("system/uname", ("uname", "-a")),
    Command("system/uptime", ("uptime",)),
    Command("system/lsmod", ("lsmod",)),
    Command("system/lscpu", ("lscpu",)),
    Command("system/dmesg", ("dmesg", "--ctime")),
    Command("system/failed-units", ("systemctl", "--no-pager", "--failed")),
    Command("system/journal", ("journalctl", "--no-pager", "--quiet", "--lines=5000", *(word for unit in _UNITS for word in ("-u", unit)))),
    Command("system/kernel-journal", ("journalctl", "--no-pager", "--quiet", "--dmesg", "--lines=5000")),
    Files("system", ("/etc/os-release", "/proc/cmdline", "/proc/meminfo", "/proc/interrupts", "/etc/security/limits.d/*")),
    Command("packages/dpkg", ("sh", "-c", "dpkg -l | grep -E '%s'" % _PACKAGES)),
    Command("packages/rpm", ("sh", "-c", "rpm -qa | sort | grep -E '%s'" % _PACKAGES)),
    Command("packages/ofed_info", ("ofed_info",)),
    Command("packages/dkms", ("dkms", "status")),
    *(
        Command("modules/%s" % module, ("modinfo", module))
        for module in ("mlx5_core", "mlx5_ib", "mlx4_core", "ib_core", "ib_ipoib", "nv_peer_mem", "nvidia_peermem")
    ),
    Files("modules", ("/etc/modprobe.d/*", "/etc/modules-load.d/*", "/etc/infiniband/*.conf", "/etc/rdma/*.conf", "/etc/rdma/modules/*")),
    Command("hca/lspci", ("lspci", "-vvv", "-nn", "-d", "15b3:")),
    Command("hca/ibstat", ("ibstat",)),
    Command("hca/ibv_devinfo", ("ibv_devinfo", "-v")),
    Command("hca/rdma-dev", ("rdma", "-d", "dev")),
    Command("hca/rdma-link", ("rdma", "-d", "link")),
    Command("hca/mst", ("mst", "status", "-v")),
    Values("hca/counters", ("/sys/class/infiniband/*/ports/*/counters/*", "/sys/class/infiniband/*/ports/*/hw_counters/*")),
    Values("hca/sysfs", tuple("/sys/class/infiniband/*/%s" % name for name in ("fw_ver", "board_id", "hca_type", "node_guid", "node_desc", "ports/*/*"))),
    Command("network/links", ("ip", "-d", "-s", "link")),
    Command("network/addresses", ("ip", "address")),
    Command("network/routes", ("ip", "route", "show", "table", "all")),
    Command("network/neighbours", ("ip", "neighbour")),
    Values("network/ipoib", tuple("/sys/class/net/*/%s" % name for name in ("mode", "mtu", "pkey", "umcast"))),
    Files("network", tuple(dict.fromkeys(pattern for backend in BACKENDS for pattern in backend.patterns))),
    Files("subnet-manager", ("/etc/opensm/*", "/etc/rdma/opensm.conf", "/etc/rdma/partitions.conf", "/etc/default/opensm", "/etc/sysconfig/opensm")),
    Files("rdma-ofed", ("/etc/rdma-ofed/*", "/etc/rdma-ofed/*/*", "/etc/rdma-ofed/*/*/*", "/var/lib/rdma-ofed/*.json")),
)

# On each host with a subnet manager.
LOGS: tuple[Item, ...] = (Files("subnet-manager", ("/var/log/opensm.log", "/var/log/opensm*.log", "/var/log/opensm/*/*.log")),)

_FABRIC: tuple[Command, ...] = (
    Command("fabric/ibnetdiscover", ("ibnetdiscover",), 300),
    Command("fabric/iblinkinfo", ("iblinkinfo", "--line"), 300),
    Command("fabric/ibqueryerrors", ("ibqueryerrors",), 300),
    Command("fabric/sminfo", ("sminfo",)),
    Command("fabric/subnet-managers", ("saquery", "SMIR")),
    Command("fabric/nodes", ("saquery", "NR"), 300),
    Command("fabric/multicast-groups", ("saquery", "MCMR"), 300),
)
IBDIAGNET = "ibdiagnet"
IBDIAGNET_SECONDS = 1200.0


def of_fabric(device: str, port: int) -> tuple[Item, ...]:
    """The output about the fabric through a port; if `device` is "", through the tools' default port."""
    asked = ("-C", device, "-P", str(port)) if device else ()
    return tuple(command._replace(argv=(command.argv[0], *asked, *command.argv[1:])) for command in _FABRIC)


def of_adapter(pci: str) -> tuple[Item, ...]:
    """The output that only the firmware tools have about an adapter, by PCI address. These commands are read-only."""
    return (
        Command("hca/%s-firmware" % pci, ("mstflint", "-d", pci, "query", "full")),
        Command("hca/%s-configuration" % pci, ("mstconfig", "-d", pci, "query")),
        Command("hca/%s-link" % pci, ("mlxlink", "-d", pci, "-m", "-e", "-c")),
    )
