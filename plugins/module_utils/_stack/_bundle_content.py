# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What is in a bundle of MLNX_OFED, whatever its name: read before anything is unpacked, on the node or on the controller."""

from __future__ import annotations

import os
import tarfile
import typing as t
import zlib

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import INSTALLER, parse_name

# The release, under its name of today and that of old bundles.
_RELEASE = (".mlnx", "mlnx")
_FILES = (*_RELEASE, ".arch", "distro")
_MOST = 1 << 12
_GZIP = b"\x1f\x8b"


class Layout(t.NamedTuple):
    """What the files of a bundle tell about it; empty texts for files that are missing."""

    version: str
    arch: str
    distro: str
    installer: bool
    size: int = 0
    """The bytes that an archive takes once it is unpacked."""


def read_layout(path: str) -> Layout:
    """What is in an unpacked bundle."""
    version = attribute(path, ".mlnx") or attribute(path, "mlnx")
    return Layout(version, attribute(path, ".arch"), attribute(path, "distro"), os.path.isfile(os.path.join(path, INSTALLER)))


def read_archive(path: str) -> Layout:
    """What is in the one folder of an archive; raises Refused where it is none, or not a whole one."""
    texts: dict[str, str] = {}
    installer, size = False, 0
    try:
        with open(path, "rb") as stream:
            packed = stream.read(len(_GZIP)) == _GZIP
        with tarfile.open(path, "r:gz" if packed else "r:") as archive:
            for member in archive:
                size += member.size
                folder, _slash, name = member.name.rpartition("/")
                if "/" in folder.replace("./", "", 1) or not member.isfile():
                    continue
                installer = installer or name == INSTALLER
                content = archive.extractfile(member) if name in _FILES else None
                if content is not None:
                    texts[name] = content.read(_MOST).decode("utf-8", "replace").strip()
    except (tarfile.TarError, EOFError, zlib.error, OSError) as exc:
        words = "ofed_bundle: %s is no .tgz or .tar that can be read: %s. Copy or download it again; nothing was changed"
        raise Refused(words % (path, exc)) from exc
    version = next((texts[name] for name in _RELEASE if texts.get(name)), "")
    return Layout(version, texts.get(".arch", ""), texts.get("distro", ""), installer, size)


def check_content(where: str, found: Layout, *, version: str, arch: str) -> None:
    """Refuse what is no bundle of the release for this kind of processor. `where` names it."""
    if not found.version or not found.installer:
        missing = INSTALLER if found.version else ".mlnx"
        words = "ofed_bundle: %s has no %s, so it is no bundle of MLNX_OFED. Give one as the vendor ships it; nothing was changed"
        raise Refused(words % (where, missing))
    if found.version != version:
        raise Refused("ofed_bundle: %s has the release %s, and %s is wanted. %s" % (where, found.version, version, way_out(found.version, version)))
    if found.arch and arch and found.arch != arch:
        words = "ofed_bundle: %s is made for %s, and the node is %s. Give the bundle for %s; nothing was changed"
        raise Refused(words % (where, found.arch, arch, arch))


def check_executable(folder: str) -> None:
    """Refuse a folder whose installer can't be started."""
    path = os.path.join(folder, INSTALLER)
    if os.access(path, os.X_OK):
        return
    words = "ofed_bundle: %s can't be executed: %s. Give the bundle as .tgz, %s; nothing was changed"
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        raise Refused(words % (path, "its file system is mounted with noexec", "which is unpacked elsewhere, or mount it without noexec"))
    raise Refused(words % (path, "its mode is %04o" % (os.stat(path).st_mode & 0o7777), "or copy the folder again with its modes, as cp -a does"))


def way_out(found: str, version: str) -> str:
    """What to do about a bundle that holds another release than its name or the declaration has."""
    return "%sgive the bundle of %s; nothing was changed" % ("Set ofed_version: %s, or " % found if found else "", version)


def check_here(path: str, *, version: str, arch: str, place: str = "") -> int:
    """Refuse a folder or archive on this machine that is no bundle of the release. A disk image is looked at once it is mounted.

    Returns the bytes that it takes to unpack it.
    """
    if os.path.isdir(path):
        check_content("the folder %s%s" % (path, place), read_layout(path), version=version, arch=arch)
        return 0
    if parse_name(path).form == "iso":
        return os.path.getsize(path)
    found = read_archive(path)
    check_content(path + place, found, version=version, arch=arch)
    return found.size
