# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import SETTINGS, SYSTEMD, TEMPLATE

SHOW = """\
Id=opensm.service
LoadState=loaded
ActiveState=active
SubState=exited

Id=opensm@0x0000000000100001.service
LoadState=loaded
ActiveState=active
SubState=running

Id=rdma-opensm@ib.service
LoadState=loaded
ActiveState=activating
SubState=auto-restart
MainPID=0

Id=rdma-opensm@second.service
LoadState=loaded
ActiveState=active
SubState=running
MainPID=20

Id=opensm-exporter.service
LoadState=loaded
ActiveState=active
SubState=running

Id=opensmd.service
LoadState=masked
ActiveState=inactive
SubState=dead
"""


class Systemctl:
    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        assert argv[:2] == ["systemctl", "show"]
        return Output(0, SHOW, "")


class Nothing(Systemctl):
    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        raise AssertionError("started %s" % " ".join(argv))


def put(root: pathlib.Path, path: str, text: str = "") -> pathlib.Path:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def process(root: pathlib.Path, pid: int, comm: str, cgroup: str, namespace: str = "pid:[1]") -> None:
    put(root, "/proc/%d/comm" % pid, comm + "\n")
    put(root, "/proc/%d/cgroup" % pid, "0::%s\n" % cgroup)
    (root / "proc" / str(pid) / "ns").mkdir()
    (root / "proc" / str(pid) / "ns" / "pid").symlink_to(namespace)


def test_a_bare_node_without_systemd_starts_no_process(tmp_path: pathlib.Path) -> None:
    assert look(Nothing(), str(tmp_path)) == Found()


def test_running_units_are_ours_and_the_packages(tmp_path: pathlib.Path) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert look(Systemctl(), str(tmp_path)).running == (
        "opensm.service",
        "opensm@0x0000000000100001.service",
        "rdma-opensm@ib.service",
        "rdma-opensm@second.service",
    )


@pytest.mark.parametrize(
    ("program", "maps", "replaced"),
    [
        ("/usr/sbin/opensm", "7f0 r-xp 0 08:01 1 /usr/lib/libopensm.so.9\n", False),
        ("/usr/sbin/opensm", "7f0 r-xp 0 08:01 1 /usr/lib/libcrypto.so.3 (deleted)\n7f1 r-xp 0 08:01 1 /run/libopensm (deleted)\n", False),
        ("/usr/sbin/opensm (deleted)", "", True),
        ("/usr/sbin/opensm", "7f0 r-xp 0 08:01 1 /usr/lib/libosmcomp.so.5.2 (deleted)\n7f1 r-xp 0 08:01 1 /lib/libc.so.6\n", True),
        ("", "", False),
    ],
)
def test_a_stack_was_replaced_under_it(tmp_path: pathlib.Path, program: str, maps: str, replaced: bool) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    put(tmp_path, "/proc/20/maps", maps)
    if program:
        (tmp_path / "proc/20/exe").symlink_to(program)
    assert look(Systemctl(), str(tmp_path)).replaced == (("rdma-opensm@second.service",) if replaced else ())


def test_a_stack_that_is_replaced_in_this_run_takes_all_of_ours_along(tmp_path: pathlib.Path) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    found = look(Systemctl(), str(tmp_path), stack_replaced=True)
    assert found.replaced == ("rdma-opensm@second.service",)
    assert set(found.replaced) < set(found.running)


def test_files_boot_links_and_masks(tmp_path: pathlib.Path) -> None:
    root = str(tmp_path)
    put(tmp_path, TEMPLATE, "unit")
    put(tmp_path, SETTINGS + "/ib/opensm.conf", "settings")
    put(tmp_path, SETTINGS + "/other.conf", "of someone else")
    wants = tmp_path / SYSTEMD.lstrip("/") / "multi-user.target.wants"
    wants.mkdir()
    (wants / "rdma-opensm@ib.service").symlink_to(TEMPLATE)
    (wants / "ssh.service").symlink_to("/lib/systemd/system/ssh.service")
    os.symlink("/dev/null", root + SYSTEMD + "/opensm.service")
    os.symlink("/lib/systemd/system/opensmd.service", root + SYSTEMD + "/opensmd.service")
    assert look(Nothing(), root) == Found(
        masked=("opensm.service",),
        enabled=("rdma-opensm@ib.service",),
        files={TEMPLATE: "unit", SETTINGS + "/ib/opensm.conf": "settings"},
    )


def test_a_public_look_reads_no_content(tmp_path: pathlib.Path) -> None:
    put(tmp_path, SETTINGS + "/ib/opensm.conf", "sm_key 0x5ec2e7")
    put(tmp_path, SETTINGS + "/ib/partitions.conf")
    put(tmp_path, "/etc/rdma/ib-node-name-map", "0x1 mine\n")
    root = str(tmp_path)
    found = look(Nothing(), root, public=True)
    assert found == look(Nothing(), root).public()
    assert list(found.files) == [SETTINGS + "/ib/opensm.conf"]
    assert "5ec2e7" not in str(found) and "mine" not in str(found)


def test_strays_are_processes_of_this_node_outside_of_units(tmp_path: pathlib.Path) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    process(tmp_path, 10, "opensm", "/system.slice/system-rdma\\x2dopensm.slice/rdma-opensm@ib.service")
    process(tmp_path, 11, "opensm", "/user.slice/user-0.slice/session-1.scope")
    process(tmp_path, 12, "opensm", "/docker/abc/system.slice/x.service", namespace="pid:[2]")
    process(tmp_path, 13, "bash", "/user.slice")
    (tmp_path / "proc/self").symlink_to("13")
    assert look(Systemctl(), str(tmp_path)).strays == (11,)


def test_an_administrators_own_unit_is_not_overwritten(tmp_path: pathlib.Path) -> None:
    put(tmp_path, SYSTEMD + "/opensm.service", "[Service]\n")
    found = look(Nothing(), str(tmp_path))
    with pytest.raises(Refused, match=r"/etc/systemd/system/opensm\.service is your own unit file"):
        found.require_maskable()
