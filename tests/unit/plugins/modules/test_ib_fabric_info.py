# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fabric as data from the tools on a simulated fabric, and the results when the tools report something else."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._report import report
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ib_fabric_info import OPTIONS
from ansible_collections.rdma.ofed.plugins.modules import ib_fabric_info
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).parents[3] / "corpus"
TOPOLOGY = (CORPUS / "ibnetdiscover/sim_no_sm_lid0.txt").read_text(encoding="utf-8")
LINKS = (CORPUS / "iblinkinfo/sim_4hca_line_mode.txt").read_text(encoding="utf-8")
MANAGERS = (CORPUS / "saquery/sim_sminfo_records_two.txt").read_text(encoding="utf-8")
# The recorded topology has no subnet manager, which would have assigned these.
LIDS = {"Hca1": 1, "Switch1": 2, "Switch2": 3, "Hca2": 4, "Hca3": 5, "Hca4": 6}
HCA1, HCA3, SWITCH1 = "0x0000000000100001", "0x0000000000100007", "0x0000000000200000"
MEMBER = (
    "MCMember Record dump:\n\t\tMGID....................ff12:401b:ffff::ffff:ffff\n\t\tPortGid.................%s\n\t\tqkey....................0xb1b\n"
    "\t\tmlid....................0xc000\n\t\tmtu.....................0x84\n\t\tpkey....................0xffff\n\t\trate....................0x83\n"
    "\t\tSL......................0x0\n\t\tJoinState...............0x1\n"
)
TABLE = "PKeyTableRecord dump:\n\t\tLID........................%d\n\t\tPort.......................%d\n\t\tPKey Table:\n\t\t%s 0x0000\n\n"
FIRMWARE = "fw_version:  11.2008.3328\nfw_psid:     'MT_1880110032'\n"


def with_lids() -> str:
    lines = []
    for line in TOPOLOGY.splitlines(True):
        named = next((name for name in LIDS if '# "%s" ' % name in line and line.startswith("Switch")), "")
        if named:
            line = line.replace("lid 0 lmc", "lid %d lmc" % LIDS[named])
        for name, guid in (("Hca1", "100001"), ("Hca2", "100004"), ("Hca3", "100007"), ("Hca4", "10000a")):
            if line.startswith("[1](%s)" % guid):
                line = line.replace("# lid 0 lmc 0", "# lid %d lmc %d" % (LIDS[name], 1 if name == "Hca4" else 0))
        lines.append(line)
    return "".join(lines)


class Tools:
    """Output of each tool; by default of all tools, for the same fabric."""

    def __init__(self, **said: Output | None) -> None:
        tables = TABLE % (1, 1, "0xffff 0x8001") + TABLE % (5, 1, "0x7fff") + TABLE % (2, 0, "0xffff") + TABLE % (2, 1, "0x8005")
        self.said: dict[str, Output | None] = {
            "ibnetdiscover": Output(0, with_lids(), ""),
            "iblinkinfo": Output(0, LINKS, ""),
            "SMIR": Output(0, MANAGERS, ""),
            "PKTR": Output(0, tables, ""),
            "MCMR": Output(0, MEMBER % "::", ""),
            "members": Output(0, MEMBER % "fe80::10:1" + MEMBER % "fe80::10:7", ""),
            "vendstat": Output(0, FIRMWARE, ""),
            **said,
        }
        self.started: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return self.said["SMIR" if tool == "saquery" else tool] is not None

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.started.append(list(argv))
        what = argv[-1] if argv[0] == "saquery" else argv[0]
        found = self.said["members" if what == "MCMR" and "--smkey" in argv else what]
        assert found is not None, argv
        if found.rc == 124:
            raise CommandFailed("%s did not end" % " ".join(argv), cmd=list(argv), rc=124, stdout="", stderr="")
        return found


@pytest.fixture
def node(tmp_path: pathlib.Path) -> str:
    """Return a node with two ports, the second of which has the link."""
    for number, phys_state in (("1", "3: Disabled"), ("2", "5: LinkUp")):
        port = tmp_path / "sys/class/infiniband/mlx5_0/ports" / number
        (port / "gids").mkdir(parents=True)
        (port / "gids/0").write_text("fe80:0000:0000:0000:0002:c903:0000:100%s\n" % number)
        for name, text in {"state": "4: ACTIVE", "phys_state": phys_state, "lid": "0x1", "sm_lid": "0x1", "link_layer": "InfiniBand"}.items():
            (port / name).write_text(text + "\n")
    return str(tmp_path)


