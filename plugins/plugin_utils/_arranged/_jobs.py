# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The jobs of a job test: how they are started, and their hosts."""

from __future__ import annotations

import typing as t

from ...module_utils._errors import RdmaError
from ...module_utils._hosts import fold, natural, sharing
from ...module_utils._jobs._types import ALL, AUTO, SLURM, SSH, WRITE, Part, groups_of
from ...module_utils._words import some


def _is_end(end: t.Any) -> bool:
    return isinstance(end, t.Mapping) and {"user_id", "node", "address", "port", "gbps", "slurm"} <= set(end)


def _launcher(wanted: str, submit: str, ends: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """A host for jobs that is not in the play was named for Slurm."""
    if wanted != AUTO:
        return wanted
    return SLURM if submit and (submit not in ends or ends[submit]["slurm"]) else SSH


def answer(arguments: t.Mapping[str, t.Any], _task_vars: t.Mapping[str, t.Any], _templar: t.Any) -> dict[str, t.Any]:
    ends = arguments["ends"]
    wrong = [host for host in ends if not _is_end(ends[host])]
    if wrong or not ends:
        raise RdmaError("these hosts have no result of rdma.ofed.job_test with role look: %s" % (some(wrong, 3) or "none was given"))
    ids = sharing({str(host): [end["user_id"]] for host, end in ends.items()})
    if len(ids) > 1:
        found = "; ".join("%s on %s" % (number, fold(hosts)) for number, hosts in ids.items())
        raise RdmaError(
            "the user of the job has different user IDs: %s. Slurm runs a job with the ID of the host that submits it; give the user one ID" % found
        )
    launcher = _launcher(arguments["launcher"], arguments["submit"], ends)
    hosts = sorted(map(str, ends), key=natural)
    groups = groups_of(hosts, ALL if arguments["scope"] == AUTO else arguments["scope"])
    parts = {}
    for host in hosts:
        end = ends[host]
        node = str(end["node"] if launcher == SLURM else end["address"])
        parts[host] = Part(host, node, str(end["address"]), str(end["port"]), end["gbps"])._asdict()
    firsts = {group[0]: number for number, group in enumerate(groups)}
    able = {host: {"fabric": "", "tests": [WRITE], "lid": ends[host]["lid"], "ip_address": ""} for host in hosts if WRITE not in ends[host]["left_out"]}
    return {"launcher": launcher, "groups": [[parts[host] for host in group] for group in groups], "firsts": firsts, "ends": able, "user_id": next(iter(ids))}
