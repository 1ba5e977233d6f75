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
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._soft_links import unit_of
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import PREFIX, apply_file
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._input import links_of, problems
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._look import look, read_links
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._plan import LINK, SERVICE, check, plan, same
from ansible_collections.rdma.ofed.plugins.module_utils._tools._rdma_link import MODULES, Link

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan
    from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._plan import Node


def converge(module: AnsibleModule, run: Runner, release: str, root: str = "/") -> dict[str, t.Any]:
    """Returns the result of the module. C(release) is the running kernel's."""
    wrong = problems({"soft_rdma_" + name: value for name, value in module.params.items()})
    if wrong:
        raise InvalidInput(wrong)
    links = () if module.params["state"] == "absent" else links_of(module.params["links"])
    node = look(run, links, release, root)
    wrong = check(links, node)
    if wrong:
        raise InvalidInput(wrong)
    todo = plan(links, node)
    result = todo.result()
    if todo and not module.check_mode:
        _need_tools(run, todo, node)
        apply(module, run, links, todo, node, root)
        node = look(run, links, release, root)
        left = plan(links, node)
        if left:
            raise CommandFailed("after the changes something is still missing: %s" % "; ".join(change.words() for change in left.changes))
    made = {link.name for link in links if link.name in node.links and same(node.links[link.name], link)}
    result["links"] = [dict(link._asdict(), present=link.name in made) for link in links]
    return result


def _need_tools(run: Runner, todo: Plan, node: Node) -> None:
    if any(change.what.startswith(LINK) for change in todo.changes) and not run.has("rdma"):
        raise Unsupported("rdma is not installed on this node: it makes links, and comes with the package %s" % packages_by_family(RDMA_TOOL))
    if not node.systemd:
        raise Unsupported("systemd does not run on this node: its units make links at boot; in a container or chroot there is nobody to make them")


def apply(module: AnsibleModule, run: Runner, links: t.Sequence[Link], todo: Plan, node: Node, root: str) -> None:
    """Make the changes in their order. systemd is told of units before it is asked to do something with them."""
    wanted = {link.name: link for link in links}
    if run.has("modprobe"):
        # The kernel would load them by itself. A driver that does not load, unsigned or blocked by the site, is found before any change.
        for module_name in sorted({MODULES[wanted[change.what[len(LINK) :]].type] for change in todo.changes if change.what.startswith(LINK) and change.after}):
            run(["modprobe", module_name], timeout=180)
    reload_needed = False
    moved: list[str] = []
    for change in todo.changes:
        if change.what.startswith(PREFIX):
            if change.before and change.after:
                # What the old text is wanted by is known from the old text only.
                moved.append(posixpath.basename(change.what))
                run(["systemctl", "disable", moved[-1]])
            apply_file(module, change, root=root)
            reload_needed = True
            continue
        if reload_needed:
            run(["systemctl", "daemon-reload"])
            reload_needed = False
            _enable(run, moved)
        if change.what.startswith(SERVICE):
            run(["systemctl", "enable" if change.after == "yes" else "disable", change.what[len(SERVICE) : -len(" enabled")]])
        else:
            _link(run, change, wanted, node, root)
    if reload_needed:
        run(["systemctl", "daemon-reload"])
        _enable(run, moved)


def _enable(run: Runner, units: t.Sequence[str]) -> None:
    if units:
        run(["systemctl", "enable", *units])


def _link(run: Runner, change: Change, wanted: t.Mapping[str, Link], node: Node, root: str) -> None:
    name = change.what[len(LINK) :]
    if change.after:
        link = wanted[name]
        run(["rdma", "link", "add", name, "type", link.type, "netdev", link.netdev])
        return
    unit = node.units.get(unit_of(name))
    if unit is not None and unit.active == "active" and run.has("systemctl"):
        # It would count as made until the next boot. Stopping it takes the link away.
        run(["systemctl", "stop", unit_of(name)])
        if name not in read_links(run, root)[0]:
            return
    run(["rdma", "link", "delete", name])
