# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Selects the packages to install and their order: pure, based on the catalogue of the bundle."""

from __future__ import annotations

import typing as t

from standin.options import Options

USER_ONLY_KERNEL = ("mlnx-ofed-kernel-utils",)


class NoPackage(Exception):
    """A selected package is not in the bundle."""


def kernel_name(name: str, dkms: bool) -> str:
    """Return the package name of the modules, which differs without DKMS."""
    return name if dkms or not name.endswith("-dkms") else name[: -len("-dkms")] + "-modules"


def config_names(text: str) -> list[str]:
    """Return the packages of a file with name=y lines."""
    pairs = [line.strip().partition("=") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [name.strip() for name, _equals, value in pairs if value.strip() == "y"]


def left_out(names: t.Iterable[str], known: t.Mapping[str, t.Any]) -> set[str]:
    """Return the excluded packages with all their dependants."""
    gone = set(names)
    while True:
        more = {name for name in known if name not in gone and gone.intersection(known[name]["needs"])}
        if not more:
            return gone
        gone |= more


def wanted(options: Options, catalogue: t.Mapping[str, t.Any], config: str | None) -> tuple[list[str], list[str]]:
    """Return the selected package names, and the unknown ones (a yellow line each, no error)."""
    group = "ovs-dpdk" if options.has("--ovs-dpdk") else options.group
    names = config_names(config) if config is not None else list(catalogue["groups"][group])
    if options.has("--with-nvmf"):
        names.append("mlnx-nvme-dkms")
    if options.has("--with-nfsrdma") and not options.has("--without-nfsrdma"):
        names.append("mlnx-nfsrdma-dkms")
    known = catalogue["packages"]
    # mlnx-fw-updater is known as well: a separate step installs it.
    unknown = sorted(name for name in {*options.without, *options.extra} if name not in known and name != "mlnx-fw-updater" and not name.startswith("-"))
    names = [name for name in names if name not in left_out(options.without, known)]
    names += sorted(name for name in options.extra if name in known)
    names = [name for name in dict.fromkeys(names) if name in known and name not in options.without]
    if options.has("--user-space-only"):
        names = [name for name in names if known[name]["mode"] == "user" or name in USER_ONLY_KERNEL]
    return names, unknown


def ordered(names: t.Iterable[str], catalogue: t.Mapping[str, t.Any], user_only: bool) -> list[str]:
    """Return the packages with their dependencies first. An excluded package returns if a package selected by name needs it."""
    known = catalogue["packages"]
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in order or name in above or name not in known:
            return
        if user_only and known[name]["mode"] == "kernel" and name not in USER_ONLY_KERNEL:
            return
        for need in known[name]["needs"]:
            visit(need, (*above, name))
        order.append(name)

    for name in names:
        visit(name, ())
    return order
