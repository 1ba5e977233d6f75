# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _machine
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import Machine, OperatingSystem
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes
from support.node_files import DEBIAN, HOST, X86

X86_VIRTUAL = "processor\t: 0\nflags\t\t: fpu vme sse2 hypervisor\n"


def test_debian(tmp_path: pathlib.Path) -> None:
    root = nodes.write(tmp_path, {"etc/os-release": DEBIAN})
    assert _machine.read_os(root) == OperatingSystem("Debian", "debian", "12", "Debian GNU/Linux 12 (bookworm)")


def test_os_release_below_usr_and_nowhere(tmp_path: pathlib.Path) -> None:
    assert _machine.read_os(str(tmp_path)) == OperatingSystem()
    assert _machine.read_os(nodes.write(tmp_path, {"usr/lib/os-release": DEBIAN})).family == "Debian"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', "RedHat"),
        ('ID="rhel"', "RedHat"),
        ('ID="ol"\nID_LIKE="fedora"', "RedHat"),
        ("ID=ubuntu\nID_LIKE=debian", "Debian"),
        ('ID="sles"\nID_LIKE="suse"', "Suse"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"', "Suse"),
        ("ID=arch", "Arch"),
        ("ID=endeavouros\nID_LIKE=arch", "Arch"),
        ("ID=alpine", "Unknown"),
        ("", "Unknown"),
    ],
)
def test_family(tmp_path: pathlib.Path, text: str, family: str) -> None:
    assert _machine.read_os(nodes.write(tmp_path, {"etc/os-release": text})).family == family


def test_quoting_of_os_release() -> None:
    assert _machine.parse_os_release('A=\'x y\'\n# comment\nB="a \\"b\\""\nnonsense\n=x\nC="open') == {"A": "x y", "B": 'a "b"', "C": "open"}


@given(st.text())
def test_os_release_takes_any_text(text: str) -> None:
    _machine.parse_os_release(text)


def test_host(tmp_path: pathlib.Path) -> None:
    root = nodes.write(tmp_path, {**HOST, "run/systemd/system/x": ""})
    assert _machine.read_machine(root) == Machine("host", "", "", True, "node1")


def test_virtual_machine(tmp_path: pathlib.Path) -> None:
    root = nodes.write(tmp_path, {**HOST, "proc/cpuinfo": X86_VIRTUAL, "sys/class/dmi/id/sys_vendor": "QEMU\n"})
    assert _machine.read_machine(root) == Machine("vm", "", "qemu", False, "node1")


def test_chroot(tmp_path: pathlib.Path) -> None:
    root = nodes.write(tmp_path / "image", {"etc/os-release": DEBIAN})
    assert _machine.read_machine(root).kind == "chroot"
    (tmp_path / "image/proc/1").mkdir(parents=True)
    (tmp_path / "image/proc/1/root").symlink_to(tmp_path)
    assert _machine.read_machine(root).kind == "chroot"


@pytest.mark.parametrize(
    ("tree", "container"),
    [
        ({"run/systemd/container": "docker\n"}, "docker"),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": 'engine="podman-4.3.1"\n'}, "podman"),
        ({"proc/1/environ": "PATH=/bin\0container=lxc\0"}, "lxc"),
        ({"proc/1/environ": "KUBERNETES_SERVICE_HOST=10.0.0.1\0"}, "kubernetes"),
        ({"run/systemd/container": "oci\n", ".dockerenv": ""}, "docker"),
        ({"run/systemd/container": "oci\n"}, "oci"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
    ],
)
def test_container(tmp_path: pathlib.Path, tree: nodes.Tree, container: str) -> None:
    machine = _machine.read_machine(nodes.write(tmp_path, {**HOST, **tree}))
    assert (machine.kind, machine.container) == ("container", container)


@pytest.mark.parametrize(
    ("cpuinfo", "dmi", "hypervisor"),
    [
        (X86, ["m5.metal", "Amazon EC2"], ""),
        (X86_VIRTUAL, ["m5.large", "Amazon EC2"], "amazon"),
        (X86_VIRTUAL, ["Virtual Machine", "Microsoft Corporation"], "microsoft"),
        (X86_VIRTUAL, ["VMware Virtual Platform", "VMware, Inc."], "vmware"),
        (X86_VIRTUAL, ["OpenStack Nova", "Red Hat"], "kvm"),
        (X86_VIRTUAL, ["VirtualBox", "innotek GmbH"], "oracle"),
        (X86_VIRTUAL, [], "unknown"),
        ("processor : 0\nFeatures : fp asimd\n", ["KVM Virtual Machine", "QEMU"], "kvm"),
        ("processor : 0\nFeatures : fp asimd\n", [], ""),
        ("", [], ""),
    ],
)
def test_hypervisor(cpuinfo: str, dmi: list[str], hypervisor: str) -> None:
    assert _machine.hypervisor_kind(cpuinfo, dmi) == hypervisor


@given(st.text(), st.text(), st.lists(st.text()))
def test_parsers_take_any_text(marker: str, environ: str, texts: list[str]) -> None:
    _machine.container_kind(marker, environ, texts)
    _machine.hypervisor_kind(environ, texts, marker)


def test_a_value_of_os_release_that_is_none_costs_no_time() -> None:
    """shlex takes seconds for 80 kB."""
    assert _machine.parse_os_release('ID=debian\nPRETTY_NAME="%s"\nVERSION_ID=12\n' % ("x" * 80000)) == {"ID": "debian", "VERSION_ID": "12"}
