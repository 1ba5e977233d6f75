# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages are installed, in which order: pure, on the catalogue that the bundle carries."""

from __future__ import annotations

import typing as t

from standin.options import Options

USER_ONLY_KERNEL = ("mlnx-ofed-kernel-utils",)


class NoPackage(Exception):
    """A selected package is not in the bundle."""


def kernel_name(name: str, dkms: bool) -> str:
    """Without DKMS the package of modules has another name."""
    return name if dkms or not name.endswith("-dkms") else name[: -len("-dkms")] + "-modules"


def config_names(text: str) -> list[str]:
    """The packages of a C(name=y) file."""
    pairs = [line.strip().partition("=") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [name.strip() for name, _equals, value in pairs if value.strip() == "y"]


def left_out(names: t.Iterable[str], known: t.Mapping[str, t.Any]) -> set[str]:
    """What was left out, with all that needs it."""
    gone = set(names)
    while True:
        more = {name for name in known if name not in gone and gone.intersection(known[name]["needs"])}
        if not more:
            return gone
        gone |= more


def wanted(options: Options, catalogue: t.Mapping[str, t.Any], config: str | None) -> tuple[list[str], list[str]]:
    """The names that the options ask for, and those that no such package is known for (a yellow line each, no error)."""
    group = "ovs-dpdk" if options.has("--ovs-dpdk") else options.group
    names = config_names(config) if config is not None else list(catalogue["groups"][group])
    if options.has("--with-nvmf"):
        names.append("mlnx-nvme-dkms")
    if options.has("--with-nfsrdma") and not options.has("--without-nfsrdma"):
        names.append("mlnx-nfsrdma-dkms")
    known = catalogue["packages"]
    # mlnx-fw-updater is known too: it is installed in a step of its own.
    unknown = sorted(name for name in {*options.without, *options.extra} if name not in known and name != "mlnx-fw-updater" and not name.startswith("-"))
    names = [name for name in names if name not in left_out(options.without, known)]
    names += sorted(name for name in options.extra if name in known)
    names = [name for name in dict.fromkeys(names) if name in known and name not in options.without]
    if options.has("--user-space-only"):
        names = [name for name in names if known[name]["mode"] == "user" or name in USER_ONLY_KERNEL]
    return names, unknown


def ordered(names: t.Iterable[str], catalogue: t.Mapping[str, t.Any], user_only: bool) -> list[str]:
    """With all that they need, each behind that. A package that was left out comes back if one that was asked for by name needs it."""
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
