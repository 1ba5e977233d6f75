# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One host of a pair test: its capabilities, its servers, and its clients."""

from __future__ import annotations

import os
import typing as t

from .._distro._registry import by_name
from .._errors import CommandFailed, Problem, RdmaError, Refused, Unsupported, require_none
from .._facts._machine import read_os
from .._facts._netdevs import read_netdevs
from .._facts._portname import named_ports
from .._facts._ports import Port, read_ports
from .._facts._sockets import parse_inet
from .._host._files import read_text
from .._host._run import is_user_name, session_argv
from .._host._turn import look_until
from .._host._units import Systemd, systemd_runs
from .._tools._ip import read_links
from .._tools._measure import is_no_device, last_words
from ._tests import LATENCY, PACKAGES, PING, STREAM, TESTS, Figure, Setting, client, figure, server

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner

LOOK, SERVER, CLIENT, STOP = "look", "server", "client", "stop"
_RANGES: t.Mapping[str, tuple[int, int]] = {"seconds": (2, 600), "size": (2, 1 << 30), "tcp_port": (1024, 65536 - len(TESTS))}
# A test that exceeds its duration by this much will not end.
_GRACE_SECONDS = 60
_START_SECONDS = 60
_PAUSE_SECONDS = 0.2
_PING_TRIES = 5
# Speeds at which eight of ten bits carry data. Kernels omit the word SDR.
_EIGHT_OF_TEN = ("", "SDR", "DDR", "QDR")


class Node(t.NamedTuple):
    """The host that the module runs on."""

    run: Runner
    check_mode: bool = False
    root: str = "/"


def unit(test: str) -> str:
    """The transient unit of a server."""
    return "rdma-ofed-pair-%s.service" % test


def port_of(name: str, root: str) -> Port:
    """The port with that name, else the first ACTIVE one, preferably InfiniBand. Raises InvalidInput and Refused."""
    ports = sorted(read_ports(root), key=lambda port: (bool(port.apart), not port.infiniband))
    rows = [port._asdict() for port in ports]
    named = named_ports({"port": name} if name else {}, rows, none="none: this host has no RDMA port")
    chosen = next((port for port in ports if (port.name == named[0]["name"] if named else port.state == "ACTIVE" and not port.apart)), None)
    if chosen is None or chosen.state != "ACTIVE":
        what = "port %s is %s" % (chosen.name, chosen.state or "in no known state") if chosen else "no RDMA port is ACTIVE"
        raise Refused("%s, so nothing can be measured; check the cable and the subnet manager with rdma.ofed.verify" % what)
    return chosen


def data_gbps(port: Port) -> float:
    """The data rate of a port's link in Gb/s; 0 where it is unknown, as for software devices, which report an arbitrary rate."""
    if not port.pci:
        return 0.0
    return port.rate_gbps * (0.8 if port.infiniband and port.speed in _EIGHT_OF_TEN else 1.0)


def _require_tools(node: Node, tests: t.Sequence[str]) -> None:
    """Raise Unsupported with the packages of missing tools."""
    missing = [test for test in tests if not node.run.has(test)]
    if not missing:
        return
    packages = sorted({PACKAGES.get(test, "perftest") for test in missing})
    family = by_name(read_os(node.root).family)
    how = "'%s' installs them" % " ".join(family.manager.install_argv(packages)) if family else "install them"
    words = "missing tools: %s. The packages are %s; %s, or leave the tests out of pair_test_tests. Nothing was measured with this host"
    raise Unsupported(words % (", ".join(missing), ", ".join(packages), how), missing=missing)


def _look(node: Node, port: Port, tests: t.Sequence[str], *, fabric: str) -> dict[str, t.Any]:
    """The capabilities and addresses of this host, for the other end and for the plan."""
    netdevs = read_netdevs(node.root, (port,), links=read_links(node.run))
    addresses = [address.partition("/")[0] for netdev in netdevs if netdev.port == port.name for address in netdev.addresses]
    # A link-local address is incomplete without the interface.
    addresses = [address for address in addresses if not address.lower().startswith("fe80:")]
    left_out = {}
    if PING in tests and not port.infiniband:
        left_out[PING] = "%s is no InfiniBand port" % port.name
    if STREAM in tests and not addresses:
        left_out[STREAM] = "no interface of %s has an address" % port.name
    possible = [test for test in tests if test not in left_out]
    _require_tools(node, possible)
    _require_systemd(node)
    end = {"port": port.name, "port_guid": port.port_guid, "lid": port.lid, "fabric": fabric, "gbps": data_gbps(port)}
    return {"end": {**end, "ip_address": addresses[0] if addresses else "", "tests": possible, "left_out": left_out}}


def _require_systemd(node: Node) -> None:
    if not systemd_runs(node.root) or not node.run.has("systemd-run"):
        raise Unsupported("systemd, which ends the servers of pair tests even if the controller is lost, does not run here; exclude this host")


def _stop(node: Node, tests: t.Iterable[str]) -> list[str]:
    """Stop servers, including those that an earlier run left; returns those that ran."""
    systemd = Systemd(node.run)
    running = [test for test in tests if systemd.is_active(unit(test))]
    if running and not node.check_mode:
        systemd.stop(*map(unit, running))
    return running


