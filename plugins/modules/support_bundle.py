#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: support_bundle
short_description: Collects what a vendor's support needs of a node, without secrets
version_added: 1.0.0
description:
  - Writes an archive with the output of tools, logs, configuration and versions, in a new folder that only root can read. Fetch it, and remove the folder.
  - The playbook C(rdma.ofed.support_bundle) does so on all hosts, and joins the archives.
  - What is missing, fails or does not end in time is in the manifest of the archive, with the reason, and is no failure.
  - Keys of the fabric, passwords, tokens, private keys and O(secrets) are replaced by C(<removed>). Addresses, host names, GUIDs and serial numbers stay.
extends_documentation_fragment:
  - rdma.ofed.attributes.info
attributes:
  check_mode:
    description: Collects nothing, and returns an empty RV(path).
    support: full
options:
  fabric:
    description: Also look at the whole fabric, with C(ibnetdiscover), C(iblinkinfo), C(ibqueryerrors), C(saquery) and, where it is installed, C(ibdiagnet).
    type: bool
    default: false
  logs:
    description: Also take the logs of the subnet manager, as on each host that runs one.
    type: bool
    default: false
  secrets:
    description: Values that are removed wherever they stand. Those of less than four characters are not.
    type: list
    elements: str
    default: []
requirements:
  - root
"""

EXAMPLES = r"""
- name: Collect what the vendor needs
  rdma.ofed.support_bundle:
    fabric: true
    secrets: ["{{ opensm_sm_key | default('') }}"]
  become: true
  register: support

- name: Fetch the archive
  ansible.builtin.fetch:
    src: "{{ support.path }}"
    dest: support/
  become: true

- name: Remove it from the node
  ansible.builtin.file:
    path: "{{ support.folder }}"
    state: absent
  become: true
"""

RETURN = r"""
path:
  description: The archive; empty in check mode.
  returned: success
  type: str
  sample: /tmp/rdma-support-k3x9q2/support.tar.gz
folder:
  description: Its folder, to be removed; likewise.
  returned: success
  type: str
  sample: /tmp/rdma-support-k3x9q2
collected:
  description: How many texts are in the archive.
  returned: success
  type: int
  sample: 143
incomplete:
  description: Tools that failed or did not end in time, and texts that found no place.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The file that is missing in the archive.
      type: str
    state:
      description: V(failed) or V(left_out).
      type: str
    why:
      description: The reason, in words.
      type: str
  sample: [{name: fabric/ibqueryerrors.txt, state: failed, why: "ibqueryerrors did not end within 300 s"}]
size:
  description: Size of the archive in bytes.
  returned: success
  type: int
  sample: 184320
"""

from ..module_utils._host._answer import answer
from ..module_utils._schema._support_bundle import OPTIONS
from ..module_utils._support._collect import collect


def main() -> None:
    # No role passes this option on, so no declaration of a role marks it as secret.
    options = {**OPTIONS, "secrets": {**OPTIONS["secrets"], "no_log": True}}
    answer(options, collect, root=True)


if __name__ == "__main__":
    main()
