# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan for firewalls: what is opened, what is refused, what is reported, and what is taken back."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall import _ledger
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall._found import Firewall, Firewalld, Profile, Ufw
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall._plan import BOOT, NOW, RULE, Dropped, changes, dropped, refusals
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall._wanted import Trusted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, changes_of
from ansible_collections.rdma.ofed.plugins.module_utils._tools._firewalld import Zone
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ufw import COMMENT, Rule, parse_rules
from hypothesis import given
from hypothesis import strategies as st

WANTED = Trusted(frozenset(["ib0"]), "trusted")
ZONES = {"trusted": Zone("/usr/lib/firewalld/zones/trusted.xml", open=True), "public": Zone("/usr/lib/firewalld/zones/public.xml")}
RUNS = Firewalld(True, True, True, zones=ZONES)
FRESH = Firewall(True, RUNS)
UFW = Firewall(ufw=Ufw(True, True, (4, 6)))


def own_rule(name: str, family: int) -> Rule:
    address = {4: "0.0.0.0/0", 6: "::/0"}[family]
    (rule,) = parse_rules("### tuple ### allow any any %s any %s in_%s comment=%s" % (address, address, name, COMMENT.encode().hex()), family)
    return rule


def after(found: Firewall, todo: t.Iterable[Change]) -> Firewall:
    """Return the state after changes, as firewalld and ufw make them."""
    firewalld, ufw, record = found.firewalld, found.ufw, found.record
    for change in todo:
        name = change.subject
        if change.kind == Kind.FILE:
            record = change.after
        elif change.aspect == NOW:
            now = {each: zone for each, zone in firewalld.now.items() if each != name}
            # Without a zone of its own, an interface is in the default zone.
            firewalld = firewalld._replace(now=now if change.after == firewalld.default else {**now, name: change.after})
        elif change.aspect == BOOT:
            profile = firewalld.profiles.get(name)
            if profile is not None and profile.zone in (change.before, ""):
                firewalld = firewalld._replace(profiles={**firewalld.profiles, name: Profile(profile.path, change.after)})
            zones = {
                zone: entry._replace(interfaces=entry.interfaces - ({name} if zone == change.before else set())) for zone, entry in firewalld.zones.items()
            }
            if change.after and profile is None:
                zones[change.after] = zones[change.after]._replace(interfaces=zones[change.after].interfaces | {name})
            firewalld = firewalld._replace(zones=zones)
        else:
            rules = tuple(rule for rule in ufw.rules if not (rule.interface == name and rule.ours))
            ufw = ufw._replace(rules=rules + tuple(own_rule(name, family) for family in ufw.families if change.after))
    return found._replace(firewalld=firewalld, ufw=ufw, record=record)


def plan(wanted: Trusted, found: Firewall) -> tuple[Change, ...]:
    return changes_of(*changes(wanted, found))


def test_an_interface_is_put_into_its_zone_now_and_at_boot() -> None:
    todo = plan(WANTED, FRESH)
    assert [(change.kind, change.aspect, change.before, change.after) for change in todo[1:]] == [
        (Kind.FIREWALL, BOOT, "", "trusted"),
        (Kind.FIREWALL, NOW, "public", "trusted"),
    ]
    assert (todo[0].kind, todo[0].subject) == (Kind.FILE, _ledger.PATH)
    done = after(FRESH, todo)
    assert plan(WANTED, done) == ()
    assert after(done, plan(Trusted(), done)) == FRESH


def test_the_profile_of_the_back_end_tells_the_zone() -> None:
    found = FRESH._replace(firewalld=RUNS._replace(profiles={"ib0": Profile("/etc/x", "")}, now={"ib0": "public"}))
    done = after(found, plan(WANTED, found))
    assert done.firewalld.profiles["ib0"].zone == "trusted"
    assert all("ib0" not in zone.interfaces for zone in done.firewalld.zones.values())


def test_what_others_have_put_there_is_not_taken_back() -> None:
    by_hand = {**ZONES, "trusted": ZONES["trusted"]._replace(interfaces=frozenset(["ib0"]))}
    found = FRESH._replace(firewalld=RUNS._replace(zones=by_hand, now={"ib0": "trusted"}))
    assert plan(WANTED, found) == plan(Trusted(), found) == ()


