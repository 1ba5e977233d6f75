# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Carries a plan out on a node and looks whether it took effect."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import PREFIX, apply_file
from ansible_collections.rdma.ofed.plugins.module_utils._host._initramfs import Builder, Image, builder_of, images_with, installed_images, rebuild
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._check import IN_CONTAINER, check, need_modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import HOOK_PATH, IMAGE_PATHS, RDMA_PATH, parse_list
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import Found, look, read_loaded
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._plan import (
    INITRAMFS,
    MODULE,
    Wanted,
    changed_options,
    conflicts,
    drivers_changed,
    is_loaded,
    kernel_names,
    path_of,
    pending,
    persisted_by,
    plan,
    stale_words,
    wanted_of,
    without_effect,
)
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._udev import settle

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan

LOAD_TIMEOUT = 180.0

# What modprobe prints, and what the user can do about it.
_HINTS = (
    ("key was rejected", "Secure Boot refuses the signature: enrol the key of the package that brought the module"),
    ("required key not available", "Secure Boot refuses the signature: enrol the key of the package that brought the module"),
    ("unknown symbol", "the module fits another driver stack than the loaded one: see the kernel log, and reload the driver or reboot"),
    ("invalid argument", "the kernel refused the module or its options: see the kernel log"),
)


def _hint(stderr: str, found: Found) -> str:
    if "not permitted" in stderr.lower():
        return IN_CONTAINER if found.container else "the kernel allows no loading now: see kernel.modules_disabled and lockdown"
    return next((hint for text, hint in _HINTS if text in stderr.lower()), "see the kernel log of the node")


def load(run: Runner, modules: t.Sequence[str], found: Found, root: str = "/") -> None:
    """Load the modules with one modprobe, and look whether they are there: its exit status tells of the last one only."""
    output = run(["modprobe", "-a", *modules], ok=None, timeout=LOAD_TIMEOUT)
    loaded = read_loaded(root)
    missing = [module for module in modules if module not in loaded]
    if output.rc != 0 or missing:
        said = output.stderr.strip() or "modprobe said nothing, exit status %d" % output.rc
        text = "the kernel did not load %s: %s (%s)" % (", ".join(missing or modules), said, _hint(output.stderr, found))
        raise CommandFailed(text, cmd=["modprobe", "-a", *modules], rc=output.rc, stdout=output.stdout, stderr=output.stderr)


def _write(module: AnsibleModule, change: Change, backup: bool = False) -> str | None:
    """initramfs-tools runs those hooks only that can be executed."""
    return apply_file(module, change, mode=0o755 if path_of(change) == HOOK_PATH else 0o644, backup=backup)


def apply(module: AnsibleModule, run: Runner, todo: Plan, found: Found, builder: Builder | None, backup: bool, root: str) -> list[str]:
    """Make the changes in their order; returns the paths of backups."""
    backups: list[str] = []
    images = {image.path: image for image in installed_images(found.installed, root)}
    written: list[Change] = []
    for change in todo.changes:
        if change.what.startswith(INITRAMFS) and builder is not None:
            try:
                rebuild(run, builder, images[change.what[len(INITRAMFS) :]])
            except RdmaError:
                # Nothing but the changed files tells the next run that the image is out of date.
                for done in written:
                    _write(module, done._replace(before=done.after, after=done.before))
                raise
        if not change.what.startswith(PREFIX):
            continue
        # Our own files are made from the declaration: only the lists of rdma-core hold work of others.
        saved = _write(module, change, backup=backup and path_of(change) == RDMA_PATH)
        if saved:
            backups.append(saved)
        if path_of(change) in IMAGE_PATHS:
            written.append(change)
    modules = [change.what[len(MODULE) :] for change in todo.changes if change.what.startswith(MODULE)]
    if modules:
        load(run, modules, found, root)
    return backups


def describe(wanted: Wanted, found: Found) -> list[dict[str, t.Any]]:
    """What is known of each declared module."""
    ours = {entry.name for entry in parse_list("", found.load_text)} | {entry.name for entry in parse_list("", found.rdma_text)}
    return [
        {
            "name": name,
            "module": module,
            "loaded": is_loaded(module, found),
            "persisted_by": persisted_by(module, found) or ("rdma.ofed" if name in ours else ""),
        }
        for module, name in sorted(kernel_names(wanted, found).items())
    ]


def converge(module: AnsibleModule, run: Runner, release: str, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module."""
    parameters = module.params
    wrong = problems({"kernel_modules_" + name: value for name, value in parameters.items()})
    if wrong:
        raise InvalidInput(wrong)
    wanted = wanted_of(parameters)

    def observe() -> Found:
        assume = parameters["assume_rdma_core"] and module.check_mode and bool(wanted.load)
        return look(run, release, wanted.options, parameters["load_now"], assume, root)

    found = observe()
    if found.rdma_core and parameters["load_now"] and not module.check_mode and not all(is_loaded(name, found) for name in kernel_names(wanted, found)):
        settle(run, root)
        found = observe()
    need_modules(wanted, found)
    wrong = check(wanted, found)
    if wrong:
        raise InvalidInput(wrong)
    for text in conflicts(wanted, found) + without_effect(wanted, found):
        module.warn(text)
    changed = changed_options(wanted, found)
    other_drivers = drivers_changed(wanted, found)
    builder = builder_of(run) if changed or other_drivers else None
    stale: tuple[Image, ...] = ()
    if builder is not None:
        stale = installed_images(found.installed, root)
        stale = stale if other_drivers else images_with(run, builder, stale, changed)
    todo = plan(wanted, found, stale if parameters["initramfs"] == "auto" else ())
    waiting = pending(wanted, found)
    result = todo.result()
    result["pending"] = ["%s (needs %s)" % (change.words(), change.needs) for change in waiting]
    result["reboot_required"] = any(change.needs == "reboot" for change in waiting)
    result["reasons"] = ["kernel module option %s" % text for text in result["pending"]]
    if parameters["initramfs"] == "never":
        result["reasons"] += ["%s %s: rebuild it before the next boot" % (image.path, stale_words(wanted, found)) for image in stale]
    if todo and not module.check_mode:
        result["backup_files"] = apply(module, run, todo, found, builder, parameters["backup"], root)
        found = observe()
        left = plan(wanted, found)
        if left:
            raise CommandFailed("after the changes something is still missing: %s" % "; ".join(change.words() for change in left.changes))
    result["modules"] = describe(wanted, found)
    return result
