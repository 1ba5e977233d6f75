# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks that were set up by hand, in NetworkManager's keyfiles or in ifcfg files, are taken over while connections over them go on.

The scripts here know nothing of the collection. Each test leaves the machines as it found them.
"""

from __future__ import annotations

import collections.abc
import pathlib
import re
import typing as t

import pytest
import records
import yaml
from cluster import Cluster
from conftest import PREFIX, running
from interfaces import profiles, run, within
from proofs import LOOK_ALIKE, REAL
from traffic import Traffic

NODES = {"node1": 1, "node2": 2}
KEYFILES = "/etc/NetworkManager/system-connections"
IFCFG = "/etc/sysconfig/network-scripts"
CARRIER = "/etc/NetworkManager/conf.d/90-rdma-ofed.conf"


class Handmade(t.NamedTuple):
    """What an administrator has set up on a node."""

    folder: str
    files: dict[str, tuple[str, str]]
    """The file and its text, by interface, in the order in which they are brought up. `{n}` is the number of the node, `{mac}` the hardware address of
    ib2, `{uuid}` a UUID of its own for each file and node.
    """
    addresses: tuple[str, ...]
    """Of the second node."""
    lost: str = ""
    """A line in one of the files, with a setting that no variable has."""
    said: str = ""
    """How it is named."""
    more: dict[str, str] = {}
    """Further files, by name."""


PORTS = Handmade(
    KEYFILES,
    {
        # As nmcli writes it.
        "ib0": (
            "ib0.nmconnection",
            "[connection]\nid=ib0\nuuid={uuid}\ntype=infiniband\ninterface-name=ib0\ntimestamp=1730000000\n\n"
            "[infiniband]\nmtu=65520\ntransport-mode=connected\n\n"
            "[ipv4]\naddress1=10.20.0.{n}/24\nmethod=manual\nroute1=10.30.0.0/16,10.20.0.254\n\n[ipv6]\naddr-gen-mode=default\nmethod=ignore\n\n"
            "[proxy]\nbrowser-only=true\n",
        ),
        # By hand: no UUID, and the port by its address.
        "ib2": (
            "storage.nmconnection",
            "# the storage network\n[connection]\nid=storage\ntype=infiniband\n\n[infiniband]\nmac-address={mac}\ntransport-mode=datagram\n\n"
            "[ipv4]\nmethod=manual\naddresses=10.23.0.{n}/24;\n\n[ipv6]\nmethod=disabled\n",
        ),
        "ib0.8001": (
            "partition 8001",
            "[connection]\nid=partition 8001\nuuid={uuid}\ntype=infiniband\ninterface-name=ib0.8001\n\n"
            "[infiniband]\np-key=32769\nparent=ib0\ntransport-mode=connected\n\n[ipv4]\naddress1=10.21.0.{n}/24\nmethod=manual\n\n[ipv6]\nmethod=disabled\n",
        ),
    },
    ("10.20.0.2", "10.21.0.2", "10.23.0.2"),
    "browser-only=true",
    "proxy.browser-only",
)
_PORT = (
    "[connection]\nid=port {port}\nuuid={{uuid}}\ntype=infiniband\ninterface-name={port}\nmaster=bond0\nslave-type=bond\n\n"
    "[infiniband]\nmtu=2044\ntransport-mode=datagram\n"
)
BOND = Handmade(
    KEYFILES,
    {
        "bond0": (
            "bond0.nmconnection",
            "[connection]\nid=bond0\nuuid={uuid}\ntype=bond\ninterface-name=bond0\n\n"
            "[bond]\nfail_over_mac=active\nmiimon=100\nmode=active-backup\nprimary=ib0\n\n[ethernet]\nmtu=2044\n\n"
            "[ipv4]\naddress1=10.20.0.{n}/24\nmethod=manual\n\n[ipv6]\nmethod=disabled\n\n[proxy]\n",
        ),
        **{port: ("bond-%s.nmconnection" % port, _PORT.format(port=port)) for port in ("ib0", "ib1")},
    },
    ("10.20.0.2",),
)
IFCFG_PORTS = Handmade(
    IFCFG,
    {
        # As on RHEL 8. NetworkManager makes the UUID from the path.
        "ib0": (
            "ifcfg-ib0",
            "# ib0, rack 1\nTYPE=InfiniBand\nDEVICE=ib0\nONBOOT=yes\nBOOTPROTO=none\nCONNECTED_MODE=yes\nMTU=65520\n"
            "IPADDR=10.20.0.{n}\nNETMASK=255.255.255.0\nIPV6INIT=no\n",
        ),
        "ib2": (
            "ifcfg-storage",
            "TYPE=InfiniBand\nNAME=storage\nUUID={uuid}\nHWADDR={mac}\nONBOOT=yes\nBOOTPROTO=none\nCONNECTED_MODE=no\n"
            "IPADDR=10.23.0.{n}\nPREFIX=24\nIPV6_DISABLED=yes\nPROXY_METHOD=none\nBROWSER_ONLY=no\n",
        ),
        "ib0.8001": (
            "ifcfg-ib0.8001",
            "TYPE=InfiniBand\nDEVICE=ib0.8001\nPKEY=yes\nPHYSDEV=ib0\nPKEY_ID=0x8001\nONBOOT=yes\nBOOTPROTO=none\nCONNECTED_MODE=yes\n"
            "IPADDR=10.21.0.{n}\nPREFIX=24\nIPV6INIT=no\n",
        ),
    },
    PORTS.addresses,
    more={"route-ib0": "10.30.0.0/16 via 10.20.0.254 dev ib0\n"},
)
_IFCFG_PORT = "TYPE=InfiniBand\nDEVICE={port}\nNAME={port}\nUUID={{uuid}}\nONBOOT=yes\nMASTER=bond0\nSLAVE=yes\nCONNECTED_MODE=no\nMTU=2044\n"
IFCFG_BOND = Handmade(
    IFCFG,
    {
        "bond0": (
            "ifcfg-bond0",
            "DEVICE=bond0\nNAME=bond0\nTYPE=Bond\nBONDING_MASTER=yes\nONBOOT=yes\nBOOTPROTO=none\nIPADDR=10.20.0.{n}\nPREFIX=24\nMTU=2044\nIPV6INIT=no\n"
            "BONDING_OPTS='mode=active-backup miimon=100 primary=ib0 fail_over_mac=active'\nETHTOOL_OPTS=autoneg\n",
        ),
        **{port: ("ifcfg-" + port, _IFCFG_PORT.format(port=port)) for port in ("ib0", "ib1")},
    },
    BOND.addresses,
    "ETHTOOL_OPTS=autoneg",
    "ETHTOOL_OPTS",
)


@pytest.fixture(scope="module")
def keyfiles() -> collections.abc.Iterator[Cluster]:
    yield from prepared("-nm", "networkmanager")


@pytest.fixture(scope="module")
def ifcfg() -> collections.abc.Iterator[Cluster]:
    yield from prepared("-ifcfg", "ifcfg")


def prepared(suffix: str, topology: str) -> collections.abc.Iterator[Cluster]:
    for cluster in running(PREFIX + suffix, topology):
        for node in NODES:
            run(cluster, node, "modprobe ib_ipoib; echo ib_ipoib > /etc/modules-load.d/site.conf")
        yield cluster


def texts(cluster: Cluster, node: str, made: Handmade) -> dict[str, str]:
    """Return the texts of the files for a node, by path."""
    mac = run(cluster, node, "cat /sys/class/net/ib2/address")
    both = {**dict(made.files.values()), **made.more}
    uuids = {name: "7f3cbe5d-7a2d-4f3e-9c4c-%010d%02d" % (position, NODES[node]) for position, name in enumerate(both)}
    return {"%s/%s" % (made.folder, name): text.format(n=NODES[node], mac=mac, uuid=uuids[name]) for name, text in both.items()}


def set_up(cluster: Cluster, made: Handmade) -> dict[str, set[str]]:
    """Write the files, as an administrator does, and have NetworkManager use them. Return the files of the active profiles, by node."""
    for node in NODES:
        writes = ["cat > '%s' <<'END'\n%sEND\n" % each for each in texts(cluster, node, made).items()]
        # A port is brought up by its bond, or by itself.
        ups = [
            "active %s || nmcli --wait 90 connection up uuid \"$(uuid '%s/%s')\"\n" % (name, made.folder, file) for name, (file, _text) in made.files.items()
        ]
        run(cluster, node, "set -e; umask 077; %s%snmcli connection reload\n%s" % (_FUNCTIONS, "".join(writes), "".join(ups)))
    return {node: profiles(cluster, node) for node in NODES}


_FUNCTIONS = r"""
uuid() { nmcli --terse --fields UUID,FILENAME connection show | grep -F ":$1" | cut -d : -f 1; }
active() { nmcli --terse --fields DEVICE connection show --active | grep -q -x -F "$1"; }
"""


def names_only(cluster: Cluster, folder: pathlib.Path) -> pathlib.Path:
    """Return the inventory that an administrator begins with."""
    inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
    for own in inventory["all"]["children"]["rdma"]["hosts"].values():
        own.pop("ipoib_interfaces", None)
    path = folder / "inventory.yml"
    path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
    return path


def folder_of(cluster: Cluster, node: str, made: Handmade) -> str:
    """Return the files of the folder with their permissions and sums."""
    return run(cluster, node, "cd %s && stat -c '%%a %%n' * && sha256sum *" % made.folder)


def taken_over(cluster: Cluster, made: Handmade, folder: pathlib.Path, ours: str, *arguments: str) -> None:
    """Discover, take over, look again, and give back. `ours`: the path of our file for the interface `%s`."""
    active = set_up(cluster, made)
    inventory, found = names_only(cluster, folder), folder / "found"
    done = cluster.play("discover", "-e", "discover_output=%s" % found, "-e", "rdma_look_timeout=1800", inventory=inventory)
    assert done.status == 0, done.output
    # Emulated machines with traffic take long.
    with_found = ("-i", str(found), "--tags", "ipoib", "-e", "rdma_look_timeout=1800", *arguments)
    site = (*with_found, "-e", "ipoib_adopt=true")
    if made.lost:
        assert made.said in (found / "report.txt").read_text(encoding="utf-8")
        refused = cluster.play("site", "--check", *site, inventory=inventory)
        assert refused.status != 0, refused.output
        assert "ipoib_adopt would lose settings that no variable expresses: %s" % made.said in " ".join(refused.output.split()), refused.output
        for node in NODES:
            run(cluster, node, "cd %s && sed -i '/^%s$/d' *" % (made.folder, made.lost))
    before = {node: folder_of(cluster, node, made) for node in NODES}

    traffic = Traffic(cluster, made.addresses)
    predicted = cluster.play("site", "--check", "--diff", *site, inventory=inventory)
    assert predicted.status == 0, predicted.output
    named = set(re.findall(r"^\+\+\+ after: (\S.*)$", predicted.output, re.MULTILINE))
    own = {ours % name for name in made.files}
    assert named == {*texts(cluster, "node1", made), *own, *(path for path in named if path == CARRIER)}, predicted.output
    done = cluster.play("site", *site, inventory=inventory)
    assert done.status == 0, done.output
    assert records.changes(done.events) == records.changes(predicted.events)
    assert traffic.goes_on()
    assert traffic.events(*made.files) == {node: [] for node in NODES}, "links and addresses stay as they were"
    assert traffic.failures() == []
    assert {node: profiles(cluster, node) for node in NODES} == dict.fromkeys(NODES, own)
    again = cluster.play("site", *site, inventory=inventory)
    assert again.status == 0 and records.changes(again.events) == {}, again.output
    verified = cluster.play("verify", *with_found, inventory=inventory)
    assert verified.status == 0, verified.output
    assert traffic.goes_on()
    traffic.end()

    done = cluster.play("remove", *with_found, "-e", "rdma_remove=true", "-e", "rdma_restore=true", inventory=inventory)
    assert done.status == 0, done.output
    assert {node: folder_of(cluster, node, made) for node in NODES} == before
    for node in NODES:
        assert within(600, lambda node=node: profiles(cluster, node) == active[node]), profiles(cluster, node)  # type: ignore[misc]
    for address in made.addresses:
        assert within(600, lambda address=address: cluster.shell("node1", "ping -c 1 -W 5 %s" % address).returncode == 0), address  # type: ignore[misc]
    for node in NODES:
        run(cluster, node, "rm %s; nmcli connection reload" % " ".join("'%s'" % path for path in texts(cluster, node, made)))
        assert within(600, lambda node=node: profiles(cluster, node) == set())  # type: ignore[misc]


@pytest.mark.proves("networkmanager", "pkeys", debian12=REAL)
@pytest.mark.proves("handmade", "discovered", debian12=REAL)
def test_keyfiles_are_taken_over_while_connections_go_on(keyfiles: Cluster, tmp_path: pathlib.Path) -> None:
    taken_over(keyfiles, PORTS, tmp_path, KEYFILES + "/rdma-%s.nmconnection")


@pytest.mark.proves("networkmanager", "bonds", debian12=REAL)
@pytest.mark.proves("handmade", "discovered", debian12=REAL)
def test_a_bond_in_keyfiles_is_taken_over_with_its_ports(keyfiles: Cluster, tmp_path: pathlib.Path) -> None:
    taken_over(keyfiles, BOND, tmp_path, KEYFILES + "/rdma-%s.nmconnection")


@pytest.mark.proves("ifcfg", "networkmanager", "pkeys", el8=LOOK_ALIKE)
@pytest.mark.proves("handmade", "discovered", el8=LOOK_ALIKE)
def test_ifcfg_files_become_keyfiles_while_connections_go_on(ifcfg: Cluster, tmp_path: pathlib.Path) -> None:
    taken_over(ifcfg, IFCFG_PORTS, tmp_path, KEYFILES + "/rdma-%s.nmconnection", "-e", "ipoib_backend=networkmanager")


@pytest.mark.proves("ifcfg", "bonds", el8=LOOK_ALIKE)
@pytest.mark.proves("handmade", "discovered", el8=LOOK_ALIKE)
def test_a_bond_in_ifcfg_files_is_taken_over_with_its_ports(ifcfg: Cluster, tmp_path: pathlib.Path) -> None:
    taken_over(ifcfg, IFCFG_BOND, tmp_path, IFCFG + "/ifcfg-%s", "-e", "ipoib_backend=ifcfg")
