# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole module on a pretended node with two kernels, of which one came after the driver."""

from __future__ import annotations

import json
import os
import pathlib
import time
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _kernel_apply, _kernel_plan
from ansible_collections.rdma.ofed.plugins.modules import kernel_policy

OLD, NEW = "6.1.0-50-amd64", "6.1.0-51-amd64"
SYSTEMS = {"apt": "ID=debian\nVERSION_ID=12\n", "dnf": "ID=rocky\nVERSION_ID=9.4\n", "zypper": "ID=sles\nVERSION_ID=15.5\n"}
OFED = "updates/dkms/ib_core.ko: updates/dkms/mlx_compat.ko\n"
INBOX = "kernel/drivers/infiniband/core/ib_core.ko:\n"
MENU = "menuentry 'Linux' {\n\tlinux\t/boot/vmlinuz-%s root=/dev/vda1\n}\n"


class Module:
    def __init__(self, check_mode: bool, policy: str) -> None:
        self.check_mode = check_mode
        self.params = {"policy": policy, "timeout": 1}


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
        self.signer = ""
        self.image = False
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
        self.write("var/lib/dpkg/status", "\n".join(rows % (name, "hold" if name in self.held else "install") for name in names))
        self.write("etc/dnf/plugins/versionlock.list", "# x\n" + "".join("%s-0:5.14.0-427.el9.*\n" % name for name in sorted(self.held)))
        self.write("etc/zypp/locks", "".join("\ntype: package\nsolvable_name: %s\n" % name for name in sorted(self.held)))

    def has(self, tool: str) -> bool:
        return tool == "modinfo" or (self.image and tool in ("update-initramfs", "lsinitramfs"))

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] == "modinfo":
            return Output(0, self.signer, "")
        if argv[0] == "lsinitramfs":
            return Output(0, "usr/lib/modules/x/mlx5_core.ko\n", "")
        assert argv[0] == "rpm"
        names = ("kernel", "kernel-core", "kernel-modules", "bash") if self.manager == "dnf" else ("kernel-default", "bash")
        return Output(0, "".join("%s\t5.14.0-427.el9\n" % name for name in names), "")

    def launch(self, run: t.Any, name: str, directory: str, script: str, root: str) -> None:
        with open(os.path.join(directory, "job.json"), encoding="utf-8") as stream:
            job = json.load(stream)
        state = {"id": job["id"], "started": time.time(), "finished": time.time(), "rc": 0, "failed": "", "stage": "", "step": 0}
        for number, step in enumerate(job["steps"], 1):
            self.steps.append(step["argv"])
            state.update(stage=step["stage"], step=number)
            if self.fault:
                state.update(rc=self.fault[0], failed=step["stage"])
                pathlib.Path(directory, "log").write_text(self.fault[1], encoding="utf-8")
                break
            self.perform(step["argv"])
        jobs.runner.save(os.path.join(directory, "state.json"), state)

    def perform(self, argv: list[str]) -> None:
        if argv[0] == "dkms" and (self.root / "lib/modules" / argv[-1] / "build").is_dir():
            self.built(argv[-1])
        elif "install" in argv:
            (self.root / "lib/modules" / NEW / "build").mkdir()
        elif argv[:2] == ["apt-mark", "hold"]:
            self.held |= set(argv[2:])
        elif "versionlock" in argv or "addlock" in argv:
            self.held |= set(argv[argv.index("addlock" if "addlock" in argv else "add") + 1 :])
        self.save()


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    found = Node(tmp_path)
    monkeypatch.setattr(jobs, "_launch", found.launch)
    return found


def ask(node: Node, policy: str = "build", check: bool = False) -> dict[str, t.Any]:
    module: t.Any = Module(check, policy)
    return _kernel_apply.converge(module, node, OLD, str(node.root))


def converge(node: Node, policy: str) -> list[str]:
    foretold = ask(node, policy, check=True)["changes"]
    assert node.steps == []
    assert ask(node, policy)["changes"] == foretold
    assert ask(node, policy)["changes"] == []
    return list(foretold)


def test_build(node: Node) -> None:
    assert converge(node, "build") == ["kernel %s: without the driver -> driver built by DKMS" % NEW]
    assert node.steps == [["dkms", "autoinstall", "-k", NEW]]
    assert ask(node, "refuse")["kernel"] == NEW


