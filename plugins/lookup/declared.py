# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The value of a variable of the collection, with its default."""

from __future__ import annotations

DOCUMENTATION = r"""
name: declared
short_description: The value of a variable of this collection, or its default
version_added: 2.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns what the inventory or the command line declares for a variable of this collection, else the default in C(docs/variables.md).
  - Where the documentation has no default, that is the empty value of the type. A variable that is null counts as one that is not declared, and so does one
    that is V(false) where the default is empty. The validation of the site refuses these where they would be ambiguous.
  - Playbooks and roles of this collection read in this way what no role of the same play has a default for.
options:
  _terms:
    description: Names of variables.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show the group of hosts
  ansible.builtin.debug:
    msg: "{{ lookup('rdma.ofed.declared', 'rdma_hosts') }}"
"""

RETURN = r"""
_raw:
  description: The values.
  type: list
  elements: raw
"""

import copy
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..module_utils._foreign import shown
from ..module_utils._schema._defaults import DEFAULTS


class LookupModule(LookupBase):
    """Evaluates the variables."""

    def run(self, terms: t.Sequence[t.Any], variables: t.Mapping[str, t.Any] | None = None, **_options: t.Any) -> list[t.Any]:
        known = variables or {}
        return [self._value(str(name), known) for name in terms]

    def _value(self, name: str, variables: t.Mapping[str, t.Any]) -> t.Any:
        if name not in DEFAULTS:
            raise AnsibleError("rdma.ofed.declared: %s is not a variable of this collection; allowed: the names in docs/variables.md" % shown(name))
        value = self._templar.template(variables[name]) if name in variables else None
        default = DEFAULTS[name]
        # A hook with the value `false` counts as unset.
        undeclared = value is None or (not value and default in ("", [], {}))
        return copy.copy(default) if undeclared else value
