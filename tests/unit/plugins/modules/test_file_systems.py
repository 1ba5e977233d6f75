# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""File systems that a node had before maintenance and lacks afterwards."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check import _file_systems as storage
from ansible_collections.rdma.ofed.plugins.module_utils._host import _turn
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

LUSTRE = "10.1.0.9@o2ib:/scratch /scratch lustre rw 0 0\n"
NFS = "server:/home /home nfs4 rw,proto=rdma,addr=10.1.0.8 0 0\n"
LOCAL = "/dev/sda1 / ext4 rw 0 0\nserver:/data /data nfs4 rw,proto=tcp,addr=192.0.2.8 0 0\n"


class Node:
    """A root directory, the part of AnsibleModule that the code uses, and a clock that advances during sleeps."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root, self.check_mode, self.params, self.now = root, False, {"wait": 0}, 0.0
        self.later: t.Callable[[], object] = lambda: None
        self.modules("ib_core")

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def modules(self, *names: str, of_kernel: t.Collection[str] = ("ib_core", "cifs")) -> None:
        users = "".join(name + "," for name in names if name not in ("ib_core", "nvidia_fs")) or "-"
        self.write("proc/modules", "".join("%s 1 0 %s Live 0x0\n" % (name, users if name == "ib_core" else "-") for name in names))
        folders = {name: "kernel/fs" if name in of_kernel else "extra" for name in names}
        self.write("lib/modules/%s/modules.dep" % platform.release(), "".join("%s/%s.ko:\n" % (folder, name) for name, folder in folders.items()))

    def has(self, tool: str) -> bool:
        return False

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        return Output(0, "[]", "")

    def atomic_move(self, source: str, target: str, **_more: t.Any) -> None:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(source, target)

    def selinux_enabled(self) -> bool:
        return False

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.later()

    @property
    def record(self) -> dict[str, str]:
        path = self.root / storage.RECORD[1:]
        return t.cast("dict[str, str]", json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}

    def remember(self) -> dict[str, t.Any]:
        return storage.remember(t.cast(t.Any, self), self, str(self.root))

    def compare(self, wait: float = 0) -> list[str]:
        self.params = {"wait": wait}
        with mock.patch.object(_turn, "time", self):
            return [one["name"] for one in storage.compare(t.cast(t.Any, self), self, str(self.root))["missing"]]


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_what_does_not_come_back_is_named(node: Node) -> None:
    node.write("proc/mounts", LOCAL + LUSTRE + NFS)
    node.modules("ib_core", "ko2iblnd", "nvidia_fs", "cifs")
    assert node.remember()["users"] == ["module ko2iblnd", "module nvidia_fs", "mount /home", "mount /scratch"]
    assert node.record["mount /scratch"] == "lustre from 10.1.0.9@o2ib:/scratch"
    assert node.compare() == [] and node.record == {}
    node.remember()
    node.write("proc/mounts", LOCAL + NFS)
    node.modules("ib_core", "cifs")
    assert node.compare() == ["module ko2iblnd", "module nvidia_fs", "mount /scratch"]


def test_a_run_that_resumes_requires_what_was_there_before_the_first(node: Node) -> None:
    node.write("proc/mounts", LOCAL + LUSTRE)
    node.remember()
    node.write("proc/mounts", LOCAL + NFS)
    assert node.compare() == ["mount /scratch"]
    assert node.remember()["users"] == ["mount /home", "mount /scratch"]
    assert node.compare() == ["mount /scratch"] and set(node.record) == {"mount /home", "mount /scratch"}
    node.write("proc/mounts", LOCAL + NFS + LUSTRE)
    assert node.compare() == [] and node.record == {}


def test_it_waits_for_mounts_that_come_late(node: Node) -> None:
    node.write("proc/mounts", LOCAL + LUSTRE)
    node.remember()
    node.write("proc/mounts", LOCAL)
    assert node.compare(60) == ["mount /scratch"] and node.now == 60.0
    node.later = lambda: node.write("proc/mounts", LOCAL + LUSTRE)
    assert node.compare(60) == [] and node.now == 65.0


def test_what_an_automounter_brings_is_not_required(node: Node) -> None:
    node.write("proc/mounts", "systemd-1 /scratch autofs rw 0 0\n" + LUSTRE + "auto.home /home autofs rw 0 0\n" + NFS.replace(" /home ", " /home/anna "))
    assert node.remember()["users"] == []


def test_a_session_is_known_by_its_target(node: Node) -> None:
    for name in ("nvme3", "nvme7"):
        node.write("sys/class/nvme/%s/transport" % name, "rdma\n")
        node.write("sys/class/nvme/%s/address" % name, "traddr=10.1.0.9,trsvcid=4420\n")
        if name == "nvme3":
            assert node.remember()["users"] == ["session NVMe over RDMA, address 10.1.0.9"]
            (node.root / "sys/class/nvme/nvme3/transport").unlink()
            assert node.compare() == ["session NVMe over RDMA, address 10.1.0.9"]
    assert node.compare() == []


def test_check_mode_writes_nothing(node: Node) -> None:
    node.check_mode = True
    node.write("proc/mounts", LUSTRE)
    assert node.remember()["users"] == ["mount /scratch"] and node.record == {}
    assert node.compare() == []


@pytest.mark.parametrize("text", ["", "[]", "no json", '{"mount /x": 3'])
def test_a_damaged_record_is_none(node: Node, text: str) -> None:
    node.write(storage.RECORD[1:], text)
    assert node.compare() == []
