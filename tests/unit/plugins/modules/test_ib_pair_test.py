# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One end of a pair on a host made of files, with tools that give prepared answers."""

from __future__ import annotations

import itertools
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._host import _turn
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._pairs._node import Node, work
from ansible_collections.rdma.ofed.plugins.module_utils._pairs._report import Limits, Result, judge, row
from ansible_collections.rdma.ofed.plugins.module_utils._pairs._tests import TESTS, Figure
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ib_pair_test import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._tools._measure import is_no_device
from ansible_collections.rdma.ofed.plugins.modules import ib_pair_test

BANDWIDTH = " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n 65536 5000 0.00 97.31 0.18\n"
LATENCY = " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n 2 1000 0.85 3.39 0.88\n"
PINGS = "--- n (Lid 4) ibping statistics ---\n50 packets transmitted, 50 received, 0% packet loss, time 9 ms\nrtt min/avg/max = 0.1/0.223/0.4 ms\n"
STREAM = '{"end": {"sum_received": {"bits_per_second": 2e10}}}'
PEER = {"address": "node1", "ip_address": "10.20.0.1", "lid": 4}
SAID = {"ib_write_bw": BANDWIDTH, "ib_send_bw": BANDWIDTH, "ib_write_lat": LATENCY, "iperf3": STREAM, "ibping": PINGS}
IP = '[{"ifname": "ib0", "mtu": 2044, "flags": ["UP"], "addr_info": [{"local": "fe80::1", "prefixlen": 64}, {"local": "10.20.0.2", "prefixlen": 24}]}]'


