# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node made of files, for the module kernel_modules."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _apply, _converge
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import default_lists
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change

RELEASE = "6.1.0-50-amd64"
MODULES = ("ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib", "ib_srp")
IMAGE = "boot/initrd.img-" + RELEASE
LISTING = "usr/lib/modules/%s/kernel/drivers/infiniband/ulp/ipoib/ib_ipoib.ko\nusr/bin/modprobe\n" % RELEASE
PARAMETERS = "send_queue_size:Number of descriptors in send queue (int)\nrecv_queue_size:Number of descriptors (int)\n"

DEFAULTS: t.Mapping[str, t.Any] = {
    "load": ["ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib"],
    "options": {},
    "state": "present",
    "mechanism": "auto",
    "initramfs": "auto",
    "initramfs_drivers": [],
    "initramfs_cmdline": [],
    "memlock": "unlimited",
    "nofile": "keep",
    "load_now": True,
    "assume_rdma_core": False,
    "backup": False,
    "device_names": "unmanaged",
    "rails": {},
    "adopt": False,
    "restore": False,
    "allow_interruption": False,
}


class Node:
    """A root directory, the tools of a node, and the part of AnsibleModule that the code uses."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.check_mode = False
        self.params: dict[str, t.Any] = {}
        self.calls: list[list[str]] = []
        self.tools = {"modprobe", "modinfo"}
        self.refusal = ""
        self.build_rc = 0
        self.warnings: list[str] = []
        self.listing = LISTING
        self.packaged: set[str] = set()
        self.conffiles: set[str] = set()
        self.break_at = 0
        """The number of the file change before which the run is killed; 0 for none."""
        base = "lib/modules/%s/" % RELEASE
        self.write(base + "modules.dep", "".join("kernel/drivers/infiniband/%s.ko:\n" % name for name in MODULES))
        self.write(base + "modules.builtin", "kernel/drivers/infiniband/core/ib_core.ko\n")
        self.write(base + "modules.alias", "alias pci:v000015B3d* mlx5_core\n")
        self.write("proc/modules", "mlx5_core 1 0 - Live 0x0\n")

    def write(self, path: str, text: str) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text(encoding="utf-8")

    def install_rdma_core(self) -> None:
        self.write("lib/systemd/system/rdma-load-modules@.service", "[Unit]\n")
        for path, text in default_lists(FAMILIES[0]).items():
            self.write(path, text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(list(argv))
        if argv[0] == "modinfo":
            return Output(0, PARAMETERS if argv[-1] == "ib_ipoib" else "", "")
        if argv[0] == "modprobe":
            if self.refusal:
                return Output(1, "", self.refusal)
            self.write("proc/modules", self.read("proc/modules") + "".join("%s 1 0 - Live 0x0\n" % name for name in argv[2:]))
        if argv[0] == "lsinitramfs":
            return Output(0, self.listing, "")
        if argv[:2] == ["dpkg-query", "--search"]:
            return Output(1, "".join("site: %s\n" % path for path in argv[2:] if path in self.packaged), "no path found")
        if argv[:2] == ["dpkg-query", "--show"]:
            return Output(0, "".join(" %s d41d8cd98f00b204\n" % path for path in self.conffiles), "")
        if argv[0] == "update-initramfs" and self.build_rc:
            raise CommandFailed("update-initramfs failed")
        return Output(0, "", "")

    def run(self, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
        self.calls.clear()
        self.warnings.clear()
        self.check_mode = check
        self.params = {**DEFAULTS, **params}
        module: t.Any = self
        return _converge.converge(module, self, RELEASE, root=str(self.root))


def node_of(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return a node on which files are written without Ansible."""
    node = Node(tmp_path)

    def apply_file(
        module: t.Any, change: Change, *, mode: int = 0o644, owner: tuple[int, int] | None = None, backup: bool = False, root: str = "/"
    ) -> str | None:
        if node.break_at == 1:
            raise KeyboardInterrupt
        node.break_at -= 1
        path = pathlib.Path(root, change.subject[1:])
        if change.after:
            is_new = not path.exists()
            node.write(str(path.relative_to(tmp_path)), change.after)
            if is_new:
                path.chmod(mode)
        else:
            path.unlink()
        return str(path) + "~" if backup and change.before else None

    monkeypatch.setattr(_apply, "apply_file", apply_file)
    return node
