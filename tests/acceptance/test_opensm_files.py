# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The opensm of the distribution reads what the collection writes: the golden files of the unit tests, on a real fabric's stand-in."""

from __future__ import annotations

import collections.abc
import pathlib

import pytest
from cluster import Cluster

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "corpus"
NODE = "node1"
UNIT = "rdma-opensm@ib.service"


def put(lab: Cluster, path: str, text: str) -> None:
    done = lab.shell(NODE, "cat > %s <<'END OF FILE'\n%sEND OF FILE\n" % (path, text))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def stopped(lab: Cluster) -> collections.abc.Iterator[Cluster]:
    """Without the designated subnet manager: each file gets an opensm of its own for one sweep."""
    assert lab.shell(NODE, "systemctl stop %s" % UNIT).returncode == 0
    try:
        yield lab
    finally:
        lab.shell(NODE, "systemctl start %s; rm -rf /tmp/accept.*" % UNIT)
        lab.wait_until_green(60)


def sweep(lab: Cluster, partitions: str) -> str:
    """What opensm prints and logs in one sweep with these partitions. They are not looked at before its port is up."""
    put(lab, "/tmp/accept.partitions", partitions)
    guid = "$(cat /sys/class/infiniband/*/ports/1/gids/0 | cut -d: -f5- | tr -d : | head -n 1)"
    run = "nice opensm -o -F /dev/null -g 0x%s -p 14 -P /tmp/accept.partitions -f /tmp/accept.log" % guid
    done = lab.shell(NODE, "rm -f /tmp/accept.log; timeout 60 %s 2>&1; cat /tmp/accept.log" % run)
    assert "Entering MASTER state" in done.stdout, done.stdout
    return done.stdout


@pytest.mark.parametrize("path", sorted((CORPUS / "opensm_partitions").glob("*.conf")), ids=lambda path: path.stem)
def test_it_takes_the_partitions(stopped: Cluster, path: pathlib.Path) -> None:
    said = sweep(stopped, path.read_text(encoding="utf-8"))
    assert "PARSE ERROR" not in said
    assert "Partition configuration in error" not in said


def test_it_says_so_if_it_does_not(stopped: Cluster) -> None:
    said = sweep(stopped, "Default=0x7fff ALL=full;\n")
    assert "PARSE ERROR" in said


def test_it_takes_options_of_all_kinds(lab: Cluster) -> None:
    put(lab, "/tmp/accept.conf", (CORPUS / "opensm_template/debian_3_3_23_all_kinds.conf").read_text(encoding="utf-8"))
    done = lab.shell(NODE, "opensm -F /tmp/accept.conf -c /tmp/accept.reread; rm -f /tmp/accept.conf; cat /tmp/accept.reread")
    assert "Unrecognized" not in done.stdout
    assert "-E-" not in done.stdout
    assert "Invalid" not in done.stdout
    assert "\nsweep_interval 30\n" in done.stdout
