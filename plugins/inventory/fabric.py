# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups of hosts by their location in a saved fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fabric
short_description: Groups hosts by fabric, leaf switch, adapter, PSID and firmware, from the saved baseline of a fabric
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Reads the baselines that the playbook C(rdma.ofed.fabric) saves. It contacts no node and no fabric, so the inventory stays the same until a new baseline is
    saved.
  - A host is in the groups C(fabric_NAME), C(leaf_SWITCH), C(hca_MODEL), C(psid_PSID) and C(firmware_VERSION), as far as the baseline knows them.
  - It sets the variables C(fabric_leaves), C(fabric_hca_models) and C(fabric_node_guids) of each host, for O(keyed_groups), O(groups) and O(compose).
  - Names from the fabric are data. They are no templates, and names of groups have letters, digits and underscores only.
  - It groups the hosts that other sources of inventory have named. So name its file after theirs. In a directory, files are read in the order of their names.
  - The name of its file ends in C(fabric.yml) or C(fabric.yaml).
extends_documentation_fragment:
  - constructed
options:
  plugin:
    description: The name of this plugin.
    type: str
    required: true
    choices: [rdma.ofed.fabric]
  baselines:
    description: The files by name of the fabric. Paths are relative to this file.
    type: dict
    default: {ib: fabric-ib.json}
  add_hosts:
    description:
      - Add the hosts of the fabric that no other source has named, by the first word of their node description, without a domain.
      - These are all hosts with an adapter, gateways and storage systems included.
      - Any root user of a node can write its node description. With this option, those users decide which names Ansible connects to. What is no
        host name, and what is the name of a group or of the controller itself, is left out with a warning.
    type: bool
    default: false
"""

EXAMPLES = r"""
# inventory/20-fabric.yml, after inventory/10-hosts.yml
plugin: rdma.ofed.fabric
baselines:
  ib: ../fabric-ib.json

# Roll out firmware leaf by leaf: ansible-playbook -i inventory rdma.ofed.firmware --limit leaf_leaf1
# More groups: the hosts on two leaves, and a group for each number of adapters.
groups:
  dual_rail: fabric_leaves | length > 1
keyed_groups:
  - prefix: adapters
    key: fabric_node_guids | length | string
"""

import os
import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

from ..module_utils._errors import describe
from ..module_utils._fabric._baseline import parse_baseline
from ..module_utils._foreign import shown
from ..module_utils._words import some
from ..plugin_utils._fabric_hosts import Home, homes, is_host_name
from ..plugin_utils._untrusted import untrusted

# The groups that playbooks of the collection use. A host with such a name would belong to them.
_RESERVED = ("all", "ungrouped", "rdma", "opensm", "gpu")
_ENDINGS = ("fabric.yml", "fabric.yaml")
_SHOWN = 5


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Registers the plugin."""

    NAME = "rdma.ofed.fabric"

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and path.endswith(_ENDINGS)

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        baselines = self.get_option("baselines")
        if not all(isinstance(name, str) and isinstance(value, str) for name, value in baselines.items()):
            raise AnsibleParserError("%s: baselines is %s; allowed: a mapping of names of fabrics to files" % (path, describe(baselines)))
        known = None if self.get_option("add_hosts") else sorted(inventory.hosts)
        found: dict[str, list[Home]] = {}
        for fabric, name in sorted(baselines.items()):
            file = os.path.join(os.path.dirname(os.path.abspath(path)), os.path.expanduser(name))
            for host, home in self._homes(file, known).items():
                # A name from another inventory source has precedence.
                self.inventory.add_host(host)
                found.setdefault(host, []).append(home)
                self._place(host, fabric, home)
        for host, parts in found.items():
            self._construct(host, parts)

    def _homes(self, file: str, known: t.Sequence[str] | None) -> dict[str, Home]:
        try:
            with open(file, encoding="utf-8") as stream:
                picture = parse_baseline(stream.read())
        except (OSError, ValueError) as exc:
            raise AnsibleParserError("the baseline %s can't be read: %s. Next: %s" % (file, shown(str(exc)), _SAVE)) from exc
        if picture is None:
            raise AnsibleParserError("%s is not a baseline of a fabric. Next: %s" % (file, _SAVE))
        there, doubtful = homes(picture, known)
        if doubtful:
            self.display.warning("%s: several hosts of the inventory match: %s" % (file, some(doubtful, _SHOWN)))
        if known is None and self.inventory.hosts:
            # Hosts from other inventory sources keep their names.
            named, _doubtful = homes(picture, sorted(self.inventory.hosts))
            taken = {guid for home in named.values() for guid in home.node_guids}
            there = {**{host: home for host, home in there.items() if not taken.intersection(home.node_guids)}, **named}
        if known is None:
            there = self._acceptable(file, there)
        if not there:
            self.display.warning(
                "%s: no host of the inventory is in this fabric. Pass this file after that of the hosts (-i hosts.yml -i fabric.yml), or set add_hosts: true"
                % file
            )
        return there

    def _acceptable(self, file: str, there: t.Mapping[str, Home]) -> dict[str, Home]:
        """The hosts whose names can only mean these hosts. Users of a host can choose its name."""
        groups = {*_RESERVED, *map(str.lower, self.inventory.groups)}
        taken = {host: home for host, home in there.items() if host in self.inventory.hosts or (is_host_name(host) and host.lower() not in groups)}
        refused = sorted(host for host in there if host not in taken)
        if refused:
            self.display.warning(
                "%s: not added, because these node descriptions don't begin with the name of a host, or with one that means the controller or a group: %s. "
                "Next: correct them on their nodes, or add the hosts in another inventory source" % (file, some(refused, _SHOWN))
            )
        return taken

    def _place(self, host: str, fabric: str, home: Home) -> None:
        kinds = {"fabric": (fabric,), "leaf": home.leaves, "hca": home.models, "psid": home.psids, "firmware": home.firmware}
        for prefix, values in kinds.items():
            for value in values:
                group = self.inventory.add_group(self._sanitize_group_name("%s_%s" % (prefix, value)))
                self.inventory.add_child(group, host)

    def _construct(self, host: str, parts: t.Sequence[Home]) -> None:
        variables = {
            "fabric_leaves": sorted({leaf for home in parts for leaf in home.leaves}),
            "fabric_hca_models": sorted({model for home in parts for model in home.models}),
            "fabric_node_guids": sorted({guid for home in parts for guid in home.node_guids}),
        }
        variables = untrusted(variables)
        for name, value in variables.items():
            self.inventory.set_variable(host, name, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host, strict=strict)


_SAVE = "save one with ansible-playbook rdma.ofed.fabric -e fabric_save_baseline=true"
