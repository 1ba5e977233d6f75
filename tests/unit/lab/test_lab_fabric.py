# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Virtual machines on the simulated fabric: how datagrams and port states are passed on."""

from __future__ import annotations

import json
import selectors
import socket
import struct
import typing as t

import lab_fabricd as fabricd
import pytest
import relay
import smp
from conftest import LAB
from labctl import _inventory, _seed, _topology
from labctl._say import LabError

TEXT = (LAB / "topologies" / "managed-machines.topo").read_text(encoding="utf-8")
TOPOLOGY = _topology.parse(TEXT)
COOKIE = 77


def mad(kind: int, method: int, attribute: int = 0, **fields: bytes) -> bytes:
    """Return a datagram of that management class with a transaction ID; `at_N` sets bytes at offset N."""
    made = bytearray(256)
    made[0:4] = bytes([1, kind, 1, method])
    made[8:16] = bytes([0, 0, 0, 3, 0, 0, 0, 9])
    made[16:18] = attribute.to_bytes(2, "big")
    for place, value in fields.items():
        made[int(place[3:]) : int(place[3:]) + len(value)] = value
    return bytes(made)


def from_fabric(made: bytes, lid: int = 5, queue_pair: int = 1, status: int = 0) -> bytes:
    return struct.pack(">HHHHIIIIQ", 2, 0, lid, 0, queue_pair, queue_pair, status, 0, 256) + made


def stamped(made: bytes) -> bytes:
    """Return a request as ibsim forwards it, with ibsim's client number in the transaction ID."""
    return made[:8] + b"\0\4" + made[10:]


def record(kind: int, data: bytes, **fields: int) -> fabricd.Record:
    return fabricd.Record(kind, 0, 1, data=data, **fields)


def test_a_record_has_the_size_that_the_driver_checks() -> None:
    said = fabricd.Record(fabricd.MAD, 1, 2, 1, 0x1234, 1, COOKIE, bytes(range(256)))
    assert len(said.pack()) == 268
    assert fabricd.parse_record(said.pack()) == said


def test_a_directed_question_starts_at_the_beginning_of_its_path() -> None:
    """The kernel has already processed the first hop."""
    packet = fabricd.Translator(0, 1).to_fabric(record(fabricd.MAD, mad(0x81, 1, at_6=b"\1\2"), lid=0xFFFF))
    assert packet[0:2] == packet[4:6] == b"\xff\xff"
    assert packet[32 + 6 : 32 + 8] == b"\0\2"
    assert struct.unpack_from(">IIIIQ", packet, 8) == (0, 0, 0, 0, 256)


def test_a_question_to_a_lid_goes_from_queue_pair_1_unless_it_is_of_subnet_management() -> None:
    for kind, queue_pair in ((3, 1), (1, 0)):
        packet = fabricd.Translator(0, 1).to_fabric(record(fabricd.MAD, mad(kind, 1), lid=7))
        assert struct.unpack_from(">HHHHII", packet) == (7, 0, 0, 0, queue_pair, queue_pair)


def test_a_directed_question_from_elsewhere_is_at_the_end_of_its_path() -> None:
    found = fabricd.Translator(0, 1).to_kernel(from_fabric(stamped(mad(0x81, 1, 0x20, at_6=b"\0\2")), 0xFFFF, 0))
    assert found is not None
    assert (found.kind, found.data[6:8]) == (fabricd.MAD, b"\2\2")
    assert found.data[8:10] == b"\0\4", "whoever asked finds his question by that"


def test_an_answer_has_the_transaction_of_the_question() -> None:
    for method in (0x81, fabricd.TRAP_REPRESS):
        found = fabricd.Translator(0, 1).to_kernel(from_fabric(stamped(mad(1, method))))
        assert found is not None
        assert (found.kind, found.lid, found.queue_pair, found.data) == (fabricd.MAD, 5, 1, mad(1, method))


def test_the_answer_to_the_driver_itself_has_its_cookie() -> None:
    translator = fabricd.Translator(0, 1)
    translator.to_fabric(record(fabricd.ASK, mad(0x81, 1, 0x11, at_6=b"\1\0"), cookie=COOKIE))
    other = translator.to_kernel(from_fabric(stamped(mad(0x81, 0x81, 0x11, at_15=b"\7"))))
    answer = translator.to_kernel(from_fabric(stamped(mad(0x81, 0x81, 0x11))))
    again = translator.to_kernel(from_fabric(stamped(mad(0x81, 0x81, 0x11))))
    assert other is not None
    assert answer is not None
    assert again is not None
    assert [(found.kind, found.cookie) for found in (other, answer, again)] == [(fabricd.MAD, 0), (fabricd.ASK, COOKIE), (fabricd.MAD, 0)]


def test_a_lost_question_is_forgotten() -> None:
    translator = fabricd.Translator(0, 1)
    translator.to_fabric(record(fabricd.ASK, mad(0x81, 1), cookie=COOKIE))
    assert translator.to_kernel(from_fabric(stamped(mad(0x81, 1)), status=110)) is None
    assert translator.asked == {}


def test_the_driver_hears_of_changes_only() -> None:
    state = fabricd.State(0, 1)
    info, pkeys = bytes(64), b"\xff\xff" + bytes(62)
    first = state.news(info, pkeys, 3)
    assert first is not None
    assert (first.kind, first.flag, first.data) == (fabricd.PORT, 1, info + pkeys)
    assert state.news(info, pkeys, 3) is None
    changed = state.news(info, b"\xff\xff\x80\1" + bytes(60), 3)
    registered = state.news(info, b"\xff\xff\x80\1" + bytes(60), 4)
    assert [found and found.flag for found in (changed, registered)] == [0, 1]


