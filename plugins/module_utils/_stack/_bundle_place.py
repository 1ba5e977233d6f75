# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the bundle of a run is on the node, and how it gets there: it is checked before it is unpacked, and unpacked once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import typing as t

from .._errors import Refused, Unsupported
from .._facts._machine import read_machine
from .._host import _download as downloader
from .._host._files import under
from .._host._step import Step, script_argv
from . import _bundle as bundles
from . import _installer_run as installer_run

if t.TYPE_CHECKING:
    from .._host._run import Runner

FILES = bundles.DIRECTORY + "/files"
_UNPACKERS = ("tar", "bsdtar", "xorriso", "7z")
DOWNLOAD_STAGE = "downloading the bundle"
UNPACK_STAGE = "unpacking the bundle"
_MEGABYTE = 1000000
_PUT_THERE = "Put it there, or set ofed_bundle_on: controller if it is on the controller; nothing was changed"
OTHER_FILE = "Copy it again, or correct ofed_bundle_checksum if this file is the right one; nothing was unpacked, nothing was changed"
# The scripts that steps of a place run.
SCRIPTS = {"download.py": downloader, "installer_run.py": installer_run}


class Source(t.NamedTuple):
    """A bundle, as declared."""

    location: str
    checksum: str = ""
    on: str = "node"

    @property
    def is_url(self) -> bool:
        return "://" in self.location

    @property
    def is_elsewhere(self) -> bool:
        """Whether it has to be brought to the node."""
        return self.is_url or self.on == "controller"


def _key(source: Source, path: str) -> str:
    if source.checksum:
        return bundles.key_of(source.location, source.checksum)
    found = os.stat(path)
    # Another file at the same path is another bundle.
    identity = "%s %d %d" % (path, found.st_size, found.st_mtime_ns)
    return bundles.key_of(source.location, hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest())


def kept_file(source: Source, root: str = "/") -> str:
    """The path of a bundle that was brought to the node; it is named after its checksum."""
    return os.path.join(under(root, FILES), source.checksum.rpartition(":")[2].lower())


def _held(folder: str) -> int:
    """The total size of the files in a folder, in bytes."""
    paths = [os.path.join(place, name) for place, _folders, names in os.walk(folder) for name in names]
    return sum(os.lstat(path).st_size for path in paths)


