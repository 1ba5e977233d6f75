# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""One run of the module kernel_modules."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._host._initramfs import Image, builder_of, images_with, installed_images
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _plan as planner
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._apply import apply
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._check import check, need_modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._concern import describe
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._udev import settle

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module."""
    options = module.params
    wrong = problems({"kernel_modules_" + name: value for name, value in options.items()})
    if wrong:
        raise InvalidInput(wrong)
    wanted = planner.wanted_of(options)
    assume_rdma_core = options["assume_rdma_core"] and module.check_mode and bool(wanted.load)

    def observe() -> Found:
        return look(run, release, options=wanted.options, load_now=options["load_now"], assume_rdma_core=assume_rdma_core, root=root)

    found = observe()
    if (
        found.rdma_core
        and wanted.load_now
        and not module.check_mode
        and not all(planner.is_loaded(name, found) for name in planner.kernel_names(wanted, found))
    ):
        settle(run, root)
        found = observe()
    need_modules(wanted, found)
    wrong = check(wanted, found)
    if wrong:
        raise InvalidInput(wrong)
    for text in planner.warnings(wanted, found):
        module.warn(text)
    changed = planner.changed_options(wanted, found)
    everywhere = planner.drivers_changed(wanted, found) or planner.rule_changed(wanted, found)
    builder = builder_of(run) if changed or everywhere else None
    stale: tuple[Image, ...] = ()
    if builder is not None:
        stale = installed_images(found.installed, root)
        stale = stale if everywhere else images_with(run, builder, images=stale, modules=changed)
    todo = planner.plan(wanted, found, stale if options["initramfs"] == "auto" else ())
    result = todo.result(planner.pending(wanted, found))
    if options["initramfs"] == "never":
        result["reasons"] = ["%s %s: rebuild it before the next boot" % (image.path, planner.stale_words(wanted, found)) for image in stale]
    if todo and not module.check_mode:
        result["backup_files"] = apply(module, run, todo, found=found, builder=builder, backup=options["backup"], root=root)
        found = observe()
        planner.plan(wanted, found).require_empty()
    result["modules"] = describe(wanted, found)
    return result
