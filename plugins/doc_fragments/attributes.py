# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The author and the attributes that modules of this collection share."""

from __future__ import annotations

_ALL = r"""
author:
  - The rdma.ofed engineers (@rdma-ofed)
attributes:
  action_group:
    description: Use C(group/rdma.ofed.rdma) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - rdma.ofed.rdma
"""
_ON_NODES = r"""
  platform:
    description: The systems on which it works.
    platforms: linux
    support: full
"""
_CHANGES_NOTHING = r"""
  check_mode:
    description: It changes nothing, so it does the same in check mode.
    support: full
  diff_mode:
    description: It changes nothing, so there are no differences to show.
    support: N/A
"""


class ModuleDocFragment:
    """Each module uses one of these. They are typed, because ansible-test takes an untyped fragment for a literal."""

    # For modules that change a node.
    STATE: str = (
        _ALL
        + _ON_NODES
        + r"""
  check_mode:
    description: Makes no change and returns the changes that a run would make.
    support: full
  diff_mode:
    description: Shows files and settings before and after.
    support: full
"""
    )

    # For modules that only look at a node.
    INFO: str = _ALL + _ON_NODES + _CHANGES_NOTHING

    # For modules that run on the controller and change nothing there.
    ACTION: str = (
        _ALL
        + _CHANGES_NOTHING
        + r"""
  action:
    description: It is an action plugin; no module is executed on the host.
    support: full
  platform:
    description: It runs on the controller, whatever the host is.
    platforms: all
    support: full
"""
    )
