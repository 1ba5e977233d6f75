# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads from a node what the inventory declares. Changes nothing and decides nothing."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._findings import checked_ports, fabric_port
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Card, Found, Master, Opensm, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import read_netdevs
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie import read_slots
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import read_stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries, pci_address
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import scan_processes
from ansible_collections.rdma.ofed.plugins.module_utils._finding import SERVICE, SESSION, Code
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._compare import compare as compare_firmware
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import ask as ask_links
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import of_link
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import targets as cabled_ports
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._look import look as look_at_gpus
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import look_whole as look_at_interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import KEEP, is_limit
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import look as look_at_modules
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import TOOLS
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import is_masked
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import unit_name
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery, _sminfo, _smpquery
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import read_links

_SHELL = ("/bin/sh", "-c", "ulimit -l")
# The limits of root are not those of everybody.
_PROBES: t.Mapping[str, tuple[str, ...]] = {
    SESSION: ("su", "-l", "-s", _SHELL[0], *_SHELL[1:], "nobody"),
    SERVICE: ("systemd-run", "--quiet", "--wait", "--pipe", "--collect", *_SHELL),
}

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._finding import Finding
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def look(run: Runner, wanted: Wanted, release: str, *, environ: t.Mapping[str, str], root: str = "/") -> Found:
    """`release` is the running kernel. What can't be read comes out as missing, with the reason."""
    ipoib = look_at_interfaces(run, environ, root) if wanted.ipoib is not None else None
    ports = ipoib.ports if ipoib is not None else read_ports(root)
    found = Found(
        ports=ports,
        netdevs=tuple(ipoib.netdevs.values()) if ipoib is not None else read_netdevs(root, ports, links=read_links(run)),
        ipoib=ipoib,
        kmod=look_at_modules(run, release, load_now=wanted.kmod.load_now, root=root) if wanted.kmod is not None else None,
        gpus=look_at_gpus(run, release, root=root) if wanted.gpus is not None else None,
        stack=read_stack(run, root) if wanted.stack is not None else None,
        opensm=_with_state(run, wanted, read_opensm(root)) if wanted.subnet_manager else read_opensm(root),
        limits=read_limits(run) if wanted.kmod is not None and wanted.kmod.memlock != KEEP else {},
    )
    cards = read_cards(wanted, found, root)
    slots = read_slots(root, [card.pci for card in cards]) if wanted.pcie else ()
    found = found._replace(cards=cards, slots=slots)
    return _with_master(run, wanted, found) if wanted.subnet_manager else found


def look_at_adapters(run: Runner, wanted: Wanted, found: Found, *, root: str = "/") -> Found:
    """The same with what the tools of the adapters' firmware tell. It takes them seconds for each adapter."""
    links = read_seen_links(run, wanted, found, root=root)
    return found._replace(links=links, firmware=compare_firmware(run, wanted.firmware, root) if wanted.firmware is not None else None)


def read_cards(wanted: Wanted, found: Found, root: str = "/") -> tuple[Card, ...]:
    """The adapters of the checked ports. Devices in software, and virtual functions, are none."""
    devices = sorted({name.partition("/")[0] for name in checked_ports(wanted, found)} & {port.device for port in found.ports})
    cards = []
    for device in devices:
        base = os.path.join(root, "sys/class/infiniband", device)
        pci = pci_address(base, "device")
        if pci and not os.path.exists(os.path.join(base, "device/physfn")):
            cards.append(Card(pci, attribute(base, "board_id"), attribute(base, "fw_ver")))
    return tuple(cards)


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


def read_opensm(root: str = "/") -> Opensm:
    """opensm processes, and the units named after it that a target wants at boot.

    From the links that `systemctl enable` makes: they tell what happens at the next boot, whatever systemd has loaded.
    """
    base = os.path.join(root, "etc/systemd/system")
    enabled: set[str] = set()
    for wants in entries(base):
        if wants.endswith((".wants", ".requires")):
            enabled.update(unit for unit in entries(base, wants) if "opensm" in unit and not is_masked(os.path.join(base, unit)))
    pids = [process.pid for process in scan_processes(root).processes if process.comm == "opensm"]
    return Opensm(tuple(pids), tuple(sorted(enabled)))


def read_limits(run: Runner) -> dict[str, str]:
    """The limit of locked memory in a session and in a service, each begun for this."""
    found = {}
    for name, argv in _PROBES.items():
        output = run(argv, ok=None, timeout=20) if run.has(argv[0]) else None
        value = output.stdout.strip() if output is not None and output.rc == 0 else ""
        if is_limit(value):
            found[name] = value
    return found


def _with_master(run: Runner, wanted: Wanted, found: Found) -> Found:
    port = fabric_port(wanted, found)
    reason = _why_not(run, port)
    if port is None or reason:
        return found._replace(master_error=reason)
    try:
        answer = _sminfo.query(run, port.device, port.port)
        if answer is None:
            return found._replace(master_error=_silence(run, port))
        master = Master(answer.guid, answer.state)
        if wanted.designated:
            records = _saquery.sm_records(run, port.device, port.port)
            return found._replace(master=master, masters=None if records is None else tuple(_sminfo.masters(records)))
        name = _smpquery.answer(run, port.device, port.port, lid=answer.lid)
        return found._replace(master=master._replace(description=name or "", answers=name is not None))
    except RdmaError as exc:
        # The tools of infiniband-diags explain themselves over several lines; a deviation is one.
        return found._replace(master_error="; ".join(exc.msg.splitlines()))


def _silence(run: Runner, port: Port) -> str:
    """Why no subnet manager answers: its host answers without it, or does not answer either."""
    words = "no subnet manager answers on port %s" % port.name
    if not port.sm_lid:
        return words
    name = _smpquery.answer(run, port.device, port.port, lid=port.sm_lid)
    if name is not None:
        return "%s: its host, %s at LID %d, answers without one: start opensm there" % (words, name or "without a name", port.sm_lid)
    return (
        "%s, nor does its host at LID %d: it is off, its cable is pulled, or the fabric is slow or loses packets; see ibqueryerrors, and 'sminfo -t 10000'"
        % (words, port.sm_lid)
    )


def _with_state(run: Runner, wanted: Wanted, opensm: Opensm) -> Opensm:
    """What systemd knows of an opensm that shall run here, and does not."""
    if opensm.pids or not (wanted.designated or wanted.standby) or not run.has("systemctl"):
        return opensm
    shown = run(["systemctl", "show", "--no-pager", "-p", "ActiveState", "--", unit_name(wanted.fabric)], ok=None, timeout=20).stdout
    return opensm._replace(stopped=shown.strip() == "ActiveState=inactive")


def _why_not(run: Runner, port: Port | None) -> str:
    """Why the subnet manager can't be queried; "" where it can."""
    if port is None:
        return "this node has no InfiniBand port"
    if port.phys_state != "LinkUp":
        return "no link on port %s: it is %s" % (port.name, port.phys_state)
    missing = [tool for tool in TOOLS if not run.has(tool)]
    return "%s not installed: the role ofed installs them (ofed_tools)" % " and ".join(missing) if missing else ""
