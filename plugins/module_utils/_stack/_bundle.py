# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""MLNX_OFED bundles, on the node or on the controller: parse their names, read their content, and unpack them."""

from __future__ import annotations

import os
import re
import tarfile
import typing as t
import zlib

from .._distro._registry import DISTRIBUTIONS
from .._errors import Refused
from .._facts._machine import OperatingSystem
from .._facts._sysfs import attribute
from .._host._step import Step

DIRECTORY = "/var/lib/rdma.ofed/bundles"
VERSION_WORDS = "a release of MLNX_OFED as in its file .mlnx, such as 23.10-0.5.5.0"
INSTALLER = "mlnxofedinstall"

_VERSION = r"\d+\.\d+-\d+(?:\.\d+){1,4}"
# Bundles built for one kernel end with -ext. The installer names them without the architecture.
_NAME = re.compile(r"^MLNX_OFED_LINUX-(?P<version>%s)-(?P<distro>[a-z][a-z0-9.]*)(-(?P<arch>x86_64|aarch64|ppc64le|ppc64)(?P<rest>[-.].*)?|-ext)\Z" % _VERSION)
# Longest first, so that a shorter suffix does not match first.
_FORMS = ((".tar.gz", "tar"), (".tgz", "tar"), (".tar", "tar"), (".iso", "iso"))
# The file with the release, under its present name and that of old bundles.
_RELEASE = (".mlnx", "mlnx")
_FILES = (*_RELEASE, ".arch")
_MOST = 1 << 12
_GZIP = b"\x1f\x8b"


class Bundle(t.NamedTuple):
    """What the name of a bundle tells; "" for what it does not tell."""

    form: str
    """`tar`, `iso` or `directory`."""
    version: str = ""
    distro: str = ""
    arch: str = ""


class Place(t.NamedTuple):
    """Where a bundle is, or will be unpacked."""

    tree: str
    """The folder that contains the installer."""
    prepare: str = ""
    """A folder that must exist and be empty before the bundle is unpacked; "" where it is already unpacked."""
    unpack: tuple[Step, ...] = ()
    clean: tuple[Step, ...] = ()
    """The steps that remove it after success. Unmounting is done in any case."""


def is_version(text: str) -> bool:
    return re.fullmatch(_VERSION, text) is not None


def _stem(name: str) -> tuple[str, str]:
    """The name of a bundle without its suffix, and the form that the suffix stands for."""
    return next(((name[: -len(ending)], form) for ending, form in _FORMS if name.lower().endswith(ending)), (name, "directory"))


def parse_name(location: str) -> Bundle:
    """Parse the last component of a path or URL. The file need not exist."""
    name = location.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1] if "://" in location else os.path.basename(location.rstrip("/"))
    name, form = _stem(name)
    match = _NAME.match(name)
    return Bundle(form, match["version"], match["distro"], match["arch"] or "") if match else Bundle(form)


def same_version(wanted: str, found: str) -> bool:
    """Whether both are the same release. Packages omit the last number of the installer's release."""
    return bool(found) and (found == wanted or wanted.startswith(found + "."))


def distro_of(system: OperatingSystem) -> str:
    """The name of a distribution in bundle names: `debian12.1`, `rhel9.4`, `ubuntu22.04`, `sles15sp5`."""
    known = DISTRIBUTIONS[system.id].bundle if system.id in DISTRIBUTIONS else ""
    if known == "sles":
        major, _dot, minor = system.version.partition(".")
        return "sles%s%s" % (major, "sp" + minor if minor not in ("", "0") else "")
    return known + system.version if known else ""


def distro_fits(bundle: str, system: OperatingSystem) -> bool:
    """Whether a bundle was made for this distribution. os-release of Debian has no minor version, so that is not compared there."""
    mine = distro_of(system)
    if not bundle or not mine:
        return True
    return bundle.split(".")[0] == mine.split(".")[0] if system.id == "debian" else bundle == mine


def _is_told(options: t.Iterable[str]) -> bool:
    """Whether an option names the distribution to the installer, or disables its check."""
    names = ["".join(option.split("=")[0].split()[:1]) for option in options]
    return "--skip-distro-check" in names or "--distro" in names


def distro_to_tell(location: str, system: OperatingSystem, options: t.Iterable[str] = ()) -> str:
    """The distribution to pass to the installer; "" where it detects it, or where an option names it.

    On Debian the installer compares all of /etc/debian_version, so it would reject 12.5 for a bundle for 12.1. `location`: a name,
    or the path of an unpacked bundle, whose content is read if the name does not tell.
    """
    if system.id != "debian" or _is_told(options):
        return ""
    named = parse_name(location).distro or (attribute(location, "distro") if os.path.isdir(location) else "")
    return named if named and distro_fits(named, system) else ""


