# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages, and the interface of a package manager: one object per manager, with its command lines and files."""

from __future__ import annotations

import abc
import re
import typing as t
import urllib.parse

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner

Argv = t.Tuple[str, ...]

ARMOUR = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


class Package(t.NamedTuple):
    version: str
    state: str = "installed"
    """In dpkg's words: `installed`, `half-configured`, `unpacked`, `half-installed`, `triggers-pending` ..."""
    depends: tuple[str, ...] = ()
    """Names of the packages that it depends on, including alternatives. From dpkg only."""
    lost: bool = False
    """Interrupted while its files were replaced: dpkg neither configures nor removes it unless forced."""
    held: bool = False
    """Held at its version. From dpkg only."""

    @property
    def is_installed(self) -> bool:
        """Whether it is usable. A package that waits for triggers of others is."""
        return self.state in ("installed", "triggers-pending", "triggers-awaited")

    @property
    def broken(self) -> bool:
        """Whether an interrupted installation left it half installed."""
        return self.state in ("half-configured", "unpacked", "half-installed")


class Transaction(t.NamedTuple):
    """What a package manager would do. Versions by name; a version is "" where it is not reported."""

    removed: t.Mapping[str, str]
    installed: t.Mapping[str, str]
    """Includes upgrades."""


def broken(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that an interrupted installation left half installed."""
    return sorted(name for name, package in packages.items() if package.broken)


def lost(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that have to be reinstalled."""
    return sorted(name for name, package in packages.items() if package.lost)


def needed(packages: t.Mapping[str, Package], mine: t.Collection[str], keep: t.Iterable[str] = ()) -> set[str]:
    """Those of the packages `mine` that other packages need, that are in `keep`, or that these depend on in turn."""
    found: set[str] = set()
    ahead = {name for name in keep if name in mine}
    ahead |= {name for other, package in packages.items() if other not in mine for name in package.depends if name in mine}
    while ahead:
        name = ahead.pop()
        found.add(name)
        ahead |= {other for other in packages[name].depends if other in mine and other not in found}
    return found


def dependent(packages: t.Mapping[str, Package], gone: t.Iterable[str]) -> set[str]:
    """The packages `gone` and everything that depends on them, from the database alone.

    For a database that apt refuses to process. Where packages have alternatives, this returns more than apt would.
    """
    found = set(gone)
    while True:
        more = {name for name, package in packages.items() if name not in found and not found.isdisjoint(package.depends)}
        if not more:
            return found
        found |= more


def version_fits(wanted: str, found: str) -> bool:
    """Whether `2.9.1-0.1.4` is the wanted `2.9.1`. Numbers are compared as a whole: `2.9.10` is not. Epochs are ignored."""
    plain = found.partition(":")[2] or found
    return bool(plain) and (plain == wanted or (plain.startswith(wanted) and not plain[len(wanted)].isalnum()))


class Repository(t.NamedTuple):
    address: str
    """A URL, or a folder of the node."""
    key: str
    """The key itself, armoured or binary, with undecodable bytes as surrogates; "" where the repository is trusted without a key."""
    pinned: tuple[str, ...] = ()
    """Name patterns of the packages that must have ..."""
    version: str = ""
    """... a version that begins with this; "" for any."""


class Address(t.NamedTuple):
    """The address of a repository without credentials, and the credentials for the server."""

    plain: str
    user: str = ""
    password: str = ""


def address_of(declared: str) -> Address:
    """Split `https://user:p%40ss@repo.example.org/x`. Credentials end at the last @ of the authority, because a password may contain an @."""
    scheme, mark, rest = declared.partition("://")
    authority, slash, path = rest.partition("/")
    login, at, host = authority.rpartition("@")
    if not mark or not at:
        return Address(declared)
    user, _colon, password = login.partition(":")
    return Address("%s://%s%s%s" % (scheme, host, slash, path), urllib.parse.unquote(user), urllib.parse.unquote(password))


_SECRET_LINE = re.compile(r"^(?P<name>password[ =])\S.*$", re.MULTILINE)
_SECRET_URL = re.compile(r"://[^\s/]{1,500}@")


def is_private(content: str) -> bool:
    """Whether a file contains a password, so that only root may read it."""
    return bool(_SECRET_LINE.search(content) or _SECRET_URL.search(content))


def without_secrets(content: str) -> str:
    """A file of a package manager, without secrets, for a diff."""
    return _SECRET_URL.sub("://<removed>@", _SECRET_LINE.sub(r"\g<name><removed>", content))


def is_key(text: str) -> bool:
    """Whether this is a public key. The first octet of a binary key has its highest bit set."""
    # An undecodable octet was read as a surrogate.
    return ARMOUR in text or text[:1] >= "\x80"


def uri(address: str) -> str:
    """An address for package managers: a folder of the node gets a scheme."""
    return "file:" + address.rstrip("/") if address.startswith("/") else address.rstrip("/")


class Manager(abc.ABC):
    """A package manager. Objects are stateless."""

    name: str
    packaging: str
    """`deb` or `rpm`."""
    simulates: bool = False
    """Whether it simulates with a copy of its package lists; the others preview the real transaction."""
    lists_age: bool = False
    """Whether package lists are refreshed only by a separate command."""
    lists: Argv = ()
    """The files whose age counts for the lists: paths below the root directory, of which the newest counts."""
    starts_services: bool = False
    """Whether packages start their services during installation."""
    ranks_repositories: bool = True
    """Whether the site's repository can have priority over all others, so that its packages are not replaced."""
    locks: Argv = ()
    """The files that it locks exclusively during its work, with fcntl(2): paths below the root directory."""
    pid_files: Argv = ()
    """The files in which it stores its PID during its work."""
    journal: str = ""
    """The directory of pending database updates; not empty after it was killed."""
    lock_package: str = ""
    """The package to install, and to keep enabled, where `can_lock` is false."""
    protection_path: str = ""
    """The file that prevents upgrades to higher versions in other repositories; "" where it prevents them itself."""

    # Command lines; most are completed with the names of packages.
    update: Argv
    """Refresh the package lists."""
    install: Argv
    """Install packages of the site's repository, with downgrades if necessary."""
    pinned: str = ""
    """A package in a version, for `install`; "" where a file pins the version."""
    add: Argv
    """Install packages of the distribution and change nothing else."""
    trial: str = ""
    """The option that only simulates that."""
    keep: str = ""
    """The option with which `add` fails, and changes nothing, where it would remove a package; "" where only a preview tells."""
    recover: Argv
    """Complete an interrupted installation."""
    uninstall: Argv
    """Remove packages and everything that depends on them. Packages that become unneeded stay."""
    done: t.ClassVar[t.Tuple[int, ...]] = (0,)
    """The exit statuses of `add` and `uninstall` that mean success."""
    erase: Argv
    """Remove packages that nothing depends on, including their configuration."""
    hold: Argv
    """Hold packages at their versions."""

    def install_words(self, name: str, version: str = "", also: t.Sequence[str] = ()) -> Argv:
        """The arguments of `install`: a package, optionally in a version, and further packages."""
        return (self.pinned % (name, version) if version and self.pinned else name, *also)

    def install_argv(self, names: t.Sequence[str], version: str = "", also: t.Sequence[str] = ()) -> Argv:
        """The command `install`, optionally with a version. `also`: packages without a version."""
        return (*self.install, *(word for name in names for word in self.install_words(name, version)), *also)

    @abc.abstractmethod
    def replace_argv(self, versions: t.Mapping[str, str], gone: t.Iterable[str], *, also: t.Sequence[str] = (), repository: str = "") -> Argv:
        """One transaction: remove packages, change others to `versions`, and install the packages in `also`, in the notation of `install_argv`.

        If `repository` has its address, the site's repository takes part. Packages to be replaced are not removed first,
        so packages that need them stay.
        """

    @abc.abstractmethod
    def preview_argv(self, argv: Argv, repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> Argv:
        """The same transaction as a preview. A repository at that address takes part, whether or not it is declared yet.

        `lifted`: our protection of packages is present now and will be lifted before the transaction. To apt it makes no difference.
        `folders`: from `repository_folders`.
        """

    def preview_files(self, repository: str) -> dict[str, str]:
        """The files that `preview_argv` and `offers` need for the repository at that address, readable only for root: its user and password."""
        return {}

    def parse_preview(self, stdout: str) -> dict[str, str]:
        """Parse the output of `preview_argv`: the packages that would be removed, with versions where it reports them."""
        return dict(self.foreseen(stdout).removed)

    @abc.abstractmethod
    def preview_failure(self, output: Output) -> str:
        """Why the transaction of `preview_argv` is impossible, in the manager's words; "" where it is possible."""

    @abc.abstractmethod
    def offers(self, run: Runner, names: t.Sequence[str], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> dict[str, list[str]]:
        """The versions of the packages, best first, in the repository at that address or, without an address, in all others.

        `lifted`, `folders`: as for `preview_argv`.
        """

    @abc.abstractmethod
    def foreseen(self, stdout: str) -> Transaction:
        """Parse the output of `preview_argv` for `add` or `uninstall` into a transaction. A package replaced by another one does not count as removed."""

    def unavailable(self, run: Runner, names: t.Sequence[str]) -> list[str]:
        """The packages that can't be installed with the current lists, or all of them in one entry."""
        return [", ".join(names)] if run([*self.add, self.trial, *names], ok=None, timeout=300).rc else []

    def trust_argv(self, repository: Repository) -> Argv:
        """The command that makes it trust only the declared key of a repository; empty where the repository file does that."""
        return ()

    def protection(self, text: str, versions: t.Mapping[str, str]) -> str:
        """The content of `protection_path`, derived from `text`, that holds exactly these packages at their versions for us; "" for no file."""
        return text

    def kept(self, text: str) -> dict[str, str]:
        """The packages that `protection` has put into `text`, with the versions at which they are held."""
        return {}

    def is_protected(self, text: str) -> bool:
        """Whether the content `text` of `protection_path` holds packages for us."""
        return self.protection(text, {}) != text

    def repository_folders(self, root: str = "/") -> tuple[str, ...]:
        """The folders in which the site keeps repository files, where that is configurable; else empty."""
        return ()

    def can_lock(self, root: str = "/") -> bool:
        """Whether it can hold packages at their versions."""
        return True

    @abc.abstractmethod
    def database(self, run: Runner, root: str = "/", *, names: t.Collection[str] | None = None, remnants: bool = False) -> dict[str, Package]:
        """The installed packages, complete or partial; with `names`, only these; with `remnants`, also those of which only configuration is left.

        If the database is a file, a `*` at the end of a name is a wildcard.
        """

    @abc.abstractmethod
    def owners(self, run: Runner, paths: t.Sequence[str]) -> frozenset[str]:
        """The installed packages that own any of these files."""

    @abc.abstractmethod
    def fixed(self, run: Runner, paths: t.Sequence[str]) -> frozenset[str]:
        """Those of these files that belong to a package and are no configuration of it: an update of the package restores them."""

    @abc.abstractmethod
    def held(self, packages: t.Mapping[str, Package], names: t.Iterable[str], root: str = "/") -> frozenset[str]:
        """Those of the installed packages `names` that are held at their versions."""

    @abc.abstractmethod
    def files_of(self, repository: Repository | None) -> dict[str, str]:
        """The content by path of every file that an earlier run may have written for the site's repository; "" for a file that must not exist."""

    @abc.abstractmethod
    def removal_script(self, names: t.Sequence[str]) -> str:
        """A shell command that determines which packages others need, without any change."""

    @abc.abstractmethod
    def removable(self, names: t.Sequence[str], stdout: str, stderr: str) -> list[str]:
        """Parse the output of `removal_script`: the packages that can be removed without others."""
