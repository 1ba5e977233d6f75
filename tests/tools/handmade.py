# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes that administrators set up by hand, each in another way, and what is measured on them while the collection takes them over.

The scripts know nothing of the collection. The nodes are those of the topology `handmade`.
"""

from __future__ import annotations

import concurrent.futures
import datetime
import itertools
import json
import pathlib
import re
import subprocess
import sys
import typing as t

from cluster import Cluster
from common import ROOT

VERSION = "23.10-0.5.5.0"
"""The release of MLNX_OFED on node5."""
STACKS = "/srv/stacks"
MANAGER_GUID = "0x0002c90300001001"
_BEGIN = "set -e; umask 022; export DEBIAN_FRONTEND=noninteractive\n"
_OPENSM_CONF = """
cat > /etc/opensm/opensm.conf <<'END'
# The routes of a tree of two levels.
routing_engine updn
max_wire_smps 16
sm_priority %d
END
cat > /etc/opensm/partitions.conf <<'END'
Default=0x7fff, ipoib : ALL=full;
storage=0x8001, ipoib, mtu=5 : ALL=limited, 0x0002c90300001001=full, 0x0002c90300001011=full;
END
"""
# On a host, udev has rdma-core load ib_umad.
_INBOX = "apt-get -q -y install rdma-core ibverbs-providers ibverbs-utils infiniband-diags iputils-ping %s; modprobe ib_umad\n"
_NETWORKD = "systemctl enable --now systemd-networkd; networkctl reload\n"
_INBOX_MANAGER = (
    _BEGIN
    + _INBOX % "opensm"
    + """
printf '# The queues of the storage network.\\noptions ib_ipoib send_queue_size=512 recv_queue_size=512\\n' > /etc/modprobe.d/ipoib-queues.conf
printf '# fabric\\nib_ipoib\\nib_umad\\n' > /etc/modules-load.d/infiniband.conf
printf '* soft memlock unlimited\\n* hard memlock unlimited\\n' > /etc/security/limits.d/90-rdma.conf
modprobe ib_ipoib
printf '[Match]\\nName=ib0\\n\\n[Network]\\nAddress=10.20.0.1/24\\nConfigureWithoutCarrier=yes\\n' > /etc/systemd/network/20-ib0.network
"""
    + _NETWORKD
    + _OPENSM_CONF % 10
    + "systemctl restart opensm\n"
)
_BY_NETWORKD = (
    _BEGIN
    + _INBOX % ""
    + """
printf 'options ib_ipoib send_queue_size=512 recv_queue_size=512\\n' > /etc/modprobe.d/ipoib.conf
printf 'ib_ipoib\\n' > /etc/modules-load.d/ipoib.conf
modprobe ib_ipoib
cat > /etc/systemd/network/10-storage.network <<'END'
[Match]
Name=ib0

[Link]
MTUBytes=2044

[Network]
Address=10.20.0.2/24
ConfigureWithoutCarrier=yes

[Route]
Destination=10.30.0.0/16
Gateway=10.20.0.254
END
chmod 640 /etc/systemd/network/10-storage.network; chgrp systemd-network /etc/systemd/network/10-storage.network
"""
    + _NETWORKD
)
_BY_NETPLAN = (
    _BEGIN
    + _INBOX % "netplan.io"
    + """
printf 'options ib_ipoib send_queue_size=512 recv_queue_size=512\\n' > /etc/modprobe.d/site.conf
echo ib_ipoib >> /etc/modules
modprobe ib_ipoib
ip link add office type veth peer name peer; ip link set peer up
cat > /etc/netplan/10-site.yaml <<'END'
# Managed by hand.
network:
  version: 2
  ethernets:
    office: {dhcp4: no, addresses: [192.0.2.3/24]}   # not InfiniBand
    # The storage network.
    ib0:
      addresses:
        - 10.20.0.3/24   # rack 1
      mtu: 2044
      ignore-carrier: true
END
chmod 600 /etc/netplan/10-site.yaml
netplan generate
"""
    + _NETWORKD
)
_BY_IFUPDOWN = (
    _BEGIN
    + _INBOX % ""
    + """
printf 'options ib_ipoib send_queue_size=512\\noptions ib_ipoib recv_queue_size=512\\n' > /etc/modprobe.d/ib.conf
printf 'ib_ipoib\\n' > /etc/modules-load.d/ib.conf
modprobe ib_ipoib
cat >> /etc/network/interfaces <<'END'

# The storage network.
auto ib0
iface ib0 inet static
    address 10.20.0.4
    netmask 255.255.255.0
    mtu 2044
    up ip route add 10.30.0.0/16 via 10.20.0.254

