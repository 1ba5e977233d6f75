# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan: what is set, what is left to others, what is refused, and what is given back."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet import _plan as planner
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall._found import Firewall
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall._wanted import Trusted
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._names import DEFAULTS
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._plan import foretold, limits, overruled, plan, refusals
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._routing._found import Routing
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._sysctl import PATH, Line, key_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind, Plan
from hypothesis import given
from hypothesis import strategies as st

KEYS = ("arp_ignore", "arp_announce", "rp_filter")
TABLES = {"net/ipv%d/neigh/default/gc_thresh%d" % (family, number): str(limit) for family in (4, 6) for number, limit in enumerate(DEFAULTS, 1)}
TWO = Wanted(("ib0", "ib1"))


def values(**interfaces: str) -> dict[str, str]:
    """Return the kernel's values, by interface as three digits."""
    known = {"all": "000", "default": "001", **interfaces}
    return {**TABLES, **{"net/ipv4/conf/%s/%s" % (name, key): value for name, digits in known.items() for key, value in zip(KEYS, digits)}}


FRESH = Found(kernel=values(ib0="001", ib1="001"))


def after(found: Found, todo: Plan) -> Found:
    """Return the state after a plan."""
    files = {change.subject: change.after for change in todo.about(Kind.FILE)}
    kernel = {key_of(change.subject): change.after for change in todo.about(Kind.SYSCTL)}
    return found._replace(text=files.get(PATH, found.text), kernel={**found.kernel, **kernel})


def settings(todo: Plan) -> dict[str, str]:
    return {change.subject: change.after for change in todo.about(Kind.SYSCTL)}


def line(key: str, value: str, *, later: bool = False) -> Line:
    return Line("/etc/sysctl.d/%s-site.conf" % ("99" if later else "50"), 3, key, value, later)


def test_two_interfaces_of_a_subnet() -> None:
    todo = plan(TWO, FRESH)
    assert [change.kind for change in todo.changes] == [Kind.FILE] + 6 * [Kind.SYSCTL]
    assert todo.changes[0].after == HEADER + "".join(
        "net.ipv4.conf.%s.%s\n" % (name, setting) for name in ("ib0", "ib1") for setting in ("arp_announce = 2", "arp_ignore = 1", "rp_filter = 2")
    )
    done = after(FRESH, todo)
    assert not plan(TWO, done)
    back = plan(Wanted(), done)
    assert after(done, back) == FRESH


def test_a_host_that_needs_nothing_has_no_file() -> None:
    assert not plan(Wanted(), FRESH)
    assert not plan(Wanted(neighbours={4: 128, 6: 128}), FRESH)


def test_a_child_has_a_dot_in_its_name() -> None:
    todo = plan(Wanted(("ib0.8001",)), Found(kernel=values(**{"ib0.8001": "001"})))
    assert "net/ipv4/conf/ib0.8001/arp_ignore = 1\n" in todo.changes[0].after


def test_an_interface_that_appears_later_is_in_the_file_alone() -> None:
    found = Found(kernel=values(ib0="122"))
    todo = plan(TWO, found)
    assert [change.kind for change in todo.changes] == [Kind.FILE]
    assert not plan(TWO, after(found, todo))
    assert set(settings(plan(TWO, foretold(TWO, found)))) == {"net.ipv4.conf.ib1.%s" % key for key in KEYS}
    assert not settings(plan(TWO, foretold(TWO._replace(late=frozenset(["ib1"])), found)))


def test_values_that_serve_are_left_alone() -> None:
    """Those of a file of others stay in that file; a strict arp_ignore and no reverse path filter at all serve as well."""
    found = FRESH._replace(
        kernel=values(ib0="220", ib1="001"),
        lines=(line("net/ipv4/conf/ib0/arp_ignore", "2"), line("net/ipv4/conf/ib0/rp_filter", "0", later=True), line("net/ipv4/conf/ib0/arp_announce", "2")),
    )
    todo = plan(TWO, found)
    assert "ib0" not in todo.changes[0].after
    assert set(settings(todo)) == {"net.ipv4.conf.ib1.%s" % key for key in KEYS}
    assert refusals(TWO, found) == []


@pytest.mark.parametrize(("everywhere", "present"), [("000", "220"), ("000", "122"), ("002", "121"), ("120", "000")])
def test_a_value_that_serves_is_not_replaced_in_the_kernel(everywhere: str, present: str) -> None:
    """Without a file of others it is gone with the next boot, so the file has ours. A stricter one may be the choice of the site."""
    found = Found(kernel=values(all=everywhere, ib0=present))
    todo = plan(Wanted(("ib0",)), found)
    assert [change.kind for change in todo.changes] == [Kind.FILE]
    assert not plan(Wanted(("ib0",)), after(found, todo))


