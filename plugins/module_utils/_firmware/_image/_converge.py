# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Burn images: look, plan, burn, look again."""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.urls import open_url

from ..._errors import Unsupported, require_none
from ..._host._run import Runner, first_tool
from ..._plan import Plan
from ..._tools import _flint as flint
from .._devices import concluded, need_host, read_devices
from . import _look as looking
from . import _plan as planning
from ._apply import burn_all
from ._fetch import CACHE, Download
from ._input import image_problems
from ._plan import OVERRIDE_PSID, Adapter, ImagePlan
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


_NO_TOOL = "the firmware of the adapters can't be read before mstflint is installed"


def _prepare(run: Runner, tool: str, adapters: t.Sequence[Adapter], *, parameters: t.Mapping[str, t.Any], cache: str, download: Download) -> ImagePlan:
    """The plan, with the images to burn verified."""
    wanted = Wanted(parameters["versions"] or {}, parameters["allow_downgrade"], parameters[OVERRIDE_PSID], parameters["missing_image"], parameters["images"])
    found = looking.draft(run, tool, adapters, wanted=wanted, cache=cache, download=download)
    checked = [looking.verify_image(run, tool, image) for image in sorted({burn.image for burn in found.burns})]
    require_none([*found.problems, *(planning.unusable(image) for image in checked if image.fault)])
    return found


def converge(module: AnsibleModule, run: Runner, *, root: str = "/", download: Download = open_url) -> dict[str, t.Any]:
    """The result of the module."""
    parameters = module.params
    require_none(image_problems(parameters))
    tool = first_tool(run, flint.TOOLS)
    if not tool and module.check_mode:
        return {**Plan().result(reasons=[_NO_TOOL]), "adapters": []}
    if not tool:
        raise Unsupported("neither mstflint nor flint is installed on this node; the package is called mstflint")
    adapters, unread = looking.look(run, tool, read_devices(root), parameters=parameters)
    todo = ImagePlan()
    if parameters["state"] == "present":
        # Check mode keeps no downloads, but has to inspect the images that a run would burn.
        cache = module.tmpdir if module.check_mode else os.path.join(root, CACHE)
        todo = _prepare(run, tool, adapters, parameters=parameters, cache=cache, download=download)
    if todo.burns:
        need_host(parameters, root)
        adapters = planning.after(adapters, todo.burns)
    if todo.burns and not module.check_mode:
        done = burn_all(run, tool, todo.burns, parameters=parameters, root=root)
        adapters = tuple(done.get(adapter.pci, adapter) for adapter in adapters)
    due = planning.pending(adapters)
    reasons = [*("%s: a firmware reset or a reboot activates it" % entry.change.words() for entry in due), *todo.notes]
    answer = {**todo.plan.result(due, reasons), "adapters": [planning.describe(adapter, todo.chosen.get(adapter.pci)) for adapter in adapters]}
    return concluded(answer, unread)