def listing(*names: str) -> dict[str, Zone]:
    return {**ZONES, "trusted": ZONES["trusted"]._replace(interfaces=frozenset(names))}


def test_a_binding_of_ours_goes_from_both_places_where_it_is() -> None:
    """The interface got its keyfile after it had been listed in the zone."""
    done = after(FRESH, plan(WANTED, FRESH))
    found = done._replace(firewalld=done.firewalld._replace(profiles={"ib0": Profile("/etc/x", "")}))
    again = after(found, plan(WANTED, found))
    assert again.firewalld.bound("ib0") == ("trusted", "/etc/x") and plan(WANTED, again) == ()
    gone = after(again, plan(Trusted(), again))
    assert (gone.firewalld.bound("ib0")[0], gone.firewalld.listed("ib0")[0], gone.record) == ("", "", "")
    assert plan(Trusted(), gone) == ()
    # So does the one that a profile of others hides.
    hidden = done._replace(firewalld=done.firewalld._replace(elsewhere={"ib0": "1234"}))
    assert [change.aspect for change in plan(Trusted(), hidden)] == [BOOT, ""]


def test_an_interface_that_others_have_listed_stays_theirs_once_it_has_a_profile() -> None:
    found = FRESH._replace(firewalld=RUNS._replace(zones=listing("ib0"), profiles={"ib0": Profile("/etc/x", "")}))
    done = after(found, plan(WANTED, found))
    assert (done.firewalld.bound("ib0")[0], done.record) == ("trusted", "")
    assert plan(Trusted(), done) == plan(WANTED, done) == ()


def test_an_interface_leaves_its_zone_before_its_profile_does() -> None:
    """NetworkManager moves it as soon as the profile names no zone. firewalld refuses to take it out of `trusted` then."""
    found = FRESH._replace(firewalld=RUNS._replace(profiles={"ib0": Profile("/etc/x", "")}))
    done = after(found, plan(WANTED, found))
    assert [change.aspect for change in plan(Trusted(), done)] == [NOW, BOOT, ""]


def test_another_zone_takes_the_place_of_ours() -> None:
    done = after(FRESH, plan(WANTED, FRESH))
    moved = after(done, plan(WANTED._replace(zone="public"), done))
    assert moved.firewalld.bound("ib0")[0] == "public"
    assert refusals(WANTED._replace(zone="public"), done) == []


def test_an_interface_that_is_no_longer_declared_goes() -> None:
    two = WANTED._replace(names=frozenset(["ib0", "ib1"]))
    done = after(FRESH, plan(two, FRESH))
    assert after(done, plan(WANTED, done)) == after(FRESH, plan(WANTED, FRESH))


def test_without_a_firewall_nothing_is_changed() -> None:
    off = Firewall(True, Firewalld(True, zones=ZONES), Ufw(rules=(), drops=True))
    assert plan(WANTED, off) == ()
    assert refusals(WANTED, off) == []
    assert dropped(["ib0"], off) == []


def test_a_firewall_that_is_switched_off_for_a_while_keeps_what_it_has() -> None:
    done = after(FRESH, plan(WANTED, FRESH))
    off = done._replace(firewalld=done.firewalld._replace(running=False, enabled=False, now={}))
    assert plan(WANTED, off) == ()
    assert after(off, plan(Trusted(), off)).firewalld.bound("ib0") == ("", "")


def test_one_that_starts_at_boot_gets_its_files_alone() -> None:
    """As in the image of a node."""
    found = FRESH._replace(firewalld=RUNS._replace(running=False))
    assert [change.aspect for change in plan(WANTED, found)] == ["", BOOT]


def test_one_that_was_removed_is_forgotten() -> None:
    done = after(FRESH, plan(WANTED, FRESH))
    gone = done._replace(firewalld=Firewalld())
    assert [change.kind for change in plan(Trusted(), gone)] == [Kind.FILE]


