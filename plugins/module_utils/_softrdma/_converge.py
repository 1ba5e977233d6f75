# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module: look, plan, apply, look again."""

from __future__ import annotations

import typing as t

from .._distro._family import RDMA_TOOL
from .._distro._registry import packages_by_family
from .._errors import Unsupported, require_none
from .._plan import Kind, Plan
from ._apply import apply
from ._found import Found
from ._input import links_of, problems
from ._look import look
from ._plan import check, plan, same

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module. `release`: that of the running kernel, or of the newest one in an image."""
    require_none(problems({"soft_rdma_" + name: value for name, value in module.params.items()}))
    links = () if module.params["state"] == "absent" else links_of(module.params["links"])
    found = look(run, links, release, root=root, image=bool(module.params.get("image")))
    require_none(check(links, found))
    todo = plan(links, found)
    result = todo.result()
    if todo and not module.check_mode:
        _need_tools(run, todo, found)
        apply(module, run, todo, links=links, found=found, root=root)
        found = look(run, links, release, root=root, image=bool(module.params.get("image")))
        plan(links, found).require_empty()
    made = {link.name for link in links if link.name in found.links and same(found.links[link.name], link)}
    result["links"] = [dict(link._asdict(), present=link.name in made) for link in links]
    return result


def _need_tools(run: Runner, todo: Plan, found: Found) -> None:
    if todo.about(Kind.RDMA_LINK) and not run.has("rdma"):
        raise Unsupported("rdma, which creates links, is not installed on this node: install the package %s" % packages_by_family(RDMA_TOOL))
    if not found.systemd:
        raise Unsupported("systemd does not run on this node: its units create links at boot, which is impossible in a container or chroot")
