# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fabric that was set up by hand is described, taken over, and described again. No setting is lost or changed."""

from __future__ import annotations

import collections.abc
import pathlib
import re
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

NODES = ("node1", "node2", "node3")
MANAGER = """
set -e
apt-get -q -y install opensm infiniband-diags
modprobe ib_umad
cat > /etc/opensm/opensm.conf <<'END'
routing_engine updn
max_wire_smps 16
sm_key 0x0000000000001234
END
cat > /etc/opensm/partitions.conf <<'END'
Default=0x7fff, ipoib : ALL=full;
storage=0x8001, ipoib, mtu=5 : ALL=full;
gpu=0x8002 : %s=full, %s=limited;
END
systemctl restart opensm
"""
MODULES = """
set -e
apt-get -q -y install rdma-core ibverbs-utils infiniband-diags
printf 'options ib_ipoib send_queue_size=512\\nblacklist ib_srpt\\noptions ib_core what="{{ 7 * 7 }}"\\n' > /etc/modprobe.d/site.conf
printf 'ib_ipoib\\nib_umad\\n' > /etc/modules-load.d/site.conf
modprobe ib_ipoib
modprobe ib_umad
printf '[Match]\\nName=ib0\\n[Network]\\nAddress=%s/24\\nDNS=10.20.0.9\\n[Route]\\nDestination=10.30.0.0/16\\nGateway=10.20.0.254\\n' \\
    > /etc/systemd/network/20-ib.network
systemctl enable --now systemd-networkd
networkctl reload
"""
# What no variable has would be lost with the file, so the interface is not taken over while it is there.
FORGET = "sed -i /^DNS=/d /etc/systemd/network/20-ib.network"
# Other back-ends, each as its own tools or an administrator would write it.
KEYFILE = """
apt-get -qq -y install --no-install-recommends network-manager && umask 077
cat > /etc/NetworkManager/system-connections/storage.nmconnection <<END
[connection]
id=storage
uuid=9c92fad9-6ecb-3e6c-eb4d-8a47c6f50c04
type=infiniband
zone=trusted

[infiniband]
mac-address=$(cat /sys/class/net/ib0/address)
transport-mode=datagram
mtu=1500

[ipv4]
address1=10.20.0.1/24
method=manual
route1=10.30.0.0/16,10.20.0.254
END
"""
STANZA = """
apt-get -qq -y install ifupdown
cat >> /etc/network/interfaces <<'END'
auto ib0
iface ib0 inet static
    address 10.20.0.2
    netmask 255.255.255.0
    mtu 1500
    post-up ip route add 10.30.0.0/16 via 10.20.0.254 || true
    dns-nameservers 10.20.0.9
END
"""
NETPLAN = """
apt-get -qq -y install netplan.io && umask 077
cat > /etc/netplan/10-ib.yaml <<'END'
network:
  version: 2
  ethernets:
    ib0:
      mtu: 1500
      addresses: [10.20.0.3/24]
      routes: [{to: 10.30.0.0/16, via: 10.20.0.254}]
      nameservers: {addresses: [10.20.0.9]}
END
netplan generate
"""
SETTINGS = {"node1": (KEYFILE, "connection.zone"), "node2": (STANZA, "dns-nameservers"), "node3": (NETPLAN, "Network.DNS")}
SECRET = "vault_opensm_sm_key=0x0000000000001234"
# What the collection owns from then on, and nothing else.
OWNED = (
    r"/etc/(modprobe\.d/rdma-ofed\.conf|rdma-ofed/opensm/.*|logrotate\.d/rdma-opensm|systemd/system/rdma-opensm@.*|rdma/ib-node-name-map"
    r"|systemd/system/opensm.*|systemd/network/(50-rdma-ib0|20-ib)\.network|udev/.*)|settings"
)


def guid_of(cluster: Cluster, node: str) -> str:
    gid = cluster.shell(node, "cat /sys/class/infiniband/*/ports/1/gids/0").stdout.strip()
    return "0x" + gid.replace(":", "")[16:]


@pytest.fixture(scope="module")
def handmade() -> collections.abc.Iterator[Cluster]:
    cluster = Cluster("rdma-discovered")
    try:
        cluster.command("up", "--topology", "3-nodes")
        for number, node in enumerate(NODES, 1):
            done = cluster.shell(node, MODULES % ("10.20.0.%d" % number))
            assert done.returncode == 0, done.stdout + done.stderr
        done = cluster.shell("node1", MANAGER % (guid_of(cluster, "node1"), guid_of(cluster, "node2")))
        assert done.returncode == 0, done.stdout + done.stderr
        done = cluster.shell("node1", "for i in $(seq 2000); do grep -q 0x8001 /sys/class/infiniband/*/ports/1/pkeys/* && exit; sleep 0.1; done; exit 1")
        assert done.returncode == 0, "no master"
        yield cluster
    finally:
        cluster.command("down")


