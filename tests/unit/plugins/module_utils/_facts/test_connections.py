# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections over the interfaces of RDMA adapters: real sockets in real namespaces, and the kernel's output for protocols that are unavailable here."""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _connections, _namespaces, _sockets, _usage
from ansible_collections.rdma.ofed.plugins.module_utils._facts._namespaces import Namespace
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import Process
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sockets import Socket, Sockets, parse_route4
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User
from hypothesis import given
from hypothesis import strategies as st
from support import namespaces as spaces
from support import node_trees as nodes

# For the readers, an Ethernet port of the adapter.
RDMA0 = Netdev("rdma0", "ethernet", driver="mlx5_core", addresses=("10.77.0.1/24",))
PLAIN0 = Netdev("plain0", "ethernet", driver="virtio_net", addresses=("10.78.0.1/24",))

# get_tcp4_sock in net/ipv4/tcp_ipv4.c: "%4d: %08X:%04X %08X:%04X %02X %08X:%08X %02X:%08lX %08X %5u %8d %lu %d %pK ...". Established to 10.1.0.7:2049,
# listening on port 22, closed by the peer, time-wait.
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0500010A:03E2 0700010A:0801 01 00000000:00000000 02:0000A0B1 00000000     0        0 81 2 0000000000000000 20 4 30 10 -1
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 82 1 0000000000000000 100 0 0 10 0
   2: 0500010A:0016 0800010A:C350 08 00000000:00000000 00:00000000 00000000     0        0 83 1 0000000000000000 20 4 30 10 -1
   3: 0500010A:0016 0800010A:C351 06 00000000:00000000 03:00000F8A 00000000     0        0 0 3 0000000000000000
"""
# get_tcp6_sock in net/ipv6/tcp_ipv6.c; a server for both families shows IPv4-mapped IPv6 addresses.
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0000000000000000FFFF00000500010A:1F90 0000000000000000FFFF00000900010A:D431 01 00000000:00000000 00:00000000 00000000     0        0 91 1 0000000000000000
   1: 000000FD000000000000000001000000:1F90 000000FD000000000000000002000000:D432 01 00000000:00000000 00:00000000 00000000     0        0 92 1 0000000000000000
"""
# sctp_assocs_seq_show in net/sctp/proc.c: headings, then "%8pK %8pK %-3d %-3d %-2d %-4d %4d %8d %8d %7u %5lu %-5d %5d ", the local addresses,
# "<-> ", the remote ones, and counters. The primary addresses have an asterisk. ST 3 is SCTP_STATE_ESTABLISHED, 1 SCTP_STATE_COOKIE_WAIT.
SCTP = (
    " ASSOC     SOCK   STY SST ST HBKT ASSOC-ID TX_QUEUE RX_QUEUE UID INODE LPORT RPORT LADDRS <-> RADDRS "
    "HBINT INS OUTS MAXRT T1X T2X RTXC wmema wmemq sndbuf rcvbuf\n"
    "0000000000000000 0000000000000000 2   1   3  0       5        0        0       0 24601 36412 40001  *10.1.0.5 192.0.2.5 "
    "<-> *10.1.0.8 192.0.2.8 \t    7500    10    10   10    0    0        0        1        0   212992   212992\n"
    "0000000000000000 0000000000000000 2   1   1  0       6        0        0       0 24602 36412 40002  *10.1.0.5 "
    "<-> *10.1.0.9 \t    7500    10    10   10    0    0        0        1        0   212992   212992\n"
)


def connection(peer: socket.socket, server: socket.socket, stack: contextlib.ExitStack) -> socket.socket:
    peer.connect(server.getsockname())
    accepted, _address = server.accept()
    stack.enter_context(peer)
    return stack.enter_context(accepted)


def listening(address: str, port: int, stack: contextlib.ExitStack) -> socket.socket:
    server = stack.enter_context(socket.socket())
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port))
    server.listen(200)
    return server


def make_interfaces() -> None:
    for name, peer, address in (("rdma0", "far0", "10.77.0.1/24"), ("plain0", "far1", "10.78.0.1/24")):
        spaces.command("ip", "link", "add", name, "type", "veth", "peer", "name", peer)
        spaces.command("ip", "address", "add", address, "dev", name)
        spaces.command("ip", "link", "set", name, "up")
        spaces.command("ip", "link", "set", peer, "up")


