# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes that were configured by hand: one inspection refuses their networks, before any change on any node, and files are taken over with consent.

The tests depend on their order in the file.
"""

from __future__ import annotations

import collections.abc
import copy
import json
import os
import pathlib
import typing as t

import budget
import handmade
import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

PREFIX = "rdma-network"
NODES = ("node1", "node2", "node3")
NETWORKD = "/etc/systemd/network/90-storage.network"
IFUPDOWN = "/etc/network/interfaces"
PROFILES = "/etc/NetworkManager/system-connections"
# This file does not take over an interface of the container.
NETWORKMANAGER = """
export DEBIAN_FRONTEND=noninteractive
mkdir -p /etc/NetworkManager/conf.d
printf '[keyfile]\\nunmanaged-devices=*\\n' >/etc/NetworkManager/conf.d/lab.conf
apt-get update -q && apt-get install -qq -y --no-install-recommends network-manager && systemctl start NetworkManager
"""
# Interfaces that are up by files of an administrator: the file, what it gets, and the command that makes it effective.
HAND_MADE = {
    "node1": (NETWORKD, "[Match]\\nName=ib0\\n\\n[Network]\\nAddress=10.20.0.1/24\\nConfigureWithoutCarrier=yes\\n", "networkctl reload; sleep 3"),
    "node3": (IFUPDOWN, "auto ib0\\niface ib0 inet static\\n    address 10.20.0.3/24\\n", "ifup ib0"),
}
NETPLAN = "/etc/netplan/10-site.yaml"
OWN = r"""
    # The storage network.
    ib0:
      addresses:
        - 10.20.0.2/24   # rack 1
      mtu: 2044
      ignore-carrier: true
"""
SITE = r"""# Managed by hand.
network:
  version: 2
  ethernets:
    office: {dhcp4: no, addresses: [192.0.2.2/24]}   # not InfiniBand%s
    "other":
      optional: true
