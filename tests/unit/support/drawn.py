# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random declarations, and nodes in the world of the planner: the files of its plan are those of the node."""

from __future__ import annotations

import random
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Hca, Port
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config import _plan as parameters
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._check import check
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._input import wanted_of as parameters_of
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import Device
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._found import Seen, SeenAdapter
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _found as ipoib
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _networkd
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface, interfaces_of, settled
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _found as kmod
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _wanted as kmod_wanted
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _found as opensm
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import DEFAULT_PREFIX
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import Inventory, render
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import read_wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from ansible_collections.rdma.ofed.plugins.module_utils._schema import _kernel_modules, _opensm
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row

MODULES = ("ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib", "ib_srpt", "mlx5_core", "rds_rdma")
NODES = ("node1", "node2", "node3")
GUIDS = {node: "0x%016x" % (0x101 + number) for number, node in enumerate(NODES)}
_PCI = "0000:03:00.0"
BOARDS = {"MT_0000000008": "16.35.%d", "MT_0000000838": "28.39.%d"}
"""PSIDs, with the versions of their firmware."""
_VALUES: t.Mapping[str, t.Sequence[tuple[t.Any, str]]] = {
    "LINK_TYPE_P1": [("IB", "IB(1)"), ("ETH", "ETH(2)"), (2, "ETH(2)")],
    "SRIOV_EN": [(False, "False(0)"), (True, "True(1)"), ("1", "True(1)")],
    "NUM_OF_VFS": [(0, "0"), (16, "16"), ("0x20", "32")],
    "BOOT_RETRY_CNT": [("NONE", "NONE(0)"), ("_3", "_3(3)")],
    "PHY_RATE_MASK_P1": [(0, "0x0(0)"), ("0x10", "0x10(16)")],
    **{"HOST_CHAINING_DESCRIPTORS[%d]" % at: [(3, "3"), (4, "4"), (5, "5")] for at in range(4)},
}
"""Parameters: the values that may be declared, each as the tools show it. The first is the default."""
_ROUTES = [{"to": "10.30.0.0/16", "via": "10.20.0.254", "metric": 100}, {"to": "10.31.0.0/16", "via": "10.20.0.253"}]


def kernel_modules(chance: random.Random) -> dict[str, t.Any]:
    """Return random options of the module."""
    options: dict[str, t.Any] = {name: entry["default"] for name, entry in _kernel_modules.OPTIONS.items()}
    options["load"] = chance.sample(MODULES, chance.randrange(len(MODULES)))
    options["options"] = {
        module: {"a": chance.choice([1, "x", "0x10", "007"]), "b": chance.choice(["2,2", "{{x}}", 0])} for module in chance.sample(MODULES, chance.randrange(3))
    }
    options["memlock"] = chance.choice(["unlimited", "keep", 65536])
    options["mechanism"] = chance.choice(["auto", "rdma-core", "modules-load.d"])
    options["initramfs_drivers"] = chance.sample(MODULES, chance.randrange(3))
    options["initramfs_cmdline"] = chance.choice([[], ["rd.neednet=1", "ip=ib0:dhcp"]])
    options["device_names"] = chance.choice(["unmanaged", "kernel", "persistent"])
    return options


def with_modules(chance: random.Random, options: t.Mapping[str, t.Any]) -> tuple[kmod_wanted.Wanted, kmod.Found]:
    """Return what a random node can be told of the options, and the node after it was done."""
    wanted = kmod_wanted.wanted_of(options)
    node = kmod.Found(
        rdma_core=chance.random() < 0.5, dracut=chance.random() < 0.5, dracut_network=True, may_raise=True, catalogue=Catalogue(frozenset(MODULES))
    )
    node = node._replace(initramfs_tools=not node.dracut)
    if not node.rdma_core:
        wanted = wanted._replace(mechanism="auto")
    if not node.dracut:
        wanted = wanted._replace(initramfs_cmdline=())
    files = {change.subject: change.after for change in plan(wanted, node).about(Kind.FILE)}
    return wanted, node._replace(files=files, loaded=dict.fromkeys(wanted.load, False))