def connections_here(ssh: str = "") -> list[list[t.Any]]:
    """Return the connections of this process, without those of other programs on the machine."""
    users = _usage.read_usage("/", (RDMA0, PLAIN0), ssh)
    return [[user.kind, user.detail, list(user.via)] for user in users if user.kind == "connection" and "pid %d" % os.getpid() in user.detail]


@spaces.needs_root
def test_real_sockets() -> None:
    def work() -> list[t.Any]:
        make_interfaces()
        found: list[t.Any] = []
        with contextlib.ExitStack() as stack:
            server = listening("10.77.0.1", 5001, stack)
            other = listening("10.78.0.1", 5002, stack)
            local = listening("127.0.0.1", 5003, stack)
            connection(socket.socket(), other, stack)
            connection(socket.socket(), local, stack)
            for port, address in enumerate(("0.0.0.0", "10.78.0.1", "127.0.0.1"), 5010):
                stack.enter_context(socket.socket(type=socket.SOCK_DGRAM)).bind((address, port))
            found.append(connections_here())
            with socket.socket(type=socket.SOCK_DGRAM) as bound:
                bound.bind(("10.77.0.1", 5006))
                found.append(connections_here())
            end = connection(socket.socket(), server, stack)
            found.append(connections_here())
            found.append(connections_here("%s %d %s %d" % (*end.getpeername(), *end.getsockname())))
            for _number in range(99):
                connection(socket.socket(), server, stack)
            datagrams = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
            datagrams.connect(("10.77.0.9", 5005))
            found.append(connections_here())
        return [os.getpid(), *found]

    pid, idle, bound, one, own, many = spaces.in_namespace(work)
    assert idle == []
    assert bound == [["connection", "1 udp socket bound to an address of rdma0, port 5006, pid %d" % pid, ["rdma0"]]]
    # Both ends are here, and both are on the interface.
    assert one == [["connection", "2 tcp connections over rdma0, with 10.77.0.1, port 5001, pid %d" % pid, ["rdma0"]]]
    # Both ends belong to the connection of the run.
    assert own == []
    words = "201 tcp and udp connections over rdma0, with 10.77.0.1, 10.77.0.9, port 5001, 5005, pid %d" % pid
    assert many == [["connection", words, ["rdma0"]]]


@spaces.needs_root
def test_an_interface_in_a_container() -> None:
    """A macvlan on the adapter's port, moved into a container, is in no list of the host."""

    def work() -> list[t.Any]:
        make_interfaces()
        with spaces.container("trainer") as pid:
            before = [user for user in _usage.read_usage("/", (RDMA0, PLAIN0)) if str(pid) in user.detail]
            for name, parent in (("mv0", "rdma0"), ("mv1", "plain0")):
                spaces.command("ip", "link", "add", "link", parent, "name", name, "type", "macvlan")
                spaces.command("ip", "link", "set", name, "netns", str(pid))
            return [pid, before, [list(user[:3]) for user in _usage.read_usage("/", (RDMA0, PLAIN0)) if str(pid) in user.detail]]

    pid, before, after = spaces.in_namespace(work)
    assert before == []
    assert after == [["namespace", "trainer", "pid %d has mv0 in a network namespace of its own" % pid]]


def test_tcp() -> None:
    found = _sockets.parse_inet("tcp", TCP, "little")
    assert found == Sockets(
        (Socket("tcp", ("10.1.0.5",), 994, ("10.1.0.7",), 2049, "81"), Socket("tcp", ("10.1.0.5",), 22, ("10.1.0.8",), 50000, "83")),
        frozenset({("tcp", 22)}),
    )


# udp4_format_sock in net/ipv4/udp.c: bound to 10.1.0.5:2049, to every address, to one of `lo`, connected, and the client of DHCP on 10.1.0.5.
UDP = """\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  101: 0500010A:0801 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 71 2 0000000000000000 0
  102: 00000000:006F 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 72 2 0000000000000000 0
  103: 3500007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 73 2 0000000000000000 0
  104: 0500010A:D431 0700010A:0801 01 00000000:00000000 00:00000000 00000000     0        0 74 2 0000000000000000 0
  105: 0500010A:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 75 2 0000000000000000 0
"""


def test_servers_of_datagrams() -> None:
    found = _sockets.parse_inet("udp", UDP, "little")
    assert found.bound == (Socket("udp", ("10.1.0.5",), 2049, (), 0, "71"),)
    assert [end.inode for end in found.connected] == ["74"]
    (server,) = _connections.find_connections([Namespace(sockets=Sockets(bound=found.bound), addresses={"10.1.0.5": "ib0"}, over_rdma=frozenset({"ib0"}))], {})
    assert (server.interface, server.peers, server.ports) == ("ib0", (), (2049,))
    assert not _connections.find_connections([Namespace(sockets=Sockets(bound=found.bound), addresses={"10.1.0.5": "eth0"}, over_rdma=frozenset({"ib0"}))], {})


