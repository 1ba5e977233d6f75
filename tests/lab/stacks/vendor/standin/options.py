# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the installer, and its lax parsing of unknown ones."""

from __future__ import annotations

import typing as t

# The option of a group is also part of the file name docs/conf/ofed-NAME.conf.
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

# Options that the installer accepts but does not document, and options documented without their value.
_NOT_TOLD = (
    "--print-distro",
    "--auto-add-kernel-support",
    "--skip-repo",
    "--enable-sriov",
    "--enable-gds",
    "--with-debug-symbols",
    "--without-debug-symbols",
    "--upstream-libs",
    "--script-version",
)
_VALUE_NOT_TOLD = ("--distro", "--package-install-options", "--fw-image-dir")


class UnknownOption(Exception):
    """The argument that the installer does not accept."""


class Options(t.NamedTuple):
    """The parsed command line."""

    group: str
    given: frozenset[str]
    """Switches as given."""
    values: dict[str, str]
    without: frozenset[str]
    """X of every --without-X and --disable-X that is no switch, misspelt ones included."""
    extra: frozenset[str]
    """X of every --with-X and --enable-X that is no switch."""
    hooks: dict[str, str]
    """Scripts by option: pre-install-PACKAGE and post-install-PACKAGE."""
    saved: tuple[str, ...]
    """Arguments for the second installer after --add-kernel-support."""

    def has(self, *names: str) -> bool:
        return bool(self.given.intersection(names))


def parse(argv: t.Sequence[str]) -> Options:
    """Parse the arguments. Raises UnknownOption for the first unknown one. Values are accepted unchecked."""
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
    """Return the installer's usage text: groups, aliases on one line, values of some options only. It omits some options."""
    lines = ["\033[32m", "Usage: %s [-c <packages config_file>|--all|--hpc|--vma|--xlio|--basic|--bluefield] [OPTIONS]" % program, ""]
    lines += ["Installation control:", _row("-k|--kernel <version>", "Default on this system: %s (relevant if --without-dkms is given)" % kernel)]
    lines += [_row("-s|--kernel-sources <path>", "Default on this system: /lib/modules/%s/build (relevant if --without-dkms is given)" % kernel)]
    lines += [_row("--tmpdir", "Change tmp directory. Default: %s" % tmpdir)]
    lines += [_row("--kernel-extra-args '<args>'", "Pass <args> to the kernel configure script")]
    lines += [_row(name, "Set %s" % value.replace("_", " ")) for name, value in WITH_VALUE.items() if name in _VALUE_NOT_TOLD]
    lines += [_row(name, "Switch") for name in SWITCHES if name.startswith("--") and name not in (*_NOT_TOLD, "--help", "--print-available")]
    lines += [_row("--pre-install-<package> <path to script>", "Run given script before given package's install")]
    lines += [_row("--post-install-<package> <path to script>", "Run given script after given package's install")]
    lines += ["", "Package selection:", _row("-c|--config <packages config_file>", "Example of the config file can be found under docs")]
    lines += [_row("--" + name, "Install packages of %s" % name) for name in GROUPS if name != "eth-only"]
    lines += [_row("--without-<package>", "Do not install package"), _row("--with-<package>", "Force installing package"), "", "Miscellaneous:"]
    lines += [_row("-h|--help", "Display this help message and exit"), _row("--post-start-delay <sec>", "Set openibd POST_START_DELAY parameter")]
    lines += [_row("-p|--print-available", "Print available packages for current platform"), "", "Output control:"]
    lines += [_row("-v|-vv|-vvv", "Set verbosity level"), _row("-q", "Set quiet - no messages will be printed"), "\033[0m"]
    return "\n".join(lines) + "\n"


def _row(option: str, text: str) -> str:
    """Return a row of the usage text. The text starts on a line of its own after a long option."""
    return "    %-20s %s" % (option, text) if len(option) <= 20 else "    %s\n%s%s" % (option, 25 * " ", text)
