# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the masters of a node's fabrics with the declared ones. Pure."""

from __future__ import annotations

import typing as t

from .. import _finding
from .._codes import is_guid
from .._facts._portname import is_named
from .._finding import Code, Finding, Topic
from .._opensm._master import names_host, runs_on
from .._opensm._places import fabric_of
from .._tools._sminfo import MASTER, STATES
from ._types import Fabric

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from ._live._types import Live, Master, Process
    from ._wanted import Wanted


# The run has left out the host that could have told more.
_ELSEWHERE = "; the designated host %s is not among the hosts of this run: run rdma.ofed.site for it, too"


def short(master: Master) -> str:
    """The master in words: its host where the node description names one, else its port GUID."""
    if names_host(master.description):
        return "%s (%s)" % (master.description, master.guid)
    return master.guid


def _own(fabric: Fabric, live: Live) -> set[str]:
    """The port GUIDs of this node on a fabric."""
    return {port.port_guid for port in live.ports if not fabric.ports or is_named(port._asdict(), fabric.ports)}


def is_designated(fabric: Fabric, live: Live, master: Master, *, host: str = "") -> bool | None:
    """Whether the master runs on the designated host of its fabric; None where that can't be told or no host is designated.

    The designated host itself recognises it by port GUID, and so does any other host that knows these GUIDs. Otherwise the node description decides,
    which rdma-ndd sets to the host name. A different name proves nothing, because the inventory may use other names.
    `host`: the inventory name of this node.
    """
    if not fabric.designated and not fabric.designated_host:
        return None
    own = master.guid in _own(fabric, live)
    if own or fabric.designated:
        return own and fabric.designated
    if fabric.designated_guids:
        return master.guid in fabric.designated_guids
    names = (fabric.designated_host, *fabric.designated_names)
    if master.answers and runs_on(master.guid, master.description, guids=(), names=names):
        return True
    return False if standby_of(fabric, live, master, host=host) else None


def standby_of(fabric: Fabric, live: Live, master: Master, *, host: str = "") -> str:
    """The declared standby that the master runs on; "" where it runs on none. It is recognised in the same way as the designated host."""
    if fabric.standby and master.guid in _own(fabric, live):
        return host or short(master)
    for other, marks in fabric.standbys.items():
        guids = [mark for mark in marks if is_guid(mark)]
        if runs_on(master.guid, master.description, guids=guids, names=(other, *(mark for mark in marks if mark not in guids))):
            return other
    return ""


def _has_no_infiniband(wanted: Wanted, live: Live) -> bool:
    """Whether all ports of the node have another link layer, and no declaration needs an InfiniBand port."""
    declared = wanted.ports or wanted.interfaces() or any(fabric.ports or fabric.managed_here for fabric in wanted.fabrics)
    return not declared and bool(live.ports) and not any(port.infiniband for port in live.ports)


def manager_findings(wanted: Wanted, live: Live, fabric: Fabric, *, port: Port | None) -> list[Finding]:
    """Problems of the master of a fabric, as this node sees it through `port`."""

    def finding(code: Code, master: str, detail: str = "") -> Finding:
        anybody = _finding.DESIGNATED if fabric.designated else _finding.ANY
        return Finding(code, Topic.SUBNET_MANAGER, fabric.fabric, "", fabric.designated_host or anybody, master, detail)

    manager = live.manager(fabric.fabric)
    master, masters = manager.master, manager.masters
    result = []
    if master is None and manager.unable and _has_no_infiniband(wanted, live):
        return [finding(Code.NO_INFINIBAND, "")]
    if port is not None and port.device in live.virtual and port.sm_lid and (master is None or not master.answers) and not fabric.managed_here:
        result.append(finding(Code.NO_MANAGEMENT, "", port.name))
    elif master is None and manager.unable:
        result.append(finding(Code.MASTER_UNKNOWN, "", manager.unable))
    elif master is None:
        result.append(finding(Code.NO_MASTER, "", "%s%s" % (manager.master_error, _ELSEWHERE % fabric.designated_host if fabric.designated_absent else "")))
    elif master.state != MASTER:
        result.append(finding(Code.NOT_MASTER, short(master), STATES.get(master.state, str(master.state))))
    else:
        judged, standby = is_designated(fabric, live, master, host=wanted.host), standby_of(fabric, live, master, host=wanted.host)
        if standby and not judged:
            result.append(finding(Code.FAILED_OVER, standby))
        elif judged is False:
            result.append(finding(Code.OTHER_MASTER, short(master)))
        elif judged is None and fabric.designated_host and not master.answers:
            result.append(finding(Code.UNNAMED_MASTER, master.guid))
    if masters is not None and len(masters) > 1:
        result.append(finding(Code.SEVERAL_MASTERS, ", ".join(masters), str(len(masters))))
    return result


def opensm_findings(fabrics: t.Sequence[Fabric], live: Live) -> list[Finding]:
    """Findings about an opensm that runs here and should not, or the reverse.

    On a node with one fabric, each opensm belongs to that fabric. On others, its unit or its ports tell the fabric.
    """
    if not any(fabric.managed_here or fabric.designated_host for fabric in fabrics):
        # Other software manages the fabrics, and this node may be one of its managers.
        return []
    processes, enabled = live.opensm.processes, live.opensm.enabled
    if len(fabrics) == 1:
        return _opensm(fabrics[0], processes, enabled, live=live)
    result, named = [], []
    for fabric in fabrics:
        own = [process for process in processes if process.fabric == fabric.fabric or (not process.fabric and _own(fabric, live) & set(process.guids))]
        named += own
        units = [unit for unit in enabled if fabric_of(unit) == fabric.fabric]
        result += [finding._replace(subject=fabric.fabric) for finding in _opensm(fabric, own, units, live=live)]
    names = {fabric.fabric for fabric in fabrics}
    rest = [process for process in processes if process not in named]
    units = [unit for unit in enabled if fabric_of(unit) not in names]
    return result + _opensm(Fabric(""), rest, units, live=live)


def _opensm(fabric: Fabric, processes: t.Sequence[Process], enabled: t.Sequence[str], *, live: Live) -> list[Finding]:
    runs = fabric.managed_here
    code = Code.OPENSM_DESIGNATED if fabric.designated else Code.OPENSM_STANDBY if fabric.standby else Code.OPENSM_SURPLUS
    pids = [process.pid for process in processes]
    result = []
    for aspect, there, (yes, no) in (("state", pids, ("running", "stopped")), ("enabled", enabled, ("enabled", "disabled"))):
        if bool(there) != runs:
            shown = "%s (%s)" % (yes, ", ".join(map(str, there))) if there else no
            ended = runs and aspect == "state" and bool(enabled)
            if ended and live.manager(fabric.fabric).stopped:
                result.append(Finding(Code.OPENSM_STOPPED, Topic.OPENSM, "", aspect, yes, shown, fabric.fabric))
                continue
            result.append(Finding(Code.OPENSM_ENDED if ended else code, Topic.OPENSM, "", aspect, yes if runs else no, shown, fabric.designated_host))
    return result