def test_ipv4_in_ipv6() -> None:
    assert [end.local + end.remote for end in _sockets.parse_inet("tcp", TCP6, "little").connected] == [("10.1.0.5", "10.1.0.9"), ("fd00::1", "fd00::2")]


def test_big_endian_machine() -> None:
    line = "0: 0A010005:0801 0A010007:03E2 01 0:0 0:0 0 0 0 7 1"
    assert _sockets.parse_inet("tcp", line, "big").connected == (Socket("tcp", ("10.1.0.5",), 2049, ("10.1.0.7",), 994, "7"),)


def test_sctp() -> None:
    ends = ("10.1.0.5", "192.0.2.5"), ("10.1.0.8", "192.0.2.8")
    assert _sockets.parse_sctp(SCTP) == (Socket("sctp", ends[0], 36412, ends[1], 40001, "24601"),)


ROUTES = parse_route4(
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\tFE0200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    "ib0\t0000010A\t00000000\t0001\t0\t0\t150\t0000FFFF\t0\t0\t0\n"
    "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n",
    "little",
)


def host(*connected: Socket, listens: t.Collection[int] = ()) -> Namespace:
    found = Sockets(connected, frozenset(("tcp", port) for port in listens))
    return Namespace(sockets=found, routes=ROUTES, addresses={"10.1.0.5": "ib0", "192.0.2.5": "eth0"}, over_rdma=frozenset({"ib0"}))


def end(local: str, remote: str, port: int = 40000, remote_port: int = 2049, inode: str = "5") -> Socket:
    return Socket("tcp", (local,), port, (remote,), remote_port, inode)


@pytest.mark.parametrize(
    ("local", "remote", "interface"),
    [
        ("10.1.0.5", "10.1.0.9", "ib0"),
        # Answers leave through another interface, but the address disappears with the driver.
        ("10.1.0.5", "198.51.100.9", "ib0"),
        # The address of a service on `lo`, reached over InfiniBand.
        ("203.0.113.1", "10.1.0.9", "ib0"),
        ("192.0.2.5", "192.0.2.9", ""),
        ("203.0.113.1", "192.0.2.9", ""),
        ("127.0.0.1", "127.0.0.1", ""),
    ],
)
def test_the_interface_of_a_connection(local: str, remote: str, interface: str) -> None:
    assert [found.interface for found in _connections.find_connections([host(end(local, remote))], {})] == ([interface] if interface else [])


def test_a_container_behind_the_host() -> None:
    """Its own address is translated. The peer shows that the traffic leaves through the adapter; one on the same host does not."""
    routes = parse_route4("eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\neth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0", "little")
    inside = Namespace(pid="17", sockets=Sockets((end("172.17.0.2", "10.1.0.9"), end("172.17.0.2", "172.17.0.3"))), routes=routes)
    (found,) = _connections.find_connections([host(), inside], {})
    assert (found.interface, found.place, found.peers) == ("ib0", "17", ("10.1.0.9",))


def test_what_a_kernel_has_open() -> None:
    (found,) = _connections.find_connections([host(end("10.1.0.5", "10.1.0.7", 994))], {"6": Process(9, "sshd")})
    assert _usage.connection_users([found]) == [User("connection", "kernel", "1 tcp connection over ib0, with 10.1.0.7, port 2049", ("ib0",))]


def test_ten_thousand_connections_are_a_short_list() -> None:
    ends = [end("10.1.0.5", "10.1.%d.%d" % divmod(number % 3000, 250), 8080, 32768 + number, str(number)) for number in range(10000)]
    holders = {str(number): Process(100 + number % 4, "mpirun") for number in range(10000)}
    (user,) = _usage.connection_users(_connections.find_connections([host(*ends, listens=[8080])], holders))
    words = "10000 tcp connections over ib0, with 10.1.0.0, 10.1.0.1, 10.1.0.10 and 2997 more, port 8080, pid 100, 101, 102 and 1 more"
    assert user == User("connection", "mpirun", words, ("ib0",))


