# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fails with what the roles would refuse on the hosts of the play. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._schema._refusal_table import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._foresight import message
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import plain
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._on_controller import ControllerAction


class ActionModule(ControllerAction):
    """Collects; pure code makes the message."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        hosts = [str(host) for host in task_vars["ansible_play_hosts"]]
        if not arguments["keep_looks"]:
            _looks.forget(*hosts)
        found = {host: plain((task_vars["hostvars"][host].get(arguments["variable"]) or {}).get("refusals") or []) for host in hosts}
        refused = message(found)
        result = {"refusals": {host: refusals for host, refusals in found.items() if refusals}}
        return {**result, "failed": True, "msg": refused} if refused else result
