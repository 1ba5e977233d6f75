# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""rpm: its database and command lines, and the common parts of dnf and zypper."""

from __future__ import annotations

import os
import re
import shlex
import typing as t

from .._host._files import HEADER, read_text
from ._packages import Address, Manager, Package, Repository, address_of, uri

if t.TYPE_CHECKING:
    from .._host._run import Runner

RPM_KEY = "/etc/pki/rpm-gpg/RPM-GPG-KEY-rdma-ofed"
_FORMAT = ("--qf", "%{NAME}\\t%{VERSION}-%{RELEASE}\\n")
# The flags of each file of a package, such as `c` for a configuration file.
_FILES = "[%{FILEFLAGS:fflags}\\t%{FILENAMES}\\n]"
_NEEDED_BY = re.compile(r"^[^\S\n]*(\S.*?) is needed by \(installed\) (\S+)", re.MULTILINE)
# A library, or a symbol version of it: libibverbs.so.1()(64bit), libibverbs.so.1(IBVERBS_1.1)(64bit).
_LIBRARY = re.compile(r"^(lib[\w+-]+)\.so\.")
_NEVRA = re.compile(r"^(.+)-([^-]+)-([^-]+?)(?:\.[a-z0-9_]+)?$")


def query_argv(names: t.Iterable[str] | None = None) -> tuple[str, ...]:
    """Name and version of all installed packages, or of `names`."""
    return ("rpm", "-qa", *_FORMAT) if names is None else ("rpm", "-q", *_FORMAT, *names)


def parse_rpm_query(stdout: str) -> dict[str, Package]:
    """Parse the output of `query_argv`. Messages about packages that are not installed are ignored. Of several kernels, the last counts."""
    rows = [line.split("\t") for line in stdout.splitlines()]
    return {row[0]: Package(row[1]) for row in rows if len(row) == 2}


def parse_fixed(stdout: str) -> frozenset[str]:
    """Parse the output of a query by `_FILES`: the files that are no configuration. Messages about files without a package are ignored."""
    rows = [line.split("\t") for line in stdout.splitlines()]
    return frozenset(row[1] for row in rows if len(row) == 2 and "c" not in row[0])


def erase_test_argv(names: t.Iterable[str]) -> tuple[str, ...]:
    """Report what depends on the packages, and change nothing."""
    return ("rpm", "--erase", "--test", *names)


def is_erase_test(argv: t.Sequence[str]) -> bool:
    """Whether this is a command line of `erase_test_argv`."""
    return tuple(argv[:3]) == erase_test_argv(())


def parse_rpm_test(stderr: str, replaced: t.Container[str] = ()) -> list[str]:
    """Parse the output of `erase_test_argv`: the packages that depend on what would be removed.

    `replaced`: libraries that will be installed in another version. Packages that need only those are left out.
    """
    found = set()
    for capability, nevra in _NEEDED_BY.findall(stderr):
        library = _LIBRARY.match(capability)
        if library is None or library.group(1) not in replaced:
            match = _NEVRA.match(nevra)
            found.add(match.group(1) if match else nevra)
    return sorted(found)


def rpm_uri(address: str) -> str:
    """The URI for dnf and zypper, which require three slashes."""
    return uri(address).replace("file:/", "file:///", 1) if address.startswith("/") else uri(address)


class RpmManager(Manager):
    packaging = "rpm"
    locks = ("var/lib/rpm/.rpm.lock", "usr/lib/sysimage/rpm/.rpm.lock")
    recover = ("rpm", "--rebuilddb")
    erase = ("rpm", "--erase")
    repository_path = ""
    login_files: t.Mapping[str, str] = {}
    """Files for user and password, with empty content."""
    repository_extra = ""
    """Additional lines in the repository file."""
    lock_list = ""
    """The file with its version locks, below the root directory."""
    lock_pattern = ""
    """The line of a locked package; `%s` is the name."""

    def database(self, run: Runner, root: str = "/", *, names: t.Collection[str] | None = None, remnants: bool = False) -> dict[str, Package]:
        if names is None:
            return parse_rpm_query(run(query_argv(), timeout=120).stdout)
        # To look up a name prefix, rpm would read its whole database.
        plain = sorted(name for name in names if not name.endswith("*"))
        return parse_rpm_query(run(query_argv(plain), ok=None, timeout=20).stdout) if plain and run.has("rpm") else {}

    def files_of(self, repository: Repository | None) -> dict[str, str]:
        if repository is None:
            return {RPM_KEY: "", **self.login_files, self.repository_path: ""}
        check = "gpgcheck=1\ngpgkey=file://%s\n" % RPM_KEY if repository.key else "gpgcheck=0\n"
        address = address_of(repository.address)
        url, lines, files = self.login(address) if address.user else (rpm_uri(address.plain), "", self.login_files)
        head = "%s[rdma-ofed]\nname=RDMA stack of the site\nbaseurl=%s\nenabled=1\n" % (HEADER, url)
        return {RPM_KEY: repository.key, **files, self.repository_path: head + check + lines + self.repository_extra}

    def login(self, address: Address) -> tuple[str, str, t.Mapping[str, str]]:
        """For an address with a user: the URL, additional lines of the repository file, and separate files."""
        return rpm_uri(address.plain), "username=%s\npassword=%s\n" % address[1:], self.login_files

    def owners(self, run: Runner, paths: t.Sequence[str]) -> frozenset[str]:
        # For files without a package, rpm prints a message.
        found = run(["rpm", "-q", "--qf", "%{NAME}\\n", "--file", *paths], ok=None).stdout
        return frozenset(line for line in found.splitlines() if line and " " not in line)

    def fixed(self, run: Runner, paths: t.Sequence[str]) -> frozenset[str]:
        output = run(["rpm", "-q", "--qf", _FILES, "--file", *paths], ok=None)
        return frozenset(path for path in paths if path in parse_fixed(output.stdout))

    def held(self, packages: t.Mapping[str, Package], names: t.Iterable[str], root: str = "/") -> frozenset[str]:
        locks = read_text(os.path.join(root, self.lock_list))
        return frozenset(name for name in names if re.search(self.lock_pattern % re.escape(name), locks, re.MULTILINE))

    def removal_script(self, names: t.Sequence[str]) -> str:
        tests = ["%s; echo %s $?" % (" ".join(map(shlex.quote, erase_test_argv([name]))), shlex.quote(name)) for name in names]
        return "export LC_ALL=C; " + "; ".join(tests)

    def removable(self, names: t.Sequence[str], stdout: str, stderr: str) -> list[str]:
        return [name for name in names if name + " 0" in stdout.splitlines()]
