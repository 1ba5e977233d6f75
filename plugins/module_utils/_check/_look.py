# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads from a node what the inventory declares. Changes nothing and decides nothing."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._findings import checked_ports, completed, scope_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._live_look import look as look_live
from ansible_collections.rdma.ofed.plugins.module_utils._check._live_look import read_parts
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Found, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._compare import compare as compare_firmware
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import ask as ask_links
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import of_link
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import targets as cabled_ports
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._look import look as look_at_gpus
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import look_whole as look_at_interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import look as look_at_modules

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._finding import Finding
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def look(run: Runner, wanted: Wanted, release: str, *, environ: t.Mapping[str, str], root: str = "/") -> Found:
    """`release` is the running kernel. What can't be read comes out as missing, with the reason."""
    ipoib = look_at_interfaces(run, environ, root) if wanted.ipoib is not None else None
    ports, netdevs = (ipoib.ports, tuple(ipoib.netdevs.values())) if ipoib is not None else read_parts(run, root)
    found = Found(
        ports=ports,
        netdevs=netdevs,
        ipoib=ipoib,
        kmod=look_at_modules(run, release, load_now=wanted.kmod.load_now, root=root) if wanted.kmod is not None else None,
        gpus=look_at_gpus(run, release, root=root) if wanted.gpus is not None else None,
    )
    live = look_live(run, scope_of(wanted)._replace(ports=checked_ports(wanted, found)), ports=ports, netdevs=netdevs, root=root)
    return completed(wanted, found, live)


def look_at_adapters(run: Runner, wanted: Wanted, found: Found, *, root: str = "/") -> Found:
    """The same with what the tools of the adapters' firmware tell. It takes them seconds for each adapter."""
    links = read_seen_links(run, wanted, found, root=root)
    return found._replace(links=links, firmware=compare_firmware(run, wanted.firmware, root) if wanted.firmware is not None else None)


def read_seen_links(run: Runner, wanted: Wanted, found: Found, *, root: str = "/") -> tuple[Finding, ...]:
    """What the tool says of the checked ports with a link. A port without is a finding by itself; a virtual function has no cable."""
    if wanted.links is None:
        return ()
    checked, readable = checked_ports(wanted, found), {target.name for target in cabled_ports(root, ())}
    names = [port.name for port in found.ports if port.phys_state == "LinkUp" and port.name in checked and port.name in readable]
    if not names:
        return ()
    try:
        answers = ask_links(run, names, wanted.links, root=root)
    except RdmaError as exc:
        return tuple(of_link(Code.LINK_UNREAD, exc.msg, name) for name in names)
    return tuple(finding for answer in answers for finding in answer.findings)
