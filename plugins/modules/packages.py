#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: packages
short_description: Installs or removes the packages of the distribution for a purpose
version_added: 1.0.0
description:
  - Resolves purposes to the names that the packages have in the distribution of the host, and installs or removes them with its package manager,
    which is C(apt-get), C(dnf) or C(zypper). No Python bindings are needed.
  - Previews the transaction first. An installation that would remove anything is refused, and so is a removal that would also remove other packages, unless
    O(needed=remove).
  - Packages that are installed stay at their versions.
  - Executes nothing on the host if O(rdma.ofed.rdma_facts#module:keep_look) was used before, and found that there is nothing to do.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
attributes:
  check_mode:
    description: Makes no change and returns what the package manager predicts. Where its package lists are older than a day, versions may be missing.
    support: full
  diff_mode:
    description: Shows the packages with their versions, those that come along included.
    support: full
options:
  purposes:
    description:
      - What the packages are for. V(core) and V(tools) are the RDMA stack of the distribution and its diagnostic and measuring tools;
        V(removable) is the part of both that can be removed.
      - V(opensm), V(diagnostics), V(firmware) and V(rdma_tool) are the subnet manager, the tools that look at a fabric, the tools for
        firmware, and the command C(rdma).
      - The name of an upper-layer protocol is a purpose as well, such as V(srp) or V(nvmf).
    type: list
    elements: str
    default: []
  names:
    description: Names of further packages, in any form that the package manager takes.
    type: list
    elements: str
    default: []
  state:
    description: Whether the packages are installed or removed.
    type: str
    choices: [present, absent]
    default: present
  needed:
    description: With O(state=absent), what happens to packages that others need. V(remove) removes the others, too.
    type: str
    choices: [keep, remove]
    default: keep
  start_services:
    description: Whether packages may start their services as they are installed. Makes a difference where apt is the package manager. The policy of the
      site in C(/usr/sbin/policy-rc.d) is put aside meanwhile.
    type: bool
    default: true
  foreseen:
    description: >-
      What earlier tasks of a run in check mode would have done to the packages. The preview counts with it. The collection fills this in, and
      it is without effect outside of check mode.
    type: dict
    default: {}
    suboptions:
      installed:
        description: Names of packages that would be installed, with their versions.
        type: dict
        default: {}
      removed:
        description: Names of packages that would be removed.
        type: list
        elements: str
        default: []
  lifted:
    description: >-
      Whether an earlier task of a run in check mode would have lifted the protection of packages that M(rdma.ofed.driver_stack) left. The
      preview counts with it. It is without effect outside of check mode.
    type: bool
    default: false
  remembered:
    description: >-
      Whether later tasks of a run in check mode count with what this one would do. It is not so where a playbook only asks beforehand what
      a later task would do.
    type: bool
    default: true
  trust_look:
    description: Whether the packages are still those that the look of this run found. Check mode may predict that they are not.
    type: bool
    default: true
  unsupported:
    description: What the message says in addition if the distribution is not supported.
    type: str
    default: ""
  image:
    description:
      - Whether the host is the tree of an image, reached through a chroot or a container, in place of a running system.
        Packages and files are put into it, and units are enabled in it. Nothing is started, nothing of the system that
        builds the image is looked at or changed, and the kernels are those that are installed in the image.
      - What needs a running system is left out, and named at the end of the run. See C(docs/images.md).
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Gather the facts
  rdma.ofed.rdma_facts:

- name: Install the RDMA stack of the distribution with its tools
  rdma.ofed.packages:
    purposes: [core, tools]
    names: [libibverbs-dev]

- name: Remove the subnet manager
  rdma.ofed.packages:
    purposes: [opensm]
    state: absent
"""

RETURN = r"""
changed:
  description: Whether packages were installed or removed.
  returned: always
  type: bool
  sample: false
changes:
  description: Every package that was, or would be, installed, upgraded or removed, in words.
  returned: success
  type: list
  elements: str
  sample: ["package opensm: none -> 3.3.23-2"]
missing_purposes:
  description: Those of O(purposes) for which a package was missing.
  returned: with O(state=present)
  type: list
  elements: str
  sample: [opensm]
transaction:
  description: What the package manager did, or would do.
  returned: success, unless the look of this run found everything as declared
  type: dict
  contains:
    installed:
      description: The packages that are installed or upgraded, with their new versions. An unknown version is empty.
      type: dict
      sample: {opensm: 3.3.23-2}
    removed:
      description: The packages that are removed.
      type: list
      elements: str
      sample: []
"""

from ..module_utils._host._answer import answer_on_node
from ..module_utils._packages._converge import converge
from ..module_utils._schema._packages import OPTIONS


def main() -> None:
    answer_on_node(OPTIONS, lambda module, node: converge(module, node.run, node.root), root=True)


if __name__ == "__main__":
    main()
