# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python for modules on a node, as far as the controller knows it."""

from __future__ import annotations

import typing as t

from ansible import constants

from ..module_utils._plain import plain

if t.TYPE_CHECKING:
    from ansible.template import Templar

# The fact in which Ansible stores the result of its own discovery.
DISCOVERED = "discovered_interpreter_python"


def declared_python(templar: Templar, task_vars: t.Mapping[str, t.Any]) -> str:
    """The Python declared for the host or in the configuration; "" where Ansible is to discover it."""
    value = constants.config.get_config_value("INTERPRETER_PYTHON", variables=task_vars)
    declared = str(plain(templar.template(value))).strip()
    return "" if declared.startswith("auto") else declared
