# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The vendor's driver on a real kernel: built by DKMS, loaded in place of the distribution's, and kept for later kernels.

The installer, openibd and the packages are stand-ins (tests/lab/stacks); dkms, the compiler, the modules of IPoIB, apt and GRUB are real. The tests depend on
each other.
"""

from __future__ import annotations

import collections.abc
import contextlib
import pathlib
import re
import typing as t

import pytest
import records
from driver_node import ADDRESS, COMPILED, IN_USE, NODE, PEER, Node
from proofs import LOOK_ALIKE

UMAD = "exec 3</dev/infiniband/umad0; exec sleep 900"
REPLACED = "driver: as loaded -> as installed"
# The role would remove its package, because no host of the inventory is to run it.
SPARING_OPENSM = ("--skip-tags", "opensm")
UPGRADE = "DEBIAN_FRONTEND=noninteractive apt-get --yes install --only-upgrade linux-image-amd64"


@pytest.fixture(scope="module")
def node(driver: Node) -> Node:
    """Return the node with the vendor's driver on its disk and the distribution's in use."""
    done = driver.play("site", *SPARING_OPENSM, ofed_reload="never")
    assert done.status == 0, done.output
    assert "driver" in done.output
    return driver


@pytest.fixture(scope="module")
def other(node: Node) -> str:
    """Return the release of another kernel on the mirror."""
    running = node.run("uname -r")
    series = re.escape(running.rsplit("-", 2)[0])
    found: list[str] = re.findall(r"^linux-image-(%s-[0-9]+-amd64)$" % series, node.run("apt-cache pkgnames linux-image-"), re.MULTILINE)
    return max((release for release in found if release != running), key=lambda release: int(release.split("-")[1]))


@pytest.mark.proves("dkms", "mlnx_ofed", debian12=LOOK_ALIKE)
def test_dkms_builds_it_for_the_kernel_that_boots_next(node: Node) -> None:
    found = node.kernels()
    assert found["next_boot"] == found["running"]
    (kernel,) = found["installed"]
    assert (kernel["stack"], kernel["dkms"]) == ("ofed", "built")
    assert "installed" in node.run("dkms status mlnx-ofed-kernel")
    built = node.built(found["next_boot"])
    assert all(built.values()), built
    # The compiled modules match the kernel and can be loaded.
    assert node.run("modprobe mlx5_ib && cat /sys/module/mlx5_ib/srcversion && modprobe -r mlx5_ib") == built["mlx5_ib"]


@pytest.mark.proves("reload", debian12=LOOK_ALIKE)
def test_policy_never_leaves_the_loaded_driver_and_says_so(node: Node) -> None:
    assert node.loaded() == dict.fromkeys(IN_USE, "")
    result = node.module("driver_reload", policy="never")
    assert not result["changed"]
    assert [(entry["kind"], entry["needs"]) for entry in result["pending"]] == [("driver", "driver_reload")]
    assert {module["name"] for module in result["modules"] if module["differs"]} == {"ib_core", "ib_ipoib", "ib_umad", "ib_uverbs", "rdma_cm", "rdma_ucm"}


@contextlib.contextmanager
def an_open_device(node: Node) -> collections.abc.Iterator[tuple[tuple[str, str, str], ...]]:
    with node.process("standin-job", UMAD) as pid:
        yield (("process", "sleep", "pid %d has umad0 open" % pid),)


@contextlib.contextmanager
def a_mount(node: Node) -> collections.abc.Iterator[tuple[tuple[str, str, str], ...]]:
    with node.mount():
        yield (
            ("module", "nfsrdma_standin", "is loaded and uses the RDMA modules; reference count 1"),
            ("mount", "/scratch", "nfs4 over RDMA from %s:/scratch" % PEER),
        )


@contextlib.contextmanager
def a_subnet_manager(node: Node) -> collections.abc.Iterator[tuple[tuple[str, str, str], ...]]:
    """Run the real subnet manager, which finds only its own port."""
    node.run("systemctl start opensmd && for i in $(seq 60); do ls -l /proc/$(pidof opensm)/fd | grep -q issm && exit; sleep 1; done; exit 1")
    try:
        pid = node.run("pidof opensm")
        yield (("sm", "opensm", "pid %s has issm0, umad0 open" % pid),)
    finally:
        node.run("systemctl stop opensmd")


@pytest.mark.parametrize("user", [an_open_device, a_mount, a_subnet_manager])
@pytest.mark.proves("reload", debian12=LOOK_ALIKE)
def test_it_stays_while_it_is_used(node: Node, user: t.Callable[[Node], contextlib.AbstractContextManager[tuple[tuple[str, str, str], ...]]]) -> None:
    before = node.loaded()
    with user(node) as expected:
        results = [node.module("driver_reload", *check, allow_reload=True) for check in ((), ("--check",))]
    for result in results:
        assert not result["changed"], result
        assert [(found["kind"], found["name"], found["detail"]) for found in result["users"]] == list(expected)
        (entry,) = result["pending"]
        assert (entry["kind"], entry["needs"]) == ("driver", "driver_reload")
        assert all(name in " ".join(entry["why"]) for _kind, name, _detail in expected)
        assert len(result["reasons"]) == len(expected)
    assert node.loaded() == before
    assert node.reachable(0)


@pytest.mark.proves("reload", debian12=LOOK_ALIKE)
def test_it_stays_while_the_connection_goes_over_it(node: Node, tmp_path: pathlib.Path) -> None:
    before = node.loaded()
    with node.over_ipoib(tmp_path) as inventory:
        result = node.module("driver_reload", inventory=inventory, allow_reload=True)
        forced = node.module("driver_reload", inventory=inventory, allow_reload=True, policy="force")
    assert not result["changed"], result
    # The peer is in a namespace of this machine that acts as another machine.
    relay, user = result["users"]
    assert (relay["kind"], relay["name"]) == ("namespace", "bash")
    assert (user["kind"], user["name"], user["detail"]) == ("ssh", "ib0", "the connection from %s runs over it" % PEER)
    assert "manage the node over another adapter" in result["reasons"][1]
    assert forced["failed"]
    assert "ssh ib0" in forced["msg"]
    assert node.loaded() == before


@pytest.mark.proves("reload", debian12=LOOK_ALIKE)
def test_it_stays_while_a_program_has_a_connection_over_it(node: Node) -> None:
    """A client of a service on the node itself: both ends are on ib0."""
    before = node.loaded()
    with node.process("standin-client", "exec 3<>/dev/tcp/%s/22; exec sleep 900" % ADDRESS) as pid:
        result = node.module("driver_reload", allow_reload=True)
    assert not result["changed"], result
    assert {user["kind"] for user in result["users"]} == {"connection"}
    (client,) = [user for user in result["users"] if user["name"] == "sleep"]
    assert client["detail"] == "1 tcp connection over ib0, with %s, port 22, pid %d" % (ADDRESS, pid)
    assert node.loaded() == before
    node.wait_for_the_end_of_connections()


@pytest.mark.proves("reload", debian12=LOOK_ALIKE)
def test_an_idle_driver_is_replaced_and_the_network_comes_back(node: Node) -> None:
    built = node.built(node.run("uname -r"))
    check = node.module("driver_reload", "--check", allow_reload=True)
    assert node.loaded() == dict.fromkeys(IN_USE, "")
    result = node.module("driver_reload", allow_reload=True)
    assert not result["failed"], result
    assert result["users"] == []
    assert result["changes"] == check["changes"] == [REPLACED], (result, check)
    assert node.loaded() == {name: built[name] for name in IN_USE}
    assert set(COMPILED) <= set(node.run("lsmod | awk '{print $1}'").split())
    assert node.reachable(60), node.run("ip address")
    again = node.module("driver_reload", allow_reload=True)
    assert (again["changed"], again["pending"]) == (False, [])


@pytest.mark.proves("mlnx_ofed", debian12=LOOK_ALIKE)
def test_the_role_has_nothing_left_to_do(node: Node) -> None:
    done = node.ofed()
    assert done.status == 0, done.output
    assert records.changes(done.events) == {}


@pytest.mark.proves("reload", debian12=LOOK_ALIKE)
def test_what_can_not_be_unloaded_is_loaded_again(node: Node) -> None:
    """A process with an open device holds ib_umad and ib_core: the adapter's driver and IPoIB are unloaded by then."""
    before = node.loaded()
    with node.process("standin-job", UMAD):
        result = node.module("driver_reload", allow_reload=True, policy="force", because=["an option was changed"])
    assert not result["failed"], result
    assert result["changes"] == ["driver: as loaded -> as loaded, after an attempt to unload it"]
    assert result["reboot_required"]
    assert "ib_umad" in result["reasons"][0]
    assert "ib0" in result["reasons"][1]
    assert node.loaded() == before
    assert node.reachable(60), node.run("ip address")
    # The reload is not tried again before the next boot, unless requested.
    again = node.module("driver_reload", allow_reload=True, because=["an option was changed"])
    assert (again["changed"], again["reboot_required"]) == (False, True)
    forced = node.module("driver_reload", allow_reload=True, policy="force", because=["an option was changed"])
    assert forced["changes"] == [REPLACED]
    assert node.reachable(60), node.run("ip address")


