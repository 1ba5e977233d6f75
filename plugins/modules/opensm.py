#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: opensm
short_description: Run the subnet manager of a fabric here, or make sure that none runs here
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Runs opensm as C(rdma-opensm@FABRIC.service), bound to the GUID of one port, restarted whenever it ends.
    The units of the packages are stopped, disabled and masked, because they report C(active) while no opensm runs.
  - Restarts it where it runs a program, or libraries of the RDMA stack, that were replaced since it started, as by another driver stack.
  - Asks the fabric for its master before anything is started, and refuses to become a second one.
    Waits afterwards until the fabric has exactly one master, and it is this host.
  - On all other hosts it stops, disables and masks whatever subnet manager there is.
    That works before a package is installed, so that the package can't start one.
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.state
options:
  state:
    description:
      - With V(designated) this host runs the subnet manager of O(fabric). The package must be installed, except in check mode.
      - With V(resting) no subnet manager runs here, and none can be started by a package.
      - With V(absent) nothing of this module is left. The units of the packages can be started again.
    type: str
    choices: [designated, resting, absent]
    required: true
  fabric:
    description: Name of the fabric (subnet).
    type: str
    default: ib
  port:
    description:
      - The port to bind to, in the notation of C(rdma link), such as V(mlx5_0/1).
      - Without this option and O(port_guid) it is the first port whose link layer is InfiniBand.
    type: str
  port_guid:
    description: The port to bind to, by its port GUID. That is not the node GUID.
    type: str
  priority:
    description: Priority in the election of a master, from V(0) to V(15). The highest wins.
    type: int
    default: 14
  wait_timeout:
    description:
      - Seconds to wait until this host is the only master.
      - A master on another host of O(known_hosts) is given half of it to stop, before anything is started here.
    type: int
    default: 60
  known_hosts:
    description:
      - Names of the hosts of the inventory.
      - A master whose node description begins with one of them will be stopped by that host's own run.
        Any other one is a foreign master.
    type: list
    elements: str
    default: []
  allow_foreign_master:
    description:
      - Start even though a master runs elsewhere, on a switch for example.
      - The election then decides. The module is content with exactly one master, whichever it is.
    type: bool
    default: false
  log_file:
    description: Path of the log of opensm. The default is C(/var/log/opensm.FABRIC.log).
    type: path
requirements:
  - opensm and infiniband-diags, for O(state=designated)
  - systemd
notes:
  - The kernel module C(ib_umad) must be loaded for O(state=designated).
  - Options in the configuration file of opensm, C(/etc/opensm/opensm.conf) or C(/etc/rdma/opensm.conf), remain effective
    as far as they are not options of this module.
"""

EXAMPLES = r"""
- name: Run the subnet manager here
  rdma.ofed.opensm:
    state: designated
    known_hosts: "{{ groups['rdma'] }}"

- name: Run it on the second port
  rdma.ofed.opensm:
    state: designated
    port: mlx5_0/2

- name: Make sure that no package ever starts one here
  rdma.ofed.opensm:
    state: resting
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["service opensm.service masked: no -> yes", "create file /etc/systemd/system/rdma-opensm@.service"]
pending:
  description: What is set and not effective yet. Always empty.
  returned: success
  type: list
  elements: str
reboot_required:
  description: Always V(false).
  returned: success
  type: bool
reasons:
  description: What an administrator should know.
  returned: success
  type: list
  elements: str
fabric:
  description: Name of the fabric.
  returned: success
  type: str
  sample: ib
port:
  description: The port that the subnet manager is bound to.
  returned: O(state=designated)
  type: str
  sample: mlx5_0/1
port_guid:
  description: Its port GUID. A master that keeps this module from starting is described in RV(master) of the failure.
  returned: O(state=designated)
  type: str
  sample: "0x7cfe90030016aef1"
master:
  description: The master of the fabric.
  returned: O(state=designated), not in check mode
  type: dict
  contains:
    port_guid:
      description: GUID of the port that it is bound to.
      type: str
    lid:
      description: LID of that port.
      type: int
    priority:
      description: Its priority.
      type: int
  sample: {port_guid: "0x7cfe90030016aef1", lid: 1, priority: 14}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._converge import converge


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["designated", "resting", "absent"], "required": True},
            "fabric": {"type": "str", "default": "ib"},
            "port": {"type": "str"},
            "port_guid": {"type": "str"},
            "priority": {"type": "int", "default": 14},
            "wait_timeout": {"type": "int", "default": 60},
            "known_hosts": {"type": "list", "elements": "str", "default": []},
            "allow_foreign_master": {"type": "bool", "default": False},
            "log_file": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        result = converge(module, ModuleRunner(module))
    except RdmaError as exc:
        module.fail_json(msg=exc.msg, **exc.details)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