def look(node: str, tools: Tools, **options: t.Any) -> dict[str, t.Any]:
    given = {name: option.get("default") for name, option in OPTIONS.items()}
    return report(tools, {**given, "node_name_map": "/nowhere", **options}, node)


def codes(result: dict[str, t.Any]) -> list[tuple[str, str]]:
    return [(problem["code"], problem["tool"]) for problem in result["problems"]]


def test_the_whole_fabric(node: str) -> None:
    tools = Tools()
    result = look(node, tools)
    assert result["problems"] == []
    assert result["totals"] == {"switches": 2, "cas": 4, "routers": 0, "ports": 20, "links": 6, "degraded": 6}
    assert [(row["name"], row["type"], row["lids"]) for row in result["nodes"]] == [
        ("Hca1", "ca", [1]),
        ("Hca2", "ca", [4]),
        ("Hca3", "ca", [5]),
        ("Hca4", "ca", [6]),
        ("Switch1", "switch", [2]),
        ("Switch2", "switch", [3]),
    ]
    assert result["ports"][0] == {
        "node_guid": "0x0000000000100000",
        "name": "Hca1",
        "port": 1,
        "port_guid": HCA1,
        "lid": 1,
        "lmc": 0,
        "state": "Active",
        "phys_state": "LinkUp",
        "width": "4X",
        "speed": "SDR",
        "peer_node_guid": SWITCH1,
        "peer_port": 1,
    }
    assert [(port["state"], port["width"]) for port in result["ports"] if (port["name"], port["port"]) == ("Switch1", 4)] == [("Down", "")]
    link = result["links"][0]
    assert [(end["name"], end["port"], end["lid"], end["width"], end["speed"]) for end in link["ends"]] == [
        ("Hca1", 1, 1, "4X", "SDR"),
        ("Switch1", 1, 2, "4X", "SDR"),
    ]
    assert (link["max_width"], link["max_speed"], link["degraded"]) == ("12X", "QDR", True)
    assert [(sm["name"], sm["state"], sm["lid"], sm["priority"]) for sm in result["subnet_managers"]] == [("Hca1", "STANDBY", 1, 5), ("Hca3", "MASTER", 5, 14)]
    assert result["partitions"] == [{"pkey": "0x0001", "full": [HCA1], "limited": []}, {"pkey": "0x7fff", "full": [HCA1, SWITCH1], "limited": [HCA3]}]
    (group,) = result["multicast_groups"]
    assert (group["mgid"], group["mlid"], group["mtu"], group["rate_gbps"], group["pkey"]) == ("ff12:401b:ffff::ffff:ffff", "0xc000", 2048, 10, "0xffff")
    assert [(member["name"], member["membership"]) for member in group["members"]] == [("Hca1", "full"), ("Hca3", "full")]
    assert result["port"] == "mlx5_0/2" and all(argv[1:5] == ["-C", "mlx5_0", "-P", "2"] for argv in tools.started)


@pytest.mark.parametrize(
    ("wanted", "names", "links"),
    [
        ({"hosts": ["hca1"]}, ["Hca1"], 1),
        ({"hosts": ["Switch2"], "lids": [5]}, ["Hca3", "Switch2"], 5),
        ({"guids": [HCA3]}, ["Hca3"], 1),
        ({"guids": ["0x200000"]}, ["Switch1"], 4),
        # Its LMC gives it two LIDs.
        ({"lids": [7]}, ["Hca4"], 1),
    ],
)
def test_filters(wanted: dict[str, t.Any], names: list[str], links: int, node: str) -> None:
    result = look(node, Tools(), **wanted)
    assert ([row["name"] for row in result["nodes"]], len(result["links"]), result["problems"]) == (names, links, [])
    assert {port["name"] for port in result["ports"]} == set(names)
    assert (result["totals"]["links"], len(result["subnet_managers"])) == (6, 2)


