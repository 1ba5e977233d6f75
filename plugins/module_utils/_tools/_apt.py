# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""apt and dpkg: command lines, output and database."""

from __future__ import annotations

import os
import re
import shlex
import typing as t

from .._host._files import HEADER, read_text
from ._packages import ARMOUR, Manager, Package, Repository, Transaction, address_of, uri

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner

# apt keeps modified configuration files, asks no questions, and waits while an apt started by a timer holds the lock.
_APT = ("apt-get", "--yes", "--quiet", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=300")
# Fixes packages that can't be configured because of missing dependencies.
MEND = (*_APT, "--no-install-recommends", "--fix-broken", "install")
_MADISON = re.compile(r"^ *(\S+) \| +(\S+) \| (.*) Packages$", re.MULTILINE)
_SIMULATED = re.compile(r"^(Remv|Purg|Inst) ([^\s:]+)(?::\S+)?(?: \[([^\]\n]*)\])?(?: \((\S+))?", re.MULTILINE)

STATUS = "var/lib/dpkg/status"
# A package name, at the start or after a comma or a bar: libc6 (>= 2.34), libssl3 | libssl1.1
_DEPENDENCY = re.compile(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)")
_PREVENTED = re.compile(r"prevent removal of ([^\s:]+)")

_SOURCES = "/etc/apt/sources.list.d/rdma-ofed.sources"
_PIN = "/etc/apt/preferences.d/rdma-ofed.pref"
# Credentials for servers: see apt_auth.conf(5).
AUTH = "/etc/apt/auth.conf.d/rdma-ofed.conf"
# apt distinguishes the two key formats by the suffix of the file name.
_KEY = "/etc/apt/keyrings/rdma-ofed"
_KEPT = re.compile(r"^Package: (.*)\nPin: version (\S+)$", re.MULTILINE)


def parse_madison(stdout: str) -> dict[str, list[str]]:
    """Parse `apt-cache madison NAME ...`: the available versions, best first, each once."""
    found: dict[str, list[str]] = {}
    for name, version, _where in _MADISON.findall(stdout):
        if version not in found.setdefault(name, []):
            found[name].append(version)
    return found


def parse_simulation(stdout: str) -> Transaction:
    """Parse `apt-get --simulate`: lines such as `Remv NAME [VERSION]` and `Inst NAME [OLD] (NEW ...)`."""
    removed, installed = {}, {}
    for verb, name, old, new in _SIMULATED.findall(stdout):
        if verb == "Inst":
            installed[name] = new
        else:
            removed[name] = old
    # A package that is removed and then installed in another version stays.
    return Transaction({name: version for name, version in removed.items() if name not in installed}, installed)


def parse_owners(stdout: str) -> frozenset[str]:
    """Parse `dpkg-query --search`: lines such as `linux-image-6.1.0-50-amd64, linux-headers-6.1.0-50-amd64: /lib/modules`, and lines about diversions."""
    found = [line.partition(": /")[0] for line in stdout.splitlines() if ": /" in line and not line.startswith("diversion by ")]
    return frozenset(name.strip().partition(":")[0] for names in found for name in names.split(","))


def parse_conffiles(stdout: str) -> frozenset[str]:
    """Parse the field `Conffiles` of dpkg-query: lines with a path and a hash, and perhaps more."""
    return frozenset(line.split()[0] for line in stdout.splitlines() if line.strip())


def purge_argv(names: t.Iterable[str]) -> tuple[str, ...]:
    """Remove packages and everything that depends on them. The command is simulated beforehand."""
    return (*_APT, "purge", *sorted(names))


def simulate(argv: t.Sequence[str]) -> tuple[str, ...]:
    """The same command as a simulation, as far as that is possible without root."""
    return (argv[0], "--simulate", *argv[1:])


def parse_dpkg_database(text: str, names: t.Collection[str] | None = None, remnants: bool = False) -> dict[str, Package]:
    """Parse the database: the packages that are installed, completely or partly. Packages of a second architecture are named `name:arch`.

    With `names` only these are read, which is much faster; a `*` at the end of a name is a wildcard. With `remnants`, packages of which only
    configuration files are left are included.
    """
    gone = ("not-installed",) if remnants else ("not-installed", "config-files")
    beginnings = tuple(name[:-1] for name in names or () if name.endswith("*"))
    found: dict[str, Package] = {}
    for paragraph in text.split("\n\n"):
        first, _newline, rest = paragraph.lstrip("\n").partition("\n")
        if names is not None and first.startswith("Package: ") and first[9:].strip() not in names and not first[9:].startswith(beginnings):
            continue
        fields = dict(line.split(": ", 1) for line in [first, *rest.split("\n")] if ": " in line and not line.startswith(" "))
        status = fields.get("Status", "").split()
        name = fields.get("Package", "").strip()
        if not name or not status or status[-1] in gone or (names is not None and name not in names and not name.startswith(beginnings)):
            continue
        needed = tuple(_DEPENDENCY.findall("%s, %s" % (fields.get("Pre-Depends", ""), fields.get("Depends", ""))))
        found["%s:%s" % (name, fields.get("Architecture", "")) if name in found else name] = Package(
            fields.get("Version", ""), status[-1], needed, "reinstreq" in status, status[0] == "hold"
        )
    return found


def drop_argv(names: t.Sequence[str]) -> tuple[str, ...]:
    """Remove packages whose files were only partly replaced. Packages that depend on them wait for the following installation."""
    return ("dpkg", "--remove", "--force-remove-reinstreq", "--force-depends", *names)


class Apt(Manager):
    name = "apt"
    packaging = "deb"
    simulates = True
    lists_age = True
    lists = ("var/lib/apt/periodic/update-success-stamp", "var/lib/apt/lists")
    locks = ("var/lib/dpkg/lock-frontend", "var/lib/dpkg/lock")
    journal = "var/lib/dpkg/updates"
    starts_services = True
    # A flat repository need not have an origin, by which apt would rank it.
    ranks_repositories = False
    update = (*_APT, "update")
    install = (*_APT, "--no-install-recommends", "--allow-downgrades", "--fix-broken", "install")
    add = (*_APT, "--no-install-recommends", "install")
    trial = "--simulate"
    keep = "--no-remove"
    remove = (*_APT, "--no-install-recommends", "--allow-downgrades", "--purge", "--fix-broken", "install")
    recover = ("dpkg", "--configure", "-a", "--force-confdef", "--force-confold")
    uninstall = (*_APT, "remove")
    erase = ("dpkg", "--purge")
    hold = ("apt-mark", "hold")
    protection_path = "/etc/apt/preferences.d/rdma-ofed-installed.pref"

    def database(self, run: Runner, root: str = "/", *, names: t.Collection[str] | None = None, remnants: bool = False) -> dict[str, Package]:
        return parse_dpkg_database(read_text(os.path.join(root, STATUS)), names, remnants)

    def replace_argv(self, versions: t.Mapping[str, str], gone: t.Iterable[str], *, also: t.Sequence[str] = (), repository: str = "") -> tuple[str, ...]:
        words = ["%s=%s" % pair for pair in sorted(versions.items())] + ["%s-" % name for name in sorted(gone)]
        return (*self.remove, *words, *also)

    def preview_argv(self, argv: tuple[str, ...], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> tuple[str, ...]:
        # A pin has no effect on a package whose version is given, nor on one that is not installed.
        return simulate(argv)

    def foreseen(self, stdout: str) -> Transaction:
        return parse_simulation(stdout)

    def preview_failure(self, output: Output) -> str:
        return (output.stderr or output.stdout).strip() if output.rc else ""

    def offers(self, run: Runner, names: t.Sequence[str], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> dict[str, list[str]]:
        return parse_madison(run(["apt-cache", "madison", *names], ok=None, timeout=120).stdout)

    def owners(self, run: Runner, paths: t.Sequence[str]) -> frozenset[str]:
        return parse_owners(run(["dpkg-query", "--search", *paths], ok=None).stdout)

    def fixed(self, run: Runner, paths: t.Sequence[str]) -> frozenset[str]:
        found = run(["dpkg-query", "--search", *paths], ok=None).stdout
        owned = {path for path in paths if any(line.endswith(": " + path) and not line.startswith("diversion by ") for line in found.splitlines())}
        if not owned:
            return frozenset()
        names = sorted(parse_owners(found))
        return frozenset(owned - parse_conffiles(run(["dpkg-query", "--show", "--showformat=${Conffiles}\n", *names], ok=None).stdout))

    def held(self, packages: t.Mapping[str, Package], names: t.Iterable[str], root: str = "/") -> frozenset[str]:
        return frozenset(name for name in names if packages[name].held)

    def files_of(self, repository: Repository | None) -> dict[str, str]:
        files = dict.fromkeys((_KEY + ".asc", _KEY + ".gpg", AUTH, _SOURCES, _PIN), "")
        if repository is None:
            return files
        trust = "Trusted: yes"
        if repository.key:
            path = _KEY + (".asc" if ARMOUR in repository.key else ".gpg")
            files[path] = repository.key
            trust = "Signed-By: " + path
        address = address_of(repository.address)
        if address.user:
            # Without a scheme, the entry applies to https only.
            machine = address.plain.replace("https://", "", 1).rstrip("/")
            files[AUTH] = "%smachine %s/\nlogin %s\npassword %s\n" % (HEADER, machine, address.user, address.password)
        files[_SOURCES] = "%sTypes: deb\nURIs: %s/\nSuites: ./\n%s\n" % (HEADER, uri(address.plain), trust)
        if repository.pinned and repository.version:
            # With or without epoch; 2.9.1 does not match 2.9.10. With a priority above 1000, apt also downgrades.
            version = "([0-9]+:)?%s([^0-9].*)?" % re.escape(repository.version)
            files[_PIN] = "%sPackage: %s\nPin: version /^%s$/\nPin-Priority: 1001\n" % (HEADER, " ".join(repository.pinned), version)
        return files

    def protection(self, text: str, versions: t.Mapping[str, str]) -> str:
        # The preferences file. It does not prevent the removal of packages, after which an entry has no effect.
        names: dict[str, list[str]] = {}
        for name, version in sorted(versions.items()):
            names.setdefault(version, []).append(name)
        pins = ["Package: %s\nPin: version %s\nPin-Priority: 1001\n" % (" ".join(some), version) for version, some in sorted(names.items())]
        return HEADER + "\n".join(pins) if pins else ""

    def kept(self, text: str) -> dict[str, str]:
        # An edited file protects nothing as intended.
        found = {name: version for names, version in _KEPT.findall(text) for name in names.split()}
        return found if self.protection("", found) == text else {}

    def removal_script(self, names: t.Sequence[str]) -> str:
        return "LC_ALL=C " + " ".join(map(shlex.quote, ("dpkg", "--simulate", "--remove", *names)))

    def removable(self, names: t.Sequence[str], stdout: str, stderr: str) -> list[str]:
        needed = _PREVENTED.findall(stderr)
        return [name for name in names if name not in needed]