"""
INSTALL_NETPLAN = """
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -q && apt-get install -qq -y --no-install-recommends netplan.io
modprobe ib_ipoib; ip link add office type veth peer name peer; ip link set peer up
mkdir -p /etc/netplan; umask 077; cat > %(path)s <<'END'
%(text)sEND
cp %(path)s /root/by-hand; chmod 640 %(path)s
netplan generate; networkctl reload; sleep 3
systemd-run --unit=watch ip -oneline monitor link address dev office; systemd-run --unit=stream python3 -c '%(stream)s'
"""
PURGE_NETPLAN = """
rm -f %s; netplan generate; networkctl reload; ip link delete office; ip address flush dev ib0; ip link set ib0 down
apt-get purge -qq -y netplan.io; rm -rf /etc/netplan
"""
# Settings of kernel modules by an administrator, and what is left of the files. Debian reads /etc/modules by a link.
RULE = 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %%k %s"\n'
SETTINGS = {
    "/etc/modprobe.d/site.conf": (
        "# queues\noptions ib_ipoib send_queue_size=256 \\\n  debug_level=0 recv_queue_size=512\noptions ib_ipoib send_queue_size=512\n",
        "# queues\noptions ib_ipoib \\\n  debug_level=0\n",
    ),
    "/etc/modprobe.d/site-queues.conf": ("options ib-ipoib recv_queue_size=512\n", ""),
    "/etc/modules": ("# at boot\nib_umad\nloop\nib-ipoib\n", "# at boot\nloop\n"),
    "/etc/udev/rules.d/60-rdma-persistent-naming.rules": ("# names\n" + RULE % "NAME_FALLBACK", "# names\n" + RULE % "NAME_KERNEL"),
}
DECLARED = {"kernel_modules_options": {"ib_ipoib": {"send_queue_size": 512, "recv_queue_size": 512}}, "kernel_modules_device_names": "kernel"}
# Everything that a run could change, except files that Python and the dynamic loader write themselves.
STATE = r"""
dpkg-query --show
find /etc /usr/local -xdev -type f ! -name '*.pyc' ! -name ld.so.cache -exec sha256sum {} + | sort -k 2
find /etc/systemd -type l -printf '%p %l\n' | sort
lsmod | sort; ip -brief address; pgrep -a opensm
"""
Edit = t.Callable[[t.Dict[str, t.Any]], None]


@pytest.fixture(scope="module")
def lab() -> collections.abc.Iterator[Cluster]:
    """Yield three bare nodes."""
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "3-nodes")
        yield cluster
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")


@pytest.fixture
def edited(lab: Cluster, tmp_path: pathlib.Path) -> t.Callable[[Edit], pathlib.Path]:
    def write(edit: Edit) -> pathlib.Path:
        inventory = copy.deepcopy(yaml.safe_load(lab.inventory.read_text(encoding="utf-8")))
        edit(inventory)
        path = tmp_path / "inventory.yml"
        path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
        return path

    return write


def state(lab: Cluster) -> dict[str, str]:
    return {node: lab.shell(node, STATE).stdout for node in NODES}


def refused(lab: Cluster, *words: str, inventory: pathlib.Path | None = None) -> None:
    """Check that all-or-nothing runs, in check mode and for real, fail with these words after the inspection only, without a change."""
    before = state(lab)
    for arguments in (["--check"], []):
        run = lab.play("site", "-e", "rdma_strict=true", *arguments, inventory=inventory)
        assert run.status != 0, run.output
        assert records.changes(run.events) == {}
        assert {name for modules in records.executions(run.events).values() for name in modules} <= {"rdma.ofed.rdma_facts"}
        message = said(run)
        for word in words:
            assert word in message, message
        assert "Traceback" not in run.output
        assert state(lab) == before


def said(run: Run) -> str:
    return " ".join(str(event["msg"]) for event in records.failures(run.events))


def declared(**interfaces: t.Any) -> Edit:
    """Return an edit that declares the interfaces of all hosts under other variable names, or not at all."""

    def edit(inventory: dict[str, t.Any]) -> None:
        for variables in inventory["all"]["children"]["rdma"]["hosts"].values():
            own = variables.pop("ipoib_interfaces")
            variables.update({name: own if value is None else value for name, value in interfaces.items()})

    return edit


def address(lab: Cluster, node: str) -> str:
    """Return the 20-byte address of the node's interface; its last eight bytes are the port GUID."""
    guid = lab.shell(node, "cat /sys/class/infiniband/*/ports/1/gids/0").stdout.strip().replace(":", "")[16:]
    return "80:00:01:48:fe:80:00:00:00:00:00:00:" + ":".join(guid[at : at + 2] for at in range(0, 16, 2))


@pytest.mark.proves("handmade", debian12=REAL)
def test_hand_made_files_are_refused_on_bare_nodes(lab: Cluster) -> None:
    # Both files match the interface by something other than its name, which it gets only when the driver is loaded.
    lab.shell("node2", "printf '[Match]\\nMACAddress=%s\\n[Network]\\nAddress=10.9.0.2/24\\n' > %s" % (address(lab, "node2"), NETWORKD))
    lab.shell("node3", "cp %s /root/saved; printf 'iface bond7 inet manual\\n  bond-slaves ib0\\n' >> %s" % (IFUPDOWN, IFUPDOWN))
    try:
        refused(lab, "node2: left out of ipoib: %s configures ib0" % NETWORKD, "node3: left out of ipoib: %s configures ib0" % IFUPDOWN)
        # A run that does not configure interfaces does not refuse their files.
        run = lab.play("site", "--check", "--tags", "kernel_modules")
        assert "configures ib0" not in run.output
    finally:
        lab.shell("node2", "rm %s" % NETWORKD)
        lab.shell("node3", "mv /root/saved %s" % IFUPDOWN)


