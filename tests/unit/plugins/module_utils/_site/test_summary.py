# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run on one screen, for a fleet in which something is always broken."""

from __future__ import annotations

import time

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import DRIVER, FABRIC, GPU, STATE, VENDOR
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._registry import CONCERNS, ROLES
from ansible_collections.rdma.ofed.plugins.module_utils._site._ends import FAILED, UNREACHABLE, Record, generic
from ansible_collections.rdma.ofed.plugins.module_utils._site._groups import MOST_LINES, grouped, hosts_in_short, lines
from ansible_collections.rdma.ofed.plugins.module_utils._site._leaving import causes, deferred, deferred_of, leaves_of, left_out, merged, unprepared
from ansible_collections.rdma.ofed.plugins.module_utils._site._summary import Host, render

CHANGED = Record(changed=True)
PORT = "ipoib_interfaces[0].port_guid is '0x0002c903000f%04x'; allowed: a port of this host: '0x0002c903000e%04x'"


def a_fleet() -> dict[str, Host]:
    """Return 1,000 hosts with ten faults, two of which have different values on each host."""
    hosts = {"node%d" % number: Host(record=CHANGED if number < 900 else Record()) for number in range(1, 1001)}
    faults = [
        Host(True, record=Record(kind=UNREACHABLE, said="Connection refused")),
        Host(True, record=Record(kind=UNREACHABLE, said="Connection timed out")),
        Host(True, record=Record(True, FAILED, "Install the packages", "dpkg is locked by process 4711")),
        Host(True),
        Host(leaves=left_out({"ofed": ["the stack is another one"]})),
        Host(leaves=left_out({"kernel_modules": ["/etc/modprobe.d/a.conf line 3 forbids ib_ipoib"]})),
        Host(True, left_out({"all": ["no Python that the modules run with: found 3.6"]})),
        Host(deviates=True),
    ]
    for number in range(1, 1001, 4):
        kind = number // 4 % 10
        fault = faults[kind] if kind < len(faults) else Host(leaves=left_out({("ipoib", "opensm")[kind - 8]: [PORT % (number, number)]}))
        hosts["node%d" % number] = fault
    return hosts


def test_a_thousand_hosts_with_ten_faults_are_a_screen() -> None:
    text = render(a_fleet())
    shown = text.splitlines()
    assert len(shown) <= 60, text
    assert shown[0].startswith("Summary: 750 of 1000 hosts done, ")
    for words in (
        "Connection refused",
        "dpkg is locked",
        "left out of ofed:",
        "left out of kernel_modules:",
        "no Python",
        "see its error above",
        "see the table",
    ):
        assert words in text
    assert all(len(line) < 900 for line in shown)
    # Hosts with ports of their own are one line per role.
    assert sum("port_guid" in line and "the values differ" in line for line in shown) == 2


def test_what_deviates_is_repeated_where_it_is_known() -> None:
    hosts = {"node1": Host(True, deviates=True, deviations=["port mlx5_1/1: no such port", "ib0: no address"]), "node2": Host()}
    assert render(hosts).splitlines()[1] == "  node1: not as declared: port mlx5_1/1: no such port; and 1 more, see the table above"


def test_many_faults_that_have_nothing_in_common_are_counted() -> None:
    words = ["%s is broken" % "".join(chr(97 + (number >> shift) % 16) for shift in (8, 4, 0)) for number in range(300)]
    hosts = {"node%d" % number: Host(True, record=Record(kind=FAILED, said=said)) for number, said in enumerate(words)}
    shown = render(hosts).splitlines()
    assert len(shown) <= MOST_LINES + 3
    assert "and %d more, on %d hosts" % (301 - MOST_LINES, 301 - MOST_LINES) in shown[-2]


def test_few_hosts_are_told_in_full() -> None:
    hosts = {
        "node1": Host(record=CHANGED),
        "node2": Host(True, record=Record(kind=UNREACHABLE, task="Look at the node", said="No route to host")),
        "node10": Host(leaves=left_out({"ipoib": ["a profile configures ib0"]}), record=CHANGED),
    }
    assert render(hosts).splitlines() == [
        "Summary: 1 of 3 hosts done, 2 changed, 1 failed or unreachable, 1 partly left out or not as declared",
        "  node2: unreachable: No route to host",
        "  node10: left out of ipoib: a profile configures ib0",
        "Next: correct what is listed, and run the same command again. With --limit node2,node10, it runs for these hosts only",
    ]
    assert render({"node1": Host(record=CHANGED)}, predicted=True) == "Summary: 1 of 1 host done, 1 would be changed"


def test_a_host_that_answers_and_deviates_is_not_among_the_failed() -> None:
    hosts = {
        "node1": Host(True, deviates=True, deviations=["no such port"]),
        "node2": Host(True, leaves=left_out({"ipoib": ["a profile configures ib0"]})),
        "node3": Host(True, record=Record(kind=FAILED, said="no")),
    }
    assert render(hosts).startswith("Summary: 0 of 3 hosts done, 1 failed or unreachable, 2 partly left out or not as declared\n")


