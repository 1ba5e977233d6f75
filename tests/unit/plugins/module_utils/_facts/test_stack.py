# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _modinfo
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes
from support.node_files import DPKG


@given(st.text())
def test_parsers_take_any_text(text: str) -> None:
    _stack.parse_pacman_names([text], _stack.PACKAGES)


@pytest.mark.parametrize(
    ("packages", "ofed_info", "kind", "version", "ofed_version"),
    [
        ({}, "", "none", "", ""),
        ({"rdma-core": "44.0-2"}, "", "inbox", "44.0", ""),
        ({"libibverbs": "51.0-1.el9"}, "", "inbox", "51.0", ""),
        ({"rdma-core": "1:39.0-1"}, "", "inbox", "39.0", ""),
        ({"rdma-core": "2307mlnx47-1", "mlnx-ofed-kernel-dkms": "23.07"}, "OFED-internal-23.07-0.5.0:\n", "mlnx_ofed", "23.07-0.5.0", "23.07-0.5.0"),
        ({"mlnx-ofa_kernel": "24.10-OFED.24.10.0.7.0.1.rhel9u4"}, "", "mlnx_ofed", "24.10", "24.10"),
        ({"mlnx-ofed-kernel-utils": "5.8.OFED.5.8.1.1.2.1-1"}, "", "mlnx_ofed", "5.8", "5.8"),
        ({"doca-ofed": "2.9.1-0.1.7", "mlnx-ofed-kernel-dkms": "24.10"}, "OFED-internal-24.10-1.1.4:\n", "doca", "2.9.1", "24.10-1.1.4"),
        ({"doca-ofed": "3.2.1", "kmod-mlnx-ofa_kernel": "25.10-OFED.25.10.1.7.1.1"}, "", "doca", "3.2.1", "25.10"),
    ],
)
def test_decision(packages: dict[str, str], ofed_info: str, kind: str, version: str, ofed_version: str) -> None:
    stack = _stack.decide_stack(packages, _modinfo.parse_ofed_info(ofed_info))
    assert (stack.kind, stack.version, stack.ofed_version) == (kind, version, ofed_version)
    assert stack.evidence


HOST = {"doca-host": "2.9.1-018000-24.10-debian125", "mlnx-ofed-kernel-dkms": "24.10.OFED.24.10.1.1.4"}
INTERNAL = "OFED-internal-24.10-1.1.4:\n"


@pytest.mark.parametrize(
    ("packages", "ofed_info", "record", "kind", "version"),
    [
        # The profile in two parts, for a kernel for which DOCA has no modules.
        ({"doca-ofed-userspace": "2.9.1-0.1.4", "doca-kernel": "24.10-1.1.4"}, INTERNAL, {}, "doca", "2.9.1"),
        ({"doca-kernel": "2.9.1-1", "mlnx-ofa_kernel": "24.10"}, "", {}, "doca", "2.9.1"),
        # The profile was removed with opensm, on which it depends.
        (HOST, INTERNAL, {}, "doca", ""),
        ({"mlnx-ofed-kernel-dkms": "24.10"}, INTERNAL, {"source": "doca", "version": "2.9.1"}, "doca", "2.9.1"),
        # The repository of DOCA is declared, but another stack is installed.
        ({**HOST, "mlnx-ofed-all": "24.10-0.7.0.0"}, INTERNAL, {}, "mlnx_ofed", "24.10-1.1.4"),
        (HOST, "MLNX_OFED_LINUX-24.10-0.7.0.0:\n", {}, "mlnx_ofed", "24.10-0.7.0.0"),
        ({"doca-host": "2.9.1", "rdma-core": "44.0-2"}, "", {"source": "doca"}, "inbox", "44.0"),
        ({"mlnx-ofed-kernel-dkms": "24.10"}, INTERNAL, {"source": "mlnx_ofed"}, "mlnx_ofed", "24.10-1.1.4"),
        # Ubuntu's DOCA, whose metapackages have kernel versions, and which lacks ofed_info.
        ({"doca-ofed-generic-64k": "7.0.0-1004.4", "rdma-core": "61.0-2"}, "", {}, "doca", ""),
        ({"doca-ofed-generic": "7.0.0-1004.4", "doca-ofed-userspace-3.4": "3.4.0-1ubuntu1", "rdma-core": "61.0-2"}, "", {}, "doca", "3.4"),
        ({"doca-ofed-userspace-3.3": "3.3", "mlnx-ofed-kernel-dkms": "26.01"}, "OFED-internal-26.01-1.0.0:\n", {}, "doca", "3.3"),
        # Parts that MLNX_OFED does not have.
        ({"doca-sosreport": "4.9.0", "mlnx-ofed-kernel-dkms": "24.10"}, INTERNAL, {}, "doca", ""),
        # MLNX_OFED ended with 24.10; nothing else distinguishes this stack.
        ({"mlnx-ofed-kernel-dkms": "25.01"}, "OFED-internal-25.01-0.6.0:\n", {}, "doca", ""),
    ],
)
def test_doca_is_known_without_its_profile(packages: dict[str, str], ofed_info: str, record: dict[str, str], kind: str, version: str) -> None:
    stack = _stack.decide_stack(packages, _modinfo.parse_ofed_info(ofed_info), record=record)
    assert (stack.kind, stack.version) == (kind, version)


