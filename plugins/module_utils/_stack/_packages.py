# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The grammar of apt, dnf, zypper, dpkg and rpm: what they print, and how they are asked. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._stack._package_names import is_vendors

MANAGERS: t.Mapping[str, str] = {"Debian": "apt", "RedHat": "dnf", "Suse": "zypper"}
RPM_QUERY = ("rpm", "-qa", "--qf", "%{NAME}\\t%{VERSION}-%{RELEASE}\\n")

# apt keeps changed configuration files, and asks nothing; a lock held by a timer's apt is waited for.
_APT = ("apt-get", "--yes", "--quiet", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=300")

_MADISON = re.compile(r"^ *(\S+) \| +(\S+) \| (.*) Packages$", re.MULTILINE)
_SIMULATED = re.compile(r"^(Remv|Purg|Inst) ([^\s:]+)(?::\S+)?(?: \[([^\]]*)\])?(?: \((\S+))?", re.MULTILINE)
# A name, at the beginning or after a comma or a bar: libc6 (>= 2.34), libssl3 | libssl1.1
_DEPENDENCY = re.compile(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)")
_NEEDED_BY = re.compile(r"is needed by \(installed\) (\S+)")
_NEVRA = re.compile(r"^(.+)-([^-]+)-([^-]+?)(?:\.[a-z0-9_]+)?$")


class Package(t.NamedTuple):
    """An installed package."""

    version: str
    state: str = "installed"
    """dpkg's word: C(installed), C(half-configured), C(unpacked), C(half-installed), C(triggers-pending) ..."""
    depends: tuple[str, ...] = ()
    """Names of the packages that it needs, with all that stand for each other. On Debian only."""
    lost: bool = False
    """Was it cut off while files were replaced? dpkg configures and removes it no more unless it is forced to."""

    @property
    def broken(self) -> bool:
        """Left by an installation that did not end."""
        return self.state in ("half-configured", "unpacked", "half-installed")


class Simulated(t.NamedTuple):
    """What apt-get --simulate says it would do."""

    removed: t.Mapping[str, str]
    """Names and versions."""
    installed: t.Mapping[str, str]


def parse_dpkg_database(text: str) -> dict[str, Package]:
    """The database of dpkg -> all packages that are there, wholly or in part. A second architecture is C(name:arch)."""
    found: dict[str, Package] = {}
    for paragraph in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.split("\n") if ": " in line and not line.startswith(" "))
        status = fields.get("Status", "").split()
        state = status[-1:]
        name = fields.get("Package", "").strip()
        if not name or not state or state[0] in ("not-installed", "config-files"):
            continue
        needed = tuple(_DEPENDENCY.findall("%s, %s" % (fields.get("Pre-Depends", ""), fields.get("Depends", ""))))
        found["%s:%s" % (name, fields.get("Architecture", "")) if name in found else name] = Package(
            fields.get("Version", ""), state[0], needed, "reinstreq" in status
        )
    return found


def parse_rpm_all(stdout: str) -> dict[str, Package]:
    """RPM_QUERY -> all packages; of several versions of one (kernels) the last."""
    rows = [line.split("\t") for line in stdout.splitlines()]
    return {row[0]: Package(row[1]) for row in rows if len(row) == 2}


