# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The virtual machines of a lab: creates, starts, awaits and removes them."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import time
import typing as t

from . import _cluster, _creation, _engine, _fabric, _hardware, _inventory, _leftovers, _qemu, _seed, _snapshots, _status, _vmimage
from ._access import SSH_OPTIONS, folder, run, ssh
from ._say import LabError, say
from ._settings import Settings
from ._topology import Node

BOOT_SECONDS = 900
_PARAMETERS = "/sys/module/ibdummy/parameters/"
# rdma-core's udev rules rename RDMA devices, so only their number is checked. Those in software have no device below them.
_SIMULATOR = "/etc/lab/simulator"
_BOOTED = "systemctl --wait is-system-running; ls -d /sys/class/infiniband/*/device | wc -l; cat /proc/uptime"


class Machines:
    """Labs of kind "vm": see _kinds.Kind."""

    def __init__(self, names: str = "kernel", snapshots: t.Sequence[str] = (), keep: str = "", *, tree: str = "") -> None:
        """`up` resumes the first snapshot found, or boots and saves one under the name `keep`. `tree`: the files to boot, in place of those of the lab."""
        self.tree = tree
        self.names = names
        self.snapshots = snapshots
        self.keep = keep

    def up(self, lab: Settings, text: str, asked: bool, source: str, inventory: str) -> None:
        _leftovers.end_others(lab)
        if _leftovers.abandoned(lab):
            say("removing the lab that an earlier run of tests left behind")
            self.down(lab)
        _leftovers.claim(lab)
        if lab.topology.exists():
            present = lab.topology.read_text(encoding="utf-8")
            if asked and present != text:
                raise LabError("A lab with another topology is up. Take it down first ('lab down'), or start a second one beside it ('lab --prefix NAME up').")
            text = present
        topology = _hardware.read(text, source)
        lab.machines.mkdir(parents=True, exist_ok=True)
        wants = [_wants(lab, node) for node in topology.nodes]
        own = _vmimage.disk_of(pathlib.Path(self.tree), lab.machines / "tree.raw") if self.tree else None
        disks = dict.fromkeys(wants, own) if own else _vmimage.ensure_disks(lab, wants)
        lab.topology.write_text(text, encoding="utf-8")
        drafts = [_creation.draft(lab, topology, node, base=disks[_wants(lab, node)], names=self.names) for node in topology.nodes]
        missing = [draft for draft in drafts if not (folder(lab, draft.node) / "machine.json").exists()]
        fresh = missing == drafts
        snapshot = _snapshots.find(lab, self.snapshots, [draft.machine.origin for draft in drafts]) if fresh else None
        if snapshot:
            _snapshots.resume(lab, snapshot, drafts)
        else:
            self._boot(lab, missing, topology.nodes)
        if topology.simulated:
            _engine.ensure_engine(lab)
            self._join(lab, topology.nodes, _cluster.ensure_simulator(lab, text))
        if self.keep and fresh and not snapshot:
            self.save(lab, self.keep)
        if not lab.inventory.exists():
            ports = {node.name: _qemu.load(folder(lab, node)).ssh_port for node in topology.nodes}
            lab.inventory.write_text(inventory or _inventory.render_machines(topology, ports, lab.machines / "key", SSH_OPTIONS), encoding="utf-8")

    def _boot(self, lab: Settings, missing: t.Sequence[_creation.Draft], nodes: t.Sequence[Node]) -> None:
        _creation.ensure_key(lab)
        for draft in missing:
            _creation.create(lab, draft)
        self.start(lab, nodes)

    def _join(self, lab: Settings, nodes: t.Sequence[Node], simulator: str) -> None:
        """Connect to the simulated fabric. Its address may have changed since the snapshot was saved."""
        _cluster.together(lambda node: run(lab, node, "echo %s >%s" % (simulator, _SIMULATOR)), nodes)

    def start(self, lab: Settings, nodes: t.Sequence[Node]) -> None:
        stopped = [node for node in nodes if not _qemu.pid(folder(lab, node))]
        if stopped:
            say("booting %s" % ", ".join(node.name for node in stopped))
            _cluster.together(lambda node: _qemu.start(folder(lab, node)), stopped)
        end = time.monotonic() + BOOT_SECONDS
        _cluster.together(lambda node: _booted(lab, node, end), nodes)

    def restart(self, lab: Settings, nodes: t.Sequence[Node], simulator: bool) -> None:
        """Restart machines. Running ones are shut down first.

        QEMU keeps the translated code of a system that has ended and discards it piece by piece as the next one overwrites it. A reboot in the same process
        therefore takes twice as long as a boot.
        """
        if simulator and not _cluster.running_topology(lab).simulated:
            raise LabError("Virtual machines have no simulator to restart: 'lab fault sm off' takes the subnet manager away.")

        def switch_off(node: Node) -> None:
            if _qemu.pid(folder(lab, node)):
                run(lab, node, "systemctl --no-block poweroff", check=False)
            end = time.monotonic() + BOOT_SECONDS
            while _qemu.pid(folder(lab, node)):
                if time.monotonic() > end:
                    raise LabError("it does not switch itself off within %d s. See %s." % (BOOT_SECONDS, folder(lab, node) / "console.log"))
                time.sleep(0.2)

        say("restarting %s" % ", ".join(["the simulator"] * simulator + [node.name for node in nodes]))
        if simulator:
            _cluster.restart(lab, (), True)
        _cluster.together(switch_off, nodes)
        self.start(lab, nodes)

    def save(self, lab: Settings, name: str) -> None:
        _snapshots.save(lab, name, _cluster.running_topology(lab).nodes)

    def kill(self, lab: Settings, node: Node) -> None:
        _qemu.stop(folder(lab, node))

    def down(self, lab: Settings) -> list[str]:
        found = sorted(path.parent for path in lab.machines.glob("*/machine.json"))
        simulated = lab.topology.exists() and _cluster.running_topology(lab).simulated
        for path in found:
            _qemu.stop(path)
        shutil.rmtree(lab.machines, ignore_errors=True)
        if simulated:
            _cluster.down(lab)
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
        """Unplug or plug cables. The state survives a reboot."""
        if _cluster.running_topology(lab).simulated:
            return ["the simulator: " + remark for remark in _fabric.set_links(lab, node, up, port)]
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
        """Set a parameter of the adapters' driver, now and after a reboot."""
        if _cluster.running_topology(lab).simulated:
            raise LabError("That is up to the subnet manager of this lab: its driver does not answer for one.")
        _cluster.together(lambda node: run(lab, node, "%s %s %s" % (_seed.SET, name, shlex.quote(value))), nodes)


def _wants(lab: Settings, node: Node) -> tuple[str, str]:
    """Return the suite and network stack of a node."""
    return _vmimage.suite_of(lab, node), node.network


def _booted(lab: Settings, node: Node, end: float) -> None:
    """Wait until systemd has finished booting and the adapters exist."""
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
