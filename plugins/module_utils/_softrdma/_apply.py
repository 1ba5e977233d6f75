# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""One call of the module: look, check, plan, and unless in check mode apply and look again."""

from __future__ import annotations

import posixpath
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import RDMA_TOOL
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import packages_by_family
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._soft_links import MODULES, Link, unit_of
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import apply_file
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Systemd
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._input import links_of, problems
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._look import look, read_links
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._plan import YES, check, plan, same

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan
    from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._plan import Found


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module. `release` is the running kernel's."""
    wrong = problems({"soft_rdma_" + name: value for name, value in module.params.items()})
    if wrong:
        raise InvalidInput(wrong)
    links = () if module.params["state"] == "absent" else links_of(module.params["links"])
    found = look(run, links, release, root=root)
    wrong = check(links, found)
    if wrong:
        raise InvalidInput(wrong)
    todo = plan(links, found)
    result = todo.result()
    if todo and not module.check_mode:
        _need_tools(run, todo, found)
        apply(module, run, todo, links=links, found=found, root=root)
        found = look(run, links, release, root=root)
        plan(links, found).require_empty()
    made = {link.name for link in links if link.name in found.links and same(found.links[link.name], link)}
    result["links"] = [dict(link._asdict(), present=link.name in made) for link in links]
    return result


def _need_tools(run: Runner, todo: Plan, found: Found) -> None:
    if todo.about(Kind.RDMA_LINK) and not run.has("rdma"):
        raise Unsupported("rdma is not installed on this node: it makes links, and comes with the package %s" % packages_by_family(RDMA_TOOL))
    if not found.systemd:
        raise Unsupported("systemd does not run on this node: its units create links at boot, which is impossible in a container or chroot")


def apply(module: AnsibleModule, run: Runner, todo: Plan, *, links: t.Sequence[Link], found: Found, root: str) -> None:
    """Make the changes in their order. systemd reads units again before it is told to do something with them."""
    wanted = {link.name: link for link in links}
    if run.has("modprobe"):
        # The kernel would load them by itself. A driver that does not load, unsigned or blocked by the site, is found before any change.
        for driver in sorted({MODULES[wanted[change.subject].type] for change in todo.about(Kind.RDMA_LINK) if change.after}):
            run(["modprobe", driver], timeout=180)
    reload_needed = False
    moved: list[str] = []
    for change in todo.changes:
        if change.kind == Kind.FILE:
            if change.before and change.after:
                # Only the old text tells what wants the unit.
                moved.append(posixpath.basename(change.subject))
                Systemd(run).disable(moved[-1])
            apply_file(module, change, root=root)
            reload_needed = True
            continue
        if reload_needed:
            _reload(run, moved)
            reload_needed = False
        if change.kind == Kind.UNIT:
            Systemd(run).set_enabled(change.subject, change.after == YES)
        else:
            _link(run, change, wanted.get(change.subject), found=found, root=root)
    if reload_needed:
        _reload(run, moved)


def _reload(run: Runner, units: t.Sequence[str]) -> None:
    Systemd(run).daemon_reload()
    if units:
        Systemd(run).enable(*units)


def _link(run: Runner, change: Change, wanted: Link | None, *, found: Found, root: str) -> None:
    name = change.subject
    if change.after and wanted:
        run(["rdma", "link", "add", name, "type", wanted.type, "netdev", wanted.netdev])
        return
    unit = found.units.get(unit_of(name))
    if unit is not None and unit.active == "active" and run.has("systemctl"):
        # It would stay active until the next boot. Stopping it deletes the link.
        Systemd(run).stop(unit_of(name))
        if name not in read_links(run, root)[0]:
            return
    run(["rdma", "link", "delete", name])
