# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The disks that virtual machines start from: built by Docker as layers on the lab's base image, cached as files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile
import typing as t

from . import _disk, _engine, _image
from ._docker import docker
from ._say import LabError, say
from ._settings import LAB, Settings
from ._topology import Node

COMMANDS = ("mke2fs", "qemu-img", "qemu-system-x86_64", "ssh", "ssh-keygen")
CONTEXT = ("vm", "ibdummy", "python")
DISK = "disk.raw"
SNAPSHOT = "snapshot-"
"""Prefix of the snapshot directories, which are in the same directory as the disks below them."""


def tag(settings: Settings, stack: str, root: pathlib.Path = LAB) -> str:
    """Return the tag of the image for the current sources, for nodes with that network stack."""
    sources = sorted(path for part in CONTEXT for path in (root / part).rglob("*") if path.is_file() and path.suffix not in (".md", ".pyc"))
    texts = [_image.base_tag(settings).encode(), stack.encode(), str(_disk.MEBIBYTES).encode()]
    for path in sources:
        texts += [str(path.relative_to(root)).encode(), path.read_bytes()]
    return "%s/vm:%s-%s-%s" % (_image.REPOSITORY, settings.suite, stack, _image.digest(texts))


def disk(settings: Settings, stack: str) -> pathlib.Path:
    """Return the boot disk of machines. It is read-only: a machine writes to an overlay of its own."""
    return settings.cache / tag(settings, stack).partition(":")[2] / DISK


def ensure_disks(settings: Settings, wanted: t.Iterable[tuple[str, str]]) -> dict[tuple[str, str], pathlib.Path]:
    """Return disks by suite and network stack. Builds missing ones; a second lab that needs the same ones waits for the first."""
    disks = {(suite, stack): disk(settings._replace(suite=suite), stack) for suite, stack in sorted(set(wanted))}
    _engine.install(*COMMANDS)
    missing = [key for key, found in disks.items() if not found.exists()]
    if missing:
        if os.geteuid() != 0:
            raise LabError("Only root can make the disks of virtual machines: files in them belong to many users. Run 'lab up' as root once.")
        _engine.ensure_engine(settings)
        try:
            settings.cache.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise LabError("The directory %s for disk images cannot be made: %s. Name another one in RDMALAB_CACHE." % (settings.cache, exc.strerror)) from exc
        with (settings.cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for suite, stack in [key for key in missing if not disks[key].exists()]:
                _build(settings._replace(suite=suite), stack)
                _export(settings._replace(suite=suite), stack, disks[suite, stack])
    return disks


def suite_of(lab: Settings, node: Node) -> str:
    return node.suite or lab.suite


def remove_disks(settings: Settings) -> list[str]:
    """Remove snapshots and the disks that no machine uses. Returns the names of what was removed."""
    used = _open_files()
    gone = []
    for folder in sorted(path for path in settings.cache.glob("*-*") if any(path.glob("*.raw")) or path.name.startswith(SNAPSHOT)):
        if not any(path.startswith("%s/" % folder) for path in used):
            shutil.rmtree(folder)
            gone.append(folder.name)
    return gone


def _open_files() -> set[str]:
    """Return the files open in any process: a machine keeps its disk and all disks below it open."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        # Processes and files may disappear during the scan.
        with contextlib.suppress(OSError):
            for link in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    found.add(os.readlink(link))
    return found


def _build(settings: Settings, stack: str) -> None:
    wanted = tag(settings, stack)
    if not _image.exists(wanted):
        say("building the image of virtual machines: Debian %s with %s (some minutes the first time)" % (settings.suite, stack))
        build(settings, "node", wanted, "STACK=" + stack, "READER=" + (_reader(settings) if stack == "ifcfg" else _image.ensure_base(settings)))


def _reader(settings: Settings) -> str:
    """Return the tag of the image with NetworkManager's reader for ifcfg files."""
    base = _image.ensure_base(settings)
    sources = [LAB / "vm" / name for name in ("ifcfg-reader.Dockerfile", "ifcfg-reader.sh")]
    wanted = "%s/ifcfg-reader:%s-%s" % (_image.REPOSITORY, settings.suite, _image.digest([base.encode(), *(path.read_bytes() for path in sources)]))
    if not _image.exists(wanted):
        _image.build("--label", "rdmalab=vm", "--build-arg", "BASE=" + base, "--file", str(sources[0]), "--tag", wanted)
    return wanted


def build(settings: Settings, target: str, wanted: str, *arguments: str) -> None:
    """Build one target of the machines' Dockerfile with its build arguments."""
    base = _image.ensure_base(settings)
    given = [word for argument in ("BASE=" + base, "READER=" + base, *arguments) for word in ("--build-arg", argument)]
    _image.build("--label", "rdmalab=vm", *given, "--file", str(LAB / "vm" / "Dockerfile"), "--target", target, "--tag", wanted)


def _export(settings: Settings, stack: str, wanted: pathlib.Path) -> None:
    """Export the image's files as a bootable disk."""
    say("making a disk of it")
    with contextlib.ExitStack() as cleanup:
        scratch = pathlib.Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="new-", dir=settings.cache)))
        root, made = scratch / "root", scratch / "made"
        made.mkdir()
        unpack(settings, stack, root)
        _disk.make(root, made / wanted.name)
        shutil.rmtree(wanted.parent, ignore_errors=True)
        made.rename(wanted.parent)


def unpack(settings: Settings, stack: str, root: pathlib.Path) -> None:
    """Unpack the files of an image that exists into the folder `root`."""
    root.mkdir(exist_ok=True)
    container = docker("create", tag(settings, stack), "true").strip()
    try:
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
            _disk.run(["tar", "-x", "--numeric-owner", "--xattrs", "--xattrs-include=*", "-C", str(root)], stdin=export.stdout)
    finally:
        docker("rm", container)
    # Files that Docker puts into every container.
    for path in (".dockerenv", "etc/hosts", "etc/hostname", "etc/resolv.conf"):
        (root / path).unlink(missing_ok=True)


def disk_of(tree: pathlib.Path, wanted: pathlib.Path) -> pathlib.Path:
    """Return a disk with the files of a tree, which `unpack` has made. Makes it if it is missing."""
    _engine.install(*COMMANDS)
    if not wanted.exists():
        say("making a disk of %s" % tree)
        _disk.make(tree, wanted)
    return wanted


def ensure_image(settings: Settings, stack: str) -> None:
    """Build the image if it is missing."""
    _engine.ensure_engine(settings)
    _build(settings, stack)
