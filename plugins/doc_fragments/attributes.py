# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The attributes that modules of this collection have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """C(rdma.ofed.attributes) is for all, one of the others comes in addition."""

    DOCUMENTATION = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/rdma.ofed.rdma) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - rdma.ofed.rdma
"""

    # Changes a node.
    STATE = r"""
options: {}
attributes:
  check_mode:
    description: Makes no change and returns the changes that a run would make.
    support: full
  diff_mode:
    description: Shows files and settings before and after.
    support: full
  platform:
    description: The systems on which it works.
    platforms: linux
    support: full
"""

    # Looks at a node.
    INFO = r"""
options: {}
attributes:
  check_mode:
    description: It changes nothing, so it does the same in check mode.
    support: full
  diff_mode:
    description: It changes nothing, so there are no differences to show.
    support: N/A
  platform:
    description: The systems on which it works.
    platforms: linux
    support: full
"""

    # Returns facts.
    FACTS = r"""
options: {}
attributes:
  facts:
    description: Returns C(ansible_facts), which are added to the facts of the host.
    support: full
"""

    # Runs on the controller, and changes nothing there.
    ACTION = r"""
options: {}
attributes:
  action:
    description: It is an action plugin; no module is executed on the host.
    support: full
  check_mode:
    description: It changes nothing, so it does the same in check mode.
    support: full
  diff_mode:
    description: It changes nothing, so there are no differences to show.
    support: N/A
  platform:
    description: It runs on the controller, whatever the host is.
    platforms: all
    support: full
"""
