# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools._opensm_log import Log, Topic, parse_log

FOLDER = pathlib.Path(__file__).resolve().parents[4] / "corpus/opensm_log"
PREFIX = "Nov 27 07:04:00 475100 [4B002740] "


def recorded(name: str) -> Log:
    return parse_log((FOLDER / (name + ".txt")).read_text(encoding="utf-8"))


def entry(level: int, text: str) -> str:
    return "%s0x%02x -> %s\n" % (PREFIX, level, text)


START, MASTER = entry(0x80, "OpenSM 3.3.23"), entry(0x80, "Entering MASTER state")
ROUTED = entry(0x02, "osm_ucast_mgr_process: minhop tables configured on all switches")
UP = entry(0x02, "SUBNET UP")
REFUSED = entry(0x01, "parse_part_conf: PARSE ERROR: line 3: no partition definition found")


@pytest.mark.parametrize(
    ("name", "engine", "said"),
    [
        ("minhop", "minhop", []),
        ("ftree_falls_back", "minhop", [Topic.ROUTING] * 2),
        ("second_engine_and_bad_roots", "updn", [Topic.ROUTING, Topic.ROUTING, Topic.ROOTS]),
        ("bad_qos_policy", "minhop", [Topic.QOS] * 2),
        ("missing_table", "minhop", [Topic.ROUTING] * 2),
        ("unknown_engine", "minhop", [Topic.ROUTING] * 2),
        ("bad_torus", "minhop", [Topic.ROUTING] * 3),
        ("bad_prefix_routes", "minhop", [Topic.FILES]),
        ("partitions_refused", "minhop", [Topic.PARTITIONS] * 2),
        ("groups_on_one_line", "minhop", [Topic.PARTITIONS]),
        ("groups_that_do_not_fit", "minhop", [Topic.PARTITIONS] * 2),
    ],
)
def test_a_sweep(name: str, engine: str, said: list[Topic]) -> None:
    log = recorded(name)
    assert (log.started, log.state, log.sweeps, log.engine) == (True, "MASTER", 1, engine)
    assert [each.topic for each in log.said] == said


def test_what_opensm_says_is_shown_in_its_words() -> None:
    assert recorded("partitions_refused").about(Topic.PARTITIONS)[0] == "PARSE ERROR: line 1: no partition definition found"
    assert recorded("second_engine_and_bad_roots").about(Topic.ROOTS) == ["cannot parse root guids file '/tmp/roots.bad'"]
    first, second = recorded("ftree_falls_back").about(Topic.ROUTING)
    assert first == "Fabric has 1 switches - topology is not fat-tree. Falling back to default routing"
    assert second == "ftree: cannot build lid matrices"


def test_a_port_that_can_not_be_bound() -> None:
    log = recorded("missing_port")
    assert (log.state, log.sweeps) == ("DISCOVERING", 0)
    assert log.about(Topic.PORT)[0] == "Unable to find requested CA guid 0x1234"
    # The end of the message is not a reason.
    assert not any("No previous bind" in said.text for said in log.said)


def test_engines_that_do_not_fit() -> None:
    assert recorded("ftree_falls_back").failed == ("ftree",)
    log = recorded("no_fallback")
    assert (log.engine, set(log.failed)) == ("", {"ftree"})
    assert "No routing engine able to successfully configure  switch tables on current fabric" in log.about(Topic.ROUTING)
    # The word is not an engine, but opensm accepts it.
    assert not any("no_fallback" in said.text for said in log.said)


def test_only_the_last_sweep_counts() -> None:
    mended = START + MASTER + REFUSED + ROUTED + UP + ROUTED.replace("minhop", "updn") + UP
    log = parse_log(mended)
    assert (log.sweeps, log.engine, log.said) == (2, "updn", ())
    assert parse_log(mended + REFUSED).about(Topic.PARTITIONS) == ["PARSE ERROR: line 3: no partition definition found"]


def test_only_the_last_start_counts() -> None:
    log = parse_log(START + MASTER + REFUSED + ROUTED + UP + START)
    assert log == Log(started=True)


def test_what_is_said_at_the_start_alone_stays() -> None:
    unknown = entry(0x01, "setup_routing_engine: cannot find or setup routing engine 'x'")
    assert parse_log(START + unknown + MASTER + ROUTED + UP + ROUTED + UP).about(Topic.ROUTING) == ["cannot find or setup routing engine 'x'"]


def test_errors_of_the_fabric_are_none_of_the_configuration() -> None:
    noise = (
        entry(0x01, "log_send_error: ERR 5411: DR SMP Send completed with error (IB_TIMEOUT) -- dropping")
        + "\t\t\tMethod 0x1, Attr 0x11, TID 0x1234\n"
        + entry(0x01, "sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error (IB_TIMEOUT): SubnGet(NodeInfo), attr_mod 0x0, TID 0x1235")
        + entry(0x01, "pi_rcv_check_and_fix_lid: ERR 0F04: Got invalid base LID 65535 from the network. Corrected to 0")
        + entry(0x01, "log_trap_info: Received Generic Notice type:1 num:128 (Link state change) Producer:2 (Switch) from LID:2 TID:0x0000000000000001")
    )
    assert parse_log(START + MASTER + noise + ROUTED + UP).said == ()


def test_a_window_that_begins_within_an_entry() -> None:
    log = parse_log("Falling back to default routing\n" + ROUTED + UP)
    assert (log.started, log.engine, log.said) == (False, "minhop", ())
