# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import LOAD_PATH, OPTIONS_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import Scope, look, read_live, read_loaded

# From a Debian 12 node; the second one was built without support for unloading it.
PROC_MODULES = """\
ib_ipoib 151552 0 - Live 0xffffffffc0d5a000
ib_uverbs 188416 2 mlx5_ib,[permanent], Live 0xffffffffc0cf4000
"""
# From kmod 30: a description can contain a line break.
MODINFO = "send_queue_size:Number of descriptors in send queue (int)\nport_type_array:Array of port types\n\tIB by default (array of int)\n"


class FakeRun:
    def __init__(self, rc: int = 0) -> None:
        self.rc = rc

    def has(self, tool: str) -> bool:
        return tool == "modinfo"

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        assert argv[:3] == ["modinfo", "-k", "6.1"]
        return Output(self.rc, MODINFO, "")


@pytest.fixture(name="root")
def node(tmp_path: pathlib.Path) -> pathlib.Path:
    def write(path: str, text: str) -> None:
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    write("proc/modules", PROC_MODULES)
    write("lib/modules/6.1/modules.dep", "kernel/ib_ipoib.ko:\nkernel/ib_uverbs.ko:\n")
    write("lib/modules/6.0/modules.dep", "kernel/ib_old.ko:\n")
    write("sys/module/ib_ipoib/parameters/debug_level", "0\n")
    write(OPTIONS_PATH, "options ib_ipoib debug_level=1\n")
    write(LOAD_PATH, "ib_srp\n")
    write("etc/modprobe.d/site.conf", "options ib_ipoib debug_level=2\n")
    write("usr/lib/modprobe.d/site.conf", "options ib_ipoib debug_level=3\n")
    write("usr/lib/modprobe.d/vendor.conf", "blacklist ib_srp\n")
    write("usr/lib/modprobe.d/README", "blacklist ib_umad\n")
    write("etc/modules-load.d/nfs.conf", "rpcrdma\n")
    return tmp_path


def see(root: pathlib.Path, rc: int = 0, load_now: bool = True) -> Found:
    return look(FakeRun(rc), "6.1", Scope(("ib-ipoib",)), load_now=load_now, root=str(root))


def test_what_is_seen(root: pathlib.Path) -> None:
    found = see(root)
    assert found.installed == ("6.0", "6.1")
    assert found.catalogue.loadable == {"ib_ipoib", "ib_uverbs"}
    assert found.live == {"ib_ipoib": {"debug_level": "0"}}
    assert found.parameters == {"ib_ipoib": {"debug_level": "", "send_queue_size": "int", "port_type_array": "array of int"}}
    assert found.text(OPTIONS_PATH).startswith("options ib_ipoib debug_level=1")
    assert (found.rdma_core, found.container, found.dracut) == (False, False, False)


@pytest.mark.parametrize(
    ("path", "text"), [(".dockerenv", ""), ("run/systemd/container", "systemd-nspawn\n"), ("proc/1/environ", "PATH=/bin\0container=lxc\0")]
)
def test_a_container_is_recognised_as_in_the_facts(root: pathlib.Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")
    assert see(root).container


def test_files_hide_those_of_the_same_name_and_ours_are_not_others(root: pathlib.Path) -> None:
    found = see(root)
    assert [(entry.name, entry.path) for entry in found.entries] == [("rpcrdma", "/etc/modules-load.d/nfs.conf")]
    assert [(directive.kind, directive.path) for directive in found.directives] == [
        ("options", "/etc/modprobe.d/site.conf"),
        ("blacklist", "/usr/lib/modprobe.d/vendor.conf"),
    ]


def test_an_image_build_looks_at_all_kernels(root: pathlib.Path) -> None:
    assert see(root, load_now=False).catalogue.loadable == {"ib_ipoib", "ib_uverbs", "ib_old"}


def test_parameters_are_unknown_where_modinfo_fails(root: pathlib.Path) -> None:
    assert see(root, rc=1).parameters == {}


def test_lists_count_only_with_the_service_that_loads_them(root: pathlib.Path) -> None:
    lists = root / "etc/rdma/modules"
    lists.mkdir(parents=True)
    (lists / "rdma.conf").write_text("ib_uverbs\n", encoding="utf-8")
    assert "ib_uverbs" not in {entry.name for entry in see(root).entries}
    unit = root / "usr/lib/systemd/system/rdma-load-modules@.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    assert "ib_uverbs" in {entry.name for entry in see(root).entries}


def test_proc_modules_and_parameters(root: pathlib.Path) -> None:
    assert read_loaded(str(root)) == {"ib_ipoib": False, "ib_uverbs": True}
    assert read_loaded(str(root / "nowhere")) == {}
    secret = root / "sys/module/ib_ipoib/parameters/secret"
    secret.touch(mode=0o200)
    secret.chmod(0o200)
    assert read_live(str(root), "ib_ipoib") == {"debug_level": "0"}
