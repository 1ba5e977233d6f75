# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a host takes part in a measurement between GPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpudirect_endpoint
short_description: How a host takes part in a measurement between the memory of GPUs
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Chooses adapter, port and options of C(ib_write_bw) for a GPU of a host, or reports why it can't take part.
positional: _input, help
options:
  _input:
    description: The fact C(rdma) of the host.
    type: dict
    required: true
  help:
    description: The output of C(ib_write_bw --help) on the host; empty where it is not installed.
    type: str
    required: true
  gpu:
    description: The number of the GPU, in the order of the PCI bus.
    type: int
    default: 0
  device:
    description: The adapter. The default is the one with an active port that is nearest to the GPU.
    type: str
    default: ""
  way:
    description: V(dmabuf), or V(auto) for the loaded module and DMA-BUF where none is.
    type: str
    choices: [auto, dmabuf]
    default: auto
"""

EXAMPLES = r"""
- name: Show how this host would take part
  ansible.builtin.debug:
    msg: "{{ ansible_facts['rdma'] | rdma.ofed.gpudirect_endpoint(perftest.stdout) }}"
"""

RETURN = r"""
_value:
  description: The keys C(problems), C(device), C(port), C(gpu), C(path), C(way) and C(options).
  type: dict
"""

import typing as t

from ..module_utils._errors import RdmaError, describe
from ..module_utils._foreign import integer
from ..module_utils._gpudirect._bench import endpoint
from ..module_utils._record import as_data
from ..plugin_utils._filters import module_of


def gpudirect_endpoint(facts: t.Any, help_text: t.Any, gpu: t.Any = 0, device: t.Any = "", way: t.Any = "auto") -> dict[str, t.Any]:
    """A host's part, as plain data."""
    if not isinstance(facts, t.Mapping):
        raise RdmaError("the facts are %r; allowed: the fact rdma of a host" % (facts,))
    place = integer(str(gpu))
    if place is None or place < 0:
        raise RdmaError("the GPU is %s; allowed: its number, from 0 on" % describe(gpu))
    found: dict[str, t.Any] = as_data(endpoint(facts, str(help_text), number=place, device=str(device), way=str(way)))
    return found


FilterModule = module_of(gpudirect_endpoint)