def test_what_a_host_recovered_from_is_no_reason() -> None:
    """A task that failed and was rescued leaves a record too."""
    assert render({"node1": Host(record=Record(True, FAILED, "A task", "no"))}) == "Summary: 1 of 1 host done, 1 changed"


def test_one_fault_of_many_hosts_is_one_text() -> None:
    said = "Failed to connect to the host via ssh: ssh: connect to host %s port 22: Connection refused"
    texts = {generic(said % address, (name, address)) for name, address in (("node1", "10.0.0.1"), ("node2", "10.0.0.2"))}
    assert texts == {said.replace("%s ", "")}
    assert generic("node1: it failed\n  at once", ("node1", "")) == "it failed at once"
    # A word that only begins with the host's name stays.
    assert generic("node10 is the master", ("node1",)) == "node10 is the master"


def test_a_role_takes_along_what_needs_it_and_the_check_stays() -> None:
    found = left_out({"ofed": ["no"]})
    assert set(found) == {name for name in ROLES if "ofed" in (name, *CONCERNS[name].needs)} >= {"ofed", "kernel_modules", "ipoib"}
    assert causes(found) == [("ofed", "no")]
    assert set(left_out({"ipoib": ["no"]})) == {"ipoib", "ipoib_network"}
    assert left_out({}) == left_out({"ofed": []}) == {}
    assert merged({"gpudirect": ["one"]}, "gpudirect", ["two", "one"]) == {"gpudirect": ["one", "two"]}
    assert causes(merged({"ipoib": ["one"]}, "kernel_modules", ["two"])) == [("kernel_modules", "two"), ("ipoib", "one")]


def test_up_to_a_screen_every_value_is_shown() -> None:
    found = {"node%d" % number: ["mtu is %d" % number] for number in range(MOST_LINES)}
    assert len(lines(grouped(found))) == MOST_LINES
    more = {**found, "other": ["mtu is 9000"]}
    (line,) = lines(grouped(more))
    assert line.startswith("node[0-23] other: mtu is 0 (as on node0") and line.endswith("the values differ)")
    # Two messages of one host are two objects.
    assert len(lines(grouped({host: ["[0] is 1", "[1] is 2"] for host in more}))) == 2


def test_long_lists_of_names_are_cut() -> None:
    assert hosts_in_short(["node1", "node2"]) == "node[1-2]"
    text = hosts_in_short(["node%d" % number for number in range(0, 1000, 3)])
    assert len(text) < 150 and text.endswith("... (334 hosts)")


def test_the_time_is_linear() -> None:
    def seconds(count: int) -> float:
        found = {"node%d" % number: [PORT % (number, number)] for number in range(count)}
        start = time.process_time()
        lines(grouped(found))
        return time.process_time() - start

    assert min(seconds(8000) for _run in range(3)) <= 20 * max(min(seconds(1000) for _run in range(3)), 1e-3)


@pytest.mark.parametrize(
    "said, expected",
    [
        ("ssh: connect to host 10.0.0.7 port 22: Connection refused", "ssh: connect to host port 22: Connection refused"),
        ('Data could not be sent to remote host "10.0.0.7". Make sure of it', "Data could not be sent to remote host. Make sure of it"),
        ("node7: no answer of node7.", "no answer of the host."),
    ],
)
def test_hosts_with_one_fault_have_the_same_words(said: str, expected: str) -> None:
    assert generic(said, ["node7", "10.0.0.7"]) == expected


def test_what_an_image_lacks_is_told_and_is_no_fault() -> None:
    text = render({"image%d" % number: Host(deferred={"node_check": STATE, "opensm": FABRIC}, record=CHANGED) for number in (1, 2)})
    assert text.splitlines()[0] == "Summary: 2 of 2 hosts done, 2 changed"
    assert "Next: correct" not in text
    assert [line.split(":")[:2] for line in text.splitlines()[2:]] == [["  image[1-2]", " node_check"], ["  image[1-2]", " opensm"]]


def test_what_an_image_has_to_have_before_the_run_is_a_fault() -> None:
    lacks = {"ofed": VENDOR, "node_check": STATE, "ipoib": ""}
    assert deferred(lacks) == {"node_check": STATE}
    assert set(unprepared(lacks)) == {"ofed"} and {"ofed", "kernel_modules", "ipoib"} <= set(left_out(unprepared(lacks)))


def test_the_roles_that_need_what_an_image_lacks_wait_with_it() -> None:
    waiting = deferred({"gpudirect": GPU, "node_check": STATE, "ipoib": ""})
    assert waiting == {"gpudirect": GPU, "node_check": STATE}
    # A stack that is in the image serves the roles that need it.
    assert deferred({"ofed": DRIVER, "node_check": STATE}) == {"ofed": DRIVER, "node_check": STATE}
    outcome = {"left_out": {"gpudirect": [GPU], "ipoib": ["a file of others"]}, "deferred": {"gpudirect": GPU}}
    assert leaves_of(outcome) == {"ipoib": ["a file of others"]}
    assert deferred_of(outcome) == {"gpudirect": GPU}