def misfit(bundle: Bundle, system: OperatingSystem, arch: str, *, options: t.Collection[str] = ()) -> str:
    """Why a bundle is not for this node, in words; "" where it is, or may be."""
    if bundle.arch and arch and bundle.arch != arch:
        return "it is made for %s, and the node is %s" % (bundle.arch, arch)
    if _is_told(options):
        return ""
    if not distro_fits(bundle.distro, system):
        return "it is made for %s, and the node is %s; the option --skip-distro-check tries it anyway" % (bundle.distro, distro_of(system))
    if bundle.distro and system.id in DISTRIBUTIONS and DISTRIBUTIONS[system.id].rebuild:
        return "its installer does not recognize %s as %s; add the option --skip-distro-check" % (system.id, bundle.distro)
    return ""


def key_of(location: str, checksum: str) -> str:
    """The unique name under which a bundle is kept. It describes the bundle."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", location.split("?")[0].rstrip("/").rsplit("/", 1)[-1]) or "bundle"
    name, _form = _stem(name)
    digest = checksum.rpartition(":")[2].lower()
    return "%s-%s" % (name[:100], digest[:16]) if digest else name[:100]


def unpack_argv(form: str, path: str, *, into: str, loop: bool, tools: t.Collection[str]) -> tuple[str, ...]:
    """The command that unpacks a bundle, or mounts a disk image; empty where the node lacks the tools.

    `loop`: whether loop devices work. `tools`: those of tar, bsdtar, 7z and xorriso that are installed.
    """
    if form == "tar":
        # tar detects the compression itself; the single top-level folder is stripped.
        return ("tar", "--extract", "--file", path, "--directory", into, "--strip-components=1", "--no-same-owner")
    if loop:
        return ("mount", "-t", "iso9660", "-o", "loop,ro,nodev,nosuid", path, into)
    known = {
        "bsdtar": ("bsdtar", "-x", "-f", path, "-C", into),
        "xorriso": ("xorriso", "-osirrox", "on", "-indev", path, "-extract", "/", into),
        "7z": ("7z", "x", "-y", "-o" + into, path),
    }
    return next((argv for tool, argv in known.items() if tool in tools), ())


class Needed(t.NamedTuple):
    """What a bundle has to be."""

    version: str
    arch: str
    """The architecture of the node; "" where it does not matter."""


class Layout(t.NamedTuple):
    """What the files of a bundle tell about it; empty texts for missing files."""

    version: str
    arch: str
    installer: bool
    size: int = 0
    """The size of an unpacked archive in bytes."""


def read_layout(path: str) -> Layout:
    """Read an unpacked bundle."""
    version = attribute(path, ".mlnx") or attribute(path, "mlnx")
    return Layout(version, attribute(path, ".arch"), os.path.isfile(os.path.join(path, INSTALLER)))


def read_archive(path: str) -> Layout:
    """Read the single folder of an archive. Raises Refused for anything but a complete archive."""
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
        words = "ofed_bundle: %s is not a readable .tgz or .tar: %s. Copy or download it again; nothing was changed"
        raise Refused(words % (path, exc)) from exc
    version = next((texts[name] for name in _RELEASE if texts.get(name)), "")
    return Layout(version, texts.get(".arch", ""), installer, size)


def check_content(where: str, found: Layout, needed: Needed) -> None:
    """Refuse anything but the needed bundle. `where` names it."""
    if not found.version or not found.installer:
        missing = INSTALLER if found.version else ".mlnx"
        words = "ofed_bundle: %s has no %s, so it is not a bundle of MLNX_OFED. Use one as the vendor ships it; nothing was changed"
        raise Refused(words % (where, missing))
    if found.version != needed.version:
        words = "ofed_bundle: %s has the release %s, and %s is wanted. %s"
        raise Refused(words % (where, found.version, needed.version, way_out(found.version, needed.version)))
    if found.arch and needed.arch and found.arch != needed.arch:
        words = "ofed_bundle: %s is made for %s, and the node is %s. Use the bundle for %s; nothing was changed"
        raise Refused(words % (where, found.arch, needed.arch, needed.arch))


def check_executable(folder: str) -> None:
    """Refuse a folder whose installer is not executable."""
    path = os.path.join(folder, INSTALLER)
    if os.access(path, os.X_OK):
        return
    words = "ofed_bundle: %s can't be executed: %s. Give the bundle as .tgz, %s; nothing was changed"
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        raise Refused(words % (path, "its file system is mounted with noexec", "which is unpacked elsewhere, or mount it without noexec"))
    raise Refused(words % (path, "its mode is %04o" % (os.stat(path).st_mode & 0o7777), "or copy the folder again with its modes, for example with cp -a"))


def way_out(found: str, version: str) -> str:
    """What to do about a bundle with another release than its name or the declaration."""
    return "%sgive the bundle of %s; nothing was changed" % ("Set ofed_version: %s, or " % found if found else "", version)


def check_here(path: str, needed: Needed, place: str = "") -> int:
    """Refuse a folder or archive on this machine that is not the needed bundle. A disk image is checked once it is mounted.

    Returns the bytes needed to unpack it.
    """
    if os.path.isdir(path):
        check_content("the folder %s%s" % (path, place), read_layout(path), needed)
        return 0
    if parse_name(path).form == "iso":
        return os.path.getsize(path)
    found = read_archive(path)
    check_content(path + place, found, needed)
    return found.size
