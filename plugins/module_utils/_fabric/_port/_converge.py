# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Disable or enable a port of the fabric, retrain its link, or set its widths and speeds."""

from __future__ import annotations

import typing as t

from ..._errors import RdmaError, Refused
from ..._facts._asked import asked_port
from ..._record import as_data
from ..._tools import _sminfo, _smpquery
from .. import _look
from .._choice import control_point, cut_off, find
from .._gap import Code
from .._subnet import Port, Subnet
from .._words import place_in_words, words
from ._plan import Step, plan
from ._wanted import DISABLED, RESET, SPEEDS, STATE, wanted_of

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._facts._ports import Port as LocalPort
    from ..._host._run import Runner
    from ..._tools._smpquery import PortSettings

_TIMEOUT_SECONDS = 60.0


def require_allowed(subnet: Subnet, port: Port, needed: t.Mapping[str, str]) -> None:
    """Raise Refused where the fabric would lose one of the `needed` nodes. `needed`: descriptions by node GUID."""
    lost = cut_off(subnet, port, needed)
    if lost:
        raise Refused(
            "without the link of %s the fabric loses %s. Nothing was changed. Next: choose another port, or set rdma_allow_disconnect: true "
            "(allow_disconnect of the module)" % (place_in_words(port), ", ".join("%s (%s)" % (subnet.names[guid], needed[guid]) for guid in lost))
        )


def _needed(run: Runner, subnet: Subnet, local: LocalPort) -> dict[str, str]:
    # All ports of a switch have the port GUID of the switch itself.
    owners = {port.port_guid: port.node_guid for port in subnet.ports}
    master = _sminfo.query(run, local.device, local.port) if run.has("sminfo") else None
    roles = ((local.port_guid, "this run goes through it"), (master.guid if master else "", "it is the subnet manager"))
    found: dict[str, str] = {}
    for guid, role in roles:
        owner = owners.get(guid)
        if owner:
            found[owner] = "%s, and %s" % (found[owner], role) if owner in found else role
    return found


def _settings(run: Runner, local: LocalPort, port: Port) -> PortSettings:
    return _smpquery.parse_port(run(_smpquery.port_query(local.device, local.port, (port.lid, port.port)), timeout=_TIMEOUT_SECONDS).stdout)


def _subnet(run: Runner, local: LocalPort, options: t.Mapping[str, t.Any]) -> Subnet:
    asking = _look.Asking(run, local)
    subnet = asking.subnet(options["node_name_map"])
    blind = [gap for gap in asking.gaps if gap.code == Code.NO_LINK]
    if blind or not subnet.nodes:
        raise RdmaError("the fabric of port %s can't be read: %s" % (local.name, "; ".join(map(words, blind or asking.gaps)) or "no node answers"))
    return subnet


def _apply(run: Runner, local: LocalPort, port: Port, *, steps: t.Sequence[Step]) -> PortSettings:
    """Apply the steps and return the final settings. The link is retrained only after the port has the settings. Raises CommandFailed and RdmaError."""
    settings = [step for step in steps if step.change.aspect != STATE]
    states = [step for step in steps if step.change.aspect == STATE]
    for part in (settings, states):
        for each in (call for step in part for call in step.calls):
            run(_smpquery.port_setting(local.device, local.port, (port.lid, port.port), words=each), timeout=_TIMEOUT_SECONDS)
        after = _settings(run, local, port)
        for step in settings:
            now = ", ".join(after.speeds if step.change.aspect == SPEEDS else after.widths)
            if now != step.change.after:
                raise RdmaError(
                    "%s has the %s %s after they were set to %s, so its link was not retrained. The likely cause is an ibportstate that does not know all "
                    "of them. Next: set them with mlxlink of NVIDIA's firmware tools, option --speeds, on the host or switch of the port"
                    % (step.change.subject, step.change.aspect, now or "(none)", step.change.after)
                )
    return after


def converge(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """The result of the module. Raises InvalidInput, Refused and CommandFailed."""
    options = module.params
    address, wanted = wanted_of(options)
    local = asked_port(options["port"], root)
    if local is None:
        raise RdmaError("this host has no InfiniBand port. Next: run the module on a host of the fabric, such as that of the subnet manager")
    if not run.has(_smpquery.PORT_SETTER):
        raise RdmaError("ibportstate is not installed. Next: install the package infiniband-diags")
    subnet = _subnet(run, local, options)
    meant = find(subnet, address)
    port = control_point(subnet, meant)
    if not port.lid:
        raise RdmaError("%s has no LID, because no subnet manager has configured the fabric yet. Next: start the subnet manager" % place_in_words(port))
    before = after = _settings(run, local, port)
    steps = plan(place_in_words(port), wanted, before)
    changes = [step.change for step in steps]
    if any(change.aspect == STATE and change.after in (DISABLED, RESET) for change in changes) and not options["allow_disconnect"]:
        require_allowed(subnet, port, _needed(run, subnet, local))
    if steps and not module.check_mode:
        after = _apply(run, local, port, steps=steps)
    return {
        "changed": bool(changes),
        "changes": [change.words() for change in changes],
        "controlled": {"name": port.name, "node_guid": port.node_guid, "lid": port.lid, "number": port.port},
        "peer": {"node_guid": port.peer_node_guid, "name": subnet.names.get(port.peer_node_guid, ""), "number": port.peer_port},
        "before": as_data(before),
        "after": as_data(after),
    }