@pytest.mark.parametrize("later", [False, True])
def test_a_file_of_others_without_filter_does_not_suffice_with_a_strict_one_for_all(later: bool) -> None:
    found = FRESH._replace(kernel=values(all="001", ib0="120", ib1="122"), lines=(line("net/ipv4/conf/ib0/rp_filter", "0", later=later),))
    assert [change.after for change in plan(TWO, found).about(Kind.SYSCTL)] == ["2"]
    assert "net.ipv4.conf.ib0.rp_filter = 2" in plan(TWO, found).changes[0].after
    refused = refusals(TWO, found)
    assert len(refused) == later
    assert all("net.ipv4.conf.ib0.rp_filter = 0" in text and "(net.ipv4.conf.all.rp_filter is 1, and" in text for text in refused)


def test_a_file_that_is_read_earlier_is_overridden_and_one_that_is_read_later_refused() -> None:
    earlier = FRESH._replace(lines=(line("net/ipv4/conf/ib0/arp_ignore", "0"), line("net/ipv4/conf/*/rp_filter", "1", later=True)))
    assert refusals(TWO, earlier) == []
    assert "net.ipv4.conf.ib0.arp_ignore = 1" in plan(TWO, earlier).changes[0].after
    later = FRESH._replace(lines=(line("net/ipv4/conf/ib0/arp_ignore", "0", later=True),))
    (refused,) = refusals(TWO, later)
    assert refused.startswith("/etc/sysctl.d/99-site.conf line 3 sets net.ipv4.conf.ib0.arp_ignore = 0, and is read after " + PATH)
    assert "ipoib_network_arp: keep" in refused
    small = FRESH._replace(lines=(line("net/ipv4/neigh/default/gc_thresh3", "1024", later=True),))
    (refused,) = refusals(Wanted(neighbours={4: 5000}), small)
    assert "ipoib_network_neighbours: keep" in refused


def test_a_file_of_others_at_our_path_is_refused_and_stays() -> None:
    found = FRESH._replace(text="net.ipv4.ip_forward = 1\n")
    (refused,) = refusals(TWO, found)
    assert "is not the collection's" in refused
    assert refusals(Wanted(), found) == []
    assert not plan(Wanted(), found)


def test_the_larger_value_counts() -> None:
    strict = FRESH._replace(kernel={**FRESH.kernel, **values(all="001")})
    assert plan(TWO, strict)
    deaf = FRESH._replace(kernel={**values(all="800", ib0="122", ib1="122")})
    assert [text.split(" is ")[0] for text in overruled(TWO, deaf)] == 2 * ["net.ipv4.conf.all.arp_ignore"]
    assert not settings(plan(TWO, deaf))
    assert overruled(TWO, FRESH) == []


def test_where_nothing_can_be_set_the_file_alone_is_written() -> None:
    """In a container, or in an image that is built in one."""
    found = FRESH._replace(read_only=True)
    todo = plan(TWO, found)
    assert [change.kind for change in todo.changes] == [Kind.FILE]
    assert not plan(TWO, after(found, todo))
    (reason,) = overruled(TWO, found)
    assert reason.startswith("/proc/sys is read-only on this node, so net.ipv4.conf.ib0.arp_ignore, net.ipv4.conf.ib0.arp_announce and 4 more can't be set")
    assert overruled(TWO, found._replace(kernel=values(ib0="122", ib1="122"))) == []
    assert [change.kind for change in plan(Wanted(), after(found, todo)).changes] == [Kind.FILE]


def test_each_question_computes_the_settings_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Wanted] = []
    real = planner.settings
    monkeypatch.setattr(planner, "settings", lambda wanted, found: computed.append(wanted) or real(wanted, found))
    foreign = FRESH._replace(text="net.core.somaxconn = 1\n")
    for question in (plan, refusals, overruled):
        computed.clear()
        question(TWO, foreign)
        assert len(computed) == 1, question.__name__


def test_limits_are_raised_only() -> None:
    wanted = Wanted(neighbours={4: 200})
    assert settings(plan(wanted, FRESH)) == {"net.ipv4.neigh.default.gc_thresh1": "256"}
    large = FRESH._replace(kernel={**FRESH.kernel, "net/ipv4/neigh/default/gc_thresh1": "9000"})
    assert not settings(plan(wanted, large))
    done = after(FRESH, plan(Wanted(neighbours={4: 5000}), FRESH))
    assert done.kernel["net/ipv4/neigh/default/gc_thresh3"] == "32768"
    assert not plan(wanted, done)
    assert after(done, plan(Wanted(), done)) == FRESH


def test_the_file_lowers_no_limit_of_others_at_the_next_boot() -> None:
    """Others have raised it without a file of sysctl.d, before the first run or since."""
    key, wanted = "net/ipv4/neigh/default/gc_thresh3", Wanted(neighbours={4: 2000})
    raised = FRESH._replace(kernel={**FRESH.kernel, key: "65536"})
    todo = plan(wanted, raised)
    assert "# Before: 65536\nnet.ipv4.neigh.default.gc_thresh3 = 65536\n" in todo.changes[0].after
    assert after(after(raised, todo), plan(Wanted(), after(raised, todo))) == raised
    done = after(FRESH, plan(wanted, FRESH))
    since = done._replace(kernel={**done.kernel, key: "65536"})
    todo = plan(wanted, since)
    assert "gc_thresh3 = 65536\n" in todo.changes[0].after
    assert not plan(wanted, after(since, todo))
    # It is not ours to take back.
    assert after(after(since, todo), plan(Wanted(), after(since, todo))) == raised