# The partition of the storage servers.
auto ib0.8001
iface ib0.8001 inet static
    address 10.21.0.4/24
    mtu 2044
END
ifup ib0 ib0.8001
"""
)
_BY_VENDOR = (
    _BEGIN
    + """
echo 'deb [trusted=yes] file:%(stacks)s/distribution ./' > /etc/apt/sources.list.d/standin.list
apt-get -q update
apt-get -q -y install iputils-ping
%(stacks)s/%(folder)s/mlnxofedinstall --distro debian12 --basic -q --force --without-fw-update </dev/null
printf 'options ib_ipoib send_queue_size=512 recv_queue_size=512\\n' > /etc/modprobe.d/site.conf
systemctl enable openibd; /etc/init.d/openibd restart
mkdir -p /etc/opensm
"""
    + _OPENSM_CONF.replace("%", "%%").replace("%%d", "9")
    + """
systemctl enable --now opensmd
printf '[Match]\\nName=ib0\\n\\n[Network]\\nAddress=10.20.0.5/24\\nConfigureWithoutCarrier=yes\\n' > /etc/systemd/network/ib.network
"""
    + _NETWORKD
)
NODES = ("node1", "node2", "node3", "node4", "node5")


def bundle_folder(made: pathlib.Path) -> str:
    """Return the name of the folder of the bundle below what `build.py` has made."""
    return str(json.loads((made / "manifest.json").read_text(encoding="utf-8"))["bundles"][VERSION]["folder"])


def build_stacks(into: pathlib.Path) -> None:
    """Build the stand-ins for the vendor's downloads."""
    subprocess.run([sys.executable, str(ROOT / "tests/lab/stacks/build.py"), "--into", str(into)], check=True, timeout=1800)


def set_up(cluster: Cluster, made: pathlib.Path) -> None:
    """Set the nodes up by hand, and wait for the fabric. `made` has the stand-ins of `build_stacks`."""
    folder = bundle_folder(made)
    assert cluster.shell("node5", "mkdir -p %s" % STACKS).returncode == 0
    for name in (folder, "distribution"):
        subprocess.run(["docker", "cp", "-q", str(made / name), "%s-node5:%s/" % (cluster.lab[-1], STACKS)], check=True, timeout=300)
    scripts = {
        "node1": _INBOX_MANAGER,
        "node2": _BY_NETWORKD,
        "node3": _BY_NETPLAN,
        "node4": _BY_IFUPDOWN,
        "node5": _BY_VENDOR % {"stacks": STACKS, "folder": folder},
    }
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for node, done in zip(scripts, pool.map(lambda node: cluster.shell(node, scripts[node], timeout=1800), scripts)):
            assert done.returncode == 0, "%s: %s%s" % (node, done.stdout, done.stderr)
    wait_for_fabric(cluster)


def wait_for_fabric(cluster: Cluster) -> None:
    """Wait until the subnet manager of node1 is master with the one of node5 as its standby, and all ports have their partitions."""
    managed = "saquery SMIR | grep -E 'SMState|Priority' | tr -dc '0-9\\n' | paste -sd ' '"
    # A master can miss that a standby has come, and learns it with its next sweep.
    sweep = "test $((i % 60)) -ne 0 || pkill -HUP -x opensm"
    done = cluster.shell("node1", "for i in $(seq 500); do test \"$(%s)\" = '10 3 9 2' && exit; %s; sleep 0.5; done; saquery SMIR; exit 1" % (managed, sweep))
    assert done.returncode == 0, done.stdout + done.stderr
    for node, pkey in zip(NODES, ("0x8001", "0x8001", "0x0001", "0x0001", "0x0001")):
        done = cluster.shell(node, "for i in $(seq 2000); do grep -q %s /sys/class/infiniband/*/ports/1/pkeys/* && exit; sleep 0.1; done; exit 1" % pkey)
        assert done.returncode == 0, node


# All files of administrators and packages, and the links that enable and mask units: what a run could change.
_STATE = r"""
find %s -xdev -type f ! -name '*.pyc' ! -name ld.so.cache -exec sha256sum {} + | while read sum path; do
    echo "$path $(stat -c '%%a %%U:%%G' "$path") $sum"
done
find %s -xdev -type l -printf '%%p %%l\n'
"""


def state(cluster: Cluster, node: str, folder: str = "/etc") -> dict[str, str]:
    """Return the files and links below a folder of a node: by path, mode, owner and checksum, or the target of the link."""
    lines = cluster.shell(node, _STATE % (folder, folder)).stdout.splitlines()
    return dict(line.split(" ", 1) for line in lines)


def stream(address: str) -> str:
    """Return a Python program: a connection over an address of the node itself that lasts, and counts in /run/stream what it has carried."""
    return _STREAM % (address, address)


