# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""The whole of one call of the module: look, check, decide, and unless in check mode apply."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _bonds, _generated, _rollback, _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._apply import Applier
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import IFUPDOWN, NETWORKD, choose
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import canonical, unborn
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import Look, look
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import decide
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._references import resolve
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Target, targets_of
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Plan

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision


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


def configure(module: AnsibleModule, run: Runner, options: Options, environ: t.Mapping[str, str], root: str = "/") -> dict[str, t.Any]:
    """Returns the module's result. Raises RdmaError; before the first change for whatever can be known by then."""

    if options.confirm:
        if not module.check_mode:
            _rollback.confirm(run, options.confirm, root)
        return dict(Plan().result(), backend="", interfaces=[])

    def see() -> Look:
        return look(run, environ, root)

    found = see()
    variables = {"ipoib_" + name: value for name, value in options._asdict().items()}
    wrong = problems(variables, found.facts)
    if wrong:
        raise InvalidInput(wrong)
    declared = () if options.state == "absent" else options.interfaces
    wanted = [item for item in _wanted.wanted_of(resolve([("", item) for item in declared], found.facts).interfaces) if item.present]
    targets = _bonds.levelled(targets_of(wanted, found.facts))
    # Removing needs no network stack, and must work where the one that was used is gone.
    backend = choose(options.backend, found.evidence) if targets else ""
    fallback = IFUPDOWN if "ifup" in found.evidence.tools else NETWORKD

    def judge(seen: Look) -> Decision:
        namings = resolve([("", item) for item in declared], seen.facts).namings
        return decide(seen.node, targets, backend or fallback, namings, rollback=options.rollback_timeout > 0)

    decision = judge(found)
    if _generated.is_aside(root):
        decision = decision._replace(plan=Plan((*decision.plan.changes, _generated.UNFINISHED)))
    plan = decision.plan
    result = dict(plan.result(), backend=backend)
    netdevs = found.node.netdevs
    if decision.plan and not module.check_mode:
        _rollback.refuse_while_armed(run, root)
        applier = Applier(module, run, found, backend or fallback, see, judge, root, options.backup)
        if decision.cutting:
            _rollback.arm(run, _rollback.undo_of(decision, found), options.rollback_timeout, os.getpid(), root)
            result["rollback"] = {"unit": _rollback.UNIT + ".timer", "seconds": options.rollback_timeout, "confirmed": False}
        try:
            decision = applier.apply(decision)
        except RdmaError as exc:
            if "rollback" in result:
                exc.msg += "; the node goes back to what it was within %d s" % options.rollback_timeout
            raise
        netdevs = see().node.netdevs
        if applier.backups:
            result["backup_files"] = applier.backups
    result.update(plan.result(pending=decision.pending, reasons=decision.reasons))
    result["interfaces"] = [report(target, netdevs.get(target.name), bool(result["changed"]) and module.check_mode) for target in targets]
    return result


def report(target: Target, netdev: Netdev | None, predicted: bool) -> dict[str, t.Any]:
    """What the result says of an interface: as found, or as it would be after the changes."""
    found = netdev or unborn(target)
    mtu = target.mtu if predicted and target.mtu else found.mtu
    mode = target.mode if found.mode or target.bond is not None else ""
    return {"name": target.name, "mode": mode, "mode_reason": target.mode_reason, "mtu": mtu, "addresses": list(canonical(target.addresses))}
