# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The upper-layer protocols by name, the side that uses a service: packages, modules and units of each stack. Pure.

Unit names are those of rdma-core, open-iscsi and nvme-cli, which Debian, Red Hat, SUSE and the vendor's packages ship
alike; package names are those of debian/control and of the spec files.
"""

from __future__ import annotations

import re
import typing as t

# When a unit is to run, apart from being enabled.
NOW = "now"
WITH_HARDWARE = "hardware"
"""Where an RDMA device is there: what systemd itself starts it with."""
AT_BOOT = "boot"


class Service(t.NamedTuple):
    """A unit of a protocol."""

    name: str
    start: str = NOW
    shared: bool = False
    """Serves other transports as well: it is turned off only if it was turned on for the protocol."""
    optional: bool = False
    """Older packages are without it."""


class Protocol(t.NamedTuple):
    """An upper-layer protocol."""

    name: str
    modules: tuple[str, ...] = ()
    services: tuple[Service, ...] = ()
    stack_packages: t.Mapping[str, tuple[str, ...]] = {}
    """By family: those that belong to the RDMA stack, the distribution's or the vendor's."""
    other_packages: t.Mapping[str, tuple[str, ...]] = {}
    """By family: those that are the distribution's whatever the stack."""
    kernel: str = ""
    """The vendor's name for the package of its modules, without what tells how they are built."""
    option: str = ""
    """The installer leaves C(kernel) out unless it gets this option."""
    conf: t.Mapping[str, str] = {}
    """Keys of openib.conf."""


def _families(debian: str, red_hat: str, suse: str) -> dict[str, tuple[str, ...]]:
    return {"Debian": (debian,), "RedHat": (red_hat,), "Suse": (suse,)}


PROTOCOLS: t.Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        # The socket starts the service when somebody asks, and the device does.
        Protocol("ibacm", (), (Service("ibacm.socket"), Service("ibacm.service", WITH_HARDWARE)), _families("ibacm", "ibacm", "ibacm")),
        Protocol(
            "srp",
            ("ib_srp",),
            (Service("srp_daemon.service"),),
            _families("srptools", "srp_daemon", "srp_daemon"),
            kernel="srp",
            conf={"SRP_LOAD": "yes"},
        ),
        Protocol(
            "iser",
            ("ib_iser",),
            (Service("iscsid.socket", shared=True),),
            other_packages=_families("open-iscsi", "iscsi-initiator-utils", "open-iscsi"),
            kernel="iser",
        ),
        Protocol(
            "nfsrdma",
            ("rpcrdma",),
            other_packages=_families("nfs-common", "nfs-utils", "nfs-client"),
            kernel="mlnx-nfsrdma",
            option="--with-nfsrdma",
        ),
        # It connects whatever /etc/nvme/discovery.conf names: that is for the next boot, or for whoever wrote the file.
        Protocol(
            "nvmf",
            ("nvme_rdma",),
            (Service("nvmf-autoconnect.service", AT_BOOT, shared=True, optional=True),),
            other_packages=_families("nvme-cli", "nvme-cli", "nvme-cli"),
            kernel="mlnx-nvme",
            option="--with-nvmf",
        ),
        Protocol("rds", ("rds_rdma",)),
    )
}
NAMES = tuple(PROTOCOLS)

GONE: t.Mapping[str, str] = {
    "sdp": "SDP is gone from every supported kernel and driver stack; use TCP over IPoIB or an rsocket preload (librspreload) instead",
}
# What they are called elsewhere.
ALIASES: t.Mapping[str, str] = {
    "acm": "ibacm",
    "ib_iser": "iser",
    "ib_srp": "srp",
    "iscsi": "iser",
    "nfs": "nfsrdma",
    "nfsordma": "nfsrdma",
    "nvme": "nvmf",
    "nvme-of": "nvmf",
    "nvmeof": "nvmf",
    "srp_daemon": "srp",
    "srptools": "srp",
}
TARGETS = ("isert", "ib_isert", "nvmet", "ib_srpt", "srpt")


def modules_of(names: t.Iterable[str]) -> list[str]:
    """The kernel modules of the named protocols."""
    return sorted({module for name in names for module in PROTOCOLS[name].modules})


def inbox_packages(names: t.Iterable[str], family: str) -> list[str]:
    """What the distribution's stack needs for the named protocols."""
    return [package for name in names for part in (PROTOCOLS[name].stack_packages, PROTOCOLS[name].other_packages) for package in part.get(family, ())]


def kernel_packages(base: str, family: str, source: str, version: str) -> tuple[str, ...]:
    """The package of the vendor's modules, and after it those that do as well.

    DOCA builds with DKMS everywhere from 3.2 on; before, the RPM side had modules for the distribution's kernels.
    """
    release = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    kinds = {"dkms": base + "-dkms", "RedHat": "kmod-" + base, "Suse": base + "-kmp-default", "modules": base + "-modules", "plain": base}
    by_dkms = family == "Debian" or (source == "doca" and (not release or release >= (3, 2)))
    first = kinds["dkms" if by_dkms else family]
    return (first, *sorted(name for name in kinds.values() if name != first))


def vendor_packages(names: t.Iterable[str], family: str, source: str, method: str, version: str = "") -> tuple[tuple[str, ...], ...]:
    """What the named protocols need beside the vendor's set, each with what does as well.

    By the installer, only what is the distribution's: the rest has to be in the set that it installs. On the RPM side the
    sets bring the modules, but for those that the installer has an option for.
    """
    found: list[tuple[str, ...]] = []
    for name in names:
        protocol = PROTOCOLS[name]
        if method == "repository":
            found += [(package,) for package in protocol.stack_packages.get(family, ())]
            if protocol.kernel and (protocol.option or family == "Debian"):
                found.append(kernel_packages(protocol.kernel, family, source, version))
        found += [(package,) for package in protocol.other_packages.get(family, ())]
    return tuple(dict.fromkeys(found))
