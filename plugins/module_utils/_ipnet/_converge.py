# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module: look, plan, apply, look again."""

from __future__ import annotations

import typing as t

from .._errors import Refused, require_none
from .._foreign import is_true
from .._host._node import Node
from . import _plan as planner
from ._apply import apply
from ._concern import references_of, result_of
from ._input import option_problems
from ._look import look
from ._wanted import TRUSTED, wanted_of

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner
    from ._found import Found


def converge(module: AnsibleModule, run: Runner, *, environ: t.Mapping[str, str], root: str = "/") -> dict[str, t.Any]:
    """Look, plan, apply, look again; returns the result of the module."""
    options = module.params
    require_none(option_problems(options))

    def observe() -> Found:
        return look(
            Node(run, "", environ, root),
            references_of(options["interfaces"]),
            firewall=options["firewall"] == TRUSTED,
            routing=is_true(options["policy_routing"]),
        )

    found = observe()
    wanted = wanted_of(options, found.named)
    refused = planner.refusals(wanted, found)
    if refused:
        raise Refused("; ".join(refused))
    # An interface that the role ipoib would create exists by then.
    todo = planner.plan(wanted, planner.foretold(wanted, found) if module.check_mode else found)
    if todo and not module.check_mode:
        apply(module, run, todo, wanted=wanted, found=found, root=root)
        found = observe()
        planner.plan(wanted, found).require_empty()
    return result_of(wanted, found, todo)