@pytest.mark.proves("handmade", debian12=REAL)
def test_a_hand_made_file_of_netplan_is_taken_over_with_consent(lab: Cluster) -> None:
    """The other interfaces in the file are not touched, and connections over the interface go on."""
    alone = ("--tags", "ipoib", "--limit", "node2")
    script = INSTALL_NETPLAN % {"path": NETPLAN, "text": SITE % OWN.rstrip("\n"), "stream": handmade.stream("10.20.0.2")}
    try:
        done = lab.shell("node2", script)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "10.20.0.2/24" in lab.shell("node2", "ip -brief address show ib0").stdout
        assert "192.0.2.2/24" in lab.shell("node2", "ip -brief address show office").stdout
        run = lab.play("site", *alone, "-e", "rdma_strict=true")
        assert run.status != 0 and "%s configures ib0" % NETPLAN in said(run), run.output
        predicted = lab.play("site", "--check", *alone, "-e", "ipoib_adopt=true")
        run = converge(lab, *alone, "-e", "ipoib_adopt=true")
        assert records.changes(predicted.events) == records.changes(run.events)
        assert lab.shell("node2", "cat %s" % NETPLAN).stdout == SITE % "\n    # The storage network."
        assert lab.shell("node2", "stat -c %%a %s" % NETPLAN).stdout.strip() == "640"
        assert "10.20.0.2/24" in lab.shell("node2", "netplan generate && netplan get ethernets.ib0.addresses").stdout
        assert lab.shell("node2", "cat /run/systemd/netif/links/$(cat /sys/class/net/ib0/ifindex)").stdout.count("10-netplan-ib0.network") > 0
        assert lab.shell("node2", handmade.GOES_ON).returncode == 0, lab.shell("node2", "journalctl --unit=stream").stdout
        run = converge(lab, *alone, "-e", "ipoib_adopt=true")
        assert records.changes(run.events) == {}
        seen = lab.shell("node2", "journalctl --unit=watch --output=cat").stdout
        assert ": office" not in seen, seen
        run = lab.play("remove", "-e", "rdma_remove=true", "-e", "rdma_restore=true", *alone)
        assert run.status == 0, run.output
        assert lab.shell("node2", "cmp /root/by-hand %s && stat -c %%a %s && ls /etc/netplan" % (NETPLAN, NETPLAN)).stdout.split() == ["640", "10-site.yaml"]
        assert "10.20.0.2/24" in lab.shell("node2", "ip -brief address show ib0").stdout
        assert "192.0.2.2/24" in lab.shell("node2", "ip -brief address show office").stdout
    finally:
        lab.shell("node2", "systemctl stop watch stream; systemctl reset-failed;" + PURGE_NETPLAN % NETPLAN)


@pytest.mark.proves("handmade", debian12=REAL)
def test_hand_made_files_are_taken_over_with_consent(lab: Cluster) -> None:
    """The interfaces stay up, connections go on, and what was taken over can be given back."""
    for node, (path, text, start) in HAND_MADE.items():
        prepare = "set -e; modprobe ib_ipoib; cp %(path)s /root/before || true; printf '%(text)s' >> %(path)s; cp %(path)s /root/by-hand; "
        script = prepare % {"path": path, "text": text} + start
        assert "10.20.0.%s/24" % node[-1] in lab.shell(node, script + "; ip -brief address show ib0").stdout, node
        lab.shell(
            node,
            "systemd-run --unit=watch ip -oneline monitor link dev ib0; systemd-run --unit=stream python3 -c '%s'" % handmade.stream("10.20.0." + node[-1]),
        )
    predicted = lab.play("site", "--check", "-e", "ipoib_adopt=true")
    run = converge(lab, "-e", "ipoib_adopt=true")
    assert records.changes(predicted.events) == records.changes(run.events)
    for node, (path, _text, _start) in HAND_MADE.items():
        assert lab.shell(node, "cmp /root/by-hand /var/backups/rdma-ofed%s" % path).returncode == 0, node
        seen = lab.shell(node, "journalctl --unit=watch --output=cat; systemctl stop watch").stdout
        assert "state UP" in seen and "state DOWN" not in seen and "Deleted" not in seen, seen
        # networkd removes the address of the interface and adds it again, at once.
        done = lab.shell(node, handmade.GOES_ON)
        assert done.returncode == 0, done.stdout + lab.shell(node, "journalctl --unit=stream").stdout
        lab.shell(node, "systemctl stop stream")
    assert lab.shell("node1", "ls %s" % NETWORKD).returncode != 0
    assert lab.shell("node3", "cat %s" % IFUPDOWN).stdout == lab.shell("node3", "cat /root/before").stdout, "the other stanzas stay"
    run = lab.play("remove", "-e", "rdma_remove=true", "-e", "rdma_restore=true", "--tags", "ipoib", "--limit", "node1,node3")
    assert run.status == 0, run.output
    for node, (path, _text, _start) in HAND_MADE.items():
        assert lab.shell(node, "cmp /root/by-hand %s" % path).returncode == 0, node
        assert "10.20.0.%s/24" % node[-1] in lab.shell(node, "ip -brief address show ib0").stdout, node
    converge(lab, "-e", "ipoib_adopt=true")


