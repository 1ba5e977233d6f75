# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Install and remove packages with the package manager of the host. The documentation is in the module of the same name."""

from __future__ import annotations

import typing as t

from ..module_utils._distro._registry import by_name, due, names_of
from ..module_utils._packages._converge import Foreseen
from ..module_utils._schema._packages import OPTIONS
from ..plugin_utils import _looks
from ..plugin_utils._actions import ValidatedAction, host_of
from ..plugin_utils._facts_of_run import facts_of


def _place(host: str) -> str:
    """The key of the stored result. A new look does not replace it, because check mode leaves the node unchanged."""
    return host + "\nforeseen"


def _foresee(host: str, before: Foreseen, transaction: t.Mapping[str, t.Any]) -> None:
    installed, removed = transaction.get("installed") or {}, transaction.get("removed") or []
    if installed or removed:
        both = {name: version for name, version in {**before.installed, **installed}.items() if name not in removed}
        gone = sorted({*before.removed, *removed}.difference(installed))
        _looks.keep(_place(host), {"packages": {"installed": both, "removed": gone}})


class ActionModule(ValidatedAction):
    """Executes no module on a host where the look of this run found all packages."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        system = (facts_of(task_vars) or {}).get("os") or {}
        family = by_name(system.get("family"))
        if family is None:
            # The module looks itself, and reports what it finds.
            return self._execute("packages", arguments, task_vars)
        host = host_of(task_vars)
        foresees = self._task.check_mode and arguments["remembered"] and not self._task.delegate_to
        foreseen = Foreseen(**(_looks.recall(_place(host), "packages", ages=False) or {})) if foresees else Foreseen()
        pairs = _looks.recall(host, "packages") if arguments["trust_look"] and not self._task.delegate_to else None
        installed = (
            None if pairs is None else {name: version for name, version in {**dict(pairs), **foreseen.installed}.items() if name not in foreseen.removed}
        )
        names = due(names_of(family, arguments["purposes"], arguments["names"]), arguments["state"], installed)
        nothing: dict[str, t.Any] = {"changes": [], **({"missing_purposes": []} if arguments["state"] == "present" else {})}
        if not names:
            return nothing
        told = {"installed": foreseen.installed, "removed": foreseen.removed}
        answer = self._change("packages", {**arguments, "foreseen": told}, task_vars)
        if foresees:
            _foresee(host, foreseen, answer.get("transaction") or {})
        return {**nothing, **answer}
