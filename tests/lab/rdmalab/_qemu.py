# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One virtual machine as a process: the QEMU command line, and its control by process ID."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import typing as t

from . import _monitor
from ._say import LabError

DISK = "disk.qcow2"
MEMORY = 1024
"""MiB per machine."""
WIRE_MTU = 9000
EMULATED = "max,la57=off,smap=off,svm=off,aes=off,pclmulqdq=off,sha-ni=off"
"""The CPU model, without features that slow down emulation: five-level page tables, and modules that a boot would load and probe."""


class Machine(t.NamedTuple):
    """Parameters of a machine, kept in its directory so that it restarts unchanged."""

    node: str
    ssh_port: int
    """Port on 127.0.0.1 of this host."""
    adapters: int
    wire: str
    """Multicast address and port that act as the Ethernet between the machines."""
    number: int
    accelerator: str
    origin: str
    """Hash of its sources: see _creation.origin."""


def accelerator() -> str:
    """Return the value of QEMU's -accel."""
    return os.environ.get("RDMALAB_ACCELERATOR", "") or "tcg,thread=multi"


def computer(name: str, accelerated: str) -> list[str]:
    """Return the common part of the command line: a PC without devices."""
    arguments = ["qemu-system-x86_64", "-name", name, "-nodefaults", "-no-user-config", "-display", "none"]
    arguments += ["-machine", "q35,sata=off", "-accel", accelerated, "-cpu", EMULATED if accelerated.startswith("tcg") else "host"]
    return [*arguments, "-smp", "1", "-m", str(MEMORY)]


def argv(folder: pathlib.Path, machine: Machine) -> list[str]:
    mac = "52:54:00:1b:%02x:%%02x" % machine.number
    arguments = computer(machine.node, machine.accelerator)
    arguments += ["-chardev", "file,id=console,path=%s,append=on" % (folder / "console.log"), "-serial", "chardev:console"]
    arguments += ["-qmp", "unix:%s,server=on,wait=off" % _monitor.SOCKET, "-pidfile", str(folder / "pid"), "-daemonize"]
    # Written data stays in this host's memory: it outlives the machine, and need not outlive the host.
    arguments += ["-drive", "file=%s,format=qcow2,if=none,id=root,cache=unsafe" % (folder / DISK), "-device", "virtio-blk-pci,drive=root,addr=2,bootindex=0"]
    arguments += ["-drive", "file=%s,format=raw,if=none,id=seed,readonly=on" % (folder / "seed.tar")]
    arguments += ["-device", "virtio-blk-pci,drive=seed,addr=5,serial=rdmalab-seed", "-device", "virtio-rng-pci,addr=6"]
    arguments += ["-netdev", "user,id=management,ipv6=off,hostfwd=tcp:127.0.0.1:%d-:22" % machine.ssh_port]
    arguments += ["-device", "virtio-net-pci,netdev=management,addr=3,romfile=,mac=" + mac % 3]
    arguments += ["-netdev", "socket,id=wire,mcast=%s,localaddr=127.0.0.1" % machine.wire]
    arguments += ["-device", "virtio-net-pci,netdev=wire,addr=4,romfile=,host_mtu=%d,mac=%s" % (WIRE_MTU, mac % 4)]
    for index in range(machine.adapters):
        arguments += ["-device", "pci-testdev,addr=0x%x" % (0x10 + index)]
    return arguments


def save(folder: pathlib.Path, machine: Machine) -> None:
    (folder / "machine.json").write_text(json.dumps(machine._asdict(), indent=2) + "\n", encoding="utf-8")


def load(folder: pathlib.Path) -> Machine:
    try:
        return Machine(**json.loads((folder / "machine.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as exc:
        raise LabError("%s does not describe a machine: %s. 'lab down' and 'lab up' make the lab anew." % (folder / "machine.json", exc)) from exc


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pid(folder: pathlib.Path) -> int:
    """Return the ID of the machine's process, 0 if it is not running. An unrelated process that reuses the ID does not count."""
    try:
        number = int((folder / "pid").read_text())
        command = pathlib.Path("/proc/%d/cmdline" % number).read_bytes().split(b"\0")
    except (OSError, ValueError):
        return 0
    return number if str(folder / "pid").encode() in command else 0


def start(folder: pathlib.Path, asleep: bool = False) -> None:
    """Start the machine. It boots, or waits `asleep` for a state that its monitor reads."""
    if pid(folder):
        return
    how = ["-S", "-incoming", "defer"] if asleep else []
    with (folder / "qemu.log").open("wb") as log:
        done = subprocess.run([*argv(folder, load(folder)), *how], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    if done.returncode:
        raise LabError("QEMU does not start: %s" % (folder / "qemu.log").read_text(errors="replace").strip())


def stop(folder: pathlib.Path, seconds: float = 15) -> None:
    """Cut the power and wait until the process is gone."""
    number = pid(folder)
    if not number:
        return
    os.kill(number, signal.SIGKILL)
    end = time.monotonic() + seconds
    while pid(folder):
        if time.monotonic() > end:
            raise LabError("process %d was killed and does not end" % number)
        time.sleep(0.05)
    (folder / "pid").unlink(missing_ok=True)