def contents(lab: Cluster, node: str) -> dict[str, str]:
    """Return the texts of the files with settings of kernel modules; "" where there is none."""
    return {path: lab.shell(node, "cat %s 2>/dev/null || true" % path).stdout for path in SETTINGS}


def options(lab: Cluster, node: str) -> dict[str, str]:
    """Return the options of ib_ipoib as modprobe passes them on. The kernel takes the last value."""
    words = lab.shell(node, "modprobe --showconfig | sed -n 's/^options ib_ipoib //p'").stdout.split()
    return dict(word.split("=", 1) for word in words)


@pytest.mark.proves("modules", debian12=REAL)
def test_hand_made_settings_of_kernel_modules_are_taken_over_with_consent(lab: Cluster) -> None:
    """modprobe itself reads the same options before and after that, and what was taken over can be given back."""
    before, after = ({path: texts[number] for path, texts in SETTINGS.items()} for number in (0, 1))
    former = contents(lab, "node2")
    for path, text in before.items():
        lab.shell("node2", "printf '%%s' '%s' > %s; chmod 640 %s" % (text, path, path))
    assert contents(lab, "node2") == before
    had = options(lab, "node2")
    assert had == {"send_queue_size": "512", "recv_queue_size": "512", "debug_level": "0"}
    undecided = ("--limit", "node2", "--tags", "kernel_modules", "-e", json.dumps(DECLARED))
    run = lab.play("site", "--check", *undecided)
    assert run.status != 0 and "replace the rule with kernel_modules_adopt: true" in " ".join(run.output.split()), run.output
    consenting = (*undecided, "-e", "kernel_modules_adopt=true")
    predicted = lab.play("site", "--check", "--diff", *consenting)
    assert contents(lab, "node2") == before and "-options ib-ipoib recv_queue_size=512" in predicted.output, predicted.output
    run = converge(lab, *consenting)
    assert records.changes(predicted.events) == records.changes(run.events) != {}
    assert contents(lab, "node2") == after and options(lab, "node2") == had
    for path in SETTINGS:
        assert lab.shell("node2", "stat -c %%a /var/backups/rdma-ofed%s" % path).stdout == "640\n"
    assert lab.shell("node2", "readlink /etc/modules-load.d/modules.conf").stdout == "../modules\n"
    assert records.changes(converge(lab, *consenting).events) == {}
    run = lab.play("remove", "-e", "rdma_remove=true", "-e", "rdma_restore=true", "--tags", "kernel_modules", "--limit", "node2")
    assert run.status == 0, run.output
    assert contents(lab, "node2") == before and options(lab, "node2") == had
    assert lab.shell("node2", "stat -c %a /etc/modprobe.d/site-queues.conf").stdout == "640\n"
    for path, text in former.items():
        lab.shell("node2", "printf '%%s' '%s' > %s; test -s %s || rm %s" % (text, path, path, path))
    converge(lab, "--limit", "node2")


@pytest.mark.proves("verify", debian12=REAL)
def test_verify_tells_what_ifupdown_did_not_set_up(lab: Cluster) -> None:
    """The kernel shows the declared state, and the next boot would restore it, but until then an ifdown has no effect."""
    by_hand = "a=$(ip -o -4 address show ib0 | awk '{print $4}'); ifdown ib0 && ip link set ib0 up && ip address add $a dev ib0 && ! ifquery --state ib0"
    done = lab.shell("node3", by_hand)
    assert done.returncode == 0, done.stdout + done.stderr
    run = lab.play("verify", "--limit", "node3")
    assert run.status != 0, run.output
    assert "not configured" in run.output, run.output
    assert "ifquery --state" in run.output, run.output
    lab.shell("node3", "ip address flush dev ib0; ifup --force ib0")
    run = lab.play("verify", "--limit", "node3")
    assert run.status == 0, run.output


