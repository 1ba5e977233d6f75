# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""dnf: command lines and output."""

from __future__ import annotations

import os
import re
import shlex
import typing as t

from .._host._files import read_text
from .._host._private import FOLDER
from ._packages import Address, Transaction, address_of
from ._rpm import RpmManager, rpm_uri

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner

# In the table of a transaction: a section, a package, and a package that it replaces. If a name is too long for its column,
# its row continues on the next line, with a larger indent.
_SECTION = re.compile(r"^(\S.*):$")
_ROW = re.compile(r"^ (\S+)(?: +\S+ +(\S+) .*)?$")
_REPLACED = re.compile(r"^ +replacing +(\S+)\.[^.\s]+ +(\S+)\s*$")
_REPLACING = "replacing"
_DECLINED = "Error: Operation aborted."
_AVAILABLE = "Available Packages"
# The site's repository, while it is not declared yet.
_PREVIEW = "rdma-ofed-preview"
_PREVIEW_FILE = "%s/%s.repo" % (FOLDER, _PREVIEW)
# The default repository directories (ConfigMain.cpp of libdnf).
_FOLDERS = ("/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d")
# The shell of dnf runs several commands in one transaction. It continues after an error, and exits with 0.
_TRANSACTION = "printf '%s\\n' \"$@\" | {} shell /dev/stdin 2>&1 | awk '{{print; fflush()}} /^Error: /{{bad = 1}} END{{exit bad}}'"
# The plugin drops comments when it rewrites its list, so the entries themselves mark them as ours: by the architecture pattern `.?*`,
# which the plugin treats like `*`.
_LOCK = "%s-%s.?*\n"
_KEPT = re.compile(r"^(\S+)-([^\s-]+-[^\s-]+)\.\?\*\s*$")
_TITLE = "# Packages of the vendor's RDMA stack. Managed by the Ansible collection rdma.ofed.\n"
_UNLOCKED = "--disableplugin=versionlock"
_MAIN = "etc/dnf/dnf.conf"
_OFF = ("0", "no", "false", "off")
_LOCK_PLUGIN = "etc/dnf/plugins/versionlock.conf"


def parse_transaction(stdout: str, sections: tuple[str, ...] = ("Removing", _REPLACING)) -> dict[str, str]:
    """Parse the table that dnf prints before it asks: the packages, with versions, in sections whose titles begin with one of `sections`.

    By default, these are the packages that would be removed or replaced by others.
    """
    found, section = {}, ""
    for line in stdout.splitlines():
        header, row, replaced = _SECTION.match(line), _ROW.match(line), _REPLACED.match(line)
        if header:
            section = header.group(1)
        elif not line.strip():
            section = ""
        elif replaced and _REPLACING in sections:
            found[replaced.group(1)] = replaced.group(2)
        elif row and section.startswith(sections):
            found[row.group(1)] = row.group(2) or ""
    return found


def parse_available(stdout: str) -> dict[str, list[str]]:
    """Parse `dnf list --available --showduplicates`: versions, best first. Long rows continue on the next line."""
    words = stdout.partition(_AVAILABLE)[2].split()
    found: dict[str, list[str]] = {}
    for name, version in zip(words[::3], words[1::3]):
        found.setdefault(name.rpartition(".")[0], []).insert(0, version)
    return found


def _preview_words(address: Address, folders: t.Sequence[str], *, alone: bool) -> list[str]:
    """The options that add the repository at that address; with `alone`, they replace all other repositories by it."""
    others = "--disablerepo=%s" % ("*" if alone else "rdma-ofed*")
    if address.user:
        return [others, "--setopt=reposdir=%s" % ",".join((*(folders or _FOLDERS), FOLDER)), "--enablerepo=" + _PREVIEW]
    words = [others, "--repofrompath=%s,%s" % (_PREVIEW, rpm_uri(address.plain))]
    return [*words, "--enablerepo=" + _PREVIEW] if alone else [*words, *("--setopt=%s.%s" % (_PREVIEW, each) for each in ("priority=10", "gpgcheck=0"))]


def _setting(text: str, key: str) -> str:
    """The value of a key in a configuration file; "" where it is missing. The last one counts."""
    pairs = [line.partition("=") for line in text.splitlines()]
    return ([value.strip() for name, _equals, value in pairs if name.strip() == key] or [""])[-1]