def test_a_limit_in_our_file_that_is_no_number_is_no_limit() -> None:
    todo = plan(Wanted(unsized=True), Found(HEADER + "net.ipv4.neigh.default.gc_thresh1 = many\n"))
    assert [change.after for change in todo.changes] == [""]


def test_an_interrupted_removal_is_completed() -> None:
    """The file is the only record of what the kernel gets back, so it goes last."""
    wanted = TWO._replace(neighbours={4: 5000})
    done = after(FRESH, plan(wanted, FRESH))
    for less in (Wanted(), Wanted(("ib0",), {4: 5000}), Wanted(neighbours={4: 5000})):
        todo = plan(less, done)
        for number in range(len(todo.changes)):
            broken = after(done, Plan(todo.changes[:number]))
            assert after(broken, plan(less, broken)) == after(done, todo)
    assert after(done, plan(Wanted(), done)) == FRESH


def test_without_the_size_of_the_inventory_limits_stay() -> None:
    done = after(FRESH, plan(Wanted(neighbours={4: 200}), FRESH))
    assert not plan(Wanted(unsized=True), done)
    assert not plan(Wanted(unsized=True), FRESH)


def test_a_limit_that_others_have_changed_since_stays() -> None:
    done = after(FRESH, plan(Wanted(neighbours={4: 200}), FRESH))
    others = done._replace(kernel={**done.kernel, "net/ipv4/neigh/default/gc_thresh1": "4000"})
    assert settings(plan(Wanted(), others)) == {}


def test_what_files_of_others_say_is_given_back() -> None:
    found = FRESH._replace(lines=(line("net/ipv4/conf/*/rp_filter", "1"),), kernel=values(ib0="001", ib1="001", default="000"))
    done = after(found, plan(TWO, found))
    assert settings(plan(Wanted(), done))["net.ipv4.conf.ib0.rp_filter"] == "1"


@pytest.mark.parametrize("value", ["1 # strict", "½", "", "-1"])
def test_what_is_no_number_is_not_given_back(value: str) -> None:
    """The kernel refuses it, at boot as well."""
    found = FRESH._replace(lines=(line("net/ipv4/conf/*/rp_filter", value),), kernel=values(ib0="001", ib1="001", default="000"))
    done = after(found, plan(TWO, found))
    assert settings(plan(Wanted(), done))["net.ipv4.conf.ib0.rp_filter"] == "0"


def test_a_container_has_no_limits() -> None:
    found = Found(kernel={key: value for key, value in FRESH.kernel.items() if "neigh" not in key})
    assert not plan(Wanted(neighbours={4: 5000}), found)


@pytest.mark.parametrize(("neighbours", "first"), [(1, 128), (128, 128), (129, 256), (256, 256), (257, 512), (5000, 8192)])
def test_a_power_of_two_holds_all(neighbours: int, first: int) -> None:
    assert limits(neighbours) == (first, 2 * first, 4 * first)


NUMBERS = ("0", "1", "2", "8", "128", "5000")
VALUES = st.sampled_from([*NUMBERS, "x"])
LINES = st.builds(Line, st.just("/etc/sysctl.d/x.conf"), st.just(1), st.sampled_from(sorted(FRESH.kernel)), VALUES, st.booleans())
# Firewalls and sources have tests of their own.
FOUND = st.builds(
    Found,
    st.just(""),
    st.lists(LINES, max_size=4).map(tuple),
    st.fixed_dictionaries({}, optional=dict.fromkeys(FRESH.kernel, st.sampled_from(NUMBERS))),
    firewall=st.just(Firewall()),
    routing=st.just(Routing()),
)
WANTED = st.builds(
    Wanted,
    st.sampled_from([(), ("ib0", "ib1")]),
    st.dictionaries(st.sampled_from([4, 6]), st.integers(min_value=1, max_value=1_000_000), max_size=2),
    trusted=st.just(Trusted()),
    sources=st.just(()),
)


@given(WANTED, FOUND)
def test_an_applied_plan_leaves_nothing_to_do(wanted: Wanted, found: Found) -> None:
    todo = plan(wanted, found)
    assert not plan(wanted, after(found, todo))
    # A run that ended between two changes is completed.
    for number in range(len(todo.changes)):
        broken = after(found, Plan(todo.changes[:number]))
        assert t.cast("t.Any", after(broken, plan(wanted, broken))) == after(found, todo)
    raised = {key: int(value) for key, value in found.kernel.items() if "neigh" in key and value.isdigit()}
    assert all(int(after(found, todo).kernel[key]) >= value for key, value in raised.items())
