# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the installer: which it knows, and how loosely it takes the rest."""

from __future__ import annotations

import typing as t

# The option of a group is also the name of a file docs/conf/ofed-NAME.conf.
GROUPS = ("all", "hpc", "basic", "guest", "hypervisor", "dpdk", "bluefield", "vma", "xlio", "kernel-only", "eth-only")
SWITCHES = (
    "--force",
    "--skip-distro-check",
    "--without-depcheck",
    "--check-deps-only",
    "--print-distro",
    "--add-kernel-support",
    "--add-kernel-support-build-only",
    "--auto-add-kernel-support",
    "--skip-repo",
    "--dkms",
    "--force-dkms",
    "--without-dkms",
    "--umad-dev-rw",
    "--umad-dev-na",
    "--enable-mlnx_tune",
    "--enable-affinity",
    "--disable-affinity",
    "--skip-unsupported-devices-check",
    "--enable-opensm",
    "--enable-sriov",
    "--enable-gds",
    "--without-fw-update",
    "--fw-update-only",
    "--force-fw-update",
    "--with-nvmf",
    "--with-nfsrdma",
    "--without-nfsrdma",
    "--with-debug-symbols",
    "--without-debug-symbols",
    "--upstream-libs",
    "--ovs-dpdk",
    "--user-space-only",
    "--script-version",
    "-p",
    "--print-available",
    "-h",
    "--help",
    "-q",
    "-v",
    "-vv",
    "-vvv",
)
WITH_VALUE = {
    "--tmpdir": "tmpdir",
    "-k": "kernel",
    "--kernel": "kernel",
    "-s": "kernel_sources",
    "--kernel-sources": "kernel_sources",
    "--distro": "distro",
    "--kernel-extra-args": "kernel_extra_args",
    "--package-install-options": "dpkg_options",
    "--fw-image-dir": "fw_image_dir",
    "--fw-dir": "fw_dir",
    "-c": "config",
    "--config": "config",
    "--post-start-delay": "post_start_delay",
}


class UnknownOption(Exception):
    """The argument that the installer does not take."""


class Options(t.NamedTuple):
    """What was asked for."""

    group: str
    given: frozenset[str]
    """Switches as they were spelled."""
    values: dict[str, str]
    without: frozenset[str]
    """X of every --without-X and --disable-X that is no switch: also misspelt ones."""
    extra: frozenset[str]
    """X of every --with-X and --enable-X that is no switch."""
    hooks: dict[str, str]
    """Scripts by C(pre-install-PACKAGE) and C(post-install-PACKAGE)."""
    saved: tuple[str, ...]
    """The arguments that a second installer gets after --add-kernel-support."""

    def has(self, *names: str) -> bool:
        return bool(self.given.intersection(names))


def parse(argv: t.Sequence[str]) -> Options:
    """UnknownOption for the first argument that is none. A value is taken without a look at it."""
    group = "all"
    given: list[str] = []
    values: dict[str, str] = {}
    without: list[str] = []
    extra: list[str] = []
    hooks: dict[str, str] = {}
    saved: list[str] = []
    rest = list(argv)
    while rest:
        flag = rest.pop(0)
        if "add-kernel-support" not in flag and flag != "--skip-repo":
            saved.append(flag)
        if flag in WITH_VALUE or "--pre-install-" in flag or "--post-install-" in flag:
            value = rest.pop(0) if rest else ""
            saved.append(value)
            if flag in WITH_VALUE:
                values[WITH_VALUE[flag]] = value
            else:
                hooks[flag.lstrip("-")] = value
        elif flag in SWITCHES:
            given.append(flag)
        elif flag.startswith("--") and flag[2:] in GROUPS:
            group = flag[2:]
        elif "--without" in flag or "--disable" in flag:
            without.append(flag.replace("--without-", "").replace("--disable-", ""))
        elif "--with-" in flag or "--enable-" in flag:
            extra.append(flag.replace("--with-", "").replace("--enable-", ""))
        else:
            raise UnknownOption(flag)
    return Options(group, frozenset(given), values, frozenset(without), frozenset(extra), hooks, tuple(saved))


def usage(program: str, kernel: str, tmpdir: str) -> str:
    """In the installer's own order, one option a line."""
    lines = ["", "Usage: %s [-c <packages config_file>|--all|--hpc|--vma|--xlio|--basic|--bluefield] [OPTIONS]" % program, ""]
    lines += ["Default kernel: %s, default tmpdir: %s" % (kernel, tmpdir), "", "Options:"]
    lines += ["    --" + name for name in GROUPS]
    lines += ["    " + name for name in SWITCHES]
    lines += ["    %s <%s>" % (name, value) for name, value in WITH_VALUE.items()]
    lines += ["    --without-<package>", "    --with-<package>", "    --pre-install-<package> <script>", "    --post-install-<package> <script>"]
    return "\n".join(lines) + "\n"
