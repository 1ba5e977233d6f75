# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An image for nodes: the collection provisions a tree by way of a chroot, and a machine boots it into a node that is as declared.

The tests depend on each other. The tree has the /proc, /sys and /dev of this host, as with builders of images, and the first two are writable.
"""

from __future__ import annotations

import collections.abc
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import typing as t

import pytest
import records
from cluster import Cluster, Run
from conftest import PREFIX
from interfaces import Look, look, run, within
from proofs import REAL

NODE = "node1"
VARIABLES: dict[str, t.Any] = {
    "ofed_tools": False,
    "kernel_modules_options": {"ib_ipoib": {"send_queue_size": 256}},
    "ipoib_interfaces": [
        {"name": "ib0", "mode": "connected", "addresses": ["10.20.0.1/24"]},
        {"parent": "ib0", "pkey": 0x8001, "mode": "connected", "addresses": ["10.21.0.1/24"]},
        {"pci": "0000:00:10.0/2", "name": "ib_b", "addresses": ["10.22.0.1/24"]},
    ],
    "soft_rdma_links": [{"name": "rxe0", "type": "rxe", "netdev": "eth0"}],
}
# Counters, and what belongs to the labs of others on this host.
_VOLATILE = re.compile(
    r"kernel/random/|kernel/ns_last_pid|kernel/pty/nr|kernel/perf|fs/(aio|dentry|file|inode)|fs/quota/|nf_conntrack_count|/(veth|br-)|kernel/sched|vm/stat_refresh"
)
_READ_LIMIT = 1 << 20


def _texts(folder: pathlib.Path) -> dict[str, str]:
    """Return the hashes of all files below a folder, and the targets of links."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path)
        with contextlib.suppress(OSError):
            if path.is_symlink():
                found[name] = os.readlink(name)
            elif path.is_file():
                with path.open("rb") as stream:
                    found[name] = hashlib.sha256(stream.read(_READ_LIMIT)).hexdigest()
    return found


def host_state() -> dict[str, t.Any]:
    """Return what the build of an image must leave alone on this host."""
    settings = {name: text for name, text in _texts(pathlib.Path("/proc/sys")).items() if not _VOLATILE.search(name)}
    # A kernel without modules has no such file.
    loaded = pathlib.Path("/proc/modules")
    modules = sorted(line.split()[0] for line in loaded.read_text(encoding="ascii").splitlines()) if loaded.exists() else []
    units = sorted(map(str, pathlib.Path("/run/systemd").rglob("*"))) if pathlib.Path("/run/systemd").is_dir() else []
    links = sorted(name for name in os.listdir("/sys/class/net") if not name.startswith(("veth", "br-")))
    return {"settings": settings, "modules": modules, "units": units, "links": links, "etc": _texts(pathlib.Path("/etc"))}


def _mount(cleanup: contextlib.ExitStack, *argv: str) -> None:
    subprocess.run(["mount", *argv], check=True)
    cleanup.callback(subprocess.run, ["umount", argv[-1]], check=True)


@pytest.fixture(scope="module")
def tree() -> collections.abc.Iterator[pathlib.Path]:
    """Yield the files of a machine."""
    with tempfile.TemporaryDirectory(prefix="rdma-image-") as folder:
        root = pathlib.Path(folder, "root")
        Cluster(PREFIX + "-image").command("image", "--kind", "vm", "--tree", str(root))
        yield root


class Build(t.NamedTuple):
    """The build of the image: the runs in check mode, once and once more, and the state of this host before and after them."""

    predicted: Run
    done: Run
    again: Run
    before: dict[str, t.Any]
    after: dict[str, t.Any]


@pytest.fixture(scope="module")
def build(tree: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    host = {**VARIABLES, "ansible_host": str(tree), "ansible_python_interpreter": "/usr/bin/python3", "rdma_image": True, "opensm_state": "absent"}
    inventory = tmp_path_factory.mktemp("inventory") / "images.yml"
    inventory.write_text(json.dumps({"rdma": {"hosts": {"compute": {**host, "ansible_connection": "community.general.chroot"}}}}), encoding="utf-8")
    with contextlib.ExitStack() as cleanup:
        for name in ("proc", "sys"):
            _mount(cleanup, "--bind", "/" + name, str(tree / name))
        # Read-only, as a mistake in the removal of the tree would remove the devices of this host.
        _mount(cleanup, "--bind", "/dev", str(tree / "dev"))
        subprocess.run(["mount", "-o", "remount,bind,ro", str(tree / "dev")], check=True)
        shutil.copy("/etc/resolv.conf", tree / "etc/resolv.conf")
        cleanup.callback((tree / "etc/resolv.conf").unlink)
        cluster = Cluster(PREFIX + "-image")
        before = host_state()
        runs = [cluster.play("site", *arguments, inventory=inventory) for arguments in (("--check",), (), ())]
        return Build(*runs, before, host_state())


@pytest.fixture(scope="module")
def machine(tree: pathlib.Path, build: Build) -> collections.abc.Iterator[Cluster]:
    """Yield a machine that has booted the image."""
    assert build.done.status == 0, build.done.output
    cluster = Cluster(PREFIX + "-image")
    try:
        cluster.command("up", "--kind", "vm", "--topology", "one-machine", "--tree", str(tree))
        yield cluster
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")


def play(machine: Cluster, playbook: str) -> Run:
    done = machine.play(playbook, "-e", json.dumps(VARIABLES))
    assert done.status == 0, done.output
    return done


@pytest.mark.proves("images", "check_mode", debian12=REAL)
def test_check_mode_predicts_the_image(build: Build) -> None:
    assert build.predicted.status == 0, build.predicted.output
    assert build.done.status == 0, build.done.output
    assert records.differences(build.predicted.events, build.done.events) == []
    assert "Not for the image, but for the nodes that boot it:" in build.done.output


@pytest.mark.proves("images", "unchanged", debian12=REAL)
def test_a_second_run_changes_nothing_in_the_image(build: Build) -> None:
    assert build.again.status == 0, build.again.output
    assert records.changes(build.again.events) == {}


@pytest.mark.proves("images", debian12=REAL)
def test_the_host_that_builds_it_stays_as_it_was(build: Build) -> None:
    for part, before in build.before.items():
        assert build.after[part] == before, part


@pytest.mark.proves("images", debian12=REAL)
def test_the_first_boot_finds_all_in_place(machine: Cluster) -> None:
    for name, expected in (
        ("ib0", Look("connected", 65520, True, ("10.20.0.1/24",))),
        ("ib0.8001", Look("connected", 65520, True, ("10.21.0.1/24",))),
        ("ib_b", Look("datagram", 2044, True, ("10.22.0.1/24",))),
    ):
        assert within(60, lambda name=name, expected=expected: look(machine, NODE, name) == expected), look(machine, NODE, name)  # type: ignore[misc]
    assert run(machine, NODE, "cat /sys/module/ib_ipoib/parameters/send_queue_size") == "256"
    assert run(machine, NODE, "su -l -s /bin/sh -c 'ulimit -l' nobody 2>/dev/null") == "unlimited"
    assert within(60, lambda: "rxe0" in run(machine, NODE, "ls /sys/class/infiniband"))


@pytest.mark.proves("images", debian12=REAL)
def test_the_booted_node_is_as_declared(machine: Cluster) -> None:
    play(machine, "verify")
    assert records.changes(play(machine, "site").events) == {}
