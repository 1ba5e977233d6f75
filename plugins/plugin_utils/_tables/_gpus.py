# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The measurement between the memory of two GPUs."""

from __future__ import annotations

import typing as t

from ...module_utils._errors import RdmaError
from ...module_utils._gpudirect._bench import Endpoint, table
from ...module_utils._tools._measure import bandwidth
from .._actions import registered, show

_COMPARE = "Compare it with the rate of the link, and see the hints of the role gpudirect"


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], _predicted: bool) -> dict[str, t.Any]:
    hosts, output, least = arguments["hosts"], arguments["output"], arguments["min_gbps"]
    ends = {host: part.get("end") for host, part in registered(task_vars, hosts, arguments["variable"]).items()}
    wrong = [host for host, end in ends.items() if not isinstance(end, t.Mapping) or not set(Endpoint._fields) <= set(end)]
    if len(ends) != 2 or wrong:
        raise RdmaError("kind gpus needs two hosts, and in variable what rdma.ofed.arrange has returned for each. Without it: %s" % ", ".join(wrong or hosts))
    gbps = bandwidth(output)
    if gbps is None:
        raise RdmaError("ib_write_bw ended without a result. It said: %s" % " | ".join(output.split("\n")[-6:]))
    lines = table([(host, Endpoint(**{key: end[key] for key in Endpoint._fields})) for host, end in ends.items()], gbps, arguments["size"])
    show("\n".join(lines))
    found: dict[str, t.Any] = {"gbps": gbps, "table": lines}
    if gbps < least:
        words = "%s writes %s Gb/s into the GPU's memory of %s; gpudirect_test_minimum is %g. %s"
        found.update(failed=True, msg=words % (hosts[0], gbps, hosts[1], least, _COMPARE))
    return found
