# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upper-layer protocols by name, on the client side: packages, modules and units of each stack. Pure.

Unit names are those of rdma-core, open-iscsi and nvme-cli. They are the same in the packages of Debian, Red Hat, SUSE and the
vendor.
"""

from __future__ import annotations

import re
import typing as t

from .._distro._registry import FAMILIES, by_name
from .._foreign import decimal
from .._kmod._input import GONE as GONE_MODULES

# When a unit is to run, besides being enabled.
NOW = "now"
WITH_HARDWARE = "hardware"
"""Where an RDMA device exists: systemd itself starts the unit with it."""
AT_BOOT = "boot"


class Service(t.NamedTuple):
    name: str
    start: str = NOW
    shared: bool = False
    """Serves other transports as well: disabled only if it was enabled for the protocol."""
    optional: bool = False
    """Missing in older packages."""


class Protocol(t.NamedTuple):
    name: str
    modules: tuple[str, ...] = ()
    services: tuple[Service, ...] = ()
    stack_packages: t.Mapping[str, tuple[str, ...]] = {}
    """By family: packages that belong to the RDMA stack, the distribution's or the vendor's."""
    other_packages: t.Mapping[str, tuple[str, ...]] = {}
    """By family: packages from the distribution with any stack."""
    kernel: str = ""
    """The vendor's name for its module package, without the part that tells how it is built."""
    option: str = ""
    """The installer leaves `kernel` out unless it gets this option."""
    conf: t.Mapping[str, str] = {}
    """Keys of openib.conf."""


def _packages(name: str) -> dict[str, tuple[str, ...]]:
    return {family.name: family.packages.get(name, ()) for family in FAMILIES}


PROTOCOLS: t.Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        # Both a connection to the socket and the device start the service.
        Protocol("ibacm", (), (Service("ibacm.socket"), Service("ibacm.service", WITH_HARDWARE)), _packages("ibacm")),
        Protocol(
            "srp",
            ("ib_srp",),
            (Service("srp_daemon.service"),),
            _packages("srp"),
            kernel="srp",
            conf={"SRP_LOAD": "yes"},
        ),
        Protocol(
            "iser",
            ("ib_iser",),
            (Service("iscsid.socket", shared=True),),
            other_packages=_packages("iser"),
            kernel="iser",
        ),
        Protocol(
            "nfsrdma",
            ("rpcrdma",),
            other_packages=_packages("nfsrdma"),
            kernel="mlnx-nfsrdma",
            option="--with-nfsrdma",
        ),
        # It connects to everything in /etc/nvme/discovery.conf, so its start is left to the next boot, or to the author of that file.
        Protocol(
            "nvmf",
            ("nvme_rdma",),
            (Service("nvmf-autoconnect.service", AT_BOOT, shared=True, optional=True),),
            other_packages=_packages("nvmf"),
            kernel="mlnx-nvme",
            option="--with-nvmf",
        ),
        Protocol("rds", ("rds_rdma",)),
    )
}
NAMES = tuple(PROTOCOLS)

GONE: t.Mapping[str, str] = {"sdp": GONE_MODULES["ib_sdp"]}
# Other names of protocols.
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
    return sorted({module for name in names for module in PROTOCOLS[name].modules})


def kernel_packages(base: str, family: str, *, source: str, version: str) -> tuple[str, ...]:
    """The package of the vendor's modules, followed by its alternatives.

    DOCA uses DKMS on all distributions since 3.2; earlier, RPM distributions got modules for the distribution's kernels.
    """
    release = tuple(decimal(number, 0) for number in re.findall(r"[0-9]+", version)[:2])
    kinds = {"%s-dkms", "%s-modules", "%s", *(known.vendor_modules for known in FAMILIES)}
    mine = by_name(family)
    first = "%s-dkms" if mine is None or (source == "doca" and (not release or release >= (3, 2))) else mine.vendor_modules
    return (first % base, *sorted(name % base for name in kinds - {first}))


def vendor_packages(names: t.Iterable[str], family: str, *, source: str, method: str, version: str = "") -> tuple[tuple[str, ...], ...]:
    """The packages that the named protocols need in addition to the vendor's set, each with its alternatives.

    With the installer, only those from the distribution: the others have to be in the set that it installs. For RPM, the
    sets include the modules, except those for which the installer has an option.
    """
    found: list[tuple[str, ...]] = []
    mine = by_name(family)
    for name in names:
        protocol = PROTOCOLS[name]
        if method == "repository":
            found += [(package,) for package in protocol.stack_packages.get(family, ())]
            if protocol.kernel and (protocol.option or (mine is not None and mine.by_dkms)):
                found.append(kernel_packages(protocol.kernel, family, source=source, version=version))
        found += [(package,) for package in protocol.other_packages.get(family, ())]
    return tuple(dict.fromkeys(found))