def names(cluster: Cluster, folder: pathlib.Path) -> pathlib.Path:
    """Return the inventory that an administrator begins with: how to reach the hosts, and nothing else."""
    inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
    hosts = inventory["all"]["children"]["rdma"]["hosts"]
    inventory["all"]["children"] = {"rdma": {"hosts": {host: {"ansible_host": own["ansible_host"]} for host, own in hosts.items()}}}
    path = folder / "inventory.yml"
    path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
    return path


def declared(folder: pathlib.Path) -> dict[str, t.Any]:
    """Return all that was written, by file, without the comments."""
    return {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*_vars/*.yml"))}


def files_of(run: Run) -> set[str]:
    return set(re.findall(r"^\+\+\+ after: (\S+)", run.output, re.MULTILINE))


@pytest.mark.long
@pytest.mark.proves("discovered", debian12=REAL)
def test_what_was_set_up_by_hand_is_declared_and_taken_over(handmade: Cluster, tmp_path: pathlib.Path) -> None:
    inventory, first, second = names(handmade, tmp_path), tmp_path / "first", tmp_path / "second"
    run = handmade.play("discover", "-e", "discover_output=%s" % first, inventory=inventory)
    assert run.status == 0 and not records.changes(run.events), run.output
    found = declared(first)
    assert found["node1"]["opensm_routing_engine"] == ["updn"] and found["node1"]["opensm_options"] == {"max_wire_smps": 16}
    partitions = {entry["name"]: entry for entry in found["node1"]["opensm_partitions"]}
    assert partitions["gpu"]["members"] == [{"host": "node1"}, {"host": "node2", "membership": "limited"}]
    assert partitions["storage"]["mtu"] == 4096
    assert found["rdma"]["kernel_modules_options"] == {"ib_ipoib": {"send_queue_size": 512}}
    assert found["rdma"]["ipoib_interfaces"][0]["routes"] == [{"to": "10.30.0.0/16", "via": "10.20.0.254"}]
    assert [found[node]["found_ib0_address"] for node in NODES] == ["10.20.0.%d/24" % number for number in (1, 2, 3)]
    written = "".join(path.read_text(encoding="utf-8") for path in first.rglob("*") if path.is_file())
    assert "1234" not in written and "vault_opensm_sm_key" in written
    for words in ("option what of ib_core", "blacklist ib_srpt", "Network.DNS (/etc/systemd/network/20-ib.network line 5)"):
        assert words in (first / "report.txt").read_text(encoding="utf-8")

    # Only files of the collection, and nothing that the fabric would notice.
    both = ("-i", str(first), "-e", SECRET, "-e", "ipoib_adopt=true")
    run = handmade.play("site", "--check", *both, inventory=inventory)
    assert run.status != 0 and "ipoib_adopt would lose settings that no variable expresses: Network.DNS" in " ".join(run.output.split()), run.output
    for node in NODES:
        assert handmade.shell(node, FORGET).returncode == 0
    run = handmade.play("site", "--check", "--diff", *both, inventory=inventory)
    assert run.status == 0, run.output
    assert [path for path in files_of(run) if not re.fullmatch(OWNED, path)] == [], run.output
    converge(handmade, *both, inventory=inventory)
    assert handmade.shell("node1", "pgrep -c -x opensm").stdout.strip() == "1"

    # The same again, from what the collection has set up.
    run = handmade.play("discover", "-e", "discover_output=%s" % first, inventory=inventory)
    assert run.status != 0 and "No host was looked at" in " ".join(run.output.split())
    run = handmade.play("discover", "-e", "discover_output=%s" % second, inventory=inventory)
    assert run.status == 0, run.output
    again = declared(second)
    assert again["node1"] == found["node1"] and again["rdma"] == found["rdma"]
    run = handmade.play("site", "--check", "-i", str(second), "-e", SECRET, inventory=inventory)
    assert run.status == 0 and not records.changes(run.events), run.output


@pytest.mark.long
@pytest.mark.proves("discovered", debian12=REAL)
def test_the_files_of_other_back_ends_are_read(tmp_path: pathlib.Path) -> None:
    cluster = Cluster("rdma-discovered-ends")
    try:
        cluster.command("up", "--topology", "3-nodes")
        for node, (script, _setting) in SETTINGS.items():
            done = cluster.shell(node, "modprobe ib_ipoib; " + script)
            assert done.returncode == 0, done.stdout + done.stderr
        run = cluster.play("discover", "-e", "discover_output=%s" % (tmp_path / "found"), inventory=names(cluster, tmp_path))
        assert run.status == 0, run.output
        found = declared(tmp_path / "found")
        report = (tmp_path / "found/report.txt").read_text(encoding="utf-8")
        interface = {"pci": "0000:03:00.0", "mtu": 1500, "addresses": ["{{ found_ib0_address }}"], "routes": [{"to": "10.30.0.0/16", "via": "10.20.0.254"}]}
        assert found["rdma"]["ipoib_interfaces"] == [interface]
        for number, (node, (_script, setting)) in enumerate(SETTINGS.items(), 1):
            assert found[node]["found_ib0_address"] == "10.20.0.%d/24" % number
            assert "%s: %s (" % (node, setting) in report
    finally:
        cluster.command("down")
