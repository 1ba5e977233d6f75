# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook that measures transfers between GPUs. The nodes have no GPU with writable memory: Debian's real perftest lacks CUDA and is refused, then a
stand-in replaces it. The reported version turns their driver into one that shares memory by DMA-BUF.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import typing as t

import ansible_runs
import pytest
from legacy import Host

testinfra_hosts = ["ansible://node1"]
HOSTS = "gpudirect_test_hosts=node1,node2"
DRIVER = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build  (lab@standin)\n"


def measure(host: Host, *arguments: str) -> tuple[int, str]:
    argv = ["-i", host.backend.ansible_inventory, "rdma.ofed.gpudirect_test"]
    for argument in arguments:
        argv += ["-e", argument] if "=" in argument else [argument]
    environ = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
    done = ansible_runs.run("playbook", argv, folder=pathlib.Path.cwd(), environ=environ, merged=True, seconds=3600)
    assert "Traceback" not in done.shown
    # Ansible wraps long lines.
    return done.status, " ".join(done.shown.split())


def copy(host: Host, **arguments: str) -> None:
    """Copy a file to both nodes."""
    argv = ["ansible", "-i", host.backend.ansible_inventory, "node1,node2", "-m", "ansible.builtin.copy", "-a", json.dumps(arguments)]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module", autouse=True)
def subnet_manager(host: Host) -> t.Iterator[None]:
    """Run a subnet manager, which makes the ports active."""
    host.check_output("apt-get install --yes --no-install-recommends opensm perftest >/dev/null 2>&1; systemctl stop opensm; modprobe ib_umad")
    host.check_output("systemd-run --quiet --collect --unit=subnet-manager opensm")
    host.check_output("for i in $(seq 1000); do grep -q ACTIVE /sys/class/infiniband/*/ports/1/state && exit; sleep 0.2; done; exit 1")
    yield
    host.check_output("systemctl stop subnet-manager")


@pytest.mark.proves("gpudirect", debian12="look-alike")
def test_nothing_is_measured_unless_hosts_are_named(host: Host) -> None:
    for arguments, words in (
        ((), "missing required arguments: gpudirect_test_hosts"),
        (("gpudirect_test_hosts=node1",), "allowed: two different hosts of the inventory"),
        (("gpudirect_test_hosts=node1,node9",), "gpudirect_test_hosts is node1,node9; allowed: two different hosts of the inventory"),
        ((HOSTS, "gpudirect_test_seconds=1"), "gpudirect_test_seconds is 1; allowed: 2 to 600"),
        ((HOSTS, "-lnode1"), "The input was not validated, and nothing was measured"),
        ((HOSTS, "gpudirect_test_way=cuda"), "value of gpudirect_test_way must be one of: auto, dmabuf"),
    ):
        status, said = measure(host, *arguments)
        assert status, said
        assert words in said


@pytest.mark.proves("gpudirect", debian12="look-alike")
def test_a_driver_that_shares_no_memory_is_refused(host: Host) -> None:
    status, said = measure(host, HOSTS)
    assert status
    for node in ("node1", "node2"):
        assert "%s can't take part: dmabuf: GPU driver 460.106.00 can't export memory (CUDA before 11.7); upgrade it" % node in said


@pytest.mark.proves("gpudirect", debian12="look-alike")
def test_a_perftest_without_cuda_is_refused(host: Host) -> None:
    copy(host, content=DRIVER, dest="/run/rdmalab/proc/driver/nvidia/version")
    status, said = measure(host, HOSTS)
    assert status
    assert "node1 can't take part: ib_write_bw was built without CUDA" in said
    assert "node2 can't take part: ib_write_bw is not installed" in said


@pytest.mark.proves("gpudirect", debian12="look-alike")
def test_what_is_measured_is_shown(host: Host) -> None:
    copy(host, src=os.environ["MOLECULE_PROJECT_DIRECTORY"] + "/molecule/gpudirect/ib_write_bw", dest="/usr/local/bin/", mode="0755")
    status, said = measure(host, HOSTS, "--check")
    assert (status, "97.31" in said) == (0, False), said
    address = "gpudirect_test_address=" + host.check_output("hostname -i").split()[0]
    status, said = measure(host, HOSTS, address)
    assert status == 0, said
    assert "writes node2 0000:81:00.0 mlx5_0/1 NODE dmabuf" in said
    assert "is written to node1 0000:81:00.0 mlx5_0/1 NODE dmabuf" in said
    assert "97.31 Gb/s on average, in writes of 65536 bytes" in said
    assert host.run("ls -A ~/.ansible_async").stdout.split() == []
    status, said = measure(host, HOSTS, address, "gpudirect_test_minimum=180")
    assert status
    assert "node2 writes 97.31 Gb/s into the GPU's memory of node1; gpudirect_test_minimum is 180" in said


@pytest.mark.proves("gpudirect", debian12="look-alike")
def test_of_an_end_that_fails_the_words_are_shown(host: Host) -> None:
    address = "gpudirect_test_address=" + host.check_output("hostname -i").split()[0]
    host.check_output("touch /run/ib_write_bw.broken")
    status, said = measure(host, HOSTS, address)
    host.check_output("rm /run/ib_write_bw.broken")
    assert status
    assert "On node1, the receiving end, it ended with status 1: initializing CUDA | Couldn't allocate MR | failed to create mr. " in said
    assert "On node2, the writing end, it was not started: the receiving end did not listen" in said