def _is_ready(node: Node, test: str, setting: Setting) -> bool:
    if test == PING:
        return True
    texts = (read_text(os.path.join(node.root, "proc/net", name)) for name in ("tcp", "tcp6"))
    return any(("tcp", setting.port_of(test)) in parse_inet("tcp", text).listening for text in texts)


def _await(node: Node, test: str, setting: Setting) -> str:
    """Why a started server is not ready; "" where it is."""
    systemd = Systemd(node.run)

    def look() -> tuple[bool, bool]:
        runs = systemd.is_active(unit(test))
        return runs, runs and _is_ready(node, test, setting)

    runs, ready = look_until(look, lambda found: found != (True, False), patience=_START_SECONDS, pause=_PAUSE_SECONDS)
    if not runs:
        said = node.run(["journalctl", "--unit", unit(test), "--lines", "4", "--output", "cat", "--no-pager"], ok=None).stdout
        return "the server ended at once: %s" % last_words(said)
    return "" if ready else "the server did not listen on TCP port %d within %d s" % (setting.port_of(test), _START_SECONDS)


def _serve(node: Node, tests: t.Sequence[str], setting: Setting, *, user: str) -> dict[str, t.Any]:
    """Start the servers and wait for them. Those of perftest and iperf3 end after their client; the others have to be stopped."""
    commands = {test: server(test, setting) for test in tests}
    shown = {"commands": [" ".join(argv) for argv in commands.values()], "failed_tests": {}}
    if node.check_mode:
        return shown
    _require_systemd(node)
    _stop(node, TESTS)
    # They end by themselves if the controller dies.
    longest = len(tests) * (setting.seconds + 2 * _GRACE_SECONDS)
    failed = {}
    for test, argv in commands.items():
        options = ["--unit=" + unit(test), "--collect", "--quiet", "--property=RuntimeMaxSec=%d" % longest]
        # A session of a user gets its limit from PAM.
        options += [] if user else ["--property=LimitMEMLOCK=infinity"]
        try:
            node.run(["systemd-run", *options, "--description=rdma.ofed: server of " + test, "--", *_of_user(user, argv)])
        except CommandFailed as exc:
            failed[test] = exc.msg
    failed.update({test: why for test in tests if test not in failed for why in [_await(node, test, setting)] if why})
    return {**shown, "failed_tests": failed}


def _of_user(user: str, argv: t.Sequence[str]) -> t.Sequence[str]:
    return session_argv(user, argv) if user else argv


def _output(node: Node, test: str, argv: t.Sequence[str], *, seconds: int) -> Output:
    if test == PING:
        # The server may not have registered with the kernel yet, which can't be observed.
        first = [*argv[: argv.index("-c")], "-c", "1", argv[-1]]
        for _try in range(_PING_TRIES):
            if figure(test, node.run(first, ok=None).stdout).loss == 0:
                break
    return node.run(argv, ok=None, timeout=_GRACE_SECONDS + (0 if test in (LATENCY, PING) else seconds))


def _measure(node: Node, test: str, argv: t.Sequence[str], *, seconds: int) -> Figure:
    try:
        output = _output(node, test, argv, seconds=seconds)
    except RdmaError as exc:
        return Figure(test, problem=exc.msg)
    found = figure(test, output.stdout)
    if not found.problem or not output.rc:
        return found
    said = found.problem if test == STREAM else last_words(output.stderr or output.stdout)
    return Figure(test, problem="exit status %d: %s" % (output.rc, said or "no output"), no_device=is_no_device(output.stderr + output.stdout))


def _be_client(node: Node, tests: t.Sequence[str], setting: Setting, *, peer: t.Mapping[str, t.Any], user: str) -> dict[str, t.Any]:
    """Run one test after another. A failed test gives a figure with a problem; it does not fail the module."""
    commands = {test: client(test, setting, peer) for test in tests}
    broken = peer["failed_tests"] or {}
    figures: list[Figure] = []
    for test, argv in commands.items() if not node.check_mode else ():
        figures.append(
            Figure(test, problem=str(broken[test]), no_device=is_no_device(str(broken[test])))
            if test in broken
            else _measure(node, test, _of_user(user, argv), seconds=setting.seconds)
        )
    return {"commands": [" ".join(argv) for argv in commands.values()], "figures": [each._asdict() for each in figures]}


def work(node: Node, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The result of the module. Raises RdmaError."""
    wrong = [Problem(name, options[name], "%d to %d" % span) for name, span in _RANGES.items() if not span[0] <= options[name] <= span[1]]
    if options["role"] == CLIENT and not options["peer"]:
        wrong.append(Problem("peer", None, "how the server is reached, where role is client"))
    if options["user"] and not is_user_name(options["user"]):
        wrong.append(Problem("user", options["user"], "the name of an ordinary user"))
    if options["user"] and PING in options["tests"]:
        wrong.append(Problem("tests", PING, "tests that an ordinary user can run, where user is set", "management datagrams need root"))
    require_none(wrong)
    if options["role"] == STOP:
        return {"stopped": _stop(node, TESTS)}
    tests = [test for test in TESTS if test in options["tests"]]
    port = port_of(options["port"], node.root)
    if options["role"] == LOOK:
        return _look(node, port, tests, fabric=options["fabric"])
    setting = Setting(port.device, port.port, options["seconds"], options["size"], options["tcp_port"])
    if options["role"] == SERVER:
        return _serve(node, tests, setting, user=options["user"])
    return _be_client(node, tests, setting, peer=options["peer"], user=options["user"])
