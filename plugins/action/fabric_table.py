# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints what fabric_check found on all hosts of the play as one table. The documentation is in the module of the same name."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.rdma.ofed.plugins.module_utils._check._table import deviations_of, render
from ansible_collections.rdma.ofed.plugins.module_utils._schema._fabric_table import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import plain


class ActionModule(ActionBase):
    """Collects and prints; what the table says is made by pure code."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        _validation, arguments = self.validate_argument_spec(OPTIONS)
        # All hosts of the play: those that failed or were unreachable on the way belong into the table as well.
        hosts = [str(host) for host in task_vars["ansible_play_hosts_all"]]
        found = {host: plain(dict(task_vars["hostvars"][host].get(arguments["variable"]) or {})) for host in hosts}
        deviations = deviations_of(found)
        # As text, not as a result: the callbacks print results as JSON.
        Display().display("\n%s\n" % render(found, deviations))
        result.update(changed=False, deviations=deviations)
        return result
