#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/support_archive.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: support_archive
short_description: Joins the archives of support_bundle from all hosts of the play into one
version_added: 1.0.0
description:
  - Writes one archive on the controller, which only its owner can read, with a folder for each host and a summary, and removes the folder with the parts.
  - Hosts of the play without an archive, because they were unreachable or failed, are named in the summary.
  - Runs on the controller. Use it with C(run_once).
extends_documentation_fragment:
  - rdma.ofed.attributes.action
attributes:
  check_mode:
    description: Writes nothing.
    support: full
options:
  parts:
    description: The folder on the controller with an archive C(HOST/support.tar.gz) for each host. It is removed. Where this is empty, nothing is written.
    type: path
    required: true
  dest:
    description: The folder that the archive is put into.
    type: path
    default: "."
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
seealso:
  - module: rdma.ofed.support_bundle
"""

EXAMPLES = r"""
- name: Join the archives
  rdma.ofed.support_archive:
    parts: "{{ parts.path }}"
    dest: support
  run_once: true
"""

RETURN = r"""
path:
  description: The archive; empty in check mode.
  returned: success
  type: str
  sample: support/rdma-support-20261124T101500Z.tar.gz
missing:
  description: Hosts of the play without an archive.
  returned: success
  type: list
  elements: str
  sample: [node7]
"""
