# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages, and what a package manager is to the collection: one object each, with its command lines and files."""

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
    """dpkg's word: `installed`, `half-configured`, `unpacked`, `half-installed`, `triggers-pending` ..."""
    depends: tuple[str, ...] = ()
    """Names of the packages that it needs, alternatives included. From dpkg only."""
    lost: bool = False
    """Interrupted while its files were replaced: dpkg neither configures nor removes it unless forced."""
    held: bool = False
    """Kept at its version. From dpkg only."""

    @property
    def is_installed(self) -> bool:
        """Whether it is there to work with. One that waits for the triggers of others is."""
        return self.state in ("installed", "triggers-pending", "triggers-awaited")

    @property
    def broken(self) -> bool:
        """Left behind by an interrupted installation."""
        return self.state in ("half-configured", "unpacked", "half-installed")


class Transaction(t.NamedTuple):
    """What a package manager would do. Names and versions; a version is "" where it is not told."""

    removed: t.Mapping[str, str]
    installed: t.Mapping[str, str]
    """Upgrades are here, too."""


def broken(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that an interrupted installation left behind."""
    return sorted(name for name, package in packages.items() if package.broken)


def lost(packages: t.Mapping[str, Package]) -> list[str]:
    """The packages that have to be reinstalled."""
    return sorted(name for name, package in packages.items() if package.lost)


def needed(packages: t.Mapping[str, Package], mine: t.Collection[str], keep: t.Iterable[str] = ()) -> set[str]:
    """Those of the packages `mine` that other packages need, that are in `keep`, or that these need in turn."""
    found: set[str] = set()
    ahead = {name for name in keep if name in mine}
    ahead |= {name for other, package in packages.items() if other not in mine for name in package.depends if name in mine}
    while ahead:
        name = ahead.pop()
        found.add(name)
        ahead |= {other for other in packages[name].depends if other in mine and other not in found}
    return found


def dependent(packages: t.Mapping[str, Package], gone: t.Iterable[str]) -> set[str]:
    """The packages `gone` and all that depend on them, by the names in the database alone.

    For a database that apt refuses to work with. Where one package can stand for another, this names more than apt would.
    """
    found = set(gone)
    while True:
        more = {name for name, package in packages.items() if name not in found and not found.isdisjoint(package.depends)}
        if not more:
            return found
        found |= more


def version_fits(wanted: str, found: str) -> bool:
    """Whether `2.9.1-0.1.4` is the wanted `2.9.1`. Whole numbers count: `2.9.10` is not. Epochs are ignored."""
    plain = found.partition(":")[2] or found
    return bool(plain) and (plain == wanted or (plain.startswith(wanted) and not plain[len(wanted)].isalnum()))


class Repository(t.NamedTuple):
    address: str
    """A URL, or a folder of the node."""
    key: str
    """The key itself, armoured or binary, with undecodable bytes as surrogates. "" where the repository is trusted without a key."""
    pinned: tuple[str, ...] = ()
    """Patterns of the names of packages that must have ..."""
    version: str = ""
    """... a version that begins with this; "" for any."""


class Address(t.NamedTuple):
    """The address of a repository, as all users may see it, and what the server wants to know."""

    plain: str
    user: str = ""
    password: str = ""


def address_of(declared: str) -> Address:
    """`https://user:p%40ss@repo.example.org/x`, taken apart. Up to the last @ of the authority, whatever the password has in it."""
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
    """Whether a file has a password, so that root alone may read it."""
    return bool(_SECRET_LINE.search(content) or _SECRET_URL.search(content))


def without_secrets(content: str) -> str:
    """A file of a package manager as a difference may show it."""
    return _SECRET_URL.sub("://<removed>@", _SECRET_LINE.sub(r"\g<name><removed>", content))


def is_key(text: str) -> bool:
    """Whether this is a public key. A binary one begins with an octet that has its highest bit set."""
    # An octet that is no text was read as a surrogate.
    return ARMOUR in text or text[:1] >= "\x80"


def uri(address: str) -> str:
    """An address as package managers take it: a folder of the node gets a scheme."""
    return "file:" + address.rstrip("/") if address.startswith("/") else address.rstrip("/")


class Manager(abc.ABC):
    """A package manager. Objects have no state."""

    name: str
    packaging: str
    """`deb` or `rpm`."""
    simulates: bool = False
    """Whether it simulates on a copy of its package lists; the others preview the very transaction."""
    lists_age: bool = False
    """Whether package lists are refreshed by a command of its own only."""
    lists: Argv = ()
    """Where they age: paths below the root directory, of which the youngest counts."""
    starts_services: bool = False
    """Whether packages start their services as they are installed."""
    ranks_repositories: bool = True
    """Whether the site's repository can have priority over others as a whole, so that what came from it is not replaced."""
    locks: Argv = ()
    """The files that it locks for itself while it works, by fcntl(2): paths below the root directory."""
    pid_files: Argv = ()
    """The files in which it leaves the number of its process while it works."""
    journal: str = ""
    """The directory of what is not in its database yet; not empty after it was killed."""
    lock_package: str = ""
    """The package to install, and to leave turned on, where `can_lock` is false."""
    protection_path: str = ""
    """The file that makes it leave packages alone for which another repository has a higher version; "" where it does so by itself."""

    # Command lines; most go on with the names of packages.
    update: Argv
    """Refresh the package lists."""
    install: Argv
    """Install packages of the site's repository, downgrades included."""
    pinned: str = ""
    """A package in a version, for `install`; "" where a file pins the version."""
    add: Argv
    """Install packages of the distribution and change nothing else."""
    trial: str = ""
    """The option that only tries that."""
    recover: Argv
    """Finish what an interrupted installation began."""
    uninstall: Argv
    """Remove packages and all that depends on them. What nothing needs then stays."""
    done: t.ClassVar[t.Tuple[int, ...]] = (0,)
    """The exit statuses of `add` and `uninstall` that tell of success."""
    erase: Argv
    """Remove packages that nothing depends on, configuration included."""
    hold: Argv
    """Keep packages at their versions."""

    def install_words(self, name: str, version: str = "", also: t.Sequence[str] = ()) -> Argv:
        """A package, in a version where one is given, and further ones as `install` takes them."""
        return (self.pinned % (name, version) if version and self.pinned else name, *also)

    def install_argv(self, names: t.Sequence[str], version: str = "", also: t.Sequence[str] = ()) -> Argv:
        """`install`, in a version where one is given; `also` are packages without."""
        return (*self.install, *(word for name in names for word in self.install_words(name, version)), *also)

    @abc.abstractmethod
    def replace_argv(self, versions: t.Mapping[str, str], gone: t.Iterable[str], *, also: t.Sequence[str] = (), repository: str = "") -> Argv:
        """One transaction: remove packages, bring others to `versions`, and install what is in `also`, in words of `install_argv`.

        The site's repository takes part where its address is in `repository`. Nothing is removed first that is to be replaced:
        what needs it stays.
        """

    @abc.abstractmethod
    def preview_argv(self, argv: Argv, repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> Argv:
        """The same transaction without any change. A repository at that address counts, whether it is declared yet or not.

        `lifted`: our protection of packages is there now, and will be lifted before the transaction. To apt it makes no difference.
        `folders`: as `repository_folders` says.
        """

    def preview_files(self, repository: str) -> dict[str, str]:
        """The files that `preview_argv` and `offers` name for the repository at that address, and that root alone may read: its user and password."""
        return {}

    def parse_preview(self, stdout: str) -> dict[str, str]:
        """The output of `preview_argv` -> the packages that would be removed; versions where it tells them."""
        return dict(self.foreseen(stdout).removed)

    @abc.abstractmethod
    def preview_failure(self, output: Output) -> str:
        """Why the transaction of `preview_argv` is not possible, as the manager tells it; "" where it is."""

    @abc.abstractmethod
    def offers(self, run: Runner, names: t.Sequence[str], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> dict[str, list[str]]:
        """The versions of the packages, best first, that the repository at that address has, or without one all others.

        `lifted`, `folders`: as of `preview_argv`.
        """

    @abc.abstractmethod
    def foreseen(self, stdout: str) -> Transaction:
        """The output of `preview_argv` of `add` or `uninstall` -> the transaction. A package that another one replaces is not removed."""

    def unavailable(self, run: Runner, names: t.Sequence[str]) -> list[str]:
        """The packages that it can't install from its current lists, or all of them in one entry."""
        return [", ".join(names)] if run([*self.add, self.trial, *names], ok=None, timeout=300).rc else []

    def trust_argv(self, repository: Repository) -> Argv:
        """What makes it trust the declared key of a repository, and no other; empty where the file of the repository does."""
        return ()

    def protection(self, text: str, versions: t.Mapping[str, str]) -> str:
        """The content `text` of `protection_path` with these packages kept at their versions, and no others of ours; "" for no file."""
        return text

    def kept(self, text: str) -> dict[str, str]:
        """The packages that `protection` has put into `text`, with the versions at which they are kept."""
        return {}

    def is_protected(self, text: str) -> bool:
        """Whether the content `text` of `protection_path` keeps packages at their versions for us."""
        return self.protection(text, {}) != text

    def repository_folders(self, root: str = "/") -> tuple[str, ...]:
        """The folders that the site has its files of repositories in, where that is for the site to say; else nothing."""
        return ()

    def can_lock(self, root: str = "/") -> bool:
        """Whether it can keep packages at their versions."""
        return True

    @abc.abstractmethod
    def database(self, run: Runner, root: str = "/", *, names: t.Collection[str] | None = None, remnants: bool = False) -> dict[str, Package]:
        """The installed packages, wholly or in part; with `names`, these at most; with `remnants`, also those of which only configuration is left.

        In a database that is a file, `*` at the end of a name stands for anything.
        """

    @abc.abstractmethod
    def owners(self, run: Runner, paths: t.Sequence[str]) -> frozenset[str]:
        """The installed packages that have any of these files."""

    @abc.abstractmethod
    def held(self, packages: t.Mapping[str, Package], names: t.Iterable[str], root: str = "/") -> frozenset[str]:
        """Those of `names`, which are installed, that are kept at their versions."""

    @abc.abstractmethod
    def files_of(self, repository: Repository | None) -> dict[str, str]:
        """Every file that an earlier run may have written for the site's repository -> its content, "" where it shall not exist."""

    @abc.abstractmethod
    def removal_script(self, names: t.Sequence[str]) -> str:
        """A shell command that finds out which packages something else needs, and changes nothing."""

    @abc.abstractmethod
    def removable(self, names: t.Sequence[str], stdout: str, stderr: str) -> list[str]:
        """The output of `removal_script` -> the packages that can go without anything else."""