def test_a_port_without_simulator_has_no_link() -> None:
    state = fabricd.State(0, 1)
    state.news(bytes(64), bytes(64), 3)
    assert state.lost().data[32:34] == b"\1\x20"
    assert state.lost().data[64:] == b"\xff\xff"
    back = state.news(bytes(64), bytes(64), 3)
    assert back is not None
    assert back.flag == 1


def port_info(method: int, lid: int, rest: int = 0, status: int = 0) -> bytes:
    data = bytearray(64)
    data[16:18], data[51] = lid.to_bytes(2, "big"), rest
    data[36], data[41] = 0x41, 0x34
    return from_fabric(mad(0x81, method, 0x15, at_4=struct.pack(">H", 0x8000 | status), at_64=bytes(data)))


def test_which_answer_is_about_which_port() -> None:
    assert smp.asks_for_registration(port_info(2, 9, 0x92))
    assert not smp.asks_for_registration(port_info(2, 9, 0x12))
    assert not smp.asks_for_registration(port_info(1, 9, 0x92))
    assert smp.lid_of(port_info(0x81, 9)) == 9
    assert smp.lid_of(port_info(0x81, 9, status=4)) == 0
    assert smp.lid_of(port_info(2, 9)) == 0


def test_every_port_has_the_mtu_of_the_fabric() -> None:
    data = smp.of_a_card(port_info(0x81, 9), smp.MTU_CODES["4096"])[96:]
    assert (data[36], data[41]) == (0x51, 0x35)
    assert smp.of_a_card(port_info(2, 9), smp.MTU_CODES["4096"]) == port_info(2, 9)
    assert smp.of_a_card(port_info(0x81, 9), 0)[96:][36] == port_info(0x81, 9)[96:][36]


def test_every_port_says_that_its_clients_can_be_told_to_register_again() -> None:
    """opensm requests reregistration only from ports that announce the capability."""
    assert int.from_bytes(smp.of_a_card(port_info(0x81, 9), 0)[96 + 20 : 96 + 24], "big") == 0x02000000
    assert smp.of_a_card(port_info(2, 9), 0) == port_info(2, 9)


def test_datagrams_survive_any_cut_of_the_stream() -> None:
    packets = [b"a" * 80, b"b" * 288, b""]
    stream = b"".join(map(relay.framed, packets))
    for cut in range(len(stream) + 1):
        first, rest = relay.unframed(stream[:cut])
        second, rest = relay.unframed(rest + stream[cut:])
        assert (first + second, rest) == (packets, b"")


@pytest.fixture
def line() -> t.Iterator[tuple[socket.socket, socket.socket, selectors.BaseSelector]]:
    """Yield the machine's end of a connection, a gateway's control channel, and the selector that drives the relay between them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gateway, selectors.DefaultSelector() as selector:
        gateway.bind(("127.0.0.1", 0))
        gateway.settimeout(60)
        ours, theirs = socket.socketpair()
        with ours:
            ours.settimeout(60)
            # A local socket pair has no TCP options.
            listener = socket.create_server(("127.0.0.1", 0))
            machine = socket.create_connection(listener.getsockname())
            stream, _peer = listener.accept()
            theirs.close()
            listener.close()
            machine.settimeout(60)
            with machine:
                relay.Line(selector, stream, gateway.getsockname()[1])
                yield machine, gateway, selector
            for key in list(selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]


def test_a_machine_is_a_client_of_the_gateway(line: tuple[socket.socket, socket.socket, selectors.BaseSelector]) -> None:
    machine, gateway, selector = line

    def turn() -> None:
        for key, _events in selector.select(60):
            key.data()

    request = relay.CONTROL.pack(1, 0, relay.CONNECT, 44, relay.CLIENT_INFO.pack(0, 0, 0, b"H-1"))
    machine.sendall(relay.framed(request))
    turn()
    packet, peer = gateway.recvfrom(256)
    port, _queue_pair, _sm, node_id = relay.CLIENT_INFO.unpack_from(relay.CONTROL.unpack(packet)[4])
    assert port > 0, "where the gateway shall send datagrams"
    assert node_id.rstrip(b"\0") == b"H-1"
    gateway.sendto(relay.CONTROL.pack(1, 0, relay.CONNECT, 44, relay.CLIENT_INFO.pack(0, 0, 0, b"H-1")), peer)
    turn()
    assert relay.unframed(machine.recv(512))[0] != []
    machine.close()
    turn()
    assert relay.CONTROL.unpack(gateway.recv(256))[1:3] == (0, relay.DISCONNECT)
    assert selector.get_map() == {}


def test_the_driver_of_a_managed_machine_answers_for_nobody() -> None:
    options = _seed.adapter_options(TOPOLOGY, TOPOLOGY.nodes[1]).split()
    assert "managed=1" in options
    assert not [word for word in options if word.startswith(("peers=", "ports_down="))]
    files = _seed.seed(TOPOLOGY, TOPOLOGY.nodes[1], "kernel")
    assert json.loads(files["/etc/lab/fabric.json"].content) == [[0, 1, "H-0002c90300001010"]]


def test_managed_machines_have_a_subnet_manager_of_their_own() -> None:
    text = _inventory.render_machines(TOPOLOGY, {"node1": 1, "node2": 2}, LAB, ())
    assert "opensm_state" not in text
    assert text.endswith("    opensm:\n      hosts:\n        node1:\n")


@pytest.mark.parametrize("said", ["manager=ibsim", "mtu=1024", "suite=trixie"])
def test_what_may_be_said_of_a_fabric(said: str) -> None:
    with pytest.raises(LabError, match=r"'# lab fabric %s': the lab knows manager=driver\|opensm mtu=2048\|4096" % said):
        _topology.parse(TEXT.replace("manager=opensm mtu=4096", said))