def test_headers_come_first_and_the_image_last(node: Node) -> None:
    (node.root / "lib/modules" / NEW / "build").rmdir()
    node.image = True
    node.write("boot/initrd.img-" + NEW, "")
    converge(node, "build")
    assert [argv[0] for argv in node.steps] == ["apt-get", "dkms", "update-initramfs"]
    assert node.steps[0][-1] == "linux-headers-" + NEW


def test_headers_elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for manager in ("dnf", "zypper"):
        node = Node(tmp_path / manager, manager)
        monkeypatch.setattr(jobs, "_launch", node.launch)
        (node.root / "lib/modules" / NEW / "build").rmdir()
        if manager == "dnf":
            converge(node, "build")
            assert node.steps[0][-1] == "kernel-devel-" + NEW
        else:
            with pytest.raises(Refused, match="kernel-default-devel"):
                ask(node)


def test_a_build_that_fails(node: Node) -> None:
    node.fault = (10, "Error! Bad return status for module build on kernel")
    with pytest.raises(CommandFailed, match="building the driver for kernel %s failed, exit status 10: Error! Bad return" % NEW):
        ask(node)


def test_a_build_that_says_nothing_and_does_nothing(node: Node) -> None:
    node.perform = lambda argv: None  # type: ignore[method-assign]
    with pytest.raises(CommandFailed, match="would come up with the driver of the distribution"):
        ask(node)


@pytest.mark.parametrize("policy", ["build", "pin", "refuse"])
@pytest.mark.parametrize("check", [True, False])
def test_nothing_to_build_from(node: Node, policy: str, check: bool) -> None:
    (node.dkms / "23.10/source").unlink()
    with pytest.raises(Refused, match="%s, which boots next .*let %s boot next" % (NEW, OLD)):
        ask(node, policy, check)


def test_a_kernel_without_any_modules(node: Node) -> None:
    node.write("boot/grub/grub.cfg", MENU % "6.1.0-99-amd64")
    with pytest.raises(Refused, match="has no modules in /lib/modules"):
        ask(node)


def test_refuse(node: Node) -> None:
    with pytest.raises(Refused, match="would come up with the driver of the distribution"):
        ask(node, "refuse")
    node.write("boot/grub/grub.cfg", MENU % OLD)
    assert ask(node, "refuse")["changes"] == []


def test_pin(node: Node) -> None:
    node.write("boot/grub/grub.cfg", MENU % OLD)
    assert converge(node, "pin") == ["package %s: free -> held" % name for name in ("linux-headers-" + OLD, "linux-image-" + OLD, "linux-image-amd64")]
    assert node.steps[0][:2] == ["apt-mark", "hold"]


@pytest.mark.parametrize(("manager", "names"), [("dnf", ["kernel", "kernel-core", "kernel-modules"]), ("zypper", ["kernel-default"])])
def test_pin_with_rpm(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, manager: str, names: list[str]) -> None:
    node = Node(tmp_path, manager)
    monkeypatch.setattr(jobs, "_launch", node.launch)
    node.write("boot/grub/grub.cfg", MENU % OLD)
    if manager == "dnf":
        with pytest.raises(Unsupported, match="versionlock"):
            ask(node, "pin")
        node.write("etc/dnf/plugins/versionlock.conf", "[main]\n")
    assert converge(node, "pin") == ["package %s: free -> held" % name for name in names]


def test_no_driver_at_all(node: Node) -> None:
    (node.dkms / "23.10/source").unlink()
    node.write("lib/modules/%s/modules.dep" % OLD, INBOX)
    for policy in _kernel_plan.POLICIES:
        assert ask(node, policy)["changes"] == []


def test_unknown_next_kernel(node: Node) -> None:
    (node.root / "boot/grub/grub.cfg").unlink()
    assert ask(node, "refuse")["kernel"] == OLD


def test_secure_boot(node: Node) -> None:
    path = node.root / "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x06\0\0\0\x01")
    node.write("boot/grub/grub.cfg", MENU % OLD)
    with pytest.raises(Refused, match="mokutil --import"):
        ask(node, "refuse")
    node.signer = "DKMS module signing key"
    assert ask(node, "refuse")["changes"] == []


def test_unknown_distribution(node: Node) -> None:
    node.write("etc/os-release", "ID=plan9\n")
    with pytest.raises(Unsupported):
        ask(node)


def test_main(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_policy, "converge", lambda *_arguments: {"changed": False, "changes": []})
    with patch_module_args({}), pytest.raises(SystemExit):
        kernel_policy.main()
    assert json.loads(capsys.readouterr().out)["changes"] == []
