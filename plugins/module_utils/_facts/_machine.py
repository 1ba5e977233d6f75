# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operating system and its environment: distribution, and whether this is a host, a virtual machine, a container or a chroot."""

from __future__ import annotations

import os
import shlex
import typing as t

from .._distro._registry import UNKNOWN, family_name
from .._host._units import systemd_runs
from ._sysfs import attribute

# Together these identify a running system: copies of an image share the first, and containers of a host the second.
IDENTITY_FILES = ("etc/machine-id", "proc/sys/kernel/random/boot_id", "proc/sys/kernel/hostname")
# The marker file of each container manager, in order of precedence.
_MANAGER_FILES: t.Mapping[str, str] = {"docker": ".dockerenv", "podman": "run/.containerenv", "kubernetes": "run/secrets/kubernetes.io"}
# The vendor names in firmware tables, in the order of systemd-detect-virt.
_DMI_FILES = ("product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version")
_DMI_WORDS: t.Mapping[str, tuple[str, ...]] = {
    "kvm": ("KVM", "OpenStack", "KubeVirt"),
    "amazon": ("Amazon EC2",),
    "qemu": ("QEMU",),
    "vmware": ("VMware", "VMW"),
    "oracle": ("innotek GmbH", "VirtualBox"),
    "xen": ("Xen",),
    "bochs": ("Bochs",),
    "parallels": ("Parallels",),
    "bhyve": ("BHYVE",),
    "microsoft": ("Hyper-V", "Microsoft Corporation"),
    "apple": ("Apple Virtualization",),
    "google": ("Google Compute Engine",),
}


class OperatingSystem(t.NamedTuple):
    family: str = UNKNOWN
    """The name of a registered family, `Arch` or `Unknown`."""
    id: str = ""
    version: str = ""
    name: str = ""


class Machine(t.NamedTuple):
    """The environment of the system."""

    kind: str = "host"
    """`host`, `vm`, `container` or `chroot`."""
    container: str = ""
    """`docker`, `podman`, `lxc`, `systemd-nspawn`, `kubernetes` ...; "" outside of a container."""
    hypervisor: str = ""
    """`kvm`, `qemu`, `vmware`, `microsoft` ...; "" on bare metal."""
    systemd: bool = False
    """Whether systemd is the service manager."""
    hostname: str = ""


# shlex takes time quadratic in the length. Real values have some dozens of characters.
_LONGEST = 1000


def parse_os_release(text: str) -> dict[str, str]:
    """Parse os-release(5): shell assignments without expansions. Other lines are ignored."""
    values = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if not equals or not key.isidentifier() or len(value) > _LONGEST:
            continue
        try:
            values[key] = " ".join(shlex.split(value))
        except ValueError:
            values[key] = value.strip("\"'")
    return values


def read_os(root: str = "/") -> OperatingSystem:
    """The distribution, from os-release."""
    values = parse_os_release(attribute(root, "etc/os-release") or attribute(root, "usr/lib/os-release"))
    return OperatingSystem(
        family_name(values.get("ID", ""), values.get("ID_LIKE", "")), values.get("ID", ""), values.get("VERSION_ID", ""), values.get("PRETTY_NAME", "")
    )


def container_kind(marker: str, environ: str, managers: t.Sequence[str]) -> str:
    """The container manager; "" outside of a container.

    `marker`: the content of /run/systemd/container. `environ`: that of /proc/1/environ (separated by NUL). `managers`: those
    whose marker files exist.
    """
    variables = dict(item.partition("=")[::2] for item in environ.split("\0"))
    named = marker or variables.get("container", "")
    if named and named != "oci":
        return named
    return next(iter(managers), "kubernetes" if "KUBERNETES_SERVICE_HOST" in variables else named)


def hypervisor_kind(cpuinfo: str, dmi: t.Sequence[str], xen: str = "") -> str:
    """The hypervisor; "" on bare metal. `dmi`: the texts of the firmware tables. `xen`: /sys/hypervisor/type."""
    flags = [line.split(":", 1)[1].split() for line in cpuinfo.splitlines() if line.startswith("flags") and ":" in line]
    # On x86, a CPU flag announces a hypervisor. Without the flag, the firmware's vendor means nothing (bare-metal cloud instances).
    if flags and not any("hypervisor" in names for names in flags):
        return ""
    named = (kind for text in dmi for kind, words in _DMI_WORDS.items() if any((" " + word) in (" " + text) for word in words))
    return next(named, xen or ("unknown" if flags else ""))


def _in_chroot(root: str) -> bool:
    try:
        return not os.path.samestat(os.stat(root), os.stat(os.path.join(root, "proc/1/root/.")))
    except PermissionError:
        # Only root may examine the root directory of PID 1.
        return False
    except OSError:
        # An image build, where /proc is not even mounted.
        return True


def read_machine(root: str = "/") -> Machine:
    managers = [name for name, path in _MANAGER_FILES.items() if os.path.exists(os.path.join(root, path))]
    container = container_kind(attribute(root, "run/systemd/container"), attribute(root, "proc/1/environ"), managers)
    dmi = [attribute(root, "sys/class/dmi/id", name) for name in _DMI_FILES]
    hypervisor = hypervisor_kind(attribute(root, "proc/cpuinfo"), dmi, attribute(root, "sys/hypervisor/type"))
    kind = "container" if container else "chroot" if _in_chroot(root) else "vm" if hypervisor else "host"
    return Machine(
        kind=kind,
        container=container,
        hypervisor=hypervisor,
        systemd=systemd_runs(root),
        hostname=attribute(root, "proc/sys/kernel/hostname"),
    )
