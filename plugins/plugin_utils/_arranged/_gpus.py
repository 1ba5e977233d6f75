# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of a host in a measurement between GPU memories."""

from __future__ import annotations

import typing as t

from ...module_utils._errors import RdmaError
from ...module_utils._gpudirect._bench import endpoint
from ...module_utils._record import as_data
from .._actions import host_of
from .._facts_of_run import facts_of


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], _templar: t.Any) -> dict[str, t.Any]:
    facts = facts_of(task_vars)
    if facts is None:
        raise RdmaError("kind gpus needs the facts of the host; run rdma.ofed.rdma_facts with gather: [gpu, kernels, ports] before")
    if arguments["gpu"] < 0:
        raise RdmaError("the GPU is %d; allowed: its number, from 0 on" % arguments["gpu"])
    found = endpoint(facts, arguments["help"], number=arguments["gpu"], device=arguments["device"], way=arguments["way"])
    if found.problems:
        raise RdmaError("%s can't take part: %s" % (host_of(task_vars), ". ".join(found.problems)))
    return {"end": as_data(found)}
