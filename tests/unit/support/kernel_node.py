# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A simulated node with two kernels, one of which was installed after the driver."""

from __future__ import annotations

import json
import os
import pathlib
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

OLD, NEW = "6.1.0-50-amd64", "6.1.0-51-amd64"
SYSTEMS = {"apt": "ID=debian\nVERSION_ID=12\n", "dnf": "ID=rocky\nVERSION_ID=9.4\n", "zypper": "ID=sles\nVERSION_ID=15.5\n"}
OFED = "updates/dkms/ib_core.ko: updates/dkms/mlx_compat.ko\n"
INBOX = "kernel/drivers/infiniband/core/ib_core.ko:\n"
VERSION = "23.10.OFED.23.10.0.5.5.1-1.kver.%s"
MENU = "menuentry 'Linux' {\n\tlinux\t/boot/vmlinuz-%s root=/dev/vda1\n}\n"


class Node:
    def __init__(self, root: pathlib.Path, manager: str = "apt") -> None:
        self.root, self.manager = root, manager
        self.write("etc/os-release", SYSTEMS[manager])
        self.write("boot/grub/grub.cfg", MENU % NEW)
        self.write("lib/modules/%s/modules.dep" % OLD, OFED)
        self.write("lib/modules/%s/modules.dep" % NEW, INBOX)
        self.dkms = root / "var/lib/dkms/mlnx-ofed-kernel"
        (self.dkms / "23.10").mkdir(parents=True)
        (self.dkms / "23.10/source").symlink_to("/usr/src/mlnx-ofed-kernel-23.10")
        self.built(OLD)
        (root / "lib/modules" / NEW / "build").mkdir()
        self.held: set[str] = set()
        self.steps: list[list[str]] = []
        self.fault: tuple[int, str] | None = None
        self.faulty = ""
        """Program that has the fault; "" for the first step."""
        self.signer = ""
        self.image = False
        self.packages: dict[str, str] = {}
        """Packages of the vendor."""
        self.ofed_info = ""
        self.tools = {"gcc", "make", "perl", "tar"}
        self.offered = True
        """Whether the package manager offers the packages to install."""
        self.refreshed = 0
        self.flavour = ""
        """Prefix of the kernel package names, if it is not the ordinary one."""
        self.compiled: set[str] = set()
        """Kernels without a package."""
        self.save()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def built(self, release: str) -> None:
        (self.dkms / ("kernel-%s-x86_64" % release)).symlink_to("23.10/%s/x86_64" % release)
        self.write("lib/modules/%s/modules.dep" % release, OFED)

    def save(self) -> None:
        names = ("linux-image-amd64", "linux-image-" + OLD, "linux-headers-" + OLD, "linux-libc-dev", "bash")
        rows = "Package: %s\nStatus: %s ok installed\nVersion: 1\nDescription: x\n more\n"
        vendors = "".join("Package: %s\nStatus: install ok installed\nVersion: %s\n\n" % pair for pair in self.packages.items())
        self.write("var/lib/dpkg/status", vendors + "\n".join(rows % (name, "hold" if name in self.held else "install") for name in names))
        self.write("etc/dnf/plugins/versionlock.list", "# x\n" + "".join("%s-0:5.14.0-427.el9.*\n" % name for name in sorted(self.held)))
        self.write("etc/zypp/locks", "".join("\ntype: package\nsolvable_name: %s\n" % name for name in sorted(self.held)))

    def ready_made(self, kind: str = "mlnx_ofed") -> None:
        """Make it an installation without DKMS, for the old kernel."""
        (self.dkms / "23.10/source").unlink()
        self.packages = {"mlnx-ofed-kernel-modules": VERSION % OLD, "iser-modules": VERSION % OLD, "mlnx-tools": "23.10-0.2310055"}
        if kind == "doca":
            self.packages["doca-ofed"] = "2.9.1-0.1.4"
        self.ofed_info = "MLNX_OFED_LINUX-23.10-0.5.5.0" if kind == "mlnx_ofed" else "OFED-internal-24.10-1.1.4"
        self.save()

    def has(self, tool: str) -> bool:
        if tool == "ofed_info":
            return bool(self.ofed_info)
        return tool == "modinfo" or tool in self.tools or (self.image and tool in ("update-initramfs", "lsinitramfs"))

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] == "modinfo":
            return Output(0, self.signer, "")
        if argv[0] == "ofed_info":
            return Output(0, self.ofed_info + ":\n", "")
        if argv[0] == "lsinitramfs":
            return Output(0, "usr/lib/modules/x/mlx5_core.ko\n", "")
        if argv[-1] == "update":
            self.refreshed += 1
            return Output(0, "", "")
        if argv[0] in ("apt-get", "dnf", "zypper"):
            assert {"--simulate", "--dry-run", "list"} & set(argv)
            return Output(0 if self.offered else 100, "", "")
        if argv[0] == "dpkg-query" or "--file" in argv:
            return self.owners(argv)
        assert argv[0] == "rpm"
        if self.flavour:
            names = tuple(self.flavour + part for part in ("", "-core", "-modules", "-modules-core"))
            return Output(0, "".join("%s\t5.15.0\n" % name for name in (*names, "kernel-tools", "bash", *self.packages)), "")
        names = ("kernel", "kernel-core", "kernel-modules", "bash") if self.manager == "dnf" else ("kernel-default", "bash")
        rows = {**dict.fromkeys(names, "5.14.0-427.el9"), **self.packages}
        return Output(0, "".join("%s\t%s\n" % row for row in rows.items()), "")

    def owners(self, argv: t.Sequence[str]) -> Output:
        """Return the owners of a kernel's files. No distribution has all of these paths."""
        release = next(path for path in argv if path.startswith("/boot/vmlinuz-"))[len("/boot/vmlinuz-") :]
        if release in self.compiled:
            return Output(1, "", "dpkg-query: no path found matching pattern /boot/vmlinuz-%s\n" % release)
        if self.manager == "apt":
            return Output(1, "linux-image-%s: /boot/vmlinuz-%s\n" % (release, release), "")
        flavour = self.flavour or {"dnf": "kernel", "zypper": "kernel-default"}[self.manager]
        parts = ("",) if self.manager == "zypper" else ("-core", "-modules-core")
        return Output(1, "file /boot/x is not owned by any package\n" + "".join(flavour + part + "\n" for part in parts), "")

    def launch(self, run: t.Any, name: str, directory: str, *, script: str, root: str) -> None:
        with open(os.path.join(directory, "job.json"), encoding="utf-8") as stream:
            job = json.load(stream)
        state = {"id": job["id"], "started": time.time(), "finished": time.time(), "rc": 0, "failed": "", "stage": "", "step": 0}
        for number, step in enumerate(job["steps"], 1):
            self.steps.append(step["argv"])
            state.update(stage=step["stage"], step=number)
            if self.fault and any(word.endswith(self.faulty) for word in step["argv"]):
                state.update(rc=self.fault[0], failed=step["stage"])
                pathlib.Path(directory, "log").write_text(self.fault[1], encoding="utf-8")
                break
            self.perform(step["argv"])
        jobs.runner.save(os.path.join(directory, "state.json"), state)

    def fault_at(self, program: str, status: int) -> None:
        self.fault, self.faulty = (status, ""), program

    def heal(self) -> None:
        self.fault = None

    def perform(self, argv: list[str]) -> None:
        if argv[0] == "dkms" and (self.root / "lib/modules" / argv[-1] / "build").is_dir():
            self.built(argv[-1])
        elif argv[1].endswith("kernel_packages.py"):
            self.install(argv)
        elif "install" in argv:
            for kernel in (self.root / "lib/modules").iterdir():
                (kernel / "build").mkdir(exist_ok=True)
        elif argv[:2] == ["apt-mark", "hold"]:
            self.held |= set(argv[2:])
        elif "versionlock" in argv or "addlock" in argv:
            self.held |= set(argv[argv.index("addlock" if "addlock" in argv else "add") + 1 :])
        self.save()

    def install(self, argv: list[str]) -> None:
        """Install a package; dpkg has each package in one version."""
        if argv[2] == "doca":
            return
        _verb, _tree, packaging, kernel, _work, *names = argv[2:]
        self.write("lib/modules/%s/modules.dep" % kernel, OFED)
        if packaging == "deb":
            self.write("lib/modules/%s/modules.dep" % OLD, INBOX)
            self.packages.update(dict.fromkeys(names, VERSION % kernel))


def bundle(node: Node, version: str = "23.10-0.5.5.0") -> str:
    folder = "MLNX_OFED_LINUX-%s-debian12.1-x86_64" % version
    node.write(folder + "/.mlnx", version + "\n")
    node.write(folder + "/mlnxofedinstall", "")
    (node.root / folder / "mlnxofedinstall").chmod(0o755)
    return str(node.root / folder)
