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

from . import _engine, _image
from ._docker import docker, stream
from ._say import LabError, say
from ._settings import LAB, Settings

COMMANDS = ("mke2fs", "qemu-img", "qemu-system-x86_64", "ssh", "ssh-keygen")
CONTEXT = ("vm", "ibdummy")
SIZE = "8G"
"""Of the root file system. The file is sparse."""


class Disk(t.NamedTuple):
    """What a machine boots. All are read-only: a machine writes into an overlay of its own."""

    root: pathlib.Path
    kernel: pathlib.Path
    initrd: pathlib.Path


def tag(settings: Settings, stack: str, root: pathlib.Path = LAB) -> str:
    """The image that the sources as they are now lead to, for nodes with that network stack."""
    sources = sorted(path for part in CONTEXT for path in (root / part).rglob("*") if path.is_file() and path.suffix != ".md")
    texts = [_image.base_tag(settings).encode(), stack.encode(), SIZE.encode()]
    for path in sources:
        texts += [str(path.relative_to(root)).encode(), path.read_bytes()]
    return "%s/vm:%s-%s-%s" % (_image.REPOSITORY, settings.suite, stack, _image.digest(texts))


def disk(settings: Settings, stack: str) -> Disk:
    folder = settings.cache / tag(settings, stack).partition(":")[2]
    return Disk(folder / "root.ext4", folder / "vmlinuz", folder / "initrd.img")


def ensure_disks(settings: Settings, wanted: t.Iterable[tuple[str, str]]) -> dict[tuple[str, str], Disk]:
    """By suite and network stack. Builds those that are missing; a second lab that wants the same waits for the first."""
    disks = {(suite, stack): disk(settings._replace(suite=suite), stack) for suite, stack in sorted(set(wanted))}
    _engine.install(*COMMANDS)
    missing = [key for key, found in disks.items() if not found.root.exists()]
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
            for suite, stack in [key for key in missing if not disks[key].root.exists()]:
                _build(settings._replace(suite=suite), stack)
                _export(settings._replace(suite=suite), stack, disks[suite, stack])
    return disks


def remove_disks(settings: Settings) -> list[str]:
    """Those that no machine runs on; the names of what went."""
    commands = [_command(path) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")]
    gone = []
    for folder in sorted(path for path in settings.cache.glob("*-*") if (path / "root.ext4").exists()):
        if not any(str(folder).encode() in command for command in commands):
            shutil.rmtree(folder)
            gone.append(folder.name)
    return gone


def _command(path: pathlib.Path) -> bytes:
    """Nothing where the process has ended meanwhile."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _build(settings: Settings, stack: str) -> None:
    base, wanted = _image.ensure_base(settings), tag(settings, stack)
    if _image.exists(wanted):
        return
    say("building the image of virtual machines: Debian %s with %s (some minutes the first time)" % (settings.suite, stack))
    argv = ["build", "--build-arg", "BASE=" + base, "--build-arg", "STACK=" + stack, "--file", str(LAB / "vm" / "Dockerfile"), "--label", "rdmalab=vm"]
    step = None
    for line in stream(*argv, "--target", "node", "--tag", wanted, str(LAB)):
        if step and "Using cache" not in line:
            say("  " + step[1])
        step = _image.STEP.match(line)


def _export(settings: Settings, stack: str, wanted: Disk) -> None:
    """The image's files as an ext4 file system, with kernel and initramfs beside it."""
    say("making a disk of it")
    with contextlib.ExitStack() as cleanup:
        scratch = pathlib.Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="new-", dir=settings.cache)))
        root, made = scratch / "root", scratch / "made"
        root.mkdir()
        made.mkdir()
        container = docker("create", tag(settings, stack), "true").strip()
        cleanup.callback(docker, "rm", container)
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
            _run(["tar", "-x", "--numeric-owner", "--xattrs", "--xattrs-include=*", "-C", str(root)], stdin=export.stdout)
        # What Docker puts into every container.
        for path in (".dockerenv", "etc/hosts", "etc/hostname", "etc/resolv.conf"):
            (root / path).unlink(missing_ok=True)
        for source, target in (("vmlinuz", wanted.kernel.name), ("initrd.img", wanted.initrd.name)):
            shutil.copyfile(root / source, made / target)
        _run(["mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(root), str(made / wanted.root.name), SIZE])
        shutil.rmtree(wanted.root.parent, ignore_errors=True)
        made.rename(wanted.root.parent)


def _run(argv: t.Sequence[str], stdin: t.IO[bytes] | None = None) -> None:
    done = subprocess.run(argv, stdin=stdin or subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise LabError("'%s' failed: %s" % (" ".join(argv[:4]), done.stderr.decode(errors="replace").strip()[-1000:]))
