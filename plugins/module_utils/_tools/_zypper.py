# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""zypper: its command lines, and its XML output."""

from __future__ import annotations

import re
import typing as t

from .._host._private import FOLDER
from ._packages import Address, Repository, Transaction, address_of
from ._rpm import RPM_KEY, RpmManager, rpm_uri

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner

_SOLVABLE = re.compile(r"<solvable\b([^<>]*)>")
_ATTRIBUTE = re.compile(r'(?<![\w-])([\w-]+)="([^"]*)"')
_ERROR = re.compile(r'<message type="error">([^<]*)<')
_ALIAS = "rdma-ofed"
# The URL of a repository names one of the files in this directory.
CREDENTIALS = "/etc/zypp/credentials.d/"
_PREVIEW_LOGIN = FOLDER + "/credentials"


def parse_solvables(xml: str) -> list[dict[str, str]]:
    """The attributes of every package in an XML output."""
    return [dict(_ATTRIBUTE.findall(text)) for text in _SOLVABLE.findall(xml)]


def parse_packages(xml: str, *verbs: str) -> dict[str, str]:
    """The packages, with versions, that a transaction would `remove`, `install`, `upgrade` or `downgrade`."""
    parts = [part.partition("</to-%s>" % verb) for verb in verbs for part in xml.split("<to-%s>" % verb)[1:]]
    rows = [row for part, end, _rest in parts if end for row in parse_solvables(part)]
    return {row["name"]: row.get("edition", "") for row in rows if row.get("type") == "package" and "name" in row}


def _login(address: Address) -> str:
    return "username=%s\npassword=%s\n" % address[1:]


def _with_login(address: Address, file: str) -> str:
    """The URL for an address with a user. The credentials file is given by its path, or by its name in `CREDENTIALS`."""
    return "%s%scredentials=%s" % (rpm_uri(address.plain), "&" if "?" in address.plain else "?", file)


def _preview_words(repository: str) -> tuple[str, ...]:
    """The options that add the repository at that address. Nothing is installed from it, so its signature does not matter yet."""
    if not repository:
        return ()
    address = address_of(repository)
    return ("--no-gpg-checks", "--plus-repo", _with_login(address, _PREVIEW_LOGIN) if address.user else rpm_uri(repository))


class Zypper(RpmManager):
    name = "zypper"
    pid_files = ("run/zypp.pid",)
    repository_path = "/etc/zypp/repos.d/rdma-ofed.repo"
    # The distribution's packages have other version numbers, which look higher: prefer the site's repository.
    repository_extra = "autorefresh=1\npriority=10\n"
    login_files: t.Mapping[str, str] = {CREDENTIALS + _ALIAS: ""}
    lock_list = "etc/zypp/locks"
    lock_pattern = r"^solvable_name:[^\S\n]*%s[^\S\n]*$"
    update = ("zypper", "--non-interactive", "refresh", "rdma-ofed")
    install = ("zypper", "--non-interactive", "install", "--allow-vendor-change", "--no-recommends")
    pinned = "%s=%s"
    add = ("zypper", "--non-interactive", "install", "--auto-agree-with-licenses", "--no-recommends")
    uninstall = ("zypper", "--non-interactive", "remove")
    # zypper advises a reboot or a restart of itself, or has skipped repositories.
    done = (0, 102, 103, 106)
    trial = "--dry-run"
    hold = ("zypper", "--non-interactive", "addlock")

    def login(self, address: Address) -> tuple[str, str, t.Mapping[str, str]]:
        return _with_login(address, _ALIAS), "", {CREDENTIALS + _ALIAS: _login(address)}

    def preview_files(self, repository: str) -> dict[str, str]:
        address = address_of(repository)
        return {_PREVIEW_LOGIN: _login(address)} if address.user else {}

    def replace_argv(self, versions: t.Mapping[str, str], gone: t.Iterable[str], *, also: t.Sequence[str] = (), repository: str = "") -> tuple[str, ...]:
        words = ["%s=%s" % pair for pair in sorted(versions.items())] + ["!" + name for name in sorted(gone)]
        return (*self.install, "--oldpackage", "--force-resolution", *also, *words)

    def preview_argv(self, argv: tuple[str, ...], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> tuple[str, ...]:
        more = _preview_words(repository)
        return (*argv[:2], "--xmlout", *more, argv[2], self.trial, *argv[3:])

    def trust_argv(self, repository: Repository) -> tuple[str, ...]:
        # By default zypper would refuse the key; with --gpg-auto-import-keys it would accept any key of the server.
        return ("rpm", "--import", RPM_KEY) if repository.key else ()

    def foreseen(self, stdout: str) -> Transaction:
        return Transaction(parse_packages(stdout, "remove"), parse_packages(stdout, "install", "upgrade", "downgrade"))

    def preview_failure(self, output: Output) -> str:
        return " ".join(_ERROR.findall(output.stdout)) or (output.stderr or "zypper failed").strip() if output.rc not in self.done else ""

    def offers(self, run: Runner, names: t.Sequence[str], repository: str = "", *, lifted: bool = False, folders: t.Sequence[str] = ()) -> dict[str, list[str]]:
        more = _preview_words(repository)
        search = ("search", "--details", "--match-exact", "--type", "package")
        rows = parse_solvables(run(["zypper", "--non-interactive", "--xmlout", *more, *search, *names], ok=None, timeout=300).stdout)
        found: dict[str, list[str]] = {}
        for row in rows:
            # The installed version is listed without a repository.
            if row.get("repository", "").startswith("(") or (not repository and row.get("repository") == _ALIAS):
                continue
            found.setdefault(row.get("name", ""), []).append(row.get("edition", ""))
        return found
