#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/interpreter.py: it runs on nodes that can't run any module.

from __future__ import annotations

DOCUMENTATION = r"""
module: interpreter
short_description: Finds or installs a Python that modules run with
version_added: 1.0.0
description:
  - Finds the Python of a node that the modules of this collection run with, by a shell command. This also works on nodes whose only Python is too old for
    modules, such as RHEL 8 and SLES 15 with Python 3.6.
  - Where C(ansible_python_interpreter) is not set, or V(auto), the tasks that follow use what was found. The C(python3) of the
    distribution comes first, where it is new enough, then Python 3.11, then later and earlier ones.
  - Where C(ansible_python_interpreter) is set, that one has to be new enough.
  - With ansible-core from 2.20 on, nodes need Python 3.9 or later.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
attributes:
  check_mode:
    description: Tells whether a package would be installed, and installs none.
    support: full
  diff_mode:
    description: There are no differences to show.
    support: none
  platform:
    description: The systems on which it works.
    platforms: linux
    support: full
options:
  install:
    description:
      - Whether to install a Python with the package manager where there is none that modules run with. This requires root.
      - It is the first that the node's repositories have of C(python3.11), C(python3.12) and C(python3) on Red Hat, of C(python311), C(python312),
        C(python313) and C(python3) on SUSE, and C(python3) on Debian and Ubuntu.
    type: bool
    default: false
  keep_failure:
    description:
      - Whether to return what is wrong, or that the host does not answer, in RV(left_out) instead of RV(wrong) or a failure. The tasks that follow
        leave the host out.
    type: bool
    default: false
  running:
    description:
      - Whether what follows needs a running system. With O(keep_failure), a host with C(rdma_image) is left out, with the next step.
    type: bool
    default: false
    version_added: 2.0.0
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
seealso:
  - module: rdma.ofed.report
"""

EXAMPLES = r"""
- name: Find the Python that modules run with
  rdma.ofed.interpreter:
  register: found

- name: End the play on hosts that have none
  ansible.builtin.fail:
    msg: "{{ found.wrong | join('; ') }}"
  when: found.wrong | length > 0
"""

RETURN = r"""
interpreter:
  description: The path of the interpreter; empty where there is none, or none yet in check mode.
  returned: success
  type: str
  sample: /usr/bin/python3.11
version:
  description: Its version.
  returned: success
  type: str
  sample: 3.11.9
declared:
  description: What C(ansible_python_interpreter) is set to; empty where Ansible is to find one.
  returned: always
  type: str
  sample: ""
answers:
  description: Whether commands run on the host.
  returned: always
  type: bool
  sample: true
package:
  description: The package that was installed, or would be.
  returned: when one was, or would be
  type: str
  sample: python3.11
wrong:
  description: Why the modules can't run as the host is declared, and what to do. It is empty where they can.
  returned: success, without O(keep_failure)
  type: list
  elements: str
left_out:
  description: What the host is left out of, as in RV(rdma.ofed.validate_site#module:left_out).
  returned: with O(keep_failure)
  type: dict
  sample: {}
machine:
  description: What no other machine has, as in RV(rdma.ofed.validate_site#module:machine).
  returned: success
  type: list
  elements: str
"""
