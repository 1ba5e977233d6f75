# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module: look, plan, apply, look again."""

from __future__ import annotations

import typing as t

from .._errors import require_none
from .._host._initramfs import builder_of, images_with, installed_images
from . import _plan as planner
from ._apply import apply, settle
from ._check import check, need_modules
from ._concern import describe
from ._found import Found
from ._input import problems, undecided
from ._look import Scope, look
from ._takeover import takeover
from ._wanted import wanted_of

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module."""
    options = module.params
    require_none([*problems({"kernel_modules_" + name: value for name, value in options.items()}), *undecided(options)])
    wanted = wanted_of(options)
    assume_rdma_core = options["assume_rdma_core"] and module.check_mode and bool(wanted.load)

    def observe() -> Found:
        scope = Scope(tuple(wanted.options), tuple(wanted.load) if wanted.adopt else None, wanted.limits if wanted.restarts else ())
        image = bool(options.get("image"))
        seen = look(run, release, scope, load_now=options["load_now"], assume_rdma_core=assume_rdma_core, root=root, image=image)
        return seen._replace(stale=()) if options["initramfs"] == "never" else seen

    found = observe()
    if found.rdma_core and planner.unloaded(wanted, found) and not module.check_mode:
        settle(run, root)
        found = observe()
    need_modules(wanted, found)
    require_none(check(wanted, found))
    for text in planner.warnings(wanted, found):
        module.warn(text)
    changed = planner.options_of(wanted, found)
    everywhere = planner.drivers_changed(wanted, found) or planner.rule_changed(wanted, found)
    builder = builder_of(run) if changed.changed or changed.moved or everywhere or found.stale else None
    images = installed_images(found.installed, root) if builder is not None else ()
    stale = images if builder is None or everywhere else ()
    if builder is not None and not everywhere and (changed.changed or changed.moved):
        stale = images_with(run, builder, images=images, modules=changed.changed, moved=changed.moved)
    todo = planner.plan(wanted, found, stale if options["initramfs"] == "auto" else ())
    result = todo.result(planner.pending(wanted, found))
    if options["initramfs"] == "never":
        result["reasons"] = ["%s %s: rebuild it before the next boot" % (image.path, planner.stale_words(wanted, found)) for image in stale]
    if todo and not module.check_mode:
        result["backup_files"] = apply(module, run, todo, found=found, taken=takeover(wanted, found), builder=builder, backup=options["backup"], root=root)
        found = observe()
        planner.plan(wanted, found).require_empty()
    result["modules"] = describe(wanted, found)
    return result
