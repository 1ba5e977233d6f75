# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree of an image, which is no running system: its files without the kernel, the devices and the processes of the system that builds it.

Modules run in the tree, by way of a chroot or a container, and /sys, /proc and /run there may be those of the build host. What a module gets in their place
makes every look find a system without devices, on which nothing runs.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
import tempfile
import typing as t

from .._errors import Unsupported
from .._hosts import natural
from ._node import Node
from ._run import Output, failure
from ._units import ENABLED, is_masked

if t.TYPE_CHECKING:
    from ._run import Runner

# What the kernel and the processes of the build host provide.
_OF_THE_HOST = ("dev", "proc", "run", "sys")
# Tools that speak to the kernel alone.
_OF_THE_KERNEL = frozenset(("ip", "rdma", "rmmod", "insmod", "sysctl", "udevadm", "dmesg", "systemd-run", "runuser", "su"))
# Tools that speak to a daemon or the kernel, except with these first arguments.
_SERVED: t.Mapping[str, frozenset[str]] = {
    "firewall-cmd": frozenset(),
    "ifdown": frozenset(),
    "ifup": frozenset(),
    "modprobe": frozenset(("--showconfig", "--dump-modversions")),
    "netplan": frozenset(("info",)),
    "networkctl": frozenset(),
    "nmcli": frozenset(("--version",)),
    # Where its configuration says that it is enabled, it works on the packet filter of the kernel that runs.
    "ufw": frozenset(),
    "wicked": frozenset(),
}
_UNIT_FOLDERS = ("etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
# The states of unit files that start a unit at boot.
_AT_BOOT = frozenset((ENABLED, "enabled-runtime", "alias"))
# Units that no link starts at boot, and those that bring them along.
_STARTED_BY: t.Mapping[str, str] = {"wickedd.service": "wicked.service"}
_OFFLINE = ("env", "SYSTEMD_OFFLINE=1", "systemctl", "--root=/")
_LASTING = frozenset(("enable", "disable", "mask", "unmask", "preset"))


def releases(root: str) -> list[str]:
    """The kernels that are installed in the tree, the newest last."""
    base = os.path.join(root, "lib/modules")
    names = os.listdir(base) if os.path.isdir(base) else []
    return sorted((name for name in names if os.path.isfile(os.path.join(base, name, "modules.dep"))), key=natural)


def _unit_path(root: str, name: str) -> str:
    """The path of a unit's file, which may be that of its template; "" where there is none."""
    stem, at, kind = name.partition("@")
    template = "%s@.%s" % (stem, kind.rpartition(".")[2]) if at else ""
    paths = (os.path.join(folder, each) for each in (name, template) if each for folder in _UNIT_FOLDERS)
    return next(("/" + path for path in paths if os.path.lexists(os.path.join(root, path))), "")


def _names_like(root: str, pattern: str) -> list[str]:
    """The units that match a pattern: those with a file, and the instances that are started at boot."""
    folders = [os.path.join(root, folder) for folder in _UNIT_FOLDERS if os.path.isdir(os.path.join(root, folder))]
    own = os.path.join(root, _UNIT_FOLDERS[0])
    folders += [os.path.join(own, name) for name in (os.listdir(own) if os.path.isdir(own) else ()) if name.endswith((".wants", ".requires"))]
    names = {name for folder in folders for name in os.listdir(folder) if not name.endswith((".wants", ".requires", ".d"))}
    return sorted(name for name in fnmatch.filter(names, pattern) if "@." not in name)


class ImageRunner:
    """The Runner for an image: `systemctl` changes what happens at boot alone, and no program reaches the kernel or a daemon of the build host.

    A unit that is started at boot counts as active, and any other as inactive: this is what the booted system will show.
    """

    def __init__(self, run: Runner, root: str) -> None:
        self._run, self._root = run, root

    def has(self, tool: str) -> bool:
        return tool not in _OF_THE_KERNEL and self._run.has(tool)

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        tool = argv[0]
        if tool in _OF_THE_KERNEL:
            raise Unsupported("%s needs a running system, and this is an image (rdma_image)" % tool)
        if tool == "dracut":
            # By default, it leaves out what the hardware of the build host does not need.
            argv = [tool, "--no-hostonly", *argv[1:]]
        if tool == "systemctl":
            output = self._systemctl([word for word in argv[1:] if word not in ("--now", "--no-reload", "--quiet")], timeout)
        elif tool in _SERVED and argv[1:2] and argv[1] not in _SERVED[tool]:
            output = Output(1, "", "%s needs a running system, and this is an image (rdma_image)" % tool)
        else:
            return self._run(argv, ok, timeout)
        if ok is not None and output.rc not in ok:
            raise failure(argv, output)
        return output

    def _systemctl(self, words: t.Sequence[str], timeout: float) -> Output:
        verb = next((word for word in words if not word.startswith("-")), "")
        if verb == "show":
            patterns = words[words.index("--") + 1 :] if "--" in words else ()
            names = [name for pattern in patterns for name in (_names_like(self._root, pattern) if set("*?[") & set(pattern) else [pattern])]
            return Output(0, "\n".join(self._shown(name, timeout) for name in dict.fromkeys(names)), "")
        if verb == "is-active":
            active = [name for name in words[words.index(verb) + 1 :] if self._state(name, timeout) in _AT_BOOT]
            return Output(0 if active else 3, "", "")
        if verb in _LASTING:
            return self._run([*_OFFLINE, *words], None, timeout)
        # There is nothing to start, stop or tell.
        return Output(0, "", "")

    def _state(self, name: str, timeout: float) -> str:
        """`enabled`, `disabled`, `static` ...; "" for a unit without a file."""
        if not _unit_path(self._root, name):
            return ""
        return self._run([*_OFFLINE, "is-enabled", _STARTED_BY.get(name, name)], None, timeout).stdout.strip()

    def _shown(self, name: str, timeout: float) -> str:
        """The properties of a unit as `systemctl show` prints them."""
        path = _unit_path(self._root, name)
        state = self._state(name, timeout)
        masked = bool(path) and is_masked(os.path.join(self._root, path.lstrip("/")))
        rows = {
            "Id": name,
            "LoadState": "masked" if masked else "loaded" if path else "not-found",
            "ActiveState": "active" if state in _AT_BOOT else "inactive",
            "UnitFileState": state,
            "FragmentPath": "" if masked else path,
            "MainPID": "0",
        }
        return "".join("%s=%s\n" % row for row in rows.items())


def _view(folder: str, tree: str) -> None:
    """Make a folder that shows the files of the tree, and is empty where those of the build host would be."""
    for name in os.listdir(tree):
        if name in _OF_THE_HOST:
            os.mkdir(os.path.join(folder, name), 0o755)
        # The marks of container managers are about the build, and not about the image.
        elif not name.startswith("."):
            os.symlink(os.path.join(tree, name), os.path.join(folder, name))


@contextlib.contextmanager
def opened(run: Runner, scratch: str, tree: str = "/") -> t.Iterator[Node]:
    """Context with the tree of an image as a node. Its release is that of the newest kernel in the tree, and it has no kernel that runs.

    `scratch`: an existing folder that others can't write to. `tree`: the root of the image, which is that of the module.
    """
    folder = tempfile.mkdtemp(prefix="image-", dir=scratch)
    former = os.environ.get("SYSTEMD_OFFLINE")
    # Scripts of packages use systemctl, too. In a container, it could reach a service manager.
    os.environ["SYSTEMD_OFFLINE"] = "1"
    try:
        _view(folder, tree)
        yield Node(ImageRunner(run, folder), (releases(folder) or [""])[-1], {}, folder, image=True)
    finally:
        if former is None:
            os.environ.pop("SYSTEMD_OFFLINE", None)
        # Links are removed, and not followed.
        shutil.rmtree(folder, ignore_errors=True)
