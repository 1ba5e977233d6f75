# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of packages in a family of distributions."""

from __future__ import annotations

DOCUMENTATION = r"""
name: package_names
short_description: The names of packages for a purpose
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Names the packages that a family of distributions has for purposes such as C(core), C(tools) or C(opensm).
    M(rdma.ofed.packages) lists the purposes.
positional: _input, family
options:
  _input:
    description: The purposes.
    type: list
    elements: str
    required: true
  family:
    description: The family, as in C(ansible_facts.rdma.os.family).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Print the packages of the subnet manager
  ansible.builtin.debug:
    msg: "{{ ['opensm'] | rdma.ofed.package_names(ansible_facts['rdma']['os']['family']) }}"
"""

RETURN = r"""
_value:
  description: The names.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import NAMES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._distro._wanted import names_of
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput


def package_names(purposes: t.Sequence[str], family: str) -> list[str]:
    """The names of the packages; an unknown purpose or family is an error."""
    known = by_name(family)
    if known is None:
        raise AnsibleFilterError("the family is %s; allowed: %s" % (family, NAMES))
    try:
        return names_of(known, purposes)
    except InvalidInput as exc:
        raise AnsibleFilterError(exc.msg) from exc


class FilterModule:
    """Registers the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"package_names": package_names}
