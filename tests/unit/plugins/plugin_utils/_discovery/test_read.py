# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node can answer anything. Whatever that is, the discovery of the others goes on, and the files can be written."""

from __future__ import annotations

import random
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._registry import CONCERNS
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._found import Seen, SeenAdapter
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall._found import Firewall, Firewalld, Ufw
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._found import Found as Network
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found as Interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._readers import Described
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Seen as Modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._handmade import SeenOfStack
from ansible_collections.rdma.ofed.plugins.module_utils._monitor import _settings as places
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._found import Installed
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found as Managers
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Predecessor, Whole
from ansible_collections.rdma.ofed.plugins.module_utils._record import encode
from ansible_collections.rdma.ofed.plugins.module_utils._tools._firewalld import Zone
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ufw import Rule
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._files import files
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._lift import Site, place
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._read import DEFAULTS, read
from support import hostile

SCALARS = (None, True, -1, 0, 5, 70000, "", "InfiniBand", "ACTIVE", "DOWN", "0x0000000000000101", *hostile.NAMES)
GIDS = ("fe80:0000:0000:0000:0000:0000:0000:0101", "fe80:0000:0000:0001:0000:0000:0000:0102")
ROW = ("name", "type", "netdev", "device", "pci", "port", "port_guid", "gid", "state", "lid", "sm_lid", "psid", "firmware", "link_layer", "loaded")
KEYS = ("routing_engine", "qos", "sm_priority", "subnet_prefix", "guid", "log_flags", "log_file", "root_guid_file", "x", "sm_key", "ignore_other_sm")
TABLES = ("ports", "hcas", "soft_links", "modules")


class Chance(random.Random):
    """Draws what a node may answer."""

    def scalar(self) -> t.Any:
        return self.choice(SCALARS)

    def some(self, names: t.Sequence[str], draw: t.Callable[[], t.Any]) -> dict[str, t.Any]:
        return {name: draw() for name in names if self.random() < 0.7}

    def or_else(self, value: t.Any) -> t.Any:
        """Return the value, or rarely something else."""
        return self.choice([self.scalar(), [self.scalar()], {"x": self.scalar()}]) if self.random() < 0.1 else value

    def row(self) -> t.Any:
        port = {"link_layer": "InfiniBand", "gid": self.choice(GIDS)} if self.random() < 0.6 else {}
        return self.or_else({**self.some(ROW, self.scalar), **port})

    def rows(self) -> t.Any:
        return self.or_else([self.row() for _number in range(self.randrange(4))])

    def facts(self) -> t.Any:
        parts = {
            "os": self.or_else({"family": "Debian"}),
            "stack": self.or_else(
                {**self.some(("version", "ulps", "loaded", "complete"), self.scalar), "kind": self.choice(["inbox", "doca", "none", self.scalar()])}
            ),
            "gpu": self.or_else(self.some(("devices", "peers"), self.rows)),
            **{name: self.rows() for name in TABLES},
        }
        return self.choice([None, *[{name: value for name, value in parts.items() if self.random() < 0.9}] * 9])

    def text(self) -> str:
        return self.choice(hostile.NAMES)

    def manager(self) -> Managers:
        keys = {key: (self.text(),) for key in KEYS if self.random() < 0.4}
        return Managers(predecessors=(Predecessor(self.text(), keys, self.text(), self.text()),))

    def looks(self) -> dict[str, t.Any]:
        whole = {
            "kernel_modules": encode(SeenOfStack(Modules())),
            "opensm": encode(Whole(self.manager(), {self.text(): self.text()})),
            "ipoib": encode(Described(Interfaces())),
            "packages": [["rdma-core", "1"]],
            "fabric_monitor": encode(Installed(self.monitor())),
            "hca_firmware": encode(self.firmware()),
            "ipoib_network": encode(self.network()),
        }
        return {name: self.or_else(look) for name, look in whole.items() if self.random() < 0.9}

    def firmware(self) -> Seen:
        rows = tuple(Row(self.text(), self.text(), self.choice((None, self.text())), self.text()) for _number in range(self.randrange(3)))
        adapters = [SeenAdapter(self.text(), self.text(), "", self.text(), self.text(), self.text(), rows, (self.text(),), False, (self.text(),))]
        return Seen(tuple(adapters * self.randrange(3)), (self.text(), "mstconfig"))

    def network(self) -> Network:
        names = frozenset(["ib0", "ib1", self.text()])
        zones = {self.text(): Zone(self.text(), frozenset([self.choice(sorted(names))])) for _number in range(self.randrange(3))}
        rules = tuple(Rule(4, "allow", name, True, False, self.text()) for name in sorted(names) if self.random() < 0.3)
        return Network(examined=names, firewall=Firewall(True, Firewalld(True, True, zones=zones), Ufw(True, True, (4,), rules), self.text()))

    def monitor(self) -> dict[str, str]:
        sample = places.SampleSettings(((self.choice(hostile.NAMES), self.choice(hostile.NAMES)),), self.choice(hostile.NAMES), "/names", True)
        health = places.HealthSettings((self.choice(hostile.NAMES),), ("ib0", self.choice(hostile.NAMES)), 1.5, self.choice(hostile.NAMES))
        files = {places.SAMPLE_CONF: places.text_of(sample), places.HEALTH_CONF: places.text_of(health), places.SLURM: HEADER, places.NHC: "x\n"}
        return {path: text for path, text in files.items() if self.random() < 0.8}


def test_any_answer() -> None:
    chance = Chance(1)
    for _round in range(600):
        hosts = ["node%d" % number for number in range(chance.randrange(1, 4))]
        found = read([Subject(host, facts=chance.facts(), groups={"rdma": hosts, "all": hosts}, recall=chance.looks().get) for host in hosts])
        placed = place(found.values, Site("rdma", hosts, {}, DEFAULTS))
        texts = files(placed, top="rdma", groups=found.groups, hosts=hosts, single=False)
        assert all(line.isprintable() for text in texts.values() for line in text.splitlines())


def test_each_look_of_a_discovery_is_tried() -> None:
    tried = {"kernel_modules", "hca_firmware", "opensm", "ipoib", "packages", "fabric_monitor", "ipoib_network"}
    assert tried == {name for name, concern in CONCERNS.items() if concern.discovery.hints is not None}
