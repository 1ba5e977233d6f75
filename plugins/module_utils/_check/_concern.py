# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check on the controller, of what one look found. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Concern, judged
from .._errors import RdmaError
from .._gpudirect._found import Found as Gpus
from .._ipoib import _concern as ipoib
from .._ipoib._found import Found as Ipoib
from .._ipoib._registry import Undecided
from .._ipoib._wanted import interfaces_of, is_guid
from .._kmod import _concern as kernel_modules
from .._kmod._found import Seen
from .._record import decode
from .._schema._node_check import VARIABLES
from ._findings import fabric_port, scope_of
from ._input import problems, role_problems, wanted_of
from ._live import Live
from ._outcome import judge
from ._types import Found

_T = t.TypeVar("_T")


def hints(params: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    """What the look needs to know, by concern; empty where the module has to visit the node. `params` are those of the module."""
    if problems(params):
        return {}
    wanted = wanted_of(params)
    # The tools of the firmware take seconds for each adapter. Without `load_now`, other kernels count than those that the look is about.
    if wanted.links is not None or wanted.firmware is not None or (wanted.kmod is not None and not wanted.kmod.load_now):
        return {}
    found: dict[str, dict[str, t.Any]] = {}
    interfaces: list[str] = []
    if wanted.ipoib is not None:
        found["ipoib"] = ipoib.hints({"ipoib_interfaces": params["interfaces"]})
        names = [entry.parent or entry.name for entry in interfaces_of(params["interfaces"]) if entry.present]
        interfaces = [name.lower() if is_guid(name) else name for name in names]
    if wanted.kmod is not None:
        variables = {"kernel_modules_load": params["modules"], **{name: params[name] for name in kernel_modules.READ if name in params}}
        found["kernel_modules"] = kernel_modules.hints(variables)
    if wanted.gpus is not None:
        found["gpudirect"] = {}
    found["node_check"] = scope_of(wanted)._replace(interfaces=interfaces)._asdict()
    return found


def unchanged(params: t.Mapping[str, t.Any], looks: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The result of the module where nothing is an error; None where it is not, and wherever that is not sure.

    `looks`: what the look returned by concern, for the hints of these parameters.
    """
    needed = hints(params)
    if not needed or not set(needed) <= set(looks):
        return None
    wanted, live = wanted_of(params), decode(Live, looks["node_check"])
    interfaces, modules = _seen(Ipoib, looks, "ipoib"), _seen(Seen, looks, "kernel_modules")
    if interfaces is not None:
        # The plan of the role needs no state of links, and no look for it brings that.
        interfaces = interfaces._replace(ports=live.ports, netdevs={netdev.name: netdev for netdev in live.netdevs})
    found = Found(live, interfaces, modules.found if modules is not None else None, _seen(Gpus, looks, "gpudirect"))
    try:
        ports = [fabric_port(wanted, found, fabric) for fabric in wanted.fabrics] if wanted.subnet_manager else []
        outcome = judge(wanted, found)
    except (RdmaError, Undecided):
        # The module reports it.
        return None
    asked = [port.name if port is not None else "" for port in ports]
    return None if outcome.errors or [manager.asked for manager in live.managers] != asked else outcome.result()


def _seen(form: type[_T], looks: t.Mapping[str, t.Any], concern: str) -> _T | None:
    return decode(form, looks[concern]) if concern in looks else None


CONCERN = Concern("node_check", VARIABLES, problems=judged(role_problems), reports=True, seen=Live)
