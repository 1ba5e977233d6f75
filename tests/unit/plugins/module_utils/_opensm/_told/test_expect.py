# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import sys
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._fabric import _report
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health import _report as _health_report
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._judge import Expected
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _words
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told._expect import (
    FULL,
    LIMITED,
    NONE,
    Difference,
    Told,
    differences,
    engines_of,
    expected,
    findings,
    named_ports,
    table_of,
)
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._told._look import Mark, listen, mark, read_log
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from ansible_collections.rdma.ofed.plugins.module_utils._tools._opensm_log import WINDOW, parse_log

FOLDER = pathlib.Path(__file__).resolve().parents[5] / "corpus/opensm_log"
ONE, TWO = "0x0000000000000011", "0x0000000000000012"
FILE = "Default=0x7fff, ipoib : ALL=full;\nstorage=0x8001 : %s=full, %s=limited;\n" % (ONE, TWO)


def told(name: str, *engines: str, **more: t.Any) -> Told:
    return Told("ib", engines, parse_log((FOLDER / (name + ".txt")).read_text(encoding="utf-8")), **more)


@pytest.mark.parametrize(
    ("state", "codes"),
    [
        (told("minhop"), []),
        (told("minhop", "minhop"), []),
        (told("ftree_falls_back"), []),
        (told("ftree_falls_back", "ftree"), [Code.ROUTING_FALLBACK]),
        # Engines are tried in order, so the second one is still as declared.
        (told("second_engine_and_bad_roots", "ftree", "updn"), [Code.OPENSM_OBJECTS]),
        (told("no_fallback", "ftree", "no_fallback"), [Code.ROUTING_FALLBACK]),
        (told("unknown_engine", "nosuchengine"), [Code.ROUTING_FALLBACK]),
        (told("bad_qos_policy"), [Code.OPENSM_OBJECTS]),
        (told("partitions_refused"), [Code.PARTITIONS_REFUSED]),
        (told("groups_on_one_line"), [Code.PARTITIONS_REFUSED]),
        (told("missing_port"), [Code.OPENSM_UNBOUND]),
        (told("missing_port", restarts=4, seconds=3.0), [Code.OPENSM_UNBOUND, Code.OPENSM_RESTARTS]),
        # It was restarted and has run since.
        (told("minhop", restarts=4, seconds=4000.0), []),
        (told("minhop", differences=(Difference(1, "mlx5_0/1", FULL, NONE),)), [Code.PKEY_DIFFERS]),
    ],
)
def test_findings(state: Told, codes: list[Code]) -> None:
    found = findings(state)
    assert [finding.code for finding in found] == codes
    for finding in found:
        words, row = _words.sentence(finding), _words.row(finding)
        assert "wanted" in words and row["next_step"] and "{" not in words + "".join(row.values())


def test_the_engine_and_the_reason_are_named() -> None:
    (finding,) = findings(told("ftree_falls_back", "ftree"))
    assert (finding.wanted, finding.found) == ("ftree", "minhop")
    assert "topology is not fat-tree" in _words.sentence(finding)


def test_a_standby_has_read_nothing() -> None:
    state = told("partitions_refused", "ftree", differences=(Difference(1, "mlx5_0/1", FULL, NONE),))
    assert findings(state._replace(log=state.log._replace(state="STANDBY"))) == []


def test_it_travels() -> None:
    state = told("ftree_falls_back", "ftree", differences=(Difference(1, "mlx5_0/1", FULL, NONE),))
    # The controller reads the transferred data.
    assert sys.version_info < (3, 10) or decode(Told, encode(state)) == state


@pytest.mark.parametrize(
    ("text", "guid", "own", "table"),
    [
        ("", ONE, False, {0x7FFF: True}),
        # opensm continues as if without the file.
        ("Default=0x7fff ALL=full;", ONE, False, {0x7FFF: True}),
        (FILE, ONE, False, {0x7FFF: True, 1: True}),
        (FILE, TWO, False, {0x7FFF: True, 1: False}),
        (FILE, "0x0000000000000013", False, {0x7FFF: True}),
        ("a=1 : SELF=full;", ONE, True, {0x7FFF: True, 1: True}),
        ("a=1 : SELF=full;", ONE, False, {0x7FFF: False}),
        # The last entry of a port counts.
        ("a=1 : %s=full, ALL=limited;" % ONE, ONE, False, {0x7FFF: False, 1: False}),
        ("a=1 : ALL_CAS; a=1 : %s=both;" % ONE, ONE, False, {0x7FFF: False, 1: True}),
        ("a=1 : ALL_SWITCHES=full;", ONE, False, {0x7FFF: False}),
        ("noKey : ALL=full;", ONE, False, {0x7FFF: False}),
    ],
)
def test_the_table_by_the_file(text: str, guid: str, own: bool, table: dict[int, bool]) -> None:
    assert expected(text, guid, own=own) == table