@pytest.mark.parametrize(
    ("packages", "ofed_info", "complete"),
    [
        ({"rdma-core": "44.0-2"}, "", True),
        ({"mlnx-ofed-kernel-dkms": "5.0"}, "MLNX_OFED_LINUX-5.0-2.1.8.0:\n", True),
        # The installer prints this until its end, regardless of its caller.
        ({"mlnx-ofed-kernel-dkms": "5.0"}, "OFED-internal-5.0-2.1.8:\n", False),
        ({"mlnx-ofa_kernel": "24.10-OFED.24.10.0.7.0.1"}, "", False),
        # With a repository, that spelling is permanent.
        ({"mlnx-ofed-kernel-dkms": "5.0", "mlnx-ofed-basic": "5.0-2.1.8.0"}, "OFED-internal-5.0-2.1.8:\n", True),
        ({"mlnx-ofed-kernel-dkms": "24.10", "doca-ofed": "2.9.1"}, INTERNAL, True),
    ],
)
def test_an_installation_that_did_not_come_to_its_end(packages: dict[str, str], ofed_info: str, complete: bool) -> None:
    assert _stack.decide_stack(packages, _modinfo.parse_ofed_info(ofed_info)).complete is complete


@pytest.mark.parametrize(
    ("stack", "refused"),
    [
        (Stack("inbox", "44.0"), False),
        (Stack("none"), False),
        (Stack("mlnx_ofed", "5.8-1.1.2.1", ofed_version="5.8-1.1.2.1"), False),
        (Stack("mlnx_ofed", "23.04-0.5.3.3", ofed_version="23.04-0.5.3.3"), False),
        (Stack("mlnx_ofed", "23.07-0.5.0", ofed_version="23.07-0.5.0"), True),
        (Stack("mlnx_ofed", "24.10-0.7.0.0", ofed_version="24.10-0.7.0.0"), True),
        (Stack("doca", "2.9.1", ofed_version="24.10"), True),
        (Stack("doca", "2.9.1"), True),
    ],
)
def test_connected_mode(stack: Stack, refused: bool) -> None:
    assert bool(_stack.connected_refused(stack)) is refused


def test_debian_node(tmp_path: pathlib.Path) -> None:
    run = nodes.FakeRunner({"rpm": "", "ip": ""})
    root = nodes.write(tmp_path, {"var/lib/dpkg/status": DPKG, "sys/module/ib_core/srcversion": "A"})
    assert _stack.read_stack(run, root) == Stack("inbox", "44.0", "package rdma-core 44.0-2", "", "inbox")
    assert run.ran == []


def test_rpm_node_with_ofed(tmp_path: pathlib.Path) -> None:
    run = nodes.FakeRunner({"rpm": Output(9, "mlnx-ofa_kernel\t23.10-OFED.23.10.5.1.4.1\n", ""), "ofed_info -s": "MLNX_OFED_LINUX-23.10-5.1.4.0:\n"})
    root = nodes.write(tmp_path, {"sys/module/ib_core/srcversion": "A", "sys/module/mlx_compat/srcversion": "B"})
    stack = _stack.read_stack(run, root)
    assert (stack.kind, stack.version, stack.loaded) == ("mlnx_ofed", "23.10-5.1.4.0", "ofed")
    assert len(run.ran) == 2


def test_arch_node(tmp_path: pathlib.Path) -> None:
    stack = _stack.read_stack(
        nodes.FakeRunner(), nodes.write(tmp_path, {"var/lib/pacman/local/rdma-core-55.0-1/desc": "", "var/lib/pacman/local/ALPM_DB_VERSION": "9"})
    )
    assert (stack.kind, stack.version, stack.loaded) == ("inbox", "55.0", "")


def test_bare_node(tmp_path: pathlib.Path) -> None:
    assert _stack.read_stack(nodes.FakeRunner(), str(tmp_path)).kind == "none"
