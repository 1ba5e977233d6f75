# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The files that declare the site's repository to a package manager: its address, its key, and which versions to take. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER

NAME = "rdma-ofed"
_ARMOUR = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
_APT_SOURCES = "/etc/apt/sources.list.d/rdma-ofed.sources"
_APT_PIN = "/etc/apt/preferences.d/rdma-ofed.pref"
PROTECTION = "/etc/apt/preferences.d/rdma-ofed-installed.pref"
"""The file of `apt_protection`."""
# apt tells the two forms of a key apart by the ending of its name.
_APT_KEY = "/etc/apt/keyrings/rdma-ofed"
RPM_KEY = "/etc/pki/rpm-gpg/RPM-GPG-KEY-rdma-ofed"
APT_FILES = (_APT_KEY + ".asc", _APT_KEY + ".gpg", _APT_SOURCES, _APT_PIN)
_APT_KEPT = re.compile(r"^Package: (.*)\nPin: version (\S+)$", re.MULTILINE)


class Repository(t.NamedTuple):
    address: str
    """A URL, or a folder of the node."""
    key: str
    """The key itself, armoured or binary, with undecodable bytes as surrogates. "" where the repository is trusted without a key."""
    pinned: tuple[str, ...] = ()
    """Patterns of the names of packages that must have ..."""
    version: str = ""
    """... a version that begins with this; "" for any."""


def is_key(text: str) -> bool:
    """Whether this is a public key. A binary one begins with an octet that has its highest bit set."""
    # An octet that is no text was read as a surrogate.
    return _ARMOUR in text or text[:1] >= "\x80"


def uri(address: str) -> str:
    """An address as package managers take it: a folder of the node gets a scheme."""
    return "file:" + address.rstrip("/") if address.startswith("/") else address.rstrip("/")


def rpm_uri(address: str) -> str:
    """The same for dnf and zypper, which want three slashes."""
    return uri(address).replace("file:/", "file:///", 1) if address.startswith("/") else uri(address)


def apt_files(repository: Repository) -> dict[str, str]:
    """The files by path: source, key, pin."""
    files = {}
    trust = "Trusted: yes"
    if repository.key:
        path = _APT_KEY + (".asc" if _ARMOUR in repository.key else ".gpg")
        files[path] = repository.key
        trust = "Signed-By: " + path
    files[_APT_SOURCES] = "%sTypes: deb\nURIs: %s/\nSuites: ./\n%s\n" % (HEADER, uri(repository.address), trust)
    if repository.pinned and repository.version:
        # Above 1000, apt goes back to an older version as well.
        files[_APT_PIN] = "%sPackage: %s\nPin: version /^%s([^0-9].*)?$/\nPin-Priority: 1001\n" % (
            HEADER,
            " ".join(repository.pinned),
            # With an epoch or without; 2.9.1 is not 2.9.10.
            "([0-9]+:)?" + re.escape(repository.version),
        )
    return files


def apt_protection(versions: t.Mapping[str, str]) -> str:
    """A file of preferences that keeps installed packages at their versions, whatever repositories have; "" without packages.

    It does not keep them from being removed, and then means nothing.
    """
    names: dict[str, list[str]] = {}
    for name, version in sorted(versions.items()):
        names.setdefault(version, []).append(name)
    pins = ["Package: %s\nPin: version %s\nPin-Priority: 1001\n" % (" ".join(some), version) for version, some in sorted(names.items())]
    return HEADER + "\n".join(pins) if pins else ""


def parse_apt_protection(text: str) -> dict[str, str]:
    """Names and versions in a file of `apt_protection`."""
    return {name: version for names, version in _APT_KEPT.findall(text) for name in names.split()}


def rpm_files(repository: Repository, path: str, extra: str) -> dict[str, str]:
    """The files by path: key, and the repository at `path` with the lines `extra`."""
    files = {RPM_KEY: repository.key} if repository.key else {}
    check = "gpgcheck=1\ngpgkey=file://%s\n" % RPM_KEY if repository.key else "gpgcheck=0\n"
    files[path] = "%s[%s]\nname=RDMA stack of the site\nbaseurl=%s\nenabled=1\n%s%s" % (HEADER, NAME, rpm_uri(repository.address), check, extra)
    return files
