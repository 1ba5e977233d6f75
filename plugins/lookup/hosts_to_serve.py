# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts that a play has work for."""

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts_to_serve
short_description: The hosts that a play has work for
version_added: 2.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns those hosts of a pattern that a play of the playbook C(site) must serve, as M(rdma.ofed.validate_site) found in this run. A task costs a process
    for each host of its play, also where it is skipped.
  - A host that was not validated in this run is served.
  - With O(unfinished), returns those that the summary of the run has not called done instead.
  - Where hosts have work, one host without work is added. It waits, because Ansible ends the whole run where all hosts of a play fail.
  - Where a host has a name that a pattern could take for something else, such as one with a blank, the pattern itself is returned.
options:
  _terms:
    description: A pattern of hosts.
    type: list
    elements: str
    required: true
  role:
    description: The last role of the play. Hosts where RV(rdma.ofed.validate_site#module:settled) has it have no work.
    type: str
    default: ""
  having:
    description: The name of a value that the validation returned. Hosts where it is false have no work.
    type: str
    default: ""
  unfinished:
    description: Whether the hosts that the summary of the run called done have no work, whatever the validation found.
    type: bool
    default: false
  lacking:
    description: The name of a value that the validation returned. Hosts where it is true have no work.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Configure IPoIB and GPUDirect
  hosts: "{{ query('rdma.ofed.hosts_to_serve', 'rdma', role='gpudirect') }}"
  tasks: []
"""

RETURN = r"""
_raw:
  description: Names of hosts, the pattern, or V(!all) where no host has work.
  type: list
  elements: str
"""

import re
import typing as t

from ansible.plugins.loader import lookup_loader
from ansible.plugins.lookup import LookupBase

from ..plugin_utils import _looks

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
NONE = "!all"


class LookupModule(LookupBase):
    """Reads what the validation has kept."""

    def run(self, terms: t.Sequence[t.Any], variables: t.Mapping[str, t.Any] | None = None, **options: t.Any) -> list[t.Any]:
        names = lookup_loader.get("inventory_hostnames", loader=self._loader, templar=self._templar)
        hosts = [str(host) for host in names.run(list(terms), variables=variables)]
        judged = {host: _looks.recall_judged(host) for host in hosts}
        done = _looks.recall_done() if options.get("unfinished") else frozenset()
        served = [host for host in hosts if (host not in done if options.get("unfinished") else _has_work(judged[host], options))]
        known = set(served)
        # What a host is settled in is the measure: one with work elsewhere may have failed there.
        waiting = sorted((host for host in hosts if host not in known and not _looks.recall_record(host).kind), key=lambda host: -len(_settled(judged[host])))
        found = [*served, *waiting[:1]] if served else []
        return (found if all(map(_NAME.match, found)) else list(terms)) or [NONE]


def _settled(judged: t.Mapping[str, t.Any] | None) -> t.Sequence[str]:
    return (judged or {}).get("settled") or ()


def _has_work(judged: t.Mapping[str, t.Any] | None, options: t.Mapping[str, t.Any]) -> bool:
    if judged is None:
        return True
    role, having, lacking = (options.get(name) for name in ("role", "having", "lacking"))
    return not (role in _settled(judged) or (having and not judged.get(having)) or (lacking and judged.get(lacking)))