def subnet_managers(chance: random.Random) -> dict[str, t.Any]:
    """Return random variables of the role opensm."""
    declared: dict[str, t.Any] = {"opensm_priority": chance.randrange(1, 16)}
    if chance.random() < 0.5:
        declared["opensm_routing_engine"] = chance.choice([["updn"], ["ftree", "updn"], ["minhop"]])
        if "updn" in declared["opensm_routing_engine"] and chance.random() < 0.5:
            declared["opensm_root_guids"] = ["0x0000000000000010", "0x0000000000000020"]
    if chance.random() < 0.3:
        declared.update(opensm_qos=True, opensm_qos_policy="qos-ulps\nend-qos-ulps\n")
    if chance.random() < 0.3:
        declared["opensm_options"] = {"max_wire_smps": chance.randrange(1, 40), "part_enforce": chance.choice(["off", "both"])}
    if chance.random() < 0.3:
        declared["opensm_log_flags"] = "0x%02x" % chance.randrange(1, 255)
    if chance.random() < 0.3:
        declared["opensm_log_max_size"] = chance.choice([0, 64])
    if chance.random() < 0.5:
        members = chance.sample([{"host": "node1"}, {"host": "node2"}, {"host": "node3", "membership": "limited"}, {"port_guid": "0x%016x" % 0x99}], 2)
        partition = {"name": "a", "pkey": "0x0001", "members": sorted(members, key=lambda each: ("port_guid" in each, each.get("membership", ""), str(each)))}
        declared["opensm_partitions"] = [{"name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"keyword": "ALL"}]}, partition]
    return declared


def with_manager(declared: t.Mapping[str, t.Any]) -> opensm.Found:
    """Return the subnet manager of node1 after it was declared."""
    defaults = {name: entry["default"] for name, entry in _opensm.OPTIONS.items() if "default" in entry}
    options = {name[len("opensm_") :]: value for name, value in declared.items()}
    guids = {node: [guid] for node, guid in GUIDS.items()}
    partitions = render(declared.get("opensm_partitions"), Inventory({"all": list(guids)}, guids))
    item = {"fabric": "ib", "port_guid": GUIDS["node1"], "priority": declared["opensm_priority"], "role": "master", "subnet_prefix": DEFAULT_PREFIX}
    item.update(log_file="", port="", designated_host="", peer_guids=[], other_guids=[])
    given = {**defaults, **options, "state": "present", "instances": [item], "partitions": {"ib": partitions}, "known_hosts": []}
    (instance,) = read_wanted(given).instances
    return opensm.Found(running=("rdma-opensm@ib.service",), files=instance.files())


def interfaces(chance: random.Random, number: int) -> list[dict[str, t.Any]]:
    """Return a random declaration for host number `number`: one port, and perhaps a P_Key child of it."""
    mode = chance.choice(["datagram", "connected"])
    entry: dict[str, t.Any] = {"pci": _PCI, "mode": mode, "addresses": ["10.20.0.%d/24" % number]}
    if chance.random() < 0.3:
        entry["mtu"] = 1500 if mode == "datagram" else 32000
    if chance.random() < 0.3:
        entry["addresses"].append("fd00:20::%d/64" % number)
    if chance.random() < 0.3:
        entry["routes"] = chance.sample(_ROUTES, chance.randrange(1, 3))
    if chance.random() < 0.6:
        return [entry]
    del entry["pci"]
    # The child is called by the name of its parent.
    return [{"name": "ib0", **entry}, {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.21.0.%d/24" % number]}]


def named(declared: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[Interface, ...]:
    """Return what a run makes of a declaration on such a node."""
    entries = [{"name": "ib0", **{key: value for key, value in each.items() if key != "pci"}} if "pci" in each else each for each in declared]
    return tuple(each._replace(mode_reason="") for each in settled(interfaces_of(entries)))


def with_interfaces(declared: t.Sequence[t.Mapping[str, t.Any]], guid: str) -> ipoib.Found:
    """Return a node of systemd-networkd after it was declared."""
    made = named(declared)
    netdevs = {
        each.name: Netdev(
            each.name,
            "ipoib_child" if each.is_child else "ipoib",
            port="mlx5_0/1",
            port_guid=guid,
            mode=each.mode,
            mtu=each.mtu or 2044,
            up=True,
            addresses=each.addresses,
            parent=each.parent,
            pkey="0x%04x" % each.pkey if each.is_child else "",
        )
        for each in made
    }
    return ipoib.Found(
        netdevs,
        _networkd.render(made),
        {"systemd-networkd": ipoib.Presence(ipoib.Claim("it has files", 2)), "ifupdown": ipoib.Presence()},
        routes={each.name: each.routes for each in made if each.routes},
        hcas=(Hca("mlx5_0", "MT4119", "mlx5_core", _PCI),),
        ports=(Port("mlx5_0/1", "mlx5_0", 1, guid, link_layer="InfiniBand"),),
    )


def adapters(chance: random.Random) -> tuple[Device, ...]:
    """Return the adapters of a random node, by address."""
    boards = [chance.choice(list(BOARDS)) for _slot in range(chance.randrange(4))]
    slots = ["0000:%02x:00.0" % slot for slot in range(len(boards))]
    return tuple(Device(pci, (pci,), psid=psid if chance.random() < 0.95 else "", type="MT4119") for pci, psid in zip(slots, boards))


def firmware(chance: random.Random) -> dict[str, t.Any]:
    """Return random variables of the role hca_firmware. Their entries agree: none sets what another one sets."""
    versions = {psid: version % chance.choice([1000, 2000]) for psid, version in BOARDS.items() if chance.random() < 0.8}
    boards = [{"psid": psid} for psid in BOARDS]
    entries: list[dict[str, t.Any]] = [{**selector, "parameters": {}} for selector in (*boards, {"type": "MT4119"}, {"pci": "0000:01:00.0"})]
    for name in chance.sample(list(_VALUES), chance.randrange(len(_VALUES))):
        for entry in chance.choice([entries[:2], entries[2:3], entries[3:]]):
            entry["parameters"][name] = chance.choice(_VALUES[name])[0]
    return {"hca_firmware_versions": versions, "hca_firmware_config": [entry for entry in entries if entry["parameters"]]}


_FRESH = {name: Row(name, values[0][1], values[0][1], values[0][1]) for name, values in _VALUES.items()}


def parameters_set(declared: t.Sequence[t.Mapping[str, t.Any]], devices: t.Sequence[Device]) -> dict[str, dict[str, str]]:
    """Return what a run sets on new adapters, as the tools show it, by address and parameter."""
    wanted, problems = parameters_of("hca_firmware_config", declared, devices, missing="ignore")
    assert problems == [] and [problem for one in wanted for problem in check(one, _FRESH)] == []
    shown = {(name, parameters.argument(str(value), at)): at for name, values in _VALUES.items() for value, at in values}
    return {one.device.pci: {name: shown[name, value] for name, value in parameters.plan(one, _FRESH).assignments.items()} for one in wanted}


def with_firmware(declared: t.Mapping[str, t.Any], devices: t.Sequence[Device]) -> Seen:
    """Return what a discovery sees of the adapters after it was declared."""
    done = parameters_set(declared["hca_firmware_config"], devices)
    found = []
    for device in devices:
        version = declared["hca_firmware_versions"].get(device.psid, "10.10.1000")
        rows = [_FRESH[name]._replace(next=value, current=value) for name, value in sorted(done.get(device.pci, {}).items())]
        found.append(SeenAdapter(device.pci, device.psid, "", device.psid, version, version, tuple(rows)))
    return Seen(tuple(found), ("mstflint", "mstconfig"))
