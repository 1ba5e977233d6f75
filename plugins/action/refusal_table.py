# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fails with what is wrong with the input of the hosts, and with what the roles would refuse. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._schema._refusal_table import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._foresight import Claim, grouped, message, shared
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._actions import ControllerAction, registered, show


class ActionModule(ControllerAction):
    """Collects; pure code makes the message."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        outcomes = registered(task_vars, task_vars["ansible_play_hosts"], arguments["variable"])
        if not arguments["keep_looks"]:
            _looks.forget(*outcomes)
        claims = {host: [Claim(**claim) for claim in own.get("addresses") or ()] for host, own in outcomes.items()}
        found = {host: own.get("refusals") or [] for host, own in outcomes.items()}
        wrong = {host: list(own.get("wrong") or ()) for host, own in outcomes.items()}
        for host, problems in shared(claims).items():
            wrong[host] += map(str, problems)
        lines = [*grouped(wrong), *grouped(found)]
        if len(lines) > 1:
            show("Wrong or refused:\n  " + "\n  ".join(lines))
        invalid = "; ".join(grouped(wrong))
        failures = ["invalid input, nothing was changed. %s" % invalid if invalid else "", message(found)]
        result = {
            "wrong": {host: problems for host, problems in wrong.items() if problems},
            "refusals": {host: refusals for host, refusals in found.items() if refusals},
        }
        return {**result, "failed": True, "msg": "; ".join(filter(None, failures))} if any(failures) else result
