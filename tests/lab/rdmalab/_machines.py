# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The virtual machines of a lab: created, started, waited for, removed."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import time
import typing as t

from . import _cluster, _hardware, _inventory, _qemu, _seed, _status, _vmimage
from ._say import LabError, say
from ._settings import Settings
from ._topology import Node, Topology

BOOT_SECONDS = 300
# A machine whose network goes down before its sshd says good-bye leaves the other end waiting for ever.
_ALIVE = ("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=6")
SSH_OPTIONS = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", *_ALIVE)
_PARAMETERS = "/sys/module/ibdummy/parameters/"
# RDMA devices get other names once rdma-core's udev rules are there: their number is what counts.
_BOOTED = "systemctl is-system-running; ls /sys/class/infiniband | wc -l; cat /proc/uptime"


def folder(lab: Settings, node: Node) -> pathlib.Path:
    return lab.machines / node.name


def ssh(lab: Settings, node: Node, *command: str) -> list[str]:
    """The command line that runs a command on a node, or a shell. It ends when the node goes away without a word."""
    port = str(_qemu.load(folder(lab, node)).ssh_port)
    options = ["-i", str(lab.machines / "key"), "-p", port, *SSH_OPTIONS, "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
    return ["ssh", *options, "root@127.0.0.1", *([shlex.join(command)] if command else [])]


def run(lab: Settings, node: Node, script: str, check: bool = True) -> str:
    """The output of a shell script on a node. With C(check) off, "" where the node can't be reached."""
    try:
        done = subprocess.run(ssh(lab, node, "sh", "-c", script), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as exc:
        if not check:
            return ""
        raise LabError("%s does not answer within %d s. See %s." % (node.name, exc.timeout, folder(lab, node) / "console.log")) from exc
    if check and done.returncode:
        raise LabError("'%s' failed on %s: %s" % (script, node.name, done.stderr.strip() or "status %d" % done.returncode))
    return done.stdout


class Machines:
    """The lab's kind "vm": see _kinds.Kind."""

    def __init__(self, names: str = "kernel") -> None:
        self.names = names

    def up(self, lab: Settings, text: str, asked: bool, source: str, inventory: str) -> None:
        if lab.topology.exists():
            present = lab.topology.read_text(encoding="utf-8")
            if asked and present != text:
                raise LabError("A lab with another topology is up. Take it down first ('lab down'), or start a second one beside it ('lab --prefix NAME up').")
            text = present
        topology = _hardware.read(text, source)
        disks = _vmimage.ensure_disks(lab, [_wants(lab, node) for node in topology.nodes])
        lab.machines.mkdir(parents=True, exist_ok=True)
        lab.topology.write_text(text, encoding="utf-8")
        _key(lab)
        missing = [(number, node) for number, node in enumerate(topology.nodes, 1) if not (folder(lab, node) / "machine.json").exists()]
        for number, node in missing:
            _create(lab, topology, node, number, disks[_wants(lab, node)], self.names)
        self.start(lab, topology.nodes)
        if not lab.inventory.exists():
            ports = {node.name: _qemu.load(folder(lab, node)).ssh_port for node in topology.nodes}
            lab.inventory.write_text(inventory or _inventory.render_machines(topology.nodes, ports, lab.machines / "key", SSH_OPTIONS), encoding="utf-8")

    def start(self, lab: Settings, nodes: t.Sequence[Node]) -> None:
        stopped = [node for node in nodes if not _qemu.pid(folder(lab, node))]
        if stopped:
            say("booting %s" % ", ".join(node.name for node in stopped))
            _cluster.together(lambda node: _qemu.start(folder(lab, node)), stopped)
        end = time.monotonic() + BOOT_SECONDS
        _cluster.together(lambda node: _booted(lab, node, end), nodes)

    def restart(self, lab: Settings, nodes: t.Sequence[Node], simulator: bool) -> None:
        """An orderly reboot of those that run, and the start of those that don't."""
        if simulator:
            raise LabError("Virtual machines have no simulator to restart: 'lab fault sm off' takes the subnet manager away.")

        def reboot(node: Node) -> None:
            if not _qemu.pid(folder(lab, node)):
                return
            before = run(lab, node, "cat /proc/sys/kernel/random/boot_id")
            run(lab, node, "systemctl --no-block reboot", check=False)
            end = time.monotonic() + BOOT_SECONDS
            while run(lab, node, "cat /proc/sys/kernel/random/boot_id", check=False) in ("", before):
                if time.monotonic() > end:
                    raise LabError("it does not come back after %d s. See %s." % (BOOT_SECONDS, folder(lab, node) / "console.log"))
                time.sleep(1)

        say("restarting %s" % ", ".join(node.name for node in nodes))
        _cluster.together(reboot, nodes)
        self.start(lab, nodes)

    def kill(self, lab: Settings, node: Node) -> None:
        _qemu.stop(folder(lab, node))

    def down(self, lab: Settings) -> list[str]:
        found = sorted(path.parent for path in lab.machines.glob("*/machine.json"))
        for path in found:
            _qemu.stop(path)
        shutil.rmtree(lab.machines, ignore_errors=True)
        for path in (lab.topology, lab.inventory):
            path.unlink(missing_ok=True)
        return [path.name for path in found]

    def shell(self, lab: Settings, node: Node, command: t.Sequence[str], terminal: bool) -> t.NoReturn:
        argv = ssh(lab, node, *command)
        os.execvp(argv[0], [argv[0], *(["-t"] if terminal else []), *argv[1:]])

    def status(self, lab: Settings) -> str:
        topology = _cluster.running_topology(lab)

        def probe(node: Node) -> _status.Report:
            number = _qemu.pid(folder(lab, node))
            return _status.parse_probe(node.name, "pid %d" % number if number else "off", run(lab, node, _status.PROBE, check=False) if number else "")

        columns = tuple("process" if column == "container" else column for column in _status.COLUMNS)
        return _status.layout([columns, *_status.rows(_cluster.together(probe, topology.nodes))]) + "\ninventory: %s\n" % lab.inventory

    def set_links(self, lab: Settings, node: Node, up: bool, port: str) -> list[str]:
        """Pulls or plugs cables; they stay so over a reboot."""
        bits = 0
        for name in [port] if port else _hardware.port_names(node):
            bits |= _seed.port_bit(node, name)
        was = int(run(lab, node, "cat %sports_down" % _PARAMETERS))
        now = was & ~bits if up else was | bits
        if now == was:
            return ["it was %s already" % ("plugged" if up else "pulled")]
        run(lab, node, "%s ports_down 0x%x" % (_seed.SET, now))
        return []

    def set_parameter(self, lab: Settings, nodes: t.Sequence[Node], name: str, value: str) -> None:
        """Of the adapters' driver: now and after a reboot."""
        _cluster.together(lambda node: run(lab, node, "%s %s %s" % (_seed.SET, name, shlex.quote(value))), nodes)


def _wants(lab: Settings, node: Node) -> tuple[str, str]:
    """Suite and network stack of a node."""
    return _vmimage.suite_of(lab, node), node.network


def _key(lab: Settings) -> None:
    key = lab.machines / "key"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", lab.prefix, "-f", str(key)], check=True, stdin=subprocess.DEVNULL)


def _create(lab: Settings, topology: Topology, node: Node, number: int, disk: pathlib.Path, names: str) -> None:
    path = folder(lab, node)
    path.mkdir(parents=True, exist_ok=True)
    # Labs of other checkouts must not hear this one.
    group = hashlib.sha256(str(lab.machines).encode()).digest()
    wire = "239.255.%d.%d:%d" % (group[0], group[1], 20000 + int.from_bytes(group[2:4], "big") % 10000)
    key = (lab.machines / "key.pub").read_text(encoding="utf-8")
    (path / "seed.tar").write_bytes(_seed.archive(_seed.seed(topology, node, key, str(path), names)))
    argv = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(disk), "-F", "raw", str(path / "disk.qcow2")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError("The disk of %s cannot be made: %s" % (node.name, done.stderr.strip()))
    taken = {_qemu.load(other.parent).ssh_port for other in lab.machines.glob("*/machine.json")}
    port = next(port for port in iter(_qemu.free_port, 0) if port not in taken)
    _qemu.save(path, _qemu.Machine(node.name, port, len(node.hcas), wire, number, _qemu.accelerator()))


def _booted(lab: Settings, node: Node, end: float) -> None:
    """systemd is done, and the adapters are there."""
    console = folder(lab, node) / "console.log"
    while True:
        words = run(lab, node, _BOOTED, check=False).split()
        if len(words) >= 3 and words[0] in ("running", "degraded") and words[1] == str(len(node.hcas)):
            say("%s is up, %s s after its kernel" % (node.name, words[2]))
            return
        if not _qemu.pid(folder(lab, node)):
            raise LabError("its process ended. See %s." % console)
        if time.monotonic() > end:
            break
        time.sleep(1)
    found = "systemd says '%s', %s of %d adapters are there" % (words[0], words[1], len(node.hcas)) if len(words) >= 3 else "no answer by ssh"
    raise LabError("%s after %d s. See %s and 'lab shell %s journalctl -b'." % (found, BOOT_SECONDS, console, node.name))
