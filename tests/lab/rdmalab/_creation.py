# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of a virtual machine before its start: its disk, its own files, and the parameters of QEMU."""

from __future__ import annotations

import functools
import hashlib
import pathlib
import shutil
import subprocess
import typing as t

from . import _image, _qemu, _seed
from ._access import folder
from ._say import LabError
from ._settings import Settings
from ._topology import Node, Topology

SEED = "seed.tar"


class Draft(t.NamedTuple):
    """A machine that can be created."""

    node: Node
    base: pathlib.Path
    """Disk image below the machine's overlay."""
    files: t.Mapping[str, _seed.File]
    """The files that make it this node, without those that differ between two labs of the same sources."""
    machine: _qemu.Machine


def draft(lab: Settings, topology: Topology, node: Node, *, base: pathlib.Path, names: str) -> Draft:
    machine = _qemu.Machine(node.name, 0, len(node.hcas), _wire(lab), topology.nodes.index(node) + 1, _qemu.accelerator(), "")
    files = _seed.seed(topology, node, names)
    return Draft(node, base, files, machine._replace(origin=origin(base, files, machine, _qemu_version())))


def origin(base: pathlib.Path, files: t.Mapping[str, _seed.File], machine: _qemu.Machine, version: str) -> str:
    """Return a hash of everything that the state of a machine depends on: the image, the node's own files, the virtual hardware."""
    found = base.stat()
    image = "%s %d %d" % (base, found.st_size, found.st_mtime_ns)
    hardware = "\0".join(_qemu.argv(pathlib.Path("/"), machine._replace(ssh_port=0, wire="", origin="")))
    return _image.digest([image.encode(), _seed.archive(files), hardware.encode(), version.encode()])


def create(lab: Settings, drafted: Draft) -> None:
    """Create a machine with an empty overlay of the image."""
    path = folder(lab, drafted.node)
    path.mkdir(parents=True, exist_ok=True)
    key = (lab.machines / "key.pub").read_text(encoding="utf-8")
    (path / SEED).write_bytes(_seed.archive({**drafted.files, **_seed.identity(key, str(path))}))
    _overlay(drafted.base, "raw", path)
    _qemu.save(path, drafted.machine._replace(ssh_port=_free_port(lab)))


def create_from(lab: Settings, drafted: Draft, saved: pathlib.Path) -> None:
    """Create a machine from its directory in a snapshot."""
    path = folder(lab, drafted.node)
    path.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(saved / SEED, path / SEED)
    _overlay(saved / _qemu.DISK, "qcow2", path)
    _qemu.save(path, drafted.machine._replace(ssh_port=_free_port(lab)))


def ensure_key(lab: Settings) -> None:
    key = lab.machines / "key"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", lab.prefix, "-f", str(key)], check=True, stdin=subprocess.DEVNULL)


def _wire(lab: Settings) -> str:
    """Return a multicast address specific to this checkout, so that the machines of other labs do not receive its frames."""
    group = hashlib.sha256(str(lab.machines).encode()).digest()
    return "239.255.%d.%d:%d" % (group[0], group[1], 20000 + int.from_bytes(group[2:4], "big") % 10000)


def _overlay(base: pathlib.Path, kind: str, path: pathlib.Path) -> None:
    argv = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(base), "-F", kind, str(path / _qemu.DISK)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError("The disk of %s cannot be made: %s" % (path.name, done.stderr.strip()))


def _free_port(lab: Settings) -> int:
    taken = {_qemu.load(other.parent).ssh_port for other in lab.machines.glob("*/machine.json")}
    return next(port for port in iter(_qemu.free_port, 0) if port not in taken)


@functools.lru_cache(maxsize=None)
def _qemu_version() -> str:
    return subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