@pytest.mark.parametrize(
    ("firewalld", "words"),
    [
        (RUNS._replace(zones={"public": ZONES["public"]}), "firewalld has no zone trusted on this node, only public: "),
        (RUNS._replace(fault="FirewallD is not running"), "firewalld runs and does not answer (FirewallD is not running)"),
        (
            RUNS._replace(zones={**ZONES, "work": Zone("/etc/firewalld/zones/work.xml", frozenset(["ib0"]))}),
            "/etc/firewalld/zones/work.xml puts ib0 into the zone work: ",
        ),
        (RUNS._replace(profiles={"ib0": Profile("/etc/x", "work")}), "/etc/x puts ib0 into the zone work: "),
        (RUNS._replace(now={"ib0": "work"}), "firewalld has ib0 in its zone work: "),
        (RUNS._replace(elsewhere={"ib0": "1234"}), "NetworkManager takes the zone of ib0 from a profile that is no keyfile of this collection: "),
        (RUNS._replace(elsewhere={"ib0": "1234"}, now={"ib0": "work"}), "the profile 1234 of NetworkManager puts ib0 into the zone work: "),
        (RUNS._replace(running=False, elsewhere={"ib0": "1234"}), "NetworkManager takes the zone of ib0 from its profile 1234, which is no keyfile "),
    ],
)
def test_what_is_refused(firewalld: Firewalld, words: str) -> None:
    (refused,) = refusals(WANTED, Firewall(True, firewalld))
    assert refused.startswith(words)
    assert refusals(Trusted(), Firewall(True, firewalld)) == []


def test_a_profile_of_others_with_the_declared_zone_is_accepted_and_stays() -> None:
    found = Firewall(True, RUNS._replace(elsewhere={"ib0": "1234"}, now={"ib0": "trusted"}))
    assert refusals(WANTED, found) == []
    assert plan(WANTED, found) == plan(Trusted(), found) == ()
    # Our keyfile was there before. The profile that took its place is not ours to change.
    recorded = found._replace(record=_ledger.render({"ib0": "trusted"}))
    assert plan(WANTED, recorded) == ()
    assert [change.kind for change in plan(Trusted(), recorded)] == [Kind.FILE]


def test_nothing_is_taken_back_half_while_firewalld_does_not_answer() -> None:
    done = after(FRESH, plan(WANTED, FRESH))
    (refused,) = refusals(Trusted(), done._replace(firewalld=done.firewalld._replace(fault="no answer within 30 s")))
    assert refused.startswith("firewalld runs and does not answer (no answer within 30 s)")


def test_ufw_gets_a_rule_for_both_ip_versions() -> None:
    (change,) = plan(WANTED, UFW)
    assert (change.subject, change.aspect, change.before, change.after) == ("ib0", RULE, "", "allow")
    done = after(UFW, [change])
    assert plan(WANTED, done) == ()
    assert after(done, plan(Trusted(), done)) == UFW
    half = done._replace(ufw=done.ufw._replace(rules=done.ufw.rules[:1]))
    assert plan(WANTED, half) == (change,)


def test_a_rule_of_ufw_that_comes_first_is_refused() -> None:
    closed = parse_rules("### tuple ### deny any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0", 4)
    first = UFW._replace(ufw=UFW.ufw._replace(rules=(*closed, own_rule("ib0", 4), own_rule("ib0", 6))))
    (refused,) = refusals(WANTED, first)
    assert refused.startswith("a rule of ufw (deny any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0) drops what arrives on ib0: ")
    everything = parse_rules("### tuple ### deny any any 0.0.0.0/0 any 0.0.0.0/0 in", 4)
    assert len(refusals(WANTED, UFW._replace(ufw=UFW.ufw._replace(rules=(*everything, own_rule("ib0", 4)))))) == 1
    assert refusals(WANTED, UFW._replace(ufw=UFW.ufw._replace(rules=(own_rule("ib0", 4), *everything)))) == []
    assert refusals(WANTED, first._replace(ufw=first.ufw._replace(enabled=False))) == []


