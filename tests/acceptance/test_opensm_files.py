# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The distribution's opensm reads what the collection writes: the golden files of the unit tests, on the simulated fabric."""

from __future__ import annotations

import collections.abc
import pathlib
import sys
import typing as t

import pytest
from cluster import ROOT, Cluster
from conftest import converge
from proofs import REAL

sys.path.insert(0, str(ROOT / "build/collections"))

from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._file import objections_to

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "corpus"
NODE = "node1"
UNIT = "rdma-opensm@ib.service"


def put(lab: Cluster, path: str, text: str) -> None:
    done = lab.shell(NODE, "cat > %s <<'END OF FILE'\n%sEND OF FILE\n" % (path, text))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def stopped(lab: Cluster) -> collections.abc.Iterator[Cluster]:
    """Stop the designated subnet manager: each file gets an opensm of its own for one sweep."""
    assert lab.shell(NODE, "systemctl stop %s" % UNIT).returncode == 0
    try:
        yield lab
    finally:
        lab.shell(NODE, "systemctl start %s; rm -rf /tmp/accept.*" % UNIT)
        lab.wait_until_green(60)


def sweep(lab: Cluster, partitions: str) -> str:
    """Return opensm's output and log from one sweep with these partitions. opensm reads them only once its port is up."""
    put(lab, "/tmp/accept.partitions", partitions)
    guid = "$(cat /sys/class/infiniband/*/ports/1/gids/0 | cut -d: -f5- | tr -d : | head -n 1)"
    run = "nice opensm -o -F /dev/null -g 0x%s -p 14 -P /tmp/accept.partitions -f /tmp/accept.log" % guid
    done = lab.shell(NODE, "rm -f /tmp/accept.log; timeout 60 %s 2>&1; cat /tmp/accept.log" % run)
    assert "Entering MASTER state" in done.stdout, done.stdout
    return done.stdout


@pytest.mark.parametrize("path", sorted((CORPUS / "opensm_partitions").glob("*.conf")), ids=lambda path: path.stem)
@pytest.mark.proves("opensm_options", debian12=REAL)
def test_it_takes_the_partitions(stopped: Cluster, path: pathlib.Path) -> None:
    said = sweep(stopped, path.read_text(encoding="utf-8"))
    assert "PARSE ERROR" not in said
    assert "Partition configuration in error" not in said


@pytest.mark.proves("opensm_options", debian12=REAL)
def test_it_says_so_if_it_does_not(stopped: Cluster) -> None:
    said = sweep(stopped, "Default=0x7fff ALL=full;\n")
    assert "PARSE ERROR" in said


GUIDE = """\
Default=0x7fff, rate=3, mtu=4, scope=2, defmember=full:
        ALL, ALL_SWITCHES=full;
Default=0x7fff, ipoib, rate=3, mtu=4, scope=2:
        mgid=ff12:401b::ffff:ffff       # IPv4 Broadcast address
        mgid=ff12:401b::1               # IPv4 All Hosts group
        ALL=full, ALL_SWITCHES=full;
ib0_2=0x0002, rate=7, mtu=4, scope=2, defmember=full:
        ALL, ALL_SWITCHES=full;
"""


@pytest.mark.parametrize(
    "text",
    [
        GUIDE,
        "Default=0x7fff, ipoib : ALL=full;\nst=0x1, ipoib:\n mgid=ff12:401b::1 mgid=ff12:401b::2 ALL=full;\n",
        "Default=0x7fff ALL=full;\n",
        "Default=0x7fff\n : ALL=full;\n",
        "Default=x : ALL=full;\n",
        "Default=0x7fff : ALL=full; a=1 : node1=full;\n",
        "Default=0x7fff : ALL=full;;\n",
        "Default=0x7fff : ALL=full; 0x12 : A=f, S=lim; b=0x8003,i,m=4 : 18=bo\n",
        "Default=0x7fff : # %s\n ALL=full;\n" % ("x" * 4100),
        "Default=0x7fff : ALL=full, # %s\n SELF=full;\n" % ("0" * 4050),
    ],
)
@pytest.mark.proves("opensm_options", debian12=REAL)
def test_it_agrees_about_files_of_others(stopped: Cluster, text: str) -> None:
    """The collection predicts exactly the errors that opensm reports."""
    said = sweep(stopped, text)
    objections = objections_to(text)
    assert ("PARSE ERROR" in said) == bool(objections), (said, objections)
    for words in objections:
        assert words.partition(": ")[2].split(" node1")[0].split(" x")[0][:30] in said, (said, words)


@pytest.mark.proves("opensm_options", debian12=REAL)
def test_a_routing_engine_that_does_not_fit_is_a_finding(lab: Cluster, edited: t.Callable[..., pathlib.Path]) -> None:
    """One switch is no fat tree: opensm falls back to its default, and only its log reports that."""

    def edit(inventory: dict[str, t.Any]) -> None:
        inventory["all"]["vars"] = {**(inventory["all"].get("vars") or {}), "opensm_routing_engine": ["ftree"]}

    inventory = edited(edit)
    try:
        run = lab.play("site", "--tags", "opensm,node_check", inventory=inventory)
        words = " ".join(run.output.split())
        assert run.status != 0 and "wanted ftree, found minhop" in words and "topology is not fat-tree" in words, run.output
        again = lab.play("verify", inventory=inventory)
        assert again.status != 0 and "wanted ftree, found minhop" in " ".join(again.output.split()), again.output
        # Without the check of the site, the role itself fails.
        alone = lab.play("site", "--tags", "opensm", inventory=inventory)
        assert alone.status != 0 and "wanted ftree, found minhop" in " ".join(alone.output.split()), alone.output
    finally:
        converge(lab, "--tags", "opensm,node_check", "-e", '{"opensm_give_up": ["routing_engine"]}')


@pytest.mark.proves("opensm_options", debian12=REAL)
def test_it_takes_options_of_all_kinds(lab: Cluster) -> None:
    put(lab, "/tmp/accept.conf", (CORPUS / "opensm_template/debian_3_3_23_all_kinds.conf").read_text(encoding="utf-8"))
    done = lab.shell(NODE, "opensm -F /tmp/accept.conf -c /tmp/accept.reread; rm -f /tmp/accept.conf; cat /tmp/accept.reread")
    assert "Unrecognized" not in done.stdout
    assert "-E-" not in done.stdout
    assert "Invalid" not in done.stdout
    assert "\nsweep_interval 30\n" in done.stdout
