# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Look, plan, ask the fabric, apply, wait: what the module does, in order."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _fabric
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._apply import apply
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import choose_port, problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan_absent, plan_designated, plan_resting, starts
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# Management datagrams, which subnet managers and diagnostics talk in, go through ib_umad.
UMAD = "/sys/class/infiniband_mad/abi_version"

SYSTEMD_RUNS = "/run/systemd/system"

OPTIONS = ("port", "port_guid", "priority", "wait_timeout", "log_file")


def variables_of(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The module's options by the names of the role's variables, which are the ones that people write."""
    return {"fabric": params["fabric"], **{"opensm_" + name: params[name] for name in OPTIONS}}


def _require_tools(run: Runner) -> None:
    absent = [tool for tool in ("opensm", "sminfo", "saquery", "smpquery") if not run.has(tool)]
    if absent:
        raise Unsupported("%s not found on this node: install the packages opensm and infiniband-diags first" % ", ".join(absent))
    if not os.path.isdir(SYSTEMD_RUNS):
        raise Unsupported("a subnet manager can only run where systemd runs: this node was not booted with it")
    if not os.path.exists(UMAD):
        raise Unsupported("the kernel module ib_umad is not loaded on this node (no %s): run the role kernel_modules first, or modprobe ib_umad" % UMAD)


def _foreseen(run: Runner, port: Port, params: t.Mapping[str, t.Any], own: t.Collection[str]) -> list[str]:
    """For check mode: would the run be refused? On a bare node the fabric can't be asked yet, which is no failure."""
    try:
        if not run.has("sminfo"):
            return []
        master = _fabric.foreign_master(run, port, own)
    except RdmaError:
        return []
    if master is None or params["allow_foreign_master"]:
        return []
    if not _fabric.known_host(master.description, params["known_hosts"]):
        raise _fabric.refuse(master, "", params["fabric"], 0)
    return ["the master of fabric %s is %s now, and has to stop first" % (params["fabric"], master)]


def _designated(module: AnsibleModule, run: Runner) -> dict[str, t.Any]:
    params = module.params
    ports = read_ports()
    port = ports[choose_port(variables_of(params), [candidate._asdict() for candidate in ports])]
    log_file = params["log_file"] or "/var/log/opensm.%s.log" % params["fabric"]
    instance = Instance(params["fabric"], port.port_guid, params["priority"], log_file)
    own = {candidate.port_guid for candidate in ports}
    plan = plan_designated(look(run), instance)
    result = {**plan.result(), "fabric": params["fabric"], "port": port.name, "port_guid": port.port_guid}
    if module.check_mode:
        if starts(plan):
            result["reasons"] = _foreseen(run, port, params, own)
        return result
    _require_tools(run)
    if starts(plan) and not params["allow_foreign_master"]:
        _fabric.make_way(run, port, own, params["known_hosts"], params["fabric"], params["wait_timeout"] / 2)
    apply(module, run, plan)
    view = _fabric.settle(run, port, instance.unit, params["fabric"], params["wait_timeout"], params["allow_foreign_master"])
    if view.answer is not None:
        result["master"] = {"port_guid": view.answer.guid, "lid": view.answer.lid, "priority": view.answer.priority}
        if view.answer.guid != port.port_guid:
            result["reasons"] = ["fabric %s is managed by the foreign master %s, which was allowed" % (params["fabric"], view.answer.guid)]
    return result


def converge(module: AnsibleModule, run: Runner) -> dict[str, t.Any]:
    """The module's result; raises RdmaError."""
    params = module.params
    wrong = problems(variables_of(params))
    if wrong:
        raise InvalidInput(wrong)
    if params["state"] == "designated":
        return _designated(module, run)
    found = look(run)
    plan = plan_resting(found) if params["state"] == "resting" else plan_absent(found)
    if not module.check_mode:
        apply(module, run, plan)
    return {**plan.result(), "fabric": params["fabric"]}


__all__ = ("converge", "variables_of")
