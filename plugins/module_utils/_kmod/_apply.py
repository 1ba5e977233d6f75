# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Apply a plan: write the files, rebuild the images and load the modules."""

from __future__ import annotations

import os
import re
import typing as t

from .._errors import CommandFailed, RdmaError
from .._host._files import apply_file, under
from .._host._initramfs import Builder, installed_images, rebuild
from .._host._saved import Access, Saved, access_of, settled
from .._host._turn import comes
from .._host._units import Systemd, show_units, systemd_runs
from .._host._write import replace_file
from .._plan import Change, Kind, Plan
from ._check import IN_CONTAINER
from ._config import HOOK_PATH, IMAGE_PATHS, INFINIBAND_PATH, RDMA_PATH, STALE_PATH
from ._daemons import read_daemons
from ._found import Found
from ._limits import RESOURCES, SERVICES_PATH, UNIT_PATHS, Limit, reaches
from ._look import lists_of_devices, read_loaded
from ._saved import LEDGER
from ._takeover import OF_IMAGES, Part, Takeover, part_of

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

LOAD_TIMEOUT = 180.0

# The units that the udev rules of rdma-core start for existing devices.
UNITS = {RDMA_PATH: "rdma-load-modules@rdma.service", INFINIBAND_PATH: "rdma-load-modules@infiniband.service"}
PATIENCE = 10.0

# Patterns in the output of modprobe, with advice for the user.
_HINTS = (
    (r"key was rejected|required key not available", "Secure Boot refuses the signature: enrol the key of the package that brought the module"),
    (r"unknown symbol", "the module belongs to a different driver stack than the loaded one: see the kernel log, and reload the driver or reboot"),
    (r"invalid argument", "the kernel refused the module or its options: see the kernel log"),
)


def _hint(stderr: str, found: Found) -> str:
    if "not permitted" in stderr.lower():
        return IN_CONTAINER if found.container else "the kernel currently allows no loading of modules: see kernel.modules_disabled and lockdown"
    return next((hint for pattern, hint in _HINTS if re.search(pattern, stderr.lower())), "see the kernel log of the node")


def settle(run: Runner, root: str = "/", patience: float = PATIENCE, *, pause: float = 0.5) -> None:
    """Wait until the units started by the installation of rdma-core have finished. `patience` and `pause` are in seconds."""
    units = [UNITS[path] for path in lists_of_devices(root)]
    if not units or not run.has("udevadm"):
        return
    run(["udevadm", "settle", "--timeout=30"], ok=None, timeout=40)
    comes(lambda: all(unit.active in ("active", "failed") for unit in show_units(run, units).values()), patience, pause)


def load(run: Runner, modules: t.Sequence[str], found: Found, *, root: str = "/") -> None:
    """Load the modules with one modprobe, and verify them: the exit status covers only the last one."""
    output = run(["modprobe", "-a", *modules], ok=None, timeout=LOAD_TIMEOUT)
    loaded = read_loaded(root)
    missing = [module for module in modules if module not in loaded]
    if output.rc != 0 or missing:
        said = output.stderr.strip() or "modprobe printed nothing, exit status %d" % output.rc
        text = "the kernel did not load %s: %s (%s)" % (", ".join(missing or modules), said, _hint(output.stderr, found))
        raise CommandFailed(text, cmd=["modprobe", "-a", *modules], rc=output.rc, stdout=output.stdout, stderr=output.stderr)


def restart(run: Runner, change: Change, *, root: str = "/", patience: float = PATIENCE, pause: float = 0.2) -> None:
    """Restart a daemon, and wait until it runs with the limit. `patience` and `pause` are in seconds."""
    Systemd(run).restart(change.subject)
    resource = RESOURCES[change.aspect]

    def is_there() -> bool:
        found = [daemon for daemon in read_daemons(run, root, [Limit(resource.name, change.after)]) if daemon.unit == change.subject]
        return bool(found) and all(reaches(daemon.value, change.after) for daemon in found)

    if not comes(is_there, patience, pause):
        words = "%s was restarted, and its limit of %s is not %s: see 'systemctl status %s' and Limit%s in 'systemctl cat %s'"
        raise CommandFailed(words % (change.subject, resource.words, change.after, change.subject, resource.name.upper(), change.subject))


def _write(module: AnsibleModule, change: Change, *, record: t.Mapping[str, Saved], root: str, backup: bool = False) -> str | None:
    # initramfs-tools runs only executable hooks.
    access = Access(0o755 if change.subject == HOOK_PATH else 0o644)
    if change.subject in record:
        access = access_of(record[change.subject].copy, root)
    return apply_file(module, change, mode=access.mode, owner=access.owner, backup=backup, root=root)


def apply(module: AnsibleModule, run: Runner, todo: Plan, *, found: Found, taken: Takeover, builder: Builder | None, backup: bool, root: str) -> list[str]:
    """Make the changes in their order. `taken`: what changes in files of others. Returns the paths of the backups."""
    backups: list[str] = []
    adopted = {file.path: file for file in taken.adopted}
    of_images = {*IMAGE_PATHS, *(file.path for file in taken.files if file.part in OF_IMAGES)}
    images = {image.path: image for image in installed_images(found.installed, root)}
    written: list[Change] = []
    # If a run is killed between the files and the images, only this record tells the next run.
    intended = [change.subject for change in todo.about(Kind.INITRAMFS)]
    record = under(root, STALE_PATH)
    if intended:
        os.makedirs(os.path.dirname(record), mode=0o755, exist_ok=True)
        replace_file(record, "".join(path + "\n" for path in intended).encode(), 0o644)
    for change in todo.changes:
        if change.kind == Kind.INITRAMFS and builder is not None and change.subject in images:
            try:
                rebuild(run, builder, images[change.subject])
            except RdmaError:
                # Restore the files: only a changed file tells the next run that the image is out of date.
                for done in written:
                    _write(module, done._replace(before=done.after, after=done.before), record=LEDGER.read(root), root=root)
                raise
        if change.kind != Kind.FILE or change.subject == LEDGER.path:
            continue
        if change.subject in adopted:
            backups.append(LEDGER.note(change.subject, change.after, [adopted[change.subject].part.value], by="", root=root))
        # Our own files are generated from the declaration; only the lists of rdma-core may contain other people's edits.
        saved = _write(module, change, record=found.saved, root=root, backup=backup and change.subject == RDMA_PATH)
        if saved:
            backups.append(saved)
        if change.subject in of_images:
            written.append(change)
    if intended:
        os.unlink(record)
    # An interrupted run may have changed files of others, and told nothing.
    unfinished = {path for path, saved in found.saved.items() if saved.pending}
    others = {*unfinished, *(file.path for file in taken.files)}
    told = {SERVICES_PATH, *UNIT_PATHS.values()}
    is_told = any(change.subject in told for change in todo.about(Kind.FILE)) or any(part_of(path) is Part.SERVICES for path in others)
    restarted = todo.about(Kind.UNIT)
    # A run that was interrupted before that has written the files.
    if (is_told or restarted) and systemd_runs(root):
        # systemd rereads its configuration. Running services keep their limits until they are restarted.
        run(["systemctl", "daemon-reexec"])
    if others:
        LEDGER.write(settled(LEDGER.read(root), [file.path for file in taken.restored]), root)
    modules = [change.subject for change in todo.about(Kind.MODULE)]
    if modules:
        load(run, modules, found, root=root)
    for change in restarted:
        restart(run, change, root=root)
    return backups