@pytest.mark.proves("dkms", debian12=LOOK_ALIKE)
def test_pin_keeps_the_kernel_that_has_the_driver(node: Node, other: str) -> None:
    """For apt, a kernel upgrade is a metapackage that depends on another kernel."""
    node.offer(other)
    done = node.ofed(ofed_kernel_policy="pin")
    assert done.status == 0, done.output
    assert "linux-image-amd64" in node.run("apt-mark showhold").split()
    assert "linux-image-amd64" in node.run("apt-get --simulate dist-upgrade").partition("kept back:")[2].partition("upgraded")[0]
    again = node.ofed(ofed_kernel_policy="pin")
    assert records.changes(again.events) == {}
    assert node.kernels()["next_boot"] == node.run("uname -r")


@pytest.mark.proves("dkms", debian12=LOOK_ALIKE)
def test_a_kernel_without_the_driver_is_refused(node: Node, other: str) -> None:
    """The other kernel is older; by default, GRUB would start the newest."""
    node.cluster.command("driver", NODE, other)
    root = node.run("findmnt -n -o UUID /")
    node.run("echo \"GRUB_DEFAULT='gnulinux-advanced-%s>gnulinux-%s-advanced-%s'\" >/etc/default/grub.d/test.cfg" % (root, other, root))
    node.cluster.command("shell", NODE, "sh", "-c", "apt-mark unhold $(apt-mark showhold) && " + UPGRADE)
    found = node.kernels()
    assert found["next_boot"] == other
    for policy in ("refuse", "pin"):
        done = node.ofed(ofed_kernel_policy=policy)
        (failure,) = records.failures(done.events)
        assert "kernel %s, which boots next" % other in failure["msg"]
        assert "would start with the driver of the distribution" in failure["msg"]
    assert node.kernels() == found


@pytest.mark.proves("dkms", debian12=LOOK_ALIKE)
def test_the_driver_is_built_for_the_kernel_that_boots_next(node: Node, other: str) -> None:
    check, done = node.ofed("--check"), node.ofed()
    assert done.status == 0, done.output
    assert records.differences(check.events, done.events) == []
    assert list(records.changes(done.events).values()) == [[["kernel %s: without the driver -> driver built by DKMS" % other]]]
    assert all(node.built(other).values()), node.built(other)
    node.cluster.command("restart", NODE)
    assert node.run("uname -r") == other
    assert {name: version for name, version in node.built(other).items() if name in IN_USE} == node.loaded()
    assert node.reachable(60), node.run("ip address")
    again = node.play("site", *SPARING_OPENSM)
    assert again.status == 0, again.output
    assert records.changes(again.events) == {}
    assert ADDRESS + "/24" in node.addresses()
