# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of mlnxofedinstall, by release. The installer itself silently accepts misspelt options.

The tables are based on the help of the releases 4.1-1.0.2.0, 4.9-7.1.0.0 and 5.0-2.1.8.0 (DEB) and of a later one, and on that of the
RPM variant's install.pl; for 4.9 and 5.0 they include undocumented options. The help of the bundle may have further options.
"""

from __future__ import annotations

import difflib
import typing as t

from .._errors import Problem
from .._foreign import release
from ._package_names import KNOWN

FIRST = (4, 1)
# The long-term release; its last versions are newer than 5.0.
_4_9 = (4, 9)
_5_0 = (5, 0)
_LATER = (5, 1)
_NEVER = (10**6, 0)


class Option(t.NamedTuple):
    """Where an option is supported."""

    value: str
    """Its argument; "" for none."""
    since: tuple[int, int]
    until: tuple[int, int]
    """The first release without it."""
    families: tuple[str, ...]


def _understood(text: str, since: tuple[int, int], *, until: tuple[int, int] = _NEVER, families: tuple[str, ...] = ("deb", "rpm")) -> dict[str, Option]:
    """Parse the options of a text. An option with an argument is written `--option:ARGUMENT`."""
    words = [word.partition(":") for word in text.split()]
    return {name: Option(value, since, until, families) for name, _colon, value in words}


_TEXT_4_1 = """
--tmpdir:DIRECTORY -k:VERSION --kernel:VERSION -s:PATH --kernel-sources:PATH --distro:NAME --skip-distro-check --without-depcheck --add-kernel-support
--skip-repo --without-dkms --umad-dev-rw --umad-dev-na --enable-mlnx_tune --enable-affinity --disable-affinity --package-install-options:LIST
--post-start-delay:SECONDS --without-fw-update --force-fw-update --fw-image-dir:DIRECTORY -c:FILE --config:FILE --with-vma --with-nvmf
"""
_TEXT_4_9 = """
--auto-add-kernel-support --enable-opensm --msm --fw-dir:DIRECTORY --enable-sriov --with-nfsrdma --without-nfsrdma --with-libdisni --with-debug-symbols
--without-debug-symbols --upstream-libs
"""
_TEXT_LATER = """
--kernel-extra-args:ARGUMENTS --skip-unsupported-devices-check --copy-ifnames-udev --with-xlio --with-openvswitch --with-mlxdevm-mod
--without-mlxdevm-mod --enable-gds
"""
_TEXT_LATER_RPM = """
--without-dkms-install --speed-up-kmp --builddir:DIRECTORY --without-mlx5-ipsec --with-fabric-collector --with-pyverbs --with-memtrack --fwctl --virtiofs
"""
OPTIONS: t.Mapping[str, Option] = {
    **_understood(_TEXT_4_1, FIRST),
    **_understood("--dkms --force-dkms", FIRST, families=("deb",)),
    **_understood("--kmp --disable-kmp", FIRST, families=("rpm",)),
    **_understood(_TEXT_4_9, _4_9),
    **_understood("--mlnx-libs", _4_9, until=_LATER),
    **_understood("--with-cx4lx-optimizations --without-cx4lx-optimizations", _4_9, until=_5_0),
    **_understood(_TEXT_LATER, _LATER),
    **_understood(_TEXT_LATER_RPM, _LATER, families=("rpm",)),
}
# Options followed by a package name, and their arguments. Only the RPM installer has the build options.
_FAMILIES_OF_PACKAGES: t.Mapping[str, str] = {
    **dict.fromkeys(("--without-", "--with-"), ""),
    **dict.fromkeys(("--pre-install-", "--post-install-", "--pre-build-", "--post-build-"), "SCRIPT"),
}

# Options that the installer supports and that are not allowed here, with the reason.
_NOT_HERE: t.Mapping[str, str] = {
    "--force": "name the packages that may go in ofed_allow_removal",
    "-q": "it is set where it is needed",
    "--fw-update-only": "use the role hca_firmware",
    **dict.fromkeys(("-v", "-vv", "-vvv"), "the log of the job has all output"),
    **dict.fromkeys(("-n", "--net"), "it edits /etc/network/interfaces; use the role ipoib"),
    **dict.fromkeys(("--add-kernel-support-build-only", "--build-only", "-b", "--check-deps-only", "--print-distro"), "it installs nothing"),
    **dict.fromkeys(("--print-available", "-p", "--script-version", "-h", "--help"), "it installs nothing"),
}
FIRMWARE = ("--force-fw-update", "--fw-image-dir", "--fw-dir", "--enable-sriov")
# The minimum similarity, of 1, at which an option counts as a misspelling rather than as an option of another release.
_CLOSE = 0.8

# Sets of packages, and the releases that have them.
_SETS_TEXT = {
    FIRST: "all basic dpdk eth-only guest hpc hypervisor kernel-only user-space-only vma vma-eth vma-vpi",
    _4_9: "bluefield ovs-dpdk",
    _LATER: "xlio",
}
SETS: t.Mapping[str, tuple[int, int]] = {name: since for since, names in _SETS_TEXT.items() for name in names.split()}
# These filter a set and are not sets themselves.
_FILTERS = ("kernel-only", "user-space-only")
# A set with this suffix is its user-space part. The metapackages of a repository use this suffix.
_USER_ONLY = "-user-only"
USER_ONLY_WORDS = "one of them with %s at its end, such as basic%s" % (_USER_ONLY, _USER_ONLY)


def user_only(packages: str) -> str:
    """The set whose user-space part is declared: `basic` for `basic-user-only`, `all` for `user-space-only`; "" where kernel modules are included."""
    if packages == "user-space-only":
        return "all"
    return packages[: -len(_USER_ONLY)] if packages.endswith(_USER_ONLY) and packages[: -len(_USER_ONLY)] not in _FILTERS else ""


def set_argv(packages: str) -> tuple[str, ...]:
    """The options for a set. Without one, the installer would choose its own."""
    if user_only(packages):
        return ("--" + user_only(packages), "--user-space-only")
    return ("--all", "--" + packages) if packages in _FILTERS else ("--" + packages,)


def _split(options: t.Sequence[str]) -> list[list[str]]:
    """The entries as words of the command line: the argument of an option is in its entry or is the next entry."""
    rows: list[list[str]] = []
    for entry in options:
        if not entry.startswith("-") and rows and len(rows[-1]) == 1:
            rows[-1].append(entry)
        else:
            name, _blank, value = entry.strip().partition(" ")
            rows.append([name, value.strip()] if value.strip() else [name])
    return rows


def options_argv(options: t.Sequence[str]) -> tuple[str, ...]:
    """The entries as arguments of the installer."""
    return tuple(word for row in _split(options) for word in row)


def names_of(options: t.Sequence[str]) -> frozenset[str]:
    """The options without their arguments."""
    return frozenset(row[0] for row in _split(options))


def value_of(options: t.Sequence[str], name: str) -> str:
    """The argument of an option; "" where the option is missing."""
    return next((row[1] for row in _split(options) if row[0] == name and len(row) > 1), "")


def _value_problem(variable: str, row: t.Sequence[str], value: str) -> list[Problem]:
    if bool(value) == (len(row) > 1):
        return []
    words = "%s %s" % (row[0], value) if value else row[0]
    return [Problem(variable, " ".join(row), words, "" if value else "nothing stands after it")]


def _form_problems(variable: str, options: t.Any) -> list[Problem]:
    """Problems of options for the installer of any release."""
    if not isinstance(options, (list, tuple)):
        return [Problem(variable, options, "a list of options of mlnxofedinstall")]
    wrong = [
        Problem("%s[%d]" % (variable, index), entry, "an option of mlnxofedinstall, such as --without-dkms")
        for index, entry in enumerate(options)
        if not isinstance(entry, str) or not entry.strip() or "\0" in entry or "\n" in entry
    ]
    if not wrong and options and not options[0].startswith("-"):
        return [Problem(variable + "[0]", options[0], "an option of mlnxofedinstall, such as --without-dkms")]
    return wrong


class Installer(t.NamedTuple):
    """The installer of a release for a package family. If either is empty, the options of all releases or families are allowed."""

    version: str = ""
    family: str = ""
    """`deb` or `rpm`."""

    def sets(self) -> list[str]:
        """Its sets of packages."""
        known = release(self.version)
        return sorted(name for name, since in SETS.items() if known == (0, 0) or since <= known)

    def vocabulary(self) -> dict[str, str]:
        """Every option that does not contain a package name, with its argument."""
        known = release(self.version)
        return {
            name: option.value
            for name, option in OPTIONS.items()
            if (known == (0, 0) or option.since <= known < option.until) and (not self.family or self.family in option.families)
        }

    def doubts(self, options: t.Sequence[str], packages: str) -> list[str]:
        """The options, including that for the set, which only the help of the bundle can confirm."""
        chosen = "--" + (user_only(packages) or packages)
        unknown = [row[0] for row in _split(options) if self._is_unknown(row[0])]
        return unknown + ([chosen] if chosen[2:] in SETS and chosen[2:] not in self.sets() else [])

    def refused_by_help(self, name: str) -> Problem:
        """The problem of an option, or of a set, that neither the tables nor the help of the bundle have."""
        if name[2:] in SETS:
            return Problem("ofed_packages", name[2:], ", ".join(self.sets()), "the installer of this bundle has no %s" % name)
        return self._unknown("ofed_installer_options", name)

    def problems(self, variable: str, options: t.Any, *, firmware_update: bool = False, ask: bool = False) -> list[Problem]:
        """Problems of options. With `ask`, options that the tables lack are checked later against the bundle: see `doubts`."""
        wrong = _form_problems(variable, options)
        if wrong:
            return wrong
        found: list[Problem] = []
        for row in _split(options):
            name = row[0]
            if not self._is_unknown(name):
                found += self._row_problems(variable, row)
            elif not (ask and self._may_be_told(name)):
                found.append(self._unknown(variable, name))
            if name in FIRMWARE and not firmware_update:
                found.append(Problem(variable, name, "with ofed_firmware_update: true", "otherwise firmware is left alone"))
            if name == "--without-fw-update" and firmware_update:
                found.append(Problem(variable, name, "without ofed_firmware_update", "the two contradict each other"))
        return found

    def _package_families(self) -> dict[str, str]:
        return {prefix: value for prefix, value in _FAMILIES_OF_PACKAGES.items() if self.family != "deb" or "-build-" not in prefix}

    def _nearest(self, name: str, cutoff: float) -> str:
        """The known option most similar to a misspelt one. Options that burn firmware or force something are never suggested."""
        words = {option for option in self.vocabulary() if option not in FIRMWARE and not option.startswith("--force")}
        known = words | {prefix + package for prefix in self._package_families() for package in KNOWN}
        near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)
        return near[0] if near else ""

    def _unknown(self, variable: str, name: str) -> Problem:
        """The problem of an option that this release does not have: another release has it, or it is misspelt."""
        elsewhere = OPTIONS.get(name)
        where = "the installer of %s" % self.version if self.version else "the installer"
        if elsewhere is not None:
            is_foreign = self.family and self.family not in elsewhere.families
            hint = "it is for %s packages only" % "/".join(elsewhere.families) if is_foreign else "other releases have it"
            return Problem(variable, name, "an option of %s" % where, hint)
        near = self._nearest(name, cutoff=0.6)
        prefix = next((prefix for prefix in self._package_families() if name.startswith(prefix)), "")
        hint = "the installer would silently treat it as the name of a package" if prefix else "the installer would refuse it with exit status 22"
        return Problem(variable, name, near or "an option of %s: its own --help lists them" % where, hint)

    def _is_package(self, name: str) -> bool:
        """Whether it contains the name of a vendor package, as `--without-opensm` does, and is no option of any release."""
        names = {name[len(prefix) :] for prefix in self._package_families() if name.startswith(prefix)}
        return bool(names & KNOWN) and name not in OPTIONS

    def _is_unknown(self, name: str) -> bool:
        """Whether the tables do not have it for the release, in any form."""
        words = self.vocabulary()
        return not (name in words or name in _NOT_HERE or name[2:] in SETS or name.partition("=")[0] in words or self._is_package(name))

    def _may_be_told(self, name: str) -> bool:
        """Whether the help of the bundle may have such an option: another release has it, or it resembles no known option."""
        if name in OPTIONS:
            return not self.family or self.family in OPTIONS[name].families
        return name.startswith("-") and not self._nearest(name, cutoff=_CLOSE)

    def _row_problems(self, variable: str, row: t.Sequence[str]) -> list[Problem]:
        """Problems of an option that the tables have in some form."""
        name, words = row[0], self.vocabulary()
        if name in words:
            return _value_problem(variable, row, words[name])
        if name in _NOT_HERE:
            return [Problem(variable, name, "an option about what is installed", _NOT_HERE[name])]
        if name[2:] in SETS:
            return [Problem(variable, name, "ofed_packages: %s" % name[2:], "sets of packages have a variable of their own")]
        plain = name.partition("=")[0]
        if plain in words:
            return [Problem(variable, name, "%s %s" % (plain, words[plain] or ""), "the installer knows no =")]
        value = next(value for prefix, value in self._package_families().items() if name.startswith(prefix))
        return _value_problem(variable, row, value)