def test_groups_and_partitions_of_the_named_nodes(node: str) -> None:
    result = look(node, Tools(), hosts=["Hca3"])
    assert result["partitions"] == [{"pkey": "0x7fff", "full": [], "limited": [HCA3]}]
    assert [member["name"] for member in result["multicast_groups"][0]["members"]] == ["Hca3"]
    result = look(node, Tools(), hosts=["Hca2", "Hca9"], lids=[77])
    assert (result["partitions"], result["multicast_groups"]) == ([], [])
    assert [(problem["code"], problem["examples"]) for problem in result["problems"]] == [("no_such_node", ["hca9", "77"])]


def test_names_of_the_map(node: str, tmp_path: pathlib.Path) -> None:
    names = tmp_path / "map"
    names.write_text('0x200000 "leaf 1"\n0x100000 "n1.site.example mlx5_0"\n')
    result = look(node, Tools(), node_name_map=str(names), hosts=["n1", "leaf 1"])
    assert [(row["name"], row["description"]) for row in result["nodes"]] == [("n1.site.example mlx5_0", "Hca1"), ("leaf 1", "Switch1")]
    names.write_text('what\n0x200000 "leaf 1"\n')
    result = look(node, Tools(), node_name_map=str(names))
    assert codes(result) == [("name_map", "")] and result["nodes"][4]["name"] == "Switch1"


def test_a_link_that_is_as_good_as_its_ends(node: str) -> None:
    result = look(node, Tools(iblinkinfo=Output(0, LINKS.replace("(Could be 12X Could be 10.0 Gbps)", "( )"), "")))
    assert {(link["max_width"], link["max_speed"], link["degraded"]) for link in result["links"]} == {("4X", "SDR", False)}


def test_firmware_of_switches(node: str) -> None:
    tools = Tools()
    result = look(node, tools, gather=["switch_firmware"])
    assert [(row["name"], row["firmware"], row["psid"]) for row in result["nodes"] if row["firmware"]] == [
        ("Switch1", "11.2008.3328", "MT_1880110032"),
        ("Switch2", "11.2008.3328", "MT_1880110032"),
    ]
    assert [argv[0] for argv in tools.started] == ["ibnetdiscover", "iblinkinfo", "vendstat", "vendstat"]
    assert (result["subnet_managers"], result["partitions"], result["problems"]) == ([], [], [])


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"iblinkinfo": None}, [("not_installed", "iblinkinfo")]),
        ({"ibnetdiscover": None, "iblinkinfo": None, "SMIR": None}, [("not_installed", tool) for tool in ("ibnetdiscover", "iblinkinfo", "saquery")]),
        (
            {"ibnetdiscover": Output(255, "ibnetdiscover: iberror: failed: discover failed", "")},
            [("failed", "ibnetdiscover"), ("not_in_topology", "iblinkinfo")],
        ),
        ({"iblinkinfo": Output(124, "", "")}, [("failed", "iblinkinfo")]),
        ({"ibnetdiscover": Output(0, with_lids(), "umad: bad status 110; Connection timed out\n")}, [("incomplete", "ibnetdiscover")]),
        ({"iblinkinfo": Output(0, LINKS + "what\n", "")}, [("unread", "iblinkinfo")]),
        ({"SMIR": Output(255, "", "ibpanic: [1] main: Failed to bind to the SA: No such file or directory")}, [("no_subnet_manager", "")]),
        ({"SMIR": Output(1, "", "no such device")}, [("failed", "saquery")]),
        ({"SMIR": Output(0, "what", "")}, [("unread", "saquery")]),
        ({"PKTR": Output(5, "", "ERROR: Query result returned 0x0200, SA(SA_ERR_REQ_INVALID)")}, [("failed", "saquery")]),
        ({"PKTR": Output(0, "what", "")}, [("unread", "saquery")]),
    ],
)
def test_what_is_missing_is_data_and_no_failure(said: dict[str, t.Any], wanted: list[tuple[str, str]], node: str) -> None:
    result = look(node, Tools(**said))
    assert codes(result) == wanted
    assert all(problem["message"] for problem in result["problems"])


