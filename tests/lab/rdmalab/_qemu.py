# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One virtual machine as a process: the command line of QEMU, and its life by process id."""

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
"""MiB a machine."""
WIRE_MTU = 9000
EMULATED = "max,la57=off,smap=off,svm=off,aes=off,pclmulqdq=off,sha-ni=off"
"""The processor, less what costs an emulated one time: a fifth level of page tables, and modules that boot would load and try out."""


class Machine(t.NamedTuple):
    """What a machine was made with; kept in its folder, so that it comes back the same."""

    node: str
    ssh_port: int
    """On 127.0.0.1 of this host."""
    adapters: int
    wire: str
    """Multicast address and port that are the Ethernet between the machines."""
    number: int
    accelerator: str
    origin: str
    """What it was made of, as a hash: see _creation.origin."""


def accelerator() -> str:
    """For QEMU's -accel."""
    return os.environ.get("RDMALAB_ACCELERATOR", "") or "tcg,thread=multi"


def computer(name: str, accelerated: str) -> list[str]:
    """The command line up to what differs between machines: a PC without any device."""
    arguments = ["qemu-system-x86_64", "-name", name, "-nodefaults", "-no-user-config", "-display", "none"]
    arguments += ["-machine", "q35,sata=off", "-accel", accelerated, "-cpu", EMULATED if accelerated.startswith("tcg") else "host"]
    return [*arguments, "-smp", "1", "-m", str(MEMORY)]


def argv(folder: pathlib.Path, machine: Machine) -> list[str]:
    mac = "52:54:00:1b:%02x:%%02x" % machine.number
    arguments = computer(machine.node, machine.accelerator)
    arguments += ["-chardev", "file,id=console,path=%s,append=on" % (folder / "console.log"), "-serial", "chardev:console"]
    arguments += ["-qmp", "unix:%s,server=on,wait=off" % _monitor.SOCKET, "-pidfile", str(folder / "pid"), "-daemonize"]
    # Written data is in the memory of this host: it outlives the machine's end, and need not outlive the host's.
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
    """Of the machine's process, 0 where it does not run. A process that took over the number is not it."""
    try:
        number = int((folder / "pid").read_text())
        command = pathlib.Path("/proc/%d/cmdline" % number).read_bytes().split(b"\0")
    except (OSError, ValueError):
        return 0
    return number if str(folder / "pid").encode() in command else 0


def start(folder: pathlib.Path, asleep: bool = False) -> None:
    """The machine boots, or waits C(asleep) for the state that its monitor will read."""
    if pid(folder):
        return
    how = ["-S", "-incoming", "defer"] if asleep else []
    with (folder / "qemu.log").open("wb") as log:
        done = subprocess.run([*argv(folder, load(folder)), *how], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    if done.returncode:
        raise LabError("QEMU does not start: %s" % (folder / "qemu.log").read_text(errors="replace").strip())


def stop(folder: pathlib.Path, seconds: float = 15) -> None:
    """A power cut, and the wait until the process is gone."""
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