def test_each_pair_of_addresses_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = _connections.Table.device_of
    monkeypatch.setattr(_connections.Table, "device_of", lambda self, address: asked.append(address) or real(self, address))  # type: ignore[func-returns-value]
    _connections.find_connections([host(*(end("10.1.0.5", "10.1.0.9", port) for port in range(20000)))], {})
    assert len(asked) < 10


def test_infiniband_in_a_container_without_its_own_sys(tmp_path: pathlib.Path) -> None:
    # dev_mc_seq_show in net/core/dev_addr_lists.c: "%-4d %-15s %-5d %-5d %*phN\n".
    tree: nodes.Tree = {
        "proc/self/ns/net": nodes.Link("net:[4026531840]"),
        "proc/1/ns/net": nodes.Link("net:[4026531840]"),
        "proc/31/ns/net": nodes.Link("net:[4026532201]"),
        "proc/31/comm": "python3\n",
        "proc/31/net/dev_mcast": "7    ib0.8001        1     0     00ffffffff12401b8001000000000000ffffffff\n9    eth0            1     0     01005e000001\n",
        "proc/32/ns/net": nodes.Link("net:[4026532201]"),
    }
    assert _usage.read_usage(nodes.write(tmp_path, tree)) == (User("namespace", "python3", "pid 31 has ib0.8001 in a network namespace of its own"),)


ROUTE = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n%s"
IB0_ROUTE, ETH0_ROUTE = "ib0\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\n", "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\n"


def test_associations_of_sctp_and_sockets_in_another_namespace(tmp_path: pathlib.Path) -> None:
    # Forwarded traffic of a container is translated: the container's own table has the inner address and the peer.
    inside = TCP.splitlines()[0] + "\n   0: 020011AC:03E2 0700010A:0801 01 00000000:00000000 00:00000000 00000000     0        0 81 2 0 20 4 30 10 -1\n"
    tree: nodes.Tree = {
        "proc/self/ns/net": nodes.Link("net:[4026531840]"),
        "proc/net/route": ROUTE % IB0_ROUTE,
        "proc/net/sctp/assocs": SCTP,
        "proc/31/ns/net": nodes.Link("net:[4026532201]"),
        "proc/31/comm": "trainer\n",
        "proc/31/net/route": ROUTE % ETH0_ROUTE,
        "proc/31/net/tcp": inside,
        "proc/31/net/sctp/assocs": SCTP.replace("10.1.0.5", "172.17.0.2"),
    }
    found = _namespaces.read_namespaces(nodes.write(tmp_path, tree), [Netdev("ib0", "infiniband", driver="mlx5_core", addresses=("10.1.0.5/16",))])
    seen = _connections.find_connections(found, {"81": Process(31, "trainer"), "24601": Process(9, "mme")})
    assert [(each.program, each.interface, each.place, each.protocols, each.peers) for each in seen] == [
        ("mme", "ib0", "", ("sctp",), ("10.1.0.8",)),
        ("mme", "ib0", "31", ("sctp",), ("10.1.0.8",)),
        ("trainer", "ib0", "31", ("tcp",), ("10.1.0.7",)),
    ]


def test_addresses_of_ipv6() -> None:
    # if6_seq_show in net/ipv6/addrconf.c: "%pi6 %02x %02x %02x %02x %8s\n".
    assert _namespaces.parse_if_inet6("fe80000000000000021a4bfffeaabbcc 03 40 20 80      ib0\n") == {"fe80::21a:4bff:feaa:bbcc": "ib0"}


def test_own_ends() -> None:
    assert _connections.own_ends("10.1.0.9 50000 10.1.0.5 22") == (("10.1.0.5", 22, "10.1.0.9", 50000), ("10.1.0.9", 50000, "10.1.0.5", 22))
    assert _connections.own_ends("") == ()
    assert _connections.find_connections([host(end("10.1.0.5", "10.1.0.9", 22, 50000))], {}, "10.1.0.9 50000 10.1.0.5 22") == ()
    assert len(_connections.find_connections([host(end("10.1.0.5", "10.1.0.9", 22, 50001))], {}, "10.1.0.9 50000 10.1.0.5 22")) == 1


@given(st.text(), st.text("0123456789ABCDEF: \n", max_size=300))
def test_any_text(text: str, digits: str) -> None:
    for each in (text, digits):
        _sockets.parse_inet("tcp", each)
        _sockets.parse_sctp(each)
        _namespaces.parse_if_inet6(each)
        _namespaces.parse_dev(each)
        _namespaces.parse_dev_mcast(each)
        _connections.own_ends(each)