@pytest.mark.parametrize("site", ["limit any any %s any %s in_ib0", "allow_log any any %s any %s in_ib0", "allow any any %s any %s in_ib0"])
def test_a_rule_of_others_that_ours_would_replace_is_refused(site: str) -> None:
    """As one for IPv4 alone, made before the site has switched on IPv6 in ufw."""
    theirs = parse_rules("### tuple ### " + site % (2 * ("0.0.0.0/0",)), 4)
    found = UFW._replace(ufw=UFW.ufw._replace(rules=tuple(theirs)))
    (refused,) = refusals(WANTED, found)
    assert refused.startswith("ufw has one rule for all that arrives on ib0, and replaces this one (%s) by that of the role: " % theirs[0].words)
    assert refusals(WANTED, found._replace(ufw=found.ufw._replace(enabled=False))) == []
    assert refusals(WANTED._replace(names=frozenset(["ib1"])), found) == []


def test_rules_of_others_that_accept_all_are_enough() -> None:
    theirs = [
        rule for family, any_ in ((4, "0.0.0.0/0"), (6, "::/0")) for rule in parse_rules("### tuple ### allow any any %s any %s in_ib0" % (any_, any_), family)
    ]
    found = UFW._replace(ufw=UFW.ufw._replace(rules=tuple(theirs)))
    assert refusals(WANTED, found) == []
    assert plan(WANTED, found) == plan(Trusted(), found) == ()


def test_ufw_that_is_switched_off_for_a_while_keeps_what_it_has() -> None:
    done = after(UFW, plan(WANTED, UFW))
    off = done._replace(ufw=done.ufw._replace(enabled=False))
    assert plan(WANTED, off) == ()
    assert after(off, plan(Trusted(), off)).ufw.rules == ()
    assert plan(WANTED, off._replace(ufw=off.ufw._replace(rules=()))) == ()


def test_what_drops() -> None:
    names = ["ib0", "ib1"]
    some = FRESH._replace(firewalld=RUNS._replace(now={"ib0": "trusted"}), ufw=UFW.ufw)
    assert dropped(names, some) == [Dropped("ib1", "firewalld", "public"), Dropped("ib0", "ufw"), Dropped("ib1", "ufw")]
    fabric = {**ZONES, "fabric": Zone("/etc/firewalld/zones/fabric.xml", open=True, sources=True)}
    assert dropped(names, FRESH._replace(firewalld=RUNS._replace(zones=fabric))) == []
    assert dropped(names, UFW._replace(ufw=UFW.ufw._replace(drops=False))) == []


NAMES = st.sampled_from(["ib0", "ib1", "eth0"])
SETS = st.frozensets(NAMES)
FIREWALLDS = st.builds(
    lambda flags, trusted, now: Firewalld(
        True, *flags, zones={**ZONES, "trusted": ZONES["trusted"]._replace(interfaces=trusted)}, now=dict.fromkeys(now, "trusted") if flags[0] else {}
    ),
    st.tuples(st.booleans(), st.booleans()),
    SETS,
    SETS,
)
UFWS = st.builds(
    lambda enabled, names: Ufw(enabled, True, (4, 6), tuple(own_rule(name, family) for name in sorted(names) for family in (4, 6))), st.booleans(), SETS
)
FOUND = st.builds(Firewall, st.just(True), FIREWALLDS, UFWS, SETS.map(lambda names: _ledger.render(dict.fromkeys(names, "trusted"))))


@given(SETS, FOUND)
def test_an_applied_plan_leaves_nothing_to_do(names: frozenset[str], found: Firewall) -> None:
    wanted = Trusted(names, "trusted" if names else "")
    todo = plan(wanted, found)
    done = after(found, todo)
    assert plan(wanted, done) == ()
    # A run that ended between two changes is completed.
    for number in range(len(todo)):
        broken = after(found, todo[:number])
        assert after(broken, plan(wanted, broken)).firewalld == done.firewalld
    # Only interfaces that are declared or on record are touched.
    assert {change.subject for change in todo if change.kind == Kind.FIREWALL and change.aspect != RULE} <= names | set(_ledger.parse(found.record))


@pytest.mark.parametrize("text", ["", "[]", '{"ib0": 5}', '{"": "trusted"}', '{"ib0": "a b"}', "{"])
def test_what_an_editor_made_of_the_record_is_left_out(text: str) -> None:
    assert _ledger.parse(text) == {}