@pytest.mark.proves("handmade", debian12=REAL)
def test_hand_made_files_beside_ours_are_refused(lab: Cluster) -> None:
    for node in NODES[:2]:
        lab.shell(node, "printf '[Match]\\nType=infiniband\\n[Network]\\nDHCP=yes\\n' > %s" % NETWORKD)
    try:
        refused(lab, "node[1-2]: left out of ipoib: %s configures ib0" % NETWORKD)
        # Otherwise these hosts are left out, and the third one is configured.
        run = lab.play("site", "--check")
        assert run.status != 0, run.output
        assert {host for _play, _task, host in records.changes(run.events)} <= {"node3"}
        assert "Summary: 1 of 3 hosts done" in run.output, run.output
    finally:
        for node in NODES[:2]:
            lab.shell(node, "rm %s" % NETWORKD)


@pytest.mark.parametrize(
    "profile",
    [
        # As nmcli, netplan and cloud-init write them. NetworkManager compares the port GUID only.
        "[connection]\nid=storage\ntype=infiniband\n[infiniband]\nmac-address={other}\ntransport-mode=datagram\n[ipv4]\nmethod=auto\n",
        "[connection]\nid=storage\ntype=infiniband\ninterface-name=ib0\n[infiniband]\ntransport-mode=connected\n",
    ],
    ids=["address", "name"],
)
@pytest.mark.proves("handmade", debian12=REAL)
def test_profiles_of_others_are_refused_where_networkmanager_runs(lab: Cluster, edited: t.Callable[[Edit], pathlib.Path], profile: str) -> None:
    def edit(inventory: dict[str, t.Any]) -> None:
        inventory["all"]["children"]["rdma"]["hosts"]["node3"]["ipoib_backend"] = "networkmanager"

    there = lab.shell("node3", NETWORKMANAGER)
    assert there.returncode == 0, there.stdout + there.stderr
    path, text = PROFILES + "/zz-storage.nmconnection", profile.format(other="00:00:00:00" + address(lab, "node3")[11:])
    lab.shell("node3", "printf '%s' > %s; chmod 600 %s; nmcli connection reload" % (text, path, path))
    # NetworkManager has adopted the address.
    assert "storage" in lab.shell("node3", "nmcli -g NAME connection show").stdout
    try:
        refused(lab, "node3: left out of ipoib: %s configures ib0" % path, inventory=edited(edit))
    finally:
        lab.shell("node3", "rm -rf %s; nmcli connection reload" % path)


@pytest.mark.proves("input", debian12=REAL)
def test_a_misnamed_variable_does_not_take_the_interfaces(lab: Cluster, edited: t.Callable[[Edit], pathlib.Path]) -> None:
    inventory = edited(declared(ipoib_ifaces=None))
    refused(lab, "node[1-3]: ipoib_ifaces", "allowed: ipoib_interfaces", inventory=inventory)
    run = lab.play("verify", inventory=inventory)
    assert run.status != 0
    assert "allowed: ipoib_interfaces" in said(run)


@pytest.mark.proves("input", debian12=REAL)
def test_giving_up_all_interfaces_needs_consent(lab: Cluster, edited: t.Callable[[Edit], pathlib.Path]) -> None:
    inventory = edited(declared(ipoib_interfaces=[]))
    refused(lab, "node[1-3]: left out of ipoib: ipoib_interfaces declares no interface", "ib0", "rdma_allow_removal: true", inventory=inventory)
    converge(lab, "-e", "rdma_allow_removal=true", "--limit", "node2", inventory=inventory)
    assert lab.shell("node2", "ip -brief address show ib0").stdout.split()[2:] == []
    assert "10." in lab.shell("node1", "ip -brief address show ib0").stdout


def test_afterwards_all_is_well(lab: Cluster) -> None:
    lab.shell("node3", "apt-get purge -qq -y network-manager; rm -rf /etc/NetworkManager")
    converge(lab)
    run = converge(lab)
    assert records.changes(run.events) == {}
    assert budget.exceeded(records.executions(run.events), budget.managers(lab.inventory)) == []
    assert lab.play("verify").status == 0
