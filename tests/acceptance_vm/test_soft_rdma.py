# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Software RDMA links on a real kernel, with traffic over the Ethernet between two machines.

No Debian kernel has siw. With RDMA_SIW, the path of a siw.ko built for the machines' kernel, its traffic is tested as well; ./siw.sh builds one.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import re
import subprocess
import time
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from common import ROOT
from proofs import REAL

NODES = ("node1", "node2")
WIRE = "labwire"
RXE = {"name": "rxe0", "type": "rxe", "netdev": WIRE}
SECOND = {"name": "rxe1", "type": "rxe", "netdev": "eth0"}
SIW = {"name": "siw0", "type": "siw", "netdev": WIRE}
SIW_KO = os.environ.get("RDMA_SIW", "")

Play = t.Callable[..., Run]


def run(lab: Cluster, node: str, script: str) -> str:
    done = lab.shell(node, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def links(lab: Cluster, node: str) -> dict[str, str]:
    """Return the network interface of each link in `rdma link`, or its state if it is not ACTIVE."""
    rows = re.findall(r"^link (\S+)/1 state (\S+) .* netdev (\S+)", run(lab, node, "rdma link"), re.MULTILINE)
    return {name: netdev if state == "ACTIVE" else state for name, state, netdev in rows}


def units(lab: Cluster, node: str) -> list[str]:
    return run(lab, node, "find /etc/systemd /run/systemd -name 'rdma-ofed-link*' -printf '%P\\n' | sort").split()


def make_foreign(lab: Cluster) -> None:
    """Create a link by hand on node1, unless it still exists."""
    make = "ip link add foreign type dummy && ip link set foreign up && rdma link add rxe9 type rxe netdev foreign"
    run(lab, "node1", "test -e /sys/class/infiniband/rxe9 || { modprobe rdma_rxe && %s; }" % make)


@pytest.fixture(scope="module")
def play(lab: Cluster, tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Play]:
    """Yield a function that runs the playbook of the role's README with these links and arguments of ansible-playbook."""
    folder = tmp_path_factory.mktemp("soft_rdma")
    readme = (ROOT / "roles/soft_rdma/README.md").read_text(encoding="utf-8")
    book: t.Any = yaml.safe_load(readme.partition("```yaml\n")[2].partition("```")[0])
    role = book[0]["roles"][0]

    def play(declared: t.Sequence[t.Mapping[str, str]] | None, *arguments: str, state: str = "present") -> Run:
        """Run the playbook; None means the links of the README."""
        variables = dict(role["vars"], soft_rdma_state=state)
        if declared is not None:
            variables["soft_rdma_links"] = [dict(link) for link in declared]
        path = folder / "play.yml"
        path.write_text(yaml.safe_dump([dict(book[0], roles=[dict(role, vars=variables)])]), encoding="utf-8")
        return lab.play(str(path), *arguments)

    yield play
    play([], state="absent")
    for node in NODES:
        lab.shell(node, "ip link del foreign; ip address flush dev %s; rm -f /etc/modprobe.d/refuse.conf /lib/modules/*/updates/siw.ko; depmod" % WIRE)


def done(run: Run) -> Run:
    assert run.status == 0, run.output
    return run


def as_predicted(play: Play, declared: t.Sequence[t.Mapping[str, str]] | None, state: str = "present") -> None:
    """Run check mode, the run that does the same, and one that changes nothing."""
    predicted = done(play(declared, "--check", state=state))
    made = done(play(declared, state=state))
    assert records.changes(made.events)
    assert records.differences(predicted.events, made.events) == []
    assert records.changes(done(play(declared, state=state)).events) == {}


def traffic(lab: Cluster, command: str, peer: str = "10.30.0.2") -> str:
    """Run the command as a server on node2 and as a client on node1. `{peer}` is replaced on the client only."""
    for number, node in enumerate(NODES, 1):
        run(lab, node, "ip address replace 10.30.0.%d/24 dev %s" % (number, WIRE))
    argv = [*lab.lab, "shell", "node2", "timeout", "120", *command.replace("{role}", "-s").replace("{peer}", "").split()]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8") as server:
        there = command.replace("{role}", "-c").replace("{peer}", peer)
        # Only an attempt shows whether the server listens yet.
        script = "for try in 1 2 3 4 5; do sleep 5; timeout 90 %s && exit; done; exit 1" % there
        said = run(lab, "node1", script)
        server.communicate(timeout=120)
    return said


@pytest.mark.proves("soft_rdma", debian12=REAL)
def test_what_can_not_be_is_said_before_any_change(lab: Cluster, play: Play) -> None:
    for node in NODES:
        run(lab, node, "rm -f /lib/modules/*/updates/siw.ko && depmod && modprobe -qr siw; modprobe -r rdma_rxe; true")
    refused = play([dict(RXE, netdev="eth9"), dict(RXE, name="rxe1", netdev="ib0"), SIW])
    assert refused.status != 0
    found = refused.output.replace("\n", " ")
    assert "soft_rdma_links[0].netdev is 'eth9'" in found
    assert "has no module siw" in found
    run(lab, "node1", "echo install rdma_rxe /bin/false >/etc/modprobe.d/refuse.conf")
    refused = play([RXE], "--limit", "node1")
    assert refused.status != 0
    assert "modprobe" in refused.output
    assert [units(lab, node) for node in NODES] == [[], []]
    run(lab, "node1", "rm /etc/modprobe.d/refuse.conf")


@pytest.mark.proves("soft_rdma", debian12=REAL)
def test_the_links_of_the_readme(lab: Cluster, play: Play) -> None:
    as_predicted(play, None)
    assert [links(lab, node) for node in NODES] == [{"rxe0": "eth0"}] * 2


@pytest.mark.proves("soft_rdma", debian12=REAL)
def test_a_link_moves_and_another_comes_while_that_of_somebody_else_stays(lab: Cluster, play: Play) -> None:
    make_foreign(lab)
    as_predicted(play, [RXE, SECOND])
    assert links(lab, "node1") == {"rxe0": WIRE, "rxe1": "eth0", "rxe9": "foreign"}
    assert links(lab, "node2") == {"rxe0": WIRE, "rxe1": "eth0"}


@pytest.mark.proves("soft_rdma", debian12=REAL)
def test_what_is_not_declared_any_more_goes_and_the_rest_outlives_a_reboot(lab: Cluster, play: Play) -> None:
    done(play([RXE]))
    assert links(lab, "node1") == {"rxe0": WIRE, "rxe9": "foreign"}
    lab.command("restart", "--all")
    for node in NODES:
        end = time.monotonic() + 60
        while links(lab, node) != {"rxe0": WIRE}:
            assert time.monotonic() < end, links(lab, node)
            time.sleep(2)
    assert records.changes(done(play([RXE])).events) == {}


@pytest.mark.proves("soft_rdma", debian12=REAL)
def test_traffic_over_roce(lab: Cluster) -> None:
    for node in NODES:
        run(lab, node, "DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y ibverbs-utils rdmacm-utils ibverbs-providers >/dev/null")
    assert "ping data: rdma-ping-4" in traffic(lab, "rping {role} -a 10.30.0.2 -C 5 -v")
    assert "100 iters" in traffic(lab, "ibv_rc_pingpong -d rxe0 -g 1 -n 100 {peer}")


if SIW_KO:

    def test_traffic_over_iwarp(lab: Cluster, play: Play) -> None:
        for node in NODES:
            script = "d=/lib/modules/$(uname -r)/updates; mkdir -p $d && cat >$d/siw.ko && depmod"
            with pathlib.Path(SIW_KO).open("rb") as content:
                subprocess.run([*lab.lab, "shell", node, "sh", "-c", script], cwd=ROOT, stdin=content, check=True)
        as_predicted(play, [SIW])
        assert [links(lab, node).get("siw0") for node in NODES] == [WIRE] * 2
        assert "ping data: rdma-ping-4" in traffic(lab, "rping {role} -a 10.30.0.2 -C 5 -v")


@pytest.mark.proves("soft_rdma", debian12=REAL)
def test_absent_leaves_only_what_others_made(lab: Cluster, play: Play) -> None:
    make_foreign(lab)
    as_predicted(play, [RXE], state="absent")
    assert [links(lab, node) for node in NODES] == [{"rxe9": "foreign"}, {}]
    assert [units(lab, node) for node in NODES] == [[], []]