def broken(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that an interrupted installation left behind."""
    return sorted(name for name, package in packages.items() if package.broken)


def lost(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that have to be installed anew."""
    return sorted(name for name, package in packages.items() if package.lost)


def vendors(packages: t.Mapping[str, Package], release: str = "") -> list[str]:
    """The vendor's packages among the installed ones."""
    return sorted(name for name, package in packages.items() if is_vendors(name.split(":")[0], package.version, release))


def needed(packages: t.Mapping[str, Package], mine: t.Collection[str], keep: t.Iterable[str] = ()) -> set[str]:
    """Which of the packages C(mine) all others need, C(keep) needs, or these in turn."""
    found: set[str] = set()
    ahead = {name for name in keep if name in mine}
    ahead |= {name for other, package in packages.items() if other not in mine for name in package.depends if name in mine}
    while ahead:
        name = ahead.pop()
        found.add(name)
        ahead |= {other for other in packages[name].depends if other in mine and other not in found}
    return found


def dependent(packages: t.Mapping[str, Package], gone: t.Iterable[str]) -> set[str]:
    """What can't stay without the packages C(gone), these among it, by the names in the database alone.

    For a database that apt refuses to work with. Where one package can stand for another, this names more than apt would.
    """
    found = set(gone)
    ahead = True
    while ahead:
        ahead = False
        for name, package in packages.items():
            if name not in found and not found.isdisjoint(package.depends):
                found.add(name)
                ahead = True
    return found


def parse_madison(stdout: str) -> dict[str, list[str]]:
    """C(apt-cache madison NAME ...) -> the versions on offer, best first, each once."""
    found: dict[str, list[str]] = {}
    for name, version, _where in _MADISON.findall(stdout):
        if version not in found.setdefault(name, []):
            found[name].append(version)
    return found


def distribution_versions(offers: t.Mapping[str, t.Sequence[str]], release: str = "") -> dict[str, str]:
    """The best version of each package that is not the vendor's; packages that only the vendor has are left out."""
    found = {}
    for name, versions in offers.items():
        mine = [version for version in versions if not is_vendors(name, version, release)]
        if mine:
            found[name] = mine[0]
    return found


def parse_simulation(stdout: str) -> Simulated:
    """C(apt-get --simulate): lines such as C(Remv NAME [VERSION]) and C(Inst NAME [OLD] (NEW ...))."""
    removed, installed = {}, {}
    for verb, name, old, new in _SIMULATED.findall(stdout):
        if verb == "Inst":
            installed[name] = new
        else:
            removed[name] = old
    # What is removed to be installed in another version stays.
    return Simulated({name: version for name, version in removed.items() if name not in installed}, installed)


def parse_rpm_test(stderr: str) -> list[str]:
    """C(rpm --erase --test) -> names of the packages that need what would go."""
    found = set()
    for nevra in _NEEDED_BY.findall(stderr):
        match = _NEVRA.match(nevra)
        found.add(match.group(1) if match else nevra)
    return sorted(found)


def version_fits(wanted: str, found: str) -> bool:
    """Is C(2.9.1-0.1.4) the wanted C(2.9.1)? Whole numbers count: C(2.9.10) is not. Epochs are left away."""
    plain = found.partition(":")[2] or found
    return bool(plain) and (plain == wanted or (plain.startswith(wanted) and not plain[len(wanted)].isalnum()))


def update_argv(manager: str) -> tuple[str, ...]:
    """Read the package lists anew."""
    return {
        "apt": (*_APT, "update"),
        "dnf": ("dnf", "--assumeyes", "--disablerepo=*", "--enablerepo=rdma-ofed", "makecache"),
        "zypper": ("zypper", "--non-interactive", "--gpg-auto-import-keys", "refresh", "rdma-ofed"),
    }[manager]


def install_argv(manager: str, names: t.Sequence[str], version: str = "", also: t.Sequence[str] = ()) -> tuple[str, ...]:
    """Install packages, of a version where one is given; C(also) are packages without.

    apt takes the version from a pin, so that it holds later on as well.
    """
    if manager == "apt":
        return (*_APT, "--no-install-recommends", "--allow-downgrades", "--fix-broken", "install", *names, *also)
    if manager == "dnf":
        return ("dnf", "--assumeyes", "--allowerasing", "install", *(["%s-%s[!0-9]*" % (name, version) for name in names] if version else names), *also)
    pinned = ["%s=%s" % (name, version) for name in names] if version else list(names)
    return ("zypper", "--non-interactive", "install", "--allow-vendor-change", "--no-recommends", "--force-resolution", *pinned, *also)


def replace_argv(manager: str, versions: t.Mapping[str, str], gone: t.Iterable[str]) -> tuple[str, ...]:
    """Bring packages to these versions and remove others, configuration and all, in one transaction.

    C(versions) are for apt only: what other packages need is never missing in between.
    """
    if manager == "apt":
        words = ["%s=%s" % pair for pair in sorted(versions.items())] + ["%s-" % name for name in sorted(gone)]
        return (*_APT, "--no-install-recommends", "--allow-downgrades", "--purge", "--fix-broken", "install", *words)
    if manager == "dnf":
        return ("dnf", "--assumeyes", "remove", "--noautoremove", *sorted(gone))
    return ("zypper", "--non-interactive", "remove", *sorted(gone))


def mend_argv() -> tuple[str, ...]:
    """Let apt settle what can't be configured because something is missing that it needs."""
    return (*_APT, "--no-install-recommends", "--fix-broken", "install")


def purge_argv(names: t.Iterable[str]) -> tuple[str, ...]:
    """Remove packages with apt, and all that depends on them. It is simulated before it is done."""
    return (*_APT, "purge", *sorted(names))


def simulate(argv: t.Sequence[str]) -> tuple[str, ...]:
    """The same with nothing done, and as far as it goes without the rights of root."""
    return (argv[0], "--simulate", *argv[1:])


def drop_argv(names: t.Sequence[str]) -> tuple[str, ...]:
    """Remove packages that were cut off while their files were replaced; what needs them waits for the installation that follows."""
    return ("dpkg", "--remove", "--force-remove-reinstreq", "--force-depends", *names)


def recover_argv(manager: str) -> tuple[str, ...]:
    """End what an interrupted installation began."""
    return ("dpkg", "--configure", "-a", "--force-confdef", "--force-confold") if manager == "apt" else ("rpm", "--rebuilddb")