def test_a_missing_tool_is_named_with_its_package(node: str) -> None:
    (problem,) = look(node, Tools(iblinkinfo=None))["problems"]
    assert "iblinkinfo is not installed: it comes with the package infiniband-diags on Debian" in problem["message"]


def test_without_iblinkinfo_links_are_known_and_their_abilities_are_not(node: str) -> None:
    result = look(node, Tools(iblinkinfo=None))
    assert len(result["links"]) == 6
    assert {(link["ends"][0]["width"], link["ends"][0]["speed"], link["max_width"], link["degraded"]) for link in result["links"]} == {("4X", "SDR", "", None)}


def test_switches_that_are_silent_are_given_up_on(node: str) -> None:
    nodes = "".join('\nswitchguid=0x%d(%d)\nSwitch\t36 "S-%016d"\t\t# "sw%d" enhanced port 0 lid %d lmc 0\n' % ((number,) * 5) for number in range(1, 9))
    tools = Tools(ibnetdiscover=Output(0, nodes, ""), iblinkinfo=Output(0, "", ""), vendstat=Output(255, "", "vendstat: method 1, attribute 17 failure"))
    found = look(node, tools, gather=["switch_firmware"])
    assert codes(found) == [("silent_switches", "vendstat")]
    assert "the firmware is not known of switches" in found["problems"][0]["message"]
    assert look(node, tools, gather=["switch_firmware"])["problems"][0]["total"] == 8


def test_a_host_without_ports(tmp_path: pathlib.Path) -> None:
    result = look(str(tmp_path), Tools())
    assert (codes(result), result["nodes"], result["port"]) == ([("no_port", "")], [], "")


def test_the_key_of_the_site(node: str) -> None:
    tools = Tools(PKTR=Output(5, "", "ERROR"), members=Output(124, "", ""))
    result = look(node, tools, sa_key="0xdeadbeef")
    assert [argv[5:] for argv in tools.started if "--smkey" in argv] == [["--smkey", "0xdeadbeef", "PKTR"], ["--smkey", "0xdeadbeef", "MCMR"]]
    assert "deadbeef" not in str(result)
    assert [argv[5:7] for argv in _keyless(node).started if "--smkey" in argv] == [["--smkey", "1"]] * 2


def _keyless(node: str) -> Tools:
    tools = Tools()
    look(node, tools)
    return tools


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": "mlx5_9/1"}, "port is 'mlx5_9/1'; allowed: a port of this node"),
        ({"guids": ["what"]}, r"guids\[0\] is 'what'"),
        ({"lids": [0]}, r"lids\[0\] is 0"),
        ({"lids": [99999]}, r"lids\[0\] is 99999"),
        ({"hosts": [" "]}, r"hosts\[0\] is ' '"),
        # saquery would wait for input from a terminal.
        ({"sa_key": "x"}, "sa_key is hidden; allowed: a number"),
    ],
)
def test_wrong_options(options: dict[str, t.Any], words: str, node: str) -> None:
    tools = Tools()
    with pytest.raises(InvalidInput, match=words):
        look(node, tools, **options)
    assert tools.started == []


def test_the_module_hides_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[t.Any] = []
    monkeypatch.setattr(ib_fabric_info, "answer", lambda options, work: taken.append(options))
    ib_fabric_info.main()
    assert taken[0]["sa_key"]["no_log"] is True


PIECES = st.one_of(st.sampled_from([with_lids(), LINKS, MANAGERS, MEMBER, TABLE, FIRMWARE, '[1]\t"S-', "\n\n", '"', "9" * 5000]), st.text(max_size=20))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(pieces=st.lists(st.tuples(PIECES, st.integers(0, 3000), st.integers(0, 3000)), min_size=6, max_size=6))
def test_no_output_is_a_failure(node: str, pieces: list[tuple[str, int, int]]) -> None:
    texts = [text[:end] + text[start:] for text, start, end in pieces]
    said = {tool: Output(0, text, "") for tool, text in zip(("ibnetdiscover", "iblinkinfo", "PKTR", "MCMR", "members", "vendstat"), texts)}
    result = look(node, Tools(**said), gather=["subnet_managers", "partitions", "multicast_groups", "switch_firmware"])
    assert result["port"] == "mlx5_0/2"
