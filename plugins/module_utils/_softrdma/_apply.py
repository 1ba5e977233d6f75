# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One call of the module: look, check, plan, and unless in check mode apply and look again."""

from __future__ import annotations

import os
import posixpath
import typing as t

from .._distro._family import RDMA_TOOL
from .._distro._registry import packages_by_family
from .._errors import Unsupported, require_none
from .._facts._soft_links import MODULES, Link, read_units, records, type_of, unit_of
from .._facts._sysfs import attribute, entries
from .._host._files import apply_file
from .._host._units import Systemd, Unit, show_units, systemd_runs
from .._kmod._look import in_container, read_catalogue, read_loaded
from .._plan import Change, Kind, Plan
from .._tools._ip import RDMA_LINKS, parse_rdma_netdevs
from ._input import links_of, problems
from ._plan import Found, Netdev, check, plan, same

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def converge(module: AnsibleModule, run: Runner, release: str, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module. `release` is the running kernel's."""
    require_none(problems({"soft_rdma_" + name: value for name, value in module.params.items()}))
    links = () if module.params["state"] == "absent" else links_of(module.params["links"])
    found = look(run, links, release, root=root)
    require_none(check(links, found))
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


def look(run: Runner, links: t.Sequence[Link], release: str, *, root: str = "/") -> Found:
    """One process for the RDMA devices, where there are any, and one for the units of `links` and of earlier runs."""
    files = read_units(root)
    systemd = run.has("systemctl") and systemd_runs(root)
    names = sorted({unit_of(name) for name in [*(link.name for link in links), *records(files)]})
    units: dict[str, Unit] = show_units(run, names) if names and systemd else {}
    soft, hardware = read_links(run, root)
    return Found(
        links=soft,
        hardware=hardware,
        netdevs=read_netdevs(root),
        files=files,
        systemd=systemd,
        units=units,
        catalogue=read_catalogue(root, [release]),
        loaded=frozenset(read_loaded(root)),
        release=release,
        container=in_container(root),
    )


def read_links(run: Runner, root: str = "/") -> tuple[dict[str, Link], frozenset[str]]:
    """The software RDMA devices, and the names of the others. Without any device, netlink of RDMA may not even exist."""
    base = os.path.join(root, "sys/class/infiniband")
    types = {name: type_of("/devices/virtual/" in os.path.realpath(os.path.join(base, name)), attribute(base, name, "node_type")) for name in entries(base)}
    soft = sorted(name for name, kind in types.items() if kind)
    output = run(RDMA_LINKS, ok=None, timeout=10) if soft and run.has("rdma") else None
    netdevs = parse_rdma_netdevs(output.stdout) if output is not None and output.rc == 0 else {}
    links = {name: Link(name, types[name], netdevs.get(name) or attribute(base, name, "parent")) for name in soft}
    return links, frozenset(name for name in types if name not in links)


def read_netdevs(root: str = "/") -> dict[str, Netdev]:
    base = os.path.join(root, "sys/class/net")
    names = [name for name in entries(base) if os.path.isdir(os.path.join(base, name))]
    return {name: Netdev(attribute(base, name, "type"), "DEVTYPE=vlan" in attribute(base, name, "uevent").split()) for name in names}


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
    systemd, files = Systemd(run), todo.about(Kind.FILE)
    moved: list[str] = []
    for change in todo.changes:
        if change.kind == Kind.FILE:
            if change.before and change.after:
                # Only the old text tells what wants the unit.
                moved.append(posixpath.basename(change.subject))
                systemd.disable(moved[-1])
            apply_file(module, change, root=root)
            if change == files[-1]:
                systemd.daemon_reload()
                systemd.enable(*moved)
        elif change.kind == Kind.UNIT:
            systemd.set_enabled(change)
        else:
            _link(run, change, wanted.get(change.subject), found=found, root=root)


def _link(run: Runner, change: Change, wanted: Link | None, *, found: Found, root: str) -> None:
    name = change.subject
    if change.after and wanted:
        run(["rdma", "link", "add", name, "type", wanted.type, "netdev", wanted.netdev])
        return
    unit = found.units.get(unit_of(name))
    if unit is not None and unit.active == "active":
        # It would stay active until the next boot. Stopping it deletes the link.
        Systemd(run).stop(unit_of(name))
        if name not in read_links(run, root)[0]:
            return
    run(["rdma", "link", "delete", name])