def test_a_table() -> None:
    assert table_of([0xFFFF, 0x0001, 0x8001, 0x0002, 0]) == {0x7FFF: True, 1: True, 2: False}
    assert differences({1: True, 2: True, 3: False}, {1: False, 3: False, 4: True}, "p") == (
        Difference(1, "p", FULL, LIMITED),
        Difference(2, "p", FULL, NONE),
        Difference(4, "p", NONE, FULL),
    )
    assert named_ports(FILE) == [ONE, TWO]


@pytest.mark.parametrize(("keys", "engines"), [({}, ()), ({"routing_engine": "(null)"}, ()), ({"routing_engine": "ftree,updn"}, ("ftree", "updn"))])
def test_declared_engines(keys: dict[str, str], engines: tuple[str, ...]) -> None:
    assert engines_of(keys) == engines


def test_a_log_is_read_from_a_mark_on(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "opensm.log"
    assert read_log(str(path), mark(str(path))) == ""
    path.write_text("old\n")
    place = mark(str(path))
    with path.open("a") as stream:
        stream.write("new\n")
    assert (read_log(str(path)), read_log(str(path), place)) == ("old\nnew\n", "new\n")
    # The log was rotated: its present content is new.
    os.rename(path, tmp_path / "opensm.log.1")
    path.write_text("other\n")
    assert read_log(str(path), place) == "other\n"
    # The log was truncated, as opensm does at log_max_size.
    place = mark(str(path))
    path.write_text("cut\n")
    assert read_log(str(path), place._replace(inode=path.stat().st_ino)) == "cut\n"
    path.write_text("x" * (WINDOW + 10))
    assert len(read_log(str(path))) == WINDOW


def test_what_is_no_file_is_no_log(tmp_path: pathlib.Path) -> None:
    """Other users may write to the directory that a site chose for its logs."""
    (tmp_path / "secret").write_text("x")
    os.symlink("secret", tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    assert [read_log(str(tmp_path / name)) for name in ("link", "pipe", "missing", ".")] == [""] * 4
    assert mark(str(tmp_path / "missing")) == Mark()


class Tools:
    """A member that answers with the default partition only, and systemd."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        if argv[0] == "systemctl":
            return Output(0, "NRestarts=3\nExecMainStartTimestampMonotonic=0\n", "")
        self.asked.append(argv[-1])
        return Output(0, "   0: 0xffff 0x0000\n   8: 0x0000 0x0000\n64 pkeys capacity for this port\n", "")


def test_listening(tmp_path: pathlib.Path) -> None:
    port = Port("mlx5_0/1", "mlx5_0", 1, port_guid=ONE, link_layer="InfiniBand")
    assert listen(Tools(), "ib", port, root=str(tmp_path)) == Told("ib")
    files = {
        "etc/rdma-ofed/opensm/ib/opensm.conf": "guid %s\nrouting_engine ftree\nlog_file /var/log/opensm/ib/opensm.log\n" % ONE,
        "etc/rdma-ofed/opensm/ib/partitions.conf": FILE,
        "var/log/opensm/ib/opensm.log": (FOLDER / "ftree_falls_back.txt").read_text(),
        "sys/class/infiniband/mlx5_0/ports/1/pkeys/0": "0xffff\n",
        "sys/class/infiniband/mlx5_0/ports/1/pkeys/1": "0x0000\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tools = Tools()
    found = listen(tools, "ib", port, root=str(tmp_path))
    assert (found.engines, found.log.engine, found.restarts, found.seconds) == (("ftree",), "minhop", 3, -1)
    assert found.differences == (Difference(1, "mlx5_0/1", FULL, NONE), Difference(1, "port GUID %s" % TWO, LIMITED, NONE))
    assert tools.asked == [TWO]


def test_the_fabric_is_told_of_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: `fabric` reported "No findings." for a fabric whose subnet manager had fallen back to its default routing."""
    monkeypatch.setattr(_report, "listen", lambda run, fabric, port, root: told("ftree_falls_back", "ftree"))
    conf = tmp_path / "etc/rdma-ofed/opensm/ib/opensm.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("guid %s\n" % ONE)
    port = Port("mlx5_0/1", "mlx5_0", 1, port_guid=ONE)
    rows = _report._manager(t.cast(t.Any, None), port, str(tmp_path))
    assert [(each["severity"], each["code"], each["found"]) for each in rows] == [("error", "routing_fallback", "minhop")]
    assert _report._manager(t.cast(t.Any, None), port._replace(port_guid=TWO), str(tmp_path)) == []
    whole = {
        "manager": rows,
        "nodes": [],
        "links": [],
        "totals": {"switches": 1, "cas": 0, "links": 0},
        "problems": [],
        "subnet_managers": [],
        "partitions": [],
    }
    monkeypatch.setattr(_health_report, "judge", lambda data, expected: [])
    found = _health_report.findings_of(whole, Expected((), (), {}, ()), None)
    assert "routing_fallback" in _health_report.render("ib", whole, found) and found[0]["ends"] == []


NODE = """NodeRecord dump:
\t\tlid.....................%d
\t\treserved................0x0
\t\tbase_version............0x1
\t\tclass_version...........0x1
\t\tnode_type...............%s
\t\tnum_ports...............2
\t\tsys_guid................0x0000000000100000
\t\tnode_guid...............0x0000000000100000
\t\tport_guid...............0x%016x
\t\tpartition_cap...........0x40
\t\tdevice_id...............0x0
\t\trevision................0xA1
\t\tport_num................%d
\t\tvendor_id...............0x0
\t\tNodeDescription.........NodeRecord dump: port_guid...............0x0000000000000012
"""
TABLE = """PKeyTableRecord dump:
\t\tLID........................%d
\t\tPort.......................%d
\t\tBlock......................0
\t\tPKey Table:
\t\t0x7fff %s

"""


class Fabric(Tools):
    """A fabric of many members, in which opensm remembers one table that differs from the file."""

    def __init__(self, odd: int, absent: int) -> None:
        super().__init__()
        self.odd, self.absent, self.trusts = odd, absent, True
        self.keys: list[str] = []

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        there = [number for number in range(0x20, 0x40) if number != self.absent]
        if argv[-1] == "NR":
            return Output(0, "".join(NODE % (number, "Channel Adapter", number, 1) for number in there) + NODE % (9, "Switch", 0x99, 5), "")
        if argv[-1] == "PKTR":
            self.keys.append(argv[argv.index("--smkey") + 1])
            tables = [TABLE % (number, 1, "0x0001" if number != self.odd else "0x8001") for number in there if self.trusts]
            return Output(0, "".join(tables), "")
        return super().__call__(argv, ok, timeout)


def member(number: int) -> str:
    return "0x%016x" % number


@pytest.mark.parametrize(
    ("conf", "trusts", "keys", "first"),
    [
        ("", True, ["0x1"], [0x3E, 0x20]),
        ("sa_key 0x0000000000000001\n", True, ["0x1"], [0x3E, 0x20]),
        ("", False, ["0x1"], [0x20, 0x21]),
        ("sa_key 0x0000000000001234\n", True, [], [0x20, 0x21]),
    ],
)
def test_of_many_members_the_port_whose_table_is_wrong_is_read_first(
    tmp_path: pathlib.Path, conf: str, trusts: bool, keys: list[str], first: list[int]
) -> None:
    """Regression: only the first 8 members of the file were read, so a later one was never found. A secret key must not be on a command line."""
    numbers = range(0x20, 0x40)
    folder = tmp_path / "etc/rdma-ofed/opensm/ib"
    folder.mkdir(parents=True)
    (folder / "opensm.conf").write_text("guid %s\nlog_file /log\n%s" % (ONE, conf))
    (folder / "partitions.conf").write_text("Default=0x7fff : ALL;\nstorage=0x1 : %s;\n" % ", ".join("%s=limited" % member(number) for number in numbers))
    (tmp_path / "log").write_text((FOLDER / "minhop.txt").read_text())
    tools = Fabric(0x3E, 0x21 if keys and trusts else 0)
    tools.trusts = trusts
    port = Port("mlx5_0/1", "mlx5_0", 1, port_guid=ONE, link_layer="InfiniBand")
    found = listen(tools, "ib", port, root=str(tmp_path))
    assert tools.keys == keys
    assert tools.asked[:2] == [member(number) for number in first] and len(tools.asked) == 8
    assert member(tools.absent) not in tools.asked
    # The table of the port itself counts.
    assert Difference(1, "port GUID %s" % member(first[0]), LIMITED, NONE) in found.differences


def test_few_members_are_read_without_a_choice(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "etc/rdma-ofed/opensm/ib"
    folder.mkdir(parents=True)
    (folder / "opensm.conf").write_text("guid %s\nlog_file /log\n" % ONE)
    (folder / "partitions.conf").write_text("storage=0x1 : %s;\n" % ", ".join(member(number) for number in range(0x20, 0x28)))
    (tmp_path / "log").write_text((FOLDER / "minhop.txt").read_text())
    tools = Fabric(0x27, 0)
    listen(tools, "ib", Port("mlx5_0/1", "mlx5_0", 1, port_guid=ONE, link_layer="InfiniBand"), root=str(tmp_path))
    assert (tools.keys, len(tools.asked)) == ([], 8)