class Host:
    """A root directory and a runner."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.tools = {*TESTS, "systemd-run", "ip"}
        self.said = {name: Output(0, text, "") for name, text in SAID.items()}
        self.units: set[str] = set()
        self.calls: list[str] = []
        self.dies = self.deaf = False
        self.slow: set[str] = set()
        (root / "run/systemd/system").mkdir(parents=True)
        self.write("etc/os-release", "ID=debian\nVERSION_ID=12\n")
        self.port("mlx5_0", "InfiniBand", "ACTIVE")
        self.write("sys/class/net/ib0/type", "32")
        self.write("sys/class/net/ib0/address", "00:00:10:29:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0f:00:01")

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def port(self, device: str, layer: str, state: str, rate: str = "100 Gb/sec (4X EDR)") -> None:
        base = "sys/class/infiniband/%s/ports/1/" % device
        files = {"link_layer": layer, "state": "4: " + state, "lid": "0x4", "rate": rate, "gids/0": "fe80:0000:0000:0000:0002:c903:000f:0001"}
        for name, text in files.items():
            self.write(base + name, text)

    def hardware(self, device: str) -> None:
        pci = self.root / "sys/devices/pci0000:00/0000:03:00.0"
        pci.mkdir(parents=True)
        (self.root / "sys/class/infiniband" / device / "device").symlink_to(pci)

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.calls.append(" ".join(argv))
        if argv[0] == "systemctl":
            return self.systemctl(argv[1], [word for word in argv[2:] if word != "--quiet"])
        if argv[0] == "systemd-run":
            self.start(next(word.partition("=")[2] for word in argv if word.startswith("--unit=")), argv)
            return Output(0, "", "")
        if argv[0] in self.slow:
            raise CommandFailed("%s did not end within %g s" % (argv[0], timeout))
        if argv[0] == "ip":
            return Output(0, IP, "")
        return self.said.get(argv[0], Output(0, "Couldn't open device\n", ""))

    def systemctl(self, verb: str, units: list[str]) -> Output:
        if verb == "stop":
            self.units -= set(units)
        return Output(0 if verb != "is-active" or units[0] in self.units else 3, "", "")

    def start(self, unit: str, argv: t.Sequence[str]) -> None:
        if self.dies:
            return
        self.units.add(unit)
        # The command of a user is one word.
        words = " ".join(argv).split()
        if "--port" in words and not self.deaf:
            number = int(words[words.index("--port") + 1])
            line = "   0: 00000000:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1\n" % number
            path = self.root / "proc/net/tcp"
            self.write("proc/net/tcp", (path.read_text(encoding="utf-8") if path.exists() else "") + line)

    def module(self, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        checked = ArgumentSpecValidator(OPTIONS).validate(options)
        assert checked.error_messages == []
        return work(Node(self, check, str(self.root)), checked.validated_parameters)


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    return Host(tmp_path)


def test_a_host_tells_how_it_can_take_part(host: Host) -> None:
    host.hardware("mlx5_0")
    end = host.module(role="look", tests=list(TESTS), port="0000:03:00.0/1", fabric="storage")["end"]
    assert (end["port"], end["lid"], end["gbps"], end["fabric"], end["ip_address"]) == ("mlx5_0/1", 4, 100, "storage", "10.20.0.2")
    assert (end["tests"], end["left_out"]) == (list(TESTS), {})
    host.port("mlx5_0", "InfiniBand", "ACTIVE", "40 Gb/sec (4X QDR)")
    assert host.module(role="look", port="0x0002c903000f0001")["end"]["gbps"] == 32


def test_what_a_port_in_software_can_not_do_is_left_out(host: Host) -> None:
    host.port("rxe0", "Ethernet", "ACTIVE")
    end = host.module(role="look", tests=list(TESTS), port="rxe0/1")["end"]
    assert end["gbps"] == 0
    assert end["left_out"] == {"ibping": "rxe0/1 is no InfiniBand port", "iperf3": "no interface of rxe0/1 has an address"}
    assert host.module(role="look")["end"]["port"] == "mlx5_0/1"


def test_missing_tools_are_named_with_packages_and_command(host: Host) -> None:
    host.tools -= {"ib_write_bw", "ib_send_bw", "ib_write_lat", "ibping"}
    with pytest.raises(Unsupported, match=r"ib_write_bw, ib_send_bw, ib_write_lat, ibping\. The packages are infiniband-diags, perftest; 'apt-get .*perftest'"):
        host.module(role="look")
    assert "iperf3" not in str(host.module(role="look", tests=["iperf3"])["end"]["left_out"])


def test_what_can_not_be_is_refused(host: Host) -> None:
    for options in ({"port": "mlx5_7/1"}, {"seconds": 0}, {"size": 1}, {"tcp_port": 80}):
        with pytest.raises(InvalidInput, match="allowed: "):
            host.module(role="server", **options)
    with pytest.raises(InvalidInput, match="peer is not set"):
        host.module(role="client")
    host.port("mlx5_0", "InfiniBand", "INIT")
    for name, words in (("mlx5_0/1", "port mlx5_0/1 is INIT"), ("", "no RDMA port is ACTIVE")):
        with pytest.raises(Refused, match=words):
            host.module(role="look", port=name)
    (host.root / "run/systemd/system").rmdir()
    host.port("mlx5_0", "InfiniBand", "ACTIVE")
    with pytest.raises(Unsupported, match="systemd, which ends the servers of pair tests even if the controller is lost, does not run here"):
        host.module(role="server")


def test_servers_start_listen_and_are_stopped(host: Host) -> None:
    # Left by an earlier run.
    host.units = {"rdma-ofed-pair-iperf3.service"}
    result = host.module(role="server", tests=["ibping", "ib_write_bw"], seconds=10)
    assert result["failed_tests"] == {}
    assert result["commands"] == [
        "ib_write_bw --ib-dev mlx5_0 --ib-port 1 --port 18600 --CPU-freq --size 65536 --duration 10 --report_gbits",
        "ibping -C mlx5_0 -P 1 -S",
    ]
    assert host.units == {"rdma-ofed-pair-ib_write_bw.service", "rdma-ofed-pair-ibping.service"}
    started = [call for call in host.calls if call.startswith("systemd-run")]
    assert all("--property=RuntimeMaxSec=260 " in call for call in started)
    assert host.module(True, role="stop")["stopped"] == host.module(role="stop")["stopped"] == ["ib_write_bw", "ibping"]
    assert host.units == set()
    assert host.module(role="stop")["stopped"] == []


def test_a_user_gets_a_session_with_its_own_limit(host: Host) -> None:
    host.tools.add("runuser")
    host.said["runuser"] = Output(0, BANDWIDTH, "")
    assert host.module(role="server", tests=["ib_write_bw"], user="alice")["failed_tests"] == {}
    (started,) = (call for call in host.calls if call.startswith("systemd-run"))
    assert "-- runuser --login --shell=/bin/sh --command=ib_write_bw --ib-dev" in started and started.endswith(" alice")
    assert "MEMLOCK" not in started
    (figure,) = host.module(role="client", tests=["ib_write_bw"], peer=PEER, user="alice")["figures"]
    assert figure["gbps"] == 97.31
    for options in ({"user": "--help"}, {"user": "alice", "tests": ["ibping"]}):
        with pytest.raises(InvalidInput, match="allowed: "):
            host.module(role="server", **{"tests": ["ib_write_bw"], **options})


def test_a_server_that_does_not_serve_says_why(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.said["journalctl"] = Output(0, "Couldn't allocate PD\n", "")
    host.dies = True
    assert host.module(role="server", tests=["ib_write_lat"])["failed_tests"] == {"ib_write_lat": "the server ended at once: Couldn't allocate PD"}
    host.dies, host.deaf = False, True
    monkeypatch.setattr(_turn, "time", mock.Mock(monotonic=itertools.count().__next__))
    assert "did not listen on TCP port 18602" in host.module(role="server", tests=["ib_write_lat"])["failed_tests"]["ib_write_lat"]


def test_a_client_measures_one_after_the_other(host: Host) -> None:
    figures = host.module(role="client", tests=list(TESTS), peer=PEER)["figures"]
    assert [figure["test"] for figure in figures] == list(TESTS)
    assert [(figure["gbps"], figure["usec"], figure["loss"]) for figure in figures] == [
        (97.31, None, None),
        (97.31, None, None),
        (None, 0.88, None),
        (20.0, None, None),
        (None, 223.0, 0.0),
    ]
    assert "iperf3 --client 10.20.0.1 --port 18603 --time 5 --json" in host.calls
    assert host.calls[-1] == "ibping -C mlx5_0 -P 1 -c 50 -f 4"


def test_what_fails_is_a_figure(host: Host) -> None:
    host.said["ib_write_bw"] = Output(1, BANDWIDTH[:10], "Couldn't connect to node1:18600\n")
    host.said["ib_write_lat"] = Output(0, "", "")
    host.said["iperf3"] = Output(1, '{"error": "unable to connect"}', "")
    host.slow = {"ibping"}
    figures = host.module(role="client", tests=list(TESTS), peer={**PEER, "failed_tests": {"ib_send_bw": "no memory"}})["figures"]
    assert [figure["problem"] for figure in figures] == [
        "exit status 1: Couldn't connect to node1:18600",
        "no memory",
        "no result; it said: nothing",
        "exit status 1: no result; it said: unable to connect",
        "ibping did not end within 60 s",
    ]


def test_check_mode_starts_nothing(host: Host) -> None:
    served = host.module(True, role="server")
    measured = host.module(True, role="client", peer=PEER)
    assert len(served["commands"]) == len(measured["commands"]) == 4
    assert (served["failed_tests"], measured["figures"], host.calls) == ({}, [], [])


def test_the_module_hands_its_options_over(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[t.Any] = []
    monkeypatch.setattr(ib_pair_test, "answer", lambda options, call, root: handed.append((options, root)))
    ib_pair_test.main()
    assert handed == [(OPTIONS, True)]


@pytest.mark.parametrize(
    ("said", "absent"),
    [
        ("IB device mlx5_0 not found", True),
        ("ibwarn: [7] mad_rpc_open_port: can't open UMAD port (mlx5_0:1)", True),
        ("Port number 1 state is Down", True),
        ("Couldn't connect to node1:18515", False),
        ("", False),
    ],
)
def test_a_missing_device_is_told_from_a_firewall(said: str, absent: bool) -> None:
    assert is_no_device(said) is absent
    result = Result("ib", "n1", "n2", 100, Figure("ib_write_bw", problem=said or "no output", no_device=absent))
    (finding,) = judge([result], Limits())
    assert (finding.code is Code.PAIR_NO_DEVICE) is absent
    assert ("TCP ports" in row(finding)["next_step"]) is not absent
