# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree of an image below a directory."""

from __future__ import annotations

import contextlib
import os
import pathlib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._image import opened
from ansible_collections.rdma.ofed.plugins.module_utils._host._node import Node
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

from support.module_files import ModuleFiles

UNITS = "usr/lib/systemd/system/"
OWN = "etc/systemd/system/"


class Tree(ModuleFiles):
    """An image, with a build host that shows through /sys, /proc and /run, and `systemctl` as it works offline."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.calls: t.List[t.List[str]] = []
        self.tools: t.Optional[t.FrozenSet[str]] = None
        self.check_mode = False
        self.params: t.Dict[str, t.Any] = {}
        self.warnings: t.List[str] = []
        (root.parent / "scratch").mkdir(parents=True, exist_ok=True)
        (root / "var/lib").mkdir(parents=True)
        self.write("etc/os-release", 'ID=debian\nVERSION_ID="12"\n')
        self.write("proc/modules", "ib_ipoib 1 0 - Live 0x0\n")
        self.write("sys/class/infiniband/mlx5_0/node_guid", "0c42:a103:0000:0010\n")
        self.write("sys/class/net/ib0/type", "32\n")
        self.write("run/systemd/system/here", "")
        self.write("dev/infiniband/umad0", "")
        for release in ("6.1.0-9-amd64", "6.1.0-56-amd64"):
            self.write("lib/modules/%s/modules.dep" % release, "kernel/drivers/infiniband/ulp/ipoib/ib_ipoib.ko:\n")
        # Left by a kernel that was removed.
        (root / "lib/modules/6.9.9/updates").mkdir(parents=True)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def opened(self) -> t.ContextManager[Node]:
        return opened(self, str(self.root.parent / "scratch"), str(self.root))

    def files(self) -> t.Dict[str, str]:
        """Return the texts of all files, and the targets of links."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if path.is_symlink():
                found[name] = os.readlink(str(path))
            elif path.is_file():
                found[name] = path.read_text(encoding="utf-8")
        return found

    def unit(self, name: str, enabled: bool = False) -> None:
        """Install a unit."""
        self.write(UNITS + name, "[Install]\nWantedBy=multi-user.target\n")
        if enabled:
            self._wants(name).symlink_to("/" + UNITS + name)

    def _wants(self, name: str) -> pathlib.Path:
        folder = self.root / OWN / "multi-user.target.wants"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def has(self, tool: str) -> bool:
        return self.tools is None or tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Optional[t.Collection[int]] = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        if list(argv[:4]) != ["env", "SYSTEMD_OFFLINE=1", "systemctl", "--root=/"]:
            return Output(0, "", "")
        verb, name = argv[4], argv[5]
        if verb == "is-enabled":
            # The links lead out of this tree.
            wanted = [folder for folder in (self.root / OWN).glob("*.wants") if name in os.listdir(str(folder))]
            masked = os.path.realpath(str(self.root / OWN / name)) == os.devnull
            return Output(0, "masked\n" if masked else "enabled\n" if wanted else "disabled\n", "")
        if verb == "enable":
            self._wants(name).symlink_to("/" + OWN + name)
        elif verb == "disable":
            with contextlib.suppress(FileNotFoundError):
                self._wants(name).unlink()
        return Output(0, "", "")