def _check_room(path: str, into: str, size: int) -> None:
    """Refuse to unpack more than the file system has room for. Leftovers of an interrupted run count as free: they are removed first."""
    folder = into
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free + _held(into)
    if size > free:
        words = "ofed_bundle: unpacking %s needs %d MB, and there are %d MB free in %s. Free some space there, or set the path of an unpacked bundle; %s"
        raise Refused(words % (path, -(-size // _MEGABYTE), free // _MEGABYTE, folder, "nothing was unpacked, nothing was changed"))


def _unpacking(run: Runner, form: str, path: str, *, tree: str, ours: bool, size: int, root: str) -> bundles.Place:
    """The place of a packed bundle and the steps that unpack it. `size`: the bytes needed; 0 where unknown."""
    loop = form == "iso" and read_machine(root).kind != "container" and os.path.exists(os.path.join(root, "dev/loop-control"))
    part = tree if loop else tree + ".part"
    argv = bundles.unpack_argv(form, path, into=part, loop=loop, tools=[tool for tool in _UNPACKERS if run.has(tool)])
    if not argv:
        raise Unsupported(
            "ofed_bundle: %s can't be mounted, because the node has no loop devices, and none of bsdtar, xorriso and 7z is installed to unpack it. "
            "Install one of them, or give the bundle as .tgz. Nothing was changed" % path
        )
    files = [path] if ours else []
    if loop:
        # Unmount it after a failure, too: a later run mounts it again.
        unmount = Step("cleaning up", ("umount", tree), always=True)
        return bundles.Place(tree, part, (Step(UNPACK_STAGE, argv),), (unmount, Step("cleaning up", ("rm", "-rf", "--", tree, *files))))
    _check_room(path, part, size)
    move = Step(UNPACK_STAGE, ("mv", "--no-target-directory", "--", part, tree))
    # A partly unpacked bundle is useless, and may be what has filled the file system.
    drop = Step("cleaning up", ("rm", "-rf", "--", part), always=True)
    return bundles.Place(tree, part, (Step(UNPACK_STAGE, argv), move, drop), (Step("cleaning up", ("rm", "-rf", "--", tree, *files)),))


def place_of(run: Runner, source: Source, needed: bundles.Needed, *, root: str = "/") -> bundles.Place | None:
    """Where the bundle is, or will be after a download; None where it has to be brought to the node first."""
    form = bundles.parse_name(source.location).form
    if form == "directory" and source.on == "controller" and not source.is_url:
        # The action plugin packs a folder into an archive.
        form = "tar"
    path = source.location
    if form == "directory":
        if not os.path.isdir(path):
            raise Refused("ofed_bundle: there is no folder %s on the node. %s" % (path, _PUT_THERE))
        bundles.check_here(path, needed)
        bundles.check_executable(path)
        return bundles.Place(path)
    if source.is_elsewhere:
        if not source.checksum:
            return None
        path = kept_file(source, root)
    elif not os.path.isfile(path):
        raise Refused("ofed_bundle: there is no file %s on the node. %s" % (path, _PUT_THERE))
    tree = os.path.join(under(root, bundles.DIRECTORY), _key(source, path) if os.path.exists(path) or source.checksum else "")
    if form == "tar" and os.path.isfile(os.path.join(tree, bundles.INSTALLER)):
        bundles.check_here(tree, needed)
        kept = [path] if source.is_elsewhere else []
        return bundles.Place(tree, clean=(Step("cleaning up", ("rm", "-rf", "--", tree, *kept)),))
    wrong = downloader.mismatch(path, source.checksum.lower()) if os.path.isfile(path) else "it is not there"
    if wrong and not source.is_elsewhere:
        raise Refused("ofed_bundle: %s is not the declared file: %s. %s" % (path, wrong, OTHER_FILE))
    size = 0 if wrong else bundles.check_here(path, needed)
    place = _unpacking(run, form, path, tree=tree, ours=source.is_elsewhere, size=size, root=root)
    if not wrong:
        return place
    if not source.is_url:
        return None
    # The checksum is verified before the file gets its name.
    environment = ((downloader.URL, source.location), *downloader.inherited(os.environ))
    download = Step(DOWNLOAD_STAGE, script_argv("download.py", path, source.checksum.lower()), environment=environment)
    return place._replace(unpack=(download, *place.unpack))


def locate(run: Runner, parameters: t.Mapping[str, t.Any], *, version: str, root: str = "/") -> tuple[bundles.Place | None, dict[str, str]]:
    """Locate the bundle that the options of a module name; None where it has to be brought to the node first.

    Then a part of the module's result tells the action plugin to supply the `checksum`, or to `transfer` the file. It includes release and
    architecture, so that the plugin checks the file before it sends it.
    """
    source = Source(parameters["bundle"], parameters["digest"] or parameters["bundle_checksum"] or "", parameters["bundle_on"])
    if parameters["staged"]:
        _accept(source, parameters["staged"], root)
    needed = bundles.Needed(version, os.uname().machine)
    place = place_of(run, source, needed, root=root)
    missing = {"bundle_needed": "transfer" if source.checksum else "checksum", "bundle_release": needed.version, "bundle_architecture": needed.arch}
    return place, {} if place else missing


def _accept(source: Source, staged: str, root: str) -> None:
    """Accept the file that the action plugin has transferred, if it is the declared one."""
    wrong = downloader.mismatch(staged, source.checksum.lower())
    if wrong:
        raise Refused("ofed_bundle: the file was damaged in transfer: %s. Nothing was unpacked, nothing was changed" % wrong)
    path = kept_file(source, root)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    shutil.move(staged, path)
    os.chmod(path, 0o600)


def prepare(place: bundles.Place) -> None:
    """Create an empty folder to unpack into. Leftovers of an interrupted run are removed."""
    if place.prepare:
        shutil.rmtree(place.prepare, ignore_errors=True)
        os.makedirs(place.prepare, mode=0o755)


def shown(location: str) -> str:
    """The location without the password that a URL may contain."""
    return re.sub(r"^([a-z]+://)[^/@]*@", r"\1", location)


def tidy(root: str = "/") -> None:
    """Remove the empty folders of a run that did not get its bundle. A partial download stays for the next run."""
    top = under(root, bundles.DIRECTORY)
    for folder, _folders, _files in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def forget(root: str = "/") -> None:
    """Remove what failed runs have left of other bundles."""
    shutil.rmtree(under(root, bundles.DIRECTORY), ignore_errors=True)
