# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests can prove, on which systems, and what no test can have. That something was tested is never said here: see proofs.py."""

from __future__ import annotations

import typing as t

REAL, LOOK_ALIKE, GOLDEN = "real", "look-alike", "golden file"
HOW = (REAL, LOOK_ALIKE, GOLDEN)
"""Strongest first."""
SYSTEMS = {
    "el8": "RHEL 8",
    "el9": "RHEL 9",
    "el10": "RHEL 10",
    "sles15": "SLES 15",
    "sles16": "SLES 16",
    "ubuntu20": "Ubuntu 20.04",
    "ubuntu22": "Ubuntu 22.04",
    "ubuntu24": "Ubuntu 24.04",
    "ubuntu26": "Ubuntu 26.04",
    "debian11": "Debian 11",
    "debian12": "Debian 12",
    "debian13": "Debian 13",
}


class Feature(t.NamedTuple):
    title: str
    """May have links, relative to docs."""
    code: tuple[str, ...]
    """Paths of the code that the feature is about, below plugins, roles or playbooks. A change there makes its proofs old."""
    limits: str = ""
    """What no test can have here. It makes the claim smaller: a text that makes one larger is a mark of a test."""


def _utils(*names: str) -> tuple[str, ...]:
    return tuple("plugins/module_utils/_" + name for name in names)


