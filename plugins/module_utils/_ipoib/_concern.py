# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What the module makes of its options and of a found state. Pure: a controller that has the state can decide as the module does."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._bonds import levelled
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._capability import settled
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._choice import choose
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._guard import Undecided
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import canonical, unborn
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import IpoibPlan, plan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._references import resolve
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface, Wanted, interfaces_of

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found


class Options(t.NamedTuple):
    """The module's options."""

    interfaces: t.Any = ()
    backend: str = "auto"
    state: str = "present"
    backup: bool = False
    rollback_timeout: int = 0
    """Seconds; 0: what disturbs the connection of the run is refused."""
    confirm: str = ""
    """The timer to stop; nothing else is done."""


def wanted_of(options: Options, found: Found) -> Wanted:
    """The declared state, validated. Raises InvalidInput; Refused or Unsupported where no back-end can be used."""
    facts = found.facts
    wrong = problems({"ipoib_" + name: value for name, value in options._asdict().items()}, facts)
    if wrong:
        raise InvalidInput(wrong)
    resolution = resolve([("", item) for item in options.interfaces if options.state != "absent"], facts)
    declared = [item for item in interfaces_of(resolution.interfaces) if item.present]
    interfaces = levelled(settled(declared, facts))
    # Removing needs no back-end, and must work where the one that was used is gone.
    backend = choose(options.backend, found.backends).name if interfaces else ""
    return Wanted(interfaces, backend, resolution.namings, options.rollback_timeout > 0)


def result_of(wanted: Wanted, todo: IpoibPlan, netdevs: t.Mapping[str, Netdev], *, predicted: bool) -> dict[str, t.Any]:
    """The module's result. `predicted`: the interfaces are reported as they would be after the plan."""
    result = todo.plan.result(pending=todo.pending, reasons=todo.reasons)
    interfaces = [report(interface, netdevs.get(interface.name), predicted) for interface in wanted.interfaces]
    return dict(result, backend=wanted.backend, interfaces=interfaces)


def report(interface: Interface, netdev: Netdev | None, predicted: bool) -> dict[str, t.Any]:
    """One interface in the result: as found, or as it would be after the changes."""
    found = netdev or unborn(interface)
    mtu = interface.mtu if predicted and interface.mtu else found.mtu
    mode = interface.mode if found.mode or interface.bond is not None else ""
    addresses = list(canonical(interface.addresses))
    return {"name": interface.name, "mode": mode, "mode_reason": interface.mode_reason, "mtu": mtu, "addresses": addresses}


def unchanged(options: t.Mapping[str, t.Any], found: Found) -> dict[str, t.Any] | None:
    """The module's complete result where it has nothing to do; None where it has, and wherever that is not sure.

    `options` are those of the module, as given.
    """
    if options.get("confirm") or not set(options) <= set(Options._fields):
        return None
    try:
        wanted = wanted_of(Options(**options), found)
        todo = plan(wanted, found)
    except (RdmaError, Undecided):
        return None
    return None if todo.plan or found.armed else result_of(wanted, todo, found.netdevs, predicted=False)
