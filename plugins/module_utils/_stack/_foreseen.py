# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What would make an installation of MLNX_OFED fail, and can be known before its first change."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_machine
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import INSTALLER, Place
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_help import parse_help
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import doubts, names_of, refused_by_help

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._stack._states import Found, Wanted

# With these options the installer builds nothing for the running kernel, or does not ask for its headers.
_WITHOUT_HEADERS = frozenset({"--without-dkms", "--without-depcheck", "-k", "--kernel", "-s", "--kernel-sources"})
# A package that every system of the Debian family can be offered: where it is not, there are no package lists to look into.
_ALWAYS_OFFERED = "dpkg"


def refuse_unknown_options(run: Runner, wanted: Wanted, found: Found, *, place: Place) -> None:
    """Refuse what neither the tables nor the help of an unpacked bundle have. A packed one is asked by the job."""
    family = found.manager.packaging
    unsure = () if place.unpack else doubts(wanted.installer_options, wanted.packages, version=wanted.version, family=family)
    if not unsure:
        return
    told = parse_help(run([os.path.join(place.tree, INSTALLER), "--help"], ok=None).stdout)
    wrong = [refused_by_help(name, version=wanted.version, family=family) for name in unsure if name not in told]
    if wrong:
        raise InvalidInput(wrong)


def _builds_modules(wanted: Wanted) -> bool:
    return wanted.source == "mlnx_ofed" and not wanted.has_no_modules and not _WITHOUT_HEADERS & names_of(wanted.installer_options)


def refuse_without_headers(run: Runner, wanted: Wanted, found: Found, *, root: str) -> None:
    """Refuse to build kernel modules in a container that the headers of the host's kernel can't be had for."""
    kernel = os.uname().release
    if not _builds_modules(wanted) or found.manager.packaging != "deb" or os.path.isdir(os.path.join(root, "lib/modules", kernel, "build/scripts")):
        return
    if read_machine(root).kind != "container":
        return
    headers = "linux-headers-" + kernel
    offers = found.manager.offers(run, [headers, _ALWAYS_OFFERED])
    if offers.get(_ALWAYS_OFFERED) and not offers.get(headers):
        base = wanted.packages if wanted.packages != "kernel-only" else "basic"
        raise Refused(
            "ofed_packages: %s has kernel modules, which are built with the headers of the running kernel. This is a container with the kernel %s of its host, "
            "and there is no package %s for it. Set ofed_packages: %s-user-only, which is user space alone; nothing was changed"
            % (wanted.packages, kernel, headers, base)
        )
