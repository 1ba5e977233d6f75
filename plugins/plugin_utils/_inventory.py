# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Another inventory than that of the run."""

from __future__ import annotations

import os
import typing as t

from ansible.inventory.manager import InventoryManager
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ..module_utils._errors import RdmaError

if t.TYPE_CHECKING:
    from ..module_utils._opensm._placement import Groups, Hostvars


def inventory_of(path: str, loader: t.Any) -> tuple[Groups, Hostvars]:
    """The groups of an inventory, and the variables of its hosts, which have those of the command line, too. Raises RdmaError.

    `loader`: that of the run, which knows its vault.
    """
    whole = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(whole):
        raise RdmaError("there is no inventory %s; allowed: the path of a file or folder on the controller" % path)
    inventory = InventoryManager(loader=loader, sources=[whole])
    groups: dict[str, t.Sequence[str]] = inventory.get_groups_dict()
    if not groups.get("all"):
        raise RdmaError("the inventory %s has no host. Next: ansible-inventory -i %s --graph" % (path, path))
    return groups, HostVars(inventory, VariableManager(loader=loader, inventory=inventory), loader)