_STREAM = """
import socket, threading, time
listener = socket.create_server(("%s", 4711))
def answer():
    there, _peer = listener.accept()
    while True:
        there.sendall(there.recv(1))
threading.Thread(target=answer, daemon=True).start()
here = socket.create_connection(("%s", 4711))
count = 0
while True:
    here.sendall(b"x")
    assert here.recv(1) == b"x"
    count += 1
    with open("/run/stream", "w") as file:
        file.write(str(count))
    time.sleep(0.05)
"""
GOES_ON = "systemctl is-active stream && a=$(cat /run/stream) && until [ $(cat /run/stream) -gt $a ]; do sleep 0.1; done"
"""A shell command that succeeds while the stream goes on."""
INTERVAL_SECONDS = 0.05
_WATCH = """
systemd-run --quiet --unit=stream python3 -c '%(stream)s'
systemd-run --quiet --unit=pings sh -c 'exec ping -O -i %(interval)s %(address)s > /run/pings'
systemd-run --quiet --unit=links sh -c 'exec ip -ts -oneline monitor link address dev ib0 > /run/links'
systemd-run --quiet --unit=port sh -c 'while sleep 0.2; do cd /sys/class/infiniband/*/ports/1; echo $(cat state lid sm_lid); done > /run/port'
"""
_POLL = """
systemd-run --quiet --unit=master sh -c 'while sleep 0.2; do timeout 10 sminfo 2>&1 | tail -n 1; done > /run/master'
"""
# ip prints the time of a notice about another interface, too, and nothing behind it.
_GAP = re.compile(r"\[([^]]+)\] ?(Deleted )?\d+: ib0 +inet 10\.20\.")


class Seen(t.NamedTuple):
    """What was measured on a node since `watch`."""

    stream: bool
    """Whether the connection goes on."""
    sent: int
    """The number of pings, one each INTERVAL_SECONDS."""
    lost: tuple[int, ...]
    """How many pings in a row had no answer, each time."""
    gaps: tuple[float, ...]
    """How long the address was not there, each time, in seconds, as a reader of the kernel's notices saw it: on a busy node, he reads both at once."""
    links: str
    """The other notices of the kernel about the interface."""
    ports: tuple[str, ...]
    """The states, LIDs and LIDs of the subnet manager that the port had, without repetitions."""


def watch(cluster: Cluster, node: str) -> None:
    """Begin to measure. The lab's interfaces have no wire: the stream and the pings go from an address to itself."""
    address = "10.20.0.%s" % node[-1]
    done = cluster.shell(node, _WATCH % {"stream": stream(address), "interval": INTERVAL_SECONDS, "address": address} + (_POLL if node == "node2" else ""))
    assert done.returncode == 0, done.stdout + done.stderr


def seen(cluster: Cluster, node: str) -> Seen:
    """Stop what `watch` has started, and return what it has seen."""
    streams = cluster.shell(node, GOES_ON).returncode == 0
    cluster.shell(node, "systemctl kill --signal=INT pings; systemctl stop links port stream master; systemctl reset-failed")
    pings = cluster.shell(node, "cat /run/pings").stdout
    summary = re.search(r"(\d+) packets transmitted", pings)
    assert summary, node
    answered = {int(number) for number in re.findall(r"bytes from .*icmp_seq=(\d+)", pings)}
    links = cluster.shell(node, "cat /run/links").stdout.splitlines()
    return Seen(
        stream=streams,
        sent=int(summary[1]),
        lost=tuple(len(list(same)) for missing, same in itertools.groupby(range(1, int(summary[1]) + 1), lambda number: number not in answered) if missing),
        gaps=tuple(_gaps(links)),
        links="\n".join(line for line in links if not _GAP.search(line)),
        ports=tuple(text for text, _same in itertools.groupby(cluster.shell(node, "cat /run/port").stdout.splitlines())),
    )


def _gaps(links: t.Iterable[str]) -> t.Iterator[float]:
    gone: datetime.datetime | None = None
    for match in filter(None, map(_GAP.search, links)):
        at = datetime.datetime.fromisoformat(match[1])
        if match[2]:
            gone = at
        elif gone is not None:
            yield (at - gone).total_seconds()
            gone = None
    assert gone is None, "the address is gone"


def masters(cluster: Cluster) -> list[str]:
    """Return who was master, as node2 asked the fabric every 0.2 s: port GUID and state, "" while it got no answer; without repetitions."""
    words = [re.search(r"sm guid (0x[0-9a-f]+),.* state \d (\w+)", line) for line in cluster.shell("node2", "cat /run/master").stdout.splitlines()]
    return [each for each, _same in itertools.groupby("%s %s" % (word[1], word[2]) if word else "" for word in words)]