_IPOIB = (*_utils("ipoib"), "plugins/modules/ipoib.py", "roles/ipoib")
_OPENSM = (*_utils("opensm"), "plugins/modules/opensm.py", "roles/opensm")
_STACK = (*_utils("stack"), "plugins/modules/driver_stack.py", "roles/ofed")
_FIRMWARE = (*_utils("firmware"), "plugins/modules/mstflint.py", "plugins/modules/mlxconfig.py", "plugins/modules/mlxfwreset.py", "roles/hca_firmware")
_SITE = ("plugins/action", *_utils("site"), "playbooks")
FEATURES = {
    "bootstrap": Feature("A Python for the modules", ("plugins/modules/interpreter.py", "plugins/action/interpreter.py", "playbooks/bootstrap.yml")),
    "packages": Feature("Packages of the distribution (the *inbox* stack)", (*_utils("packages", "distro"), "plugins/modules/packages.py", "roles/ofed")),
    "modules": Feature(
        "Kernel modules: loaded, persistent, with options and limits of memory", (*_utils("kmod"), "plugins/modules/kernel_modules.py", "roles/kernel_modules")
    ),
    "images": Feature(
        "[Images](images.md): a tree that was provisioned by way of a chroot boots into a node that is as declared",
        ("plugins/module_utils/_host/_image.py", *_IPOIB, *_utils("kmod", "packages", "ipnet", "softrdma")),
        "no tree of Warewulf or xCAT",
    ),
    "initramfs": Feature("Drivers and options in the initramfs", (*_utils("kmod"), "roles/kernel_modules")),
    "networkd": Feature("IPoIB with systemd-networkd", _IPOIB),
    "networkmanager": Feature("IPoIB with NetworkManager", _IPOIB),
    "ifcfg": Feature("IPoIB with ifcfg files of Red Hat", _IPOIB),
    "netplan": Feature("IPoIB with netplan", _IPOIB),
    "ifupdown": Feature("IPoIB with ifupdown", _IPOIB),
    "wicked": Feature("IPoIB with wicked", _IPOIB, "no wicked on a node"),
    "ipoib_modes": Feature("IPoIB modes and MTU", _IPOIB),
    "pkeys": Feature("IPoIB in partitions (P_Key children)", _IPOIB),
    "bonds": Feature("Bonds of IPoIB interfaces", _IPOIB),
    "handmade": Feature("Interfaces that were configured by hand: refused, or taken over with consent", _IPOIB),
    "rollback": Feature("Rollback of a change that cuts the connection of the run", _IPOIB),
    "ipoib_network": Feature(
        "What IPoIB needs of the network: ARP on several interfaces of a subnet, neighbour tables, the firewall",
        (*_utils("ipnet"), "plugins/modules/ipoib_network.py", "plugins/action/ipoib_network.py", "roles/ipoib_network"),
    ),
    "names": Feature("Ports and interfaces whose names change", (*_utils("facts", "ipoib", "kmod"), "roles/ipoib", "roles/kernel_modules")),
    "discovered": Feature("[Discovery](adopt.md) of what a cluster has, as an inventory", ("playbooks/discover.yml", "plugins/plugin_utils/_discovery")),
    "opensm": Feature("The subnet manager of the distribution, on the designated host", _OPENSM),
    "handover": Feature("Subnet manager: standbys, fail-over, and moves to another host", _OPENSM),
    "opensm_options": Feature("Subnet manager: options and partitions", _OPENSM),
    "adopted": Feature("Subnet manager that was set up by hand, or by other software", _OPENSM),
    "rehearsal": Feature(
        "[Rehearsal](rehearse.md) of a change of the subnet manager on a simulated copy of the fabric",
        ("playbooks/rehearse.yml", "playbooks/files/rehearse", "plugins/plugin_utils/_rehearsal"),
        "the simulated switches and adapters answer at once",
    ),
    "fabrics": Feature("Several fabrics", (*_OPENSM, *_utils("site"))),
    "ulps": Feature(
        "[Upper-layer protocols](../roles/ofed/README.md#upper-layer-protocols) by name", (*_utils("protocols"), "plugins/modules/ulps.py"), "no storage server"
    ),
    "soft_rdma": Feature(
        "[Software RDMA links](../roles/soft_rdma/README.md) (rxe, siw)", (*_utils("softrdma"), "roles/soft_rdma"), "no Debian kernel has siw"
    ),
    "mlnx_ofed": Feature("[MLNX_OFED](../roles/ofed/README.md)", _STACK, "no complete release of the vendor"),
    "doca": Feature("[DOCA-OFED](../roles/ofed/README.md)", _STACK, "no complete release of the vendor"),
    "appliances": Feature(
        "[Images that bring their own stack](appliances.md) are left alone",
        (*_utils("stack"), "plugins/module_utils/_facts/_appliance.py", "roles/ofed", "playbooks/remove.yml"),
        "no DGX, and no machine of a cloud",
    ),
    "dkms": Feature("Vendor drivers for the kernel that boots next (DKMS, pinned kernels)", (*_utils("kernel", "stack"), "roles/ofed")),
    "third_party": Feature("Third-party modules that were built on the stack", (*_utils("thirdparty"), "plugins/modules/third_party_modules.py", "roles/ofed")),
    "reload": Feature("Reload of the driver", (*_utils("reload"), "plugins/modules/driver_reload.py")),
    "gpudirect": Feature("[GPUDirect RDMA](../roles/gpudirect/README.md)", (*_utils("gpudirect"), "plugins/modules/gpudirect.py", "roles/gpudirect"), "no GPU"),
    "firmware": Feature("[Firmware images](../roles/hca_firmware/README.md) by PSID", _FIRMWARE, "no real card; MFT as recorded output only"),
    "parameters": Feature("Firmware parameters, [network boot](network_boot.md) included", _FIRMWARE, "no real card; no boot over InfiniBand"),
    "batches": Feature("Firmware and reboots in batches", (*_FIRMWARE, "plugins/module_utils/_concerns", "playbooks")),
    "drain": Feature("[Draining](hooks.md) with Slurm and PBS", ("roles/node_service", "playbooks"), "no PBS"),
    "upgrade": Feature("[Rolling upgrades](upgrade.md), batch by batch", ("playbooks",)),
    "verify": Feature("Check of each node against the declared state", (*_utils("check", "performance"), "plugins/modules/node_check.py", "roles/node_check")),
    "fabric": Feature(
        "Check of [the fabric](fabric.md) against its baseline, and error counters",
        (*_utils("fabric", "tools"), "plugins/modules/ib_fabric_check.py", "plugins/modules/ib_fabric_info.py", "plugins/modules/ib_counters.py"),
    ),
    "report": Feature("HTML page of the fabric and of its nodes", ("plugins/plugin_utils/_report",)),
    "pair_test": Feature(
        "[Pair tests](pair_test.md): bandwidth and latency between hosts",
        (*_utils("pairs"), "plugins/modules/ib_pair_test.py"),
        "software RDMA only; no `ibping`",
    ),
    "job_test": Feature(
        "[Job tests](job_test.md): what a job of an ordinary user gets",
        (*_utils("jobs"), "plugins/modules/job_test.py", "playbooks/job_test.yml"),
        "software RDMA only; no MPI, no NCCL",
    ),
    "monitoring": Feature(
        "[Monitoring](../roles/fabric_monitor/README.md): metrics, health checks for the scheduler",
        (*_utils("monitor"), "plugins/modules/fabric_monitor.py", "roles/fabric_monitor"),
        "no NHC",
    ),
    "support": Feature("Support bundle", (*_utils("support"), "plugins/modules/support_bundle.py")),
    "input": Feature("Wrong input is refused before the first change", _SITE),
    "check_mode": Feature("Check mode predicts the run", _SITE),
    "unchanged": Feature("A second run changes nothing", _SITE),
    "interruption": Feature("A run that was killed is completed by the next", (*_utils("host", "ipoib", "stack", "firmware"), "plugins/modules")),
    "fleet": Feature("Broken and unreachable hosts cost the others nothing", _SITE),
    "reboot": Feature("All of it after a reboot", ("plugins/modules", "roles")),
    "remove": Feature("Removal", ("playbooks/remove.yml", "plugins/modules", "roles")),
    "controllers": Feature("ansible-core 2.14 and 2.16 on the controller", ("plugins/action", "plugins/filter", "plugins/plugin_utils")),
    "environments": Feature(
        "[Execution environments](large_sites.md#awx-and-ansible-automation-platform) of ansible-builder",
        ("meta/execution-environment.yml", "meta/ee-requirements.txt"),
        "no AWX",
    ),
    "scale": Feature("Sites of 16 nodes, fabrics of hundreds of hosts", _SITE),
}