class Dnf(RpmManager):
    name = "dnf"
    # dnf waits for that process without a limit.
    pid_files = ("var/cache/dnf/metadata_lock.pid", "var/cache/dnf/download_lock.pid")
    repository_path = "/etc/yum.repos.d/rdma-ofed.repo"
    # The distribution's packages have other version numbers, which look higher: prefer the site's repository.
    repository_extra = "priority=10\n"
    lock_list = "etc/dnf/plugins/versionlock.list"
    # NAME-EPOCH:VERSION-RELEASE.*, where the epoch is optional.
    lock_pattern = r"^%s-(\d+:)?\d[^-\n]*-[^-\n]*$"
    lock_package = "python3-dnf-plugin-versionlock"
    protection_path = "/" + lock_list

    update = ("dnf", "--assumeyes", "--disablerepo=*", "--enablerepo=rdma-ofed", "makecache")
    install = ("dnf", "--assumeyes", "install")
    pinned = "%s-%s[!0-9]*"
    add = ("dnf", "--assumeyes", "install")
    uninstall = ("dnf", "--assumeyes", "--setopt=clean_requirements_on_remove=0", "remove")
    hold = ("dnf", "-y", "versionlock", "add")

    def replace_argv(self, versions: t.Mapping[str, str], gone: t.Iterable[str], *, also: t.Sequence[str] = (), repository: str = "") -> tuple[str, ...]:
        options = "" if repository else " '--disablerepo=rdma-ofed*'"
        lines = [
            " ".join([verb, *names])
            for verb, names in (("remove", sorted(gone)), ("install", [*also, *("%s-%s" % pair for pair in sorted(versions.items()))]))
            if names
        ]
        command = "dnf --assumeyes --allowerasing --setopt=clean_requirements_on_remove=0%s" % options
        return ("sh", "-c", _TRANSACTION.format(command), "dnf", *lines, "run")

    def preview_argv(self, argv: tuple[str, ...], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> tuple[str, ...]:
        options = "--assumeno" + (" " + _UNLOCKED if lifted else "")
        if repository:
            options += " " + " ".join(map(shlex.quote, _preview_words(address_of(repository), folders, alone=False)))
        if argv[0] == "dnf":
            return (argv[0], *shlex.split(options), *argv[2:])
        return tuple(word.replace("dnf --assumeyes", "dnf " + options) for word in argv)

    def preview_files(self, repository: str) -> dict[str, str]:
        address = address_of(repository)
        if not address.user:
            return {}
        url, lines, _files = self.login(address)
        head = "[%s]\nname=RDMA stack of the site\nbaseurl=%s\nenabled=1\ngpgcheck=0\n" % (_PREVIEW, url)
        return {_PREVIEW_FILE: head + lines + self.repository_extra}

    def parse_preview(self, stdout: str) -> dict[str, str]:
        return parse_transaction(stdout)

    def foreseen(self, stdout: str) -> Transaction:
        # A package that is obsoleted is replaced: the distribution has renamed or merged it.
        return Transaction(parse_transaction(stdout, ("Removing",)), parse_transaction(stdout, ("Installing", "Upgrading", "Downgrading")))

    def preview_failure(self, output: Output) -> str:
        # For dnf, declining the transaction is an error as well.
        lines = (output.stdout + "\n" + output.stderr).splitlines()
        return " ".join(line for line in lines if line.startswith(("Error: ", " Problem")) and line != _DECLINED)

    def offers(self, run: Runner, names: t.Sequence[str], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> dict[str, list[str]]:
        where = ["--disablerepo=rdma-ofed*"]
        if repository:
            where = _preview_words(address_of(repository), folders, alone=True)
        where += [_UNLOCKED] if lifted else []
        found = parse_available(run(["dnf", "--quiet", *where, "list", "--showduplicates", "--available", *names], ok=None, timeout=300).stdout)
        rest = [name for name in names if name not in found]
        if repository and rest:
            # A package installed in the very version of the repository is not listed as available.
            output = run(["dnf", "--assumeno", *where, "reinstall", *rest], ok=None, timeout=300)
            found.update((name, [version]) for name, version in parse_transaction(output.stdout, ("Reinstalling",)).items() if version)
        return found

    def protection(self, text: str, versions: t.Mapping[str, str]) -> str:
        foreign = "".join(line for line in text.splitlines(keepends=True) if not _KEPT.match(line) and line.strip() != _TITLE.strip())
        if not versions:
            # The plugin fails without a list, so an empty one stays.
            return foreign or (text and "\n")
        foreign += "\n" if foreign and not foreign.endswith("\n") else ""
        return foreign + _TITLE + "".join(_LOCK % pair for pair in sorted(versions.items()))

    def kept(self, text: str) -> dict[str, str]:
        lines = (_KEPT.match(line) for line in text.splitlines())
        return {match.group(1): match.group(2) for match in lines if match}

    def repository_folders(self, root: str = "/") -> tuple[str, ...]:
        # A line that starts with whitespace continues the previous value.
        text = re.sub(r"\n[ \t]+(?=\S)", " ", read_text(os.path.join(root, _MAIN)))
        return tuple(re.split(r"[,\s]+", _setting(text, "reposdir").strip(", "))) if _setting(text, "reposdir") else ()

    def can_lock(self, root: str = "/") -> bool:
        plugin, main = (read_text(os.path.join(root, path)) for path in (_LOCK_PLUGIN, _MAIN))
        is_on = _setting(plugin, "enabled").lower() not in _OFF and _setting(main, "plugins").lower() not in _OFF
        return bool(plugin) and is_on and _setting(plugin, "locklist") in ("", "/" + self.lock_list)

    def unavailable(self, run: Runner, names: t.Sequence[str]) -> list[str]:
        return [name for name in names if run(["dnf", "--quiet", "list", name], ok=None, timeout=300).rc]
