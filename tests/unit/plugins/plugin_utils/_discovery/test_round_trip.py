# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site that was declared, provisioned and forgotten: the inventory that the discovery writes declares the same, up to defaults."""

from __future__ import annotations

import os
import random
import re
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import Device
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._readers import described
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Seen
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._handmade import SeenOfStack
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._wanted import wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found as NoManager
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Whole
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import Inventory, render
from ansible_collections.rdma.ofed.plugins.module_utils._record import encode
from ansible_collections.rdma.ofed.plugins.module_utils._schema._kernel_modules import OPTIONS
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._files import files
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._lift import Site, place
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._read import DEFAULTS, read
from support import drawn

ROUNDS = int(os.environ.get("RDMA_ROUND_TRIPS") or 20)
"""More of them cost minutes: `make round-trips`."""
GROUPS = {"rdma": list(drawn.NODES), "rack1": ["node1", "node2"], "all": list(drawn.NODES)}
_REFERENCE = re.compile(r"\{\{ (found_\w+) \}\}\Z")


class Reader(yaml.SafeLoader):
    """Reads the files as Ansible does."""


Reader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def inventory(texts: t.Mapping[str, str], host: str) -> dict[str, t.Any]:
    """Return the variables of a host: those of groups, the smaller ones last, then its own."""
    read_in: dict[str, t.Any] = {path: yaml.load(text, Reader) for path, text in texts.items() if path.endswith(".yml")}
    found: dict[str, t.Any] = {}
    for group in ("rdma", "opensm", "rack1"):
        if host in GROUPS.get(group, ["node1"]):
            found.update(read_in.get("group_vars/%s.yml" % group) or {})
            found.update(single(read_in, group).get("vars") or {})
    found.update(read_in.get("host_vars/%s.yml" % host) or {})
    found.update((single(read_in, "rdma").get("hosts") or {}).get(host) or {})
    return {name: resolved(value, found) for name, value in found.items()}


def single(read_in: t.Mapping[str, t.Any], group: str) -> dict[str, t.Any]:
    whole = read_in.get("inventory.yml") or {"all": {"children": {}}}
    return whole["all"]["children"].get(group) or {}


def resolved(value: t.Any, variables: t.Mapping[str, t.Any]) -> t.Any:
    if isinstance(value, dict):
        return {key: resolved(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, variables) for item in value]
    match = _REFERENCE.match(value) if isinstance(value, str) else None
    return variables[match[1]] if match else value


class World:
    """A site in the world of the planner."""

    def __init__(self, chance: random.Random) -> None:
        self.managers = drawn.subnet_managers(chance)
        # Hosts of a rack are alike, but for their addresses and the mechanism, which a node may not have.
        common = [drawn.kernel_modules(chance) for _group in range(2)]
        shape = [chance.random() for _group in range(2)]
        firmware = [drawn.firmware(chance) for _group in range(2)]
        self.modules, self.interfaces, self.subjects = {}, {}, []
        self.firmware, self.adapters = {}, {}
        for number, host in enumerate(drawn.NODES, 1):
            group = int(host not in GROUPS["rack1"] or chance.random() < 0.1)
            self.modules[host], node = drawn.with_modules(random.Random(shape[group]), common[group])
            self.interfaces[host] = drawn.interfaces(random.Random(shape[group]), number)
            manager = drawn.with_manager(self.managers) if host == "node1" else NoManager()
            network = drawn.with_interfaces(self.interfaces[host], drawn.GUIDS[host])
            # A rack may have several kinds of nodes.
            self.adapters[host] = drawn.adapters(random.Random(shape[group]) if chance.random() < 0.7 else chance)
            self.firmware[host] = firmware[group]
            looks = {
                "hca_firmware": encode(drawn.with_firmware(firmware[group], self.adapters[host])),
                "kernel_modules": encode(SeenOfStack(Seen(found=node))),
                "opensm": encode(Whole(manager)),
                "ipoib": encode(described(network, network)),
                "packages": [["rdma-core", "1"]],
            }
            port = {"name": "mlx5_0/1", "device": "mlx5_0", "port": 1, "port_guid": drawn.GUIDS[host], "link_layer": "InfiniBand", "state": "ACTIVE"}
            port.update(lid=number, sm_lid=1, pci="0000:03:00.0", gid="fe80:0000:0000:0000:0000:0000:0000:%04x" % (0x100 + number))
            self.subjects.append(Subject(host, facts={"os": {"family": "Debian"}, "ports": [port]}, groups=GROUPS, recall=looks.get))

    def written(self, *, one_file: bool, explicit: bool) -> dict[str, str]:
        found = read(self.subjects)
        site = Site("rdma", drawn.NODES, {"rack1": GROUPS["rack1"], **found.groups}, DEFAULTS, explicit=explicit, reserved=list(found.groups))
        placed = place(found.values, site)
        groups = {**{name: GROUPS[name] for name in placed.groups if name in GROUPS}, **found.groups}
        return files(placed, top="rdma", groups=groups, hosts=drawn.NODES, single=one_file)


def of_managers(variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return what the variables make of the subnet managers. A group stands for its hosts in a partition."""
    found = {name: value for name, value in variables.items() if name.startswith("opensm_") and value != DEFAULTS.get(name)}
    return {**found, "opensm_partitions": render(found.get("opensm_partitions"), Inventory(GROUPS, {host: [guid] for host, guid in drawn.GUIDS.items()}))}


def of_adapters(variables: t.Mapping[str, t.Any], adapters: t.Sequence[Device]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return what the variables make of a host's adapters: the versions of its boards, and the parameters that are not the default."""
    versions = {device.psid: variables["hca_firmware_versions"].get(device.psid, "10.10.1000") for device in adapters if device.psid}
    done = drawn.parameters_set(variables["hca_firmware_config"], adapters)
    return versions, {pci: own for pci, own in done.items() if own}


@pytest.mark.parametrize("one_file", [False, True])
def test_what_was_declared_provisioned_and_forgotten_is_declared_again(one_file: bool) -> None:
    for number in range(ROUNDS // 2):
        world = World(random.Random("%s %d" % (one_file, number)))
        texts = world.written(one_file=one_file, explicit=number % 3 == 0)
        for host in drawn.NODES:
            declared = {**DEFAULTS, **inventory(texts, host)}
            options = {name: declared.get("kernel_modules_" + name, entry["default"]) for name, entry in OPTIONS.items()}
            assert wanted_of(options)._replace(mechanism="") == world.modules[host]._replace(mechanism=""), (number, host)
            assert drawn.named(declared["ipoib_interfaces"]) == drawn.named(world.interfaces[host]), (number, host)
            adapters, firmware = world.adapters[host], world.firmware[host]
            assert of_adapters(declared, adapters) == of_adapters(firmware, adapters), (number, host)
        assert of_managers(inventory(texts, "node1")) == of_managers(world.managers), number
