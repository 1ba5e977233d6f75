# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of a bandwidth measurement between GPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpudirect_bandwidth
short_description: The result of a measurement between the memory of GPUs
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Reads the output of C(ib_write_bw --report_gbits), and formats it as a table.
positional: _input, ends, size
options:
  _input:
    description: The output.
    type: str
    required: true
  ends:
    description: The two hosts, the writing one first, each with C(host) and C(endpoint), which is a value of P(rdma.ofed.gpudirect_endpoint#filter).
    type: list
    elements: dict
    required: true
  size:
    description: The size of a write in bytes.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Show what was measured
  ansible.builtin.debug:
    msg: "{{ (client.stdout | rdma.ofed.gpudirect_bandwidth(ends, 65536)).table }}"
"""

RETURN = r"""
_value:
  description: The keys C(gbps), the average, and C(table), a list of lines.
  type: dict
"""

import typing as t

from ..module_utils._errors import RdmaError, describe
from ..module_utils._foreign import integer
from ..module_utils._gpudirect._bench import Endpoint, table
from ..module_utils._tools._measure import bandwidth
from ..plugin_utils._filters import module_of


def _is_end(end: t.Any) -> bool:
    if not isinstance(end, t.Mapping) or "host" not in end or not isinstance(end.get("endpoint"), t.Mapping):
        return False
    return all(key in end["endpoint"] for key in Endpoint._fields)


def gpudirect_bandwidth(output: t.Any, ends: t.Any, size: t.Any) -> dict[str, t.Any]:
    """Average and table."""
    gbps = bandwidth(str(output))
    if gbps is None:
        raise RdmaError("ib_write_bw ended without a result. It said: %s" % " | ".join(str(output).split("\n")[-6:]))
    number = integer(str(size))
    if number is None or number < 1:
        raise RdmaError("the size of a message is %s; allowed: a number of bytes" % describe(size))
    if not isinstance(ends, (list, tuple)) or not all(map(_is_end, ends)):
        raise RdmaError("the ends are %s; allowed: for each end its host and its endpoint, as rdma.ofed.gpudirect_endpoint returns it" % describe(ends))
    rows = [(str(end["host"]), Endpoint(**{key: end["endpoint"][key] for key in Endpoint._fields})) for end in ends]
    return {"gbps": gbps, "table": table(rows, gbps, number)}


FilterModule = module_of(gpudirect_bandwidth)
