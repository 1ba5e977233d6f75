# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Snapshots: the named state of all machines of a lab, which later labs resume instead of booting.

A snapshot is valid only for machines of the same `origin`: if any part of it differs, the snapshot is not found.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import tempfile
import time
import typing as t

from . import _access, _cluster, _creation, _image, _qemu, _vmimage
from ._monitor import Monitor
from ._say import LabError, say
from ._settings import Settings
from ._topology import Node

KEYS = ("key", "key.pub")
"""Keys for ssh. The machines of a snapshot know the key of the saved lab, so the snapshot includes it."""
STATE = "state"
WAKE_SECONDS = 120
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
# QEMU does not save the registers of its test device, which the machine uses as an adapter.
_KEEP = "mkdir -p /run/rdmalab; cd /sys/bus/pci/devices; for device in *; do cat $device/config >/run/rdmalab/$device; done"
# The system clock stood still in the meantime; the hardware clock is that of this host.
_WAKE = """
date --set=@$(cat /sys/class/rtc/rtc0/since_epoch) >/dev/null
cd /run/rdmalab
for device in 0000:*; do
    system=/sys/bus/pci/devices/$device
    if grep -q PCI_ID=1B36:0005 $system/uevent; then dd if=$device of=$system/config bs=1 skip=4 seek=4 count=60 conv=notrunc status=none; fi
done
echo awake
"""


def key(name: str, origins: t.Iterable[str]) -> str:
    """Return the name of a snapshot's directory, which depends on the origin of every machine."""
    if not _NAME.fullmatch(name):
        raise LabError("'%s' is no name for a snapshot: take up to 31 lower-case letters, digits and '-', beginning with a letter." % name)
    return "%s%s-%s" % (_vmimage.SNAPSHOT, name, _image.digest(text.encode() for text in (name, *origins)))


def find(lab: Settings, names: t.Iterable[str], origins: t.Sequence[str]) -> pathlib.Path | None:
    """Return the first readable snapshot of machines with these origins."""
    folders = [lab.cache / key(name, origins) for name in names]
    return next((folder for folder in folders if os.access(folder / KEYS[0], os.R_OK)), None)


def save(lab: Settings, name: str, nodes: t.Sequence[Node]) -> None:
    """Save running machines, which continue afterwards. An existing snapshot stays."""
    folders = [_access.folder(lab, node) for node in nodes]
    wanted = lab.cache / key(name, [_qemu.load(folder).origin for folder in folders])
    if wanted.is_dir():
        say("there is a snapshot '%s' of such machines already" % name)
        return
    _cluster.together(lambda node: _access.run(lab, node, _KEEP), nodes)
    try:
        with contextlib.ExitStack() as cleanup:
            lock = cleanup.enter_context((lab.cache / "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            scratch = pathlib.Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="new-", dir=lab.cache))) / "made"
            scratch.mkdir()
            for file in KEYS:
                shutil.copy(lab.machines / file, scratch / file)
            monitors = {node.name: cleanup.enter_context(Monitor(folder)) for node, folder in zip(nodes, folders)}
            # All machines stop before the first is saved, so that no message between them gets lost.
            for monitor in monitors.values():
                cleanup.callback(monitor.ask, "cont")
                monitor.ask("stop")
            _cluster.together(lambda node: _write(_access.folder(lab, node), monitors[node.name], scratch / node.name), nodes)
            if not wanted.is_dir():
                scratch.rename(wanted)
    except OSError as exc:
        raise LabError("The snapshot '%s' cannot be written to %s: %s." % (name, lab.cache, exc.strerror)) from exc
    say("saved %s as '%s'" % (", ".join(node.name for node in nodes), name))


def _write(folder: pathlib.Path, monitor: Monitor, place: pathlib.Path) -> None:
    place.mkdir()
    monitor.write_state(place / STATE)
    for name in (_qemu.DISK, _creation.SEED):
        shutil.copyfile(folder / name, place / name)


def resume(lab: Settings, snapshot: pathlib.Path, drafts: t.Sequence[_creation.Draft]) -> None:
    """Create and start machines from a snapshot. They are ready when this returns."""
    nodes = [draft.node for draft in drafts]
    say("resuming %s from %s" % (", ".join(node.name for node in nodes), snapshot.name))
    for file in KEYS:
        shutil.copy(snapshot / file, lab.machines / file)
    for draft in drafts:
        _creation.create_from(lab, draft, snapshot / draft.node.name)
    with contextlib.ExitStack() as cleanup:
        monitors = dict(zip([node.name for node in nodes], _cluster.together(lambda node: _asleep(lab, node, snapshot), nodes)))
        for monitor in monitors.values():
            cleanup.enter_context(monitor)
        for monitor in monitors.values():
            monitor.ask("cont")
    end = time.monotonic() + WAKE_SECONDS
    _cluster.together(lambda node: _wake(lab, node, end), nodes)


def _asleep(lab: Settings, node: Node, snapshot: pathlib.Path) -> Monitor:
    """Return the monitor of a stopped machine that has the state of the snapshot."""
    folder = _access.folder(lab, node)
    _qemu.start(folder, asleep=True)
    monitor = Monitor(folder)
    monitor.read_state(snapshot / node.name / STATE)
    return monitor


def _wake(lab: Settings, node: Node, end: float) -> None:
    while "awake" not in _access.run(lab, node, _WAKE, check=False):
        if time.monotonic() > end:
            raise LabError("it does not answer %d s after it was resumed. See %s." % (WAKE_SECONDS, _access.folder(lab, node) / "console.log"))
