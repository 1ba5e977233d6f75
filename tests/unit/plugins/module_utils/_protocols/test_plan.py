# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Upper-layer protocols: what may be declared, its requirements, and the resulting actions."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import ULPS
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ulps import Kept, Record, parse_record, record_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._catalogue import NAMES, PROTOCOLS, modules_of, vendor_packages
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._plan import conf_values, pending, plan, record_after, record_meanwhile, units_off
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import Place
from ansible_collections.rdma.ofed.plugins.module_utils._stack._found import Found as Node
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._stack._plan import plan as stack_plan
from ansible_collections.rdma.ofed.plugins.module_utils._stack._wanted import Wanted as Stack
from ansible_collections.rdma.ofed.plugins.module_utils._tools._openibd import KEYS
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package
from hypothesis import given
from hypothesis import strategies as st

ROLE = pathlib.Path(__file__).resolve().parents[5] / "roles" / "ofed"
OS = {"family": "Debian", "id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"}
TGZ = "MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64.tgz"
INSTALLER = {"ofed_source": "mlnx_ofed", "ofed_bundle": "/srv/" + TGZ}
DOCA = {"ofed_source": "doca", "ofed_repository": "https://mirror.example.org/doca", "ofed_repository_key": "/srv/key.asc"}


def facts(**modules: bool) -> dict[str, t.Any]:
    kernel = {"release": "6.1.0-50-amd64", "running": True, "modules": {**dict.fromkeys(ULPS, True), **modules}}
    return {"os": OS, "machine": {"systemd": True}, "kernels": {"installed": [{"release": "5.10", "running": False}, kernel]}}


def said(variables: dict[str, t.Any], known: dict[str, t.Any] | None = None) -> str:
    return "; ".join(str(problem) for problem in problems(variables, facts() if known is None else known))


def test_the_role_names_the_same_protocols() -> None:
    options = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    assert options["ofed_ulps"]["choices"] == list(NAMES)


def test_the_facts_tell_of_every_module() -> None:
    assert modules_of(NAMES) == sorted(ULPS)
    assert {key for protocol in PROTOCOLS.values() for key in protocol.conf} <= set(KEYS)


@pytest.mark.parametrize(
    "variables",
    [
        {"ofed_ulps": []},
        {"ofed_ulps": list(NAMES)},
        {"ofed_ulps": ["rds"], "ofed_source": "inbox"},
        {**INSTALLER, "ofed_ulps": ["ibacm", "srp", "iser"]},
        {**INSTALLER, "ofed_ulps": ["nfsrdma", "nvmf"], "ofed_installer_options": ["--with-nfsrdma", "--with-nvmf"]},
        {**INSTALLER, "ofed_ulps": ["srp"], "ofed_packages": "dpdk", "ofed_installer_options": ["--with-srptools", "--with-srp-dkms"]},
        {**INSTALLER, "ofed_ulps": ["srp"], "ofed_openib_conf": {"SRP_LOAD": True}},
        {**INSTALLER, "ofed_ulps": ["ibacm"], "ofed_packages": "user-space-only"},
        {**DOCA, "ofed_ulps": ["ibacm", "srp", "iser", "nfsrdma", "nvmf"]},
        {**DOCA, "ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_ulps": ["nvmf"]},
        # It is removed, so its missing requirements do not matter.
        {**INSTALLER, "ofed_state": "absent", "ofed_ulps": ["rds"]},
    ],
)
def test_good_declarations(variables: dict[str, t.Any]) -> None:
    assert said(variables) == ""
    assert [str(problem) for problem in problems(variables)] == []


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ofed_ulps": "srp"}, "a list of names"),
        ({"ofed_ulps": [7]}, "ofed_ulps[0] is 7; allowed: ibacm, srp, iser, nfsrdma, nvmf, rds"),
        ({"ofed_ulps": ["srp", "ibcam"]}, "ofed_ulps[1] is 'ibcam'; allowed: ibacm, srp, iser, nfsrdma, nvmf, rds (did you mean ibacm?)"),
        ({"ofed_ulps": ["nvmeof"]}, "did you mean nvmf?"),
        ({"ofed_ulps": ["SDP"]}, "no supported kernel or driver stack has SDP"),
        ({"ofed_ulps": ["srpt"]}, "these are the initiators"),
        ({"ofed_ulps": ["srp", "srp"]}, "ofed_ulps[1] is 'srp'; allowed: each name once"),
        ({**INSTALLER, "ofed_ulps": ["rds"]}, "mlnx_ofed does not support it"),
        ({**DOCA, "ofed_ulps": ["rds"]}, "ofed_source: inbox supports it"),
        ({**INSTALLER, "ofed_ulps": ["nvmf"]}, "ofed_installer_options: [--with-nvmf]"),
        ({**INSTALLER, "ofed_ulps": ["nfsrdma"], "ofed_installer_options": ["--without-nfsrdma"]}, "contradict"),
        ({**INSTALLER, "ofed_ulps": ["nfsrdma"], "ofed_bundle": "/srv/" + TGZ.replace("23.10-0.5.5.0", "4.1-1.0.2.0")}, "4.9 and later"),
        ({**INSTALLER, "ofed_ulps": ["srp"], "ofed_installer_options": ["--without-srp-dkms"]}, "without --without-srp-dkms in ofed_installer_options"),
        ({**INSTALLER, "ofed_ulps": ["srp"], "ofed_packages": "dpdk"}, "srp with ofed_installer_options: [--with-srptools, --with-srp-dkms]"),
        ({**INSTALLER, "ofed_ulps": ["iser"], "ofed_packages": "user-space-only"}, "user-space-only is without ib_iser"),
        ({**DOCA, "ofed_ulps": ["srp"], "ofed_openib_conf": {"SRP_LOAD": False}}, "ofed_openib_conf.SRP_LOAD is False; allowed: yes"),
    ],
)
def test_bad_declarations(variables: dict[str, t.Any], words: str) -> None:
    assert words in said(variables)


def test_a_kernel_without_the_module_is_told_before_anything_is_changed() -> None:
    assert "kernel 6.1.0-50-amd64 does not have rds_rdma" in said({"ofed_ulps": ["srp", "rds"]}, facts(rds_rdma=False))
    assert said({**DOCA, "ofed_ulps": ["srp"]}, facts(ib_srp=False)) == "", "the vendor brings it"
    assert "without systemd" in said({"ofed_ulps": ["ibacm"]}, {"os": OS, "machine": {"systemd": False}})


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.sampled_from([*NAMES, "sdp", ""]), st.lists, max_leaves=4),
    st.sampled_from(["inbox", "mlnx_ofed", "doca", None, 3]),
    st.none() | st.integers() | st.lists(st.none() | st.just("--with-nvmf")),
    st.none() | st.integers() | st.dictionaries(st.just("SRP_LOAD"), st.none() | st.booleans()),
)
def test_wrong_types_are_problems_and_no_exceptions(ulps: t.Any, source: t.Any, options: t.Any, conf: t.Any) -> None:
    variables = {"ofed_ulps": ulps, "ofed_source": source, "ofed_installer_options": options, "ofed_openib_conf": conf}
    for known in (None, {}, {"os": 1, "machine": [], "kernels": {"installed": [1, {"running": True}]}}, facts()):
        problems(variables, known)


def test_packages_beside_a_vendors_set() -> None:
    names = ["iser", "nvmf", "srp"]
    assert vendor_packages(names, "Debian", source="mlnx_ofed", method="installer") == (("open-iscsi",), ("nvme-cli",))
    first = [row[0] for row in vendor_packages(names, "Debian", source="doca", method="repository", version="2.9.1")]
    assert first == ["iser-dkms", "open-iscsi", "mlnx-nvme-dkms", "nvme-cli", "srptools", "srp-dkms"]
    assert [row[0] for row in vendor_packages(["nvmf"], "RedHat", source="doca", method="repository", version="2.9.1")] == ["kmod-mlnx-nvme", "nvme-cli"]
    assert [row[0] for row in vendor_packages(["nvmf"], "RedHat", source="doca", method="repository", version="3.2.1")] == ["mlnx-nvme-dkms", "nvme-cli"]
    assert [row[0] for row in vendor_packages(["nvmf"], "Suse", source="mlnx_ofed", method="repository")] == ["mlnx-nvme-kmp-default", "nvme-cli"]
    assert "mlnx-nvme-modules" in vendor_packages(["nvmf"], "Debian", source="doca", method="repository")[0]


def test_the_job_installs_what_a_protocol_needs() -> None:
    wanted = Stack(source="doca", packages="doca-ofed", also=vendor_packages(["nvmf"], "Debian", source="doca", method="repository"))
    node = Node(packages={"nvme-cli": Package("2.3")})._replace(os=Node().os._replace(family="Debian"))
    fresh = stack_plan(wanted, node)
    assert [change.words() for change in fresh.changes] == [
        "stack: none -> doca",
        "package doca-ofed: none -> installed",
        "package mlnx-nvme-dkms: none -> installed",
        "protected packages: none -> doca",
    ]
    assert fresh.steps[-1].argv[-3:] == ("doca-ofed", "mlnx-nvme-dkms", "nvme-cli")
    there = node._replace(packages={"doca-ofed": Package("2.9.1")}, stack=node.stack._replace(kind="doca", version="2.9.1"))
    assert [change.key() for change in stack_plan(wanted, there).changes] == [
        ("package", "mlnx-nvme-dkms", ""),
        ("package", "nvme-cli", ""),
        ("protection", "", ""),
    ]
    whole = there._replace(packages={**there.packages, "mlnx-nvme-modules": Package("1"), "nvme-cli": Package("2.3")})
    assert not stack_plan(wanted._replace(protect=False), whole)


def test_the_installer_is_not_run_for_packages_of_the_distribution() -> None:
    wanted = Stack(version="23.10-0.5.5.0", packages="all", also=(("open-iscsi",),))
    node = Node(packages={})._replace(os=Node().os._replace(family="Debian"))
    there = node._replace(stack=node.stack._replace(kind="mlnx_ofed", version="23.10-0.5.5.0", ofed_version="23.10-0.5.5.0"))
    draft = stack_plan(wanted, there, place=Place(""))
    assert [step.argv[-1] for step in draft.steps] == ["update", "open-iscsi"]
    assert not draft.by_installer
    fresh = stack_plan(wanted, node, place=Place("/tree"))
    assert "package open-iscsi: none -> installed" in [change.words() for change in fresh.changes]
    assert fresh.steps[-1].argv[-1] == "open-iscsi"
    assert not stack_plan(wanted, there._replace(packages={"open-iscsi": Package("2.1")}), place=Place(""))


ON = Unit("srp_daemon.service", "loaded", "active", "enabled")
SRP = Record("inbox", {"srp": Kept(("srp_daemon.service",))})
LISTED = plan(Wanted(("srp",)), Found()).changes[0].after


def words(wanted: Wanted, found: Found) -> list[str]:
    return [change.words() for change in plan(wanted, found).changes]


def test_turning_on_is_one_change_whatever_the_packages_did() -> None:
    expected = ["create file /etc/modules-load.d/rdma-ofed-ulps.conf", "upper-layer protocol srp: off -> on"]
    assert words(Wanted(("srp",)), Found()) == expected
    assert words(Wanted(("srp",)), Found(units={ON.name: ON}, loaded=frozenset(["ib_srp"]))) == expected


def test_deviations_of_what_is_on_are_changes_of_their_own() -> None:
    found = Found(SRP, {ON.name: ON}, frozenset(["ib_srp"]), LISTED)
    assert words(Wanted(("srp",)), found) == []
    off = found._replace(units={ON.name: ON._replace(enabled="disabled", active="inactive")}, loaded=frozenset())
    assert words(Wanted(("srp",)), off) == [
        "module ib_srp: not loaded -> loaded",
        "service srp_daemon.service enabled: disabled -> enabled",
        "service srp_daemon.service: inactive -> active",
    ]
    assert words(Wanted(("srp",)), found._replace(units={})) == ["service srp_daemon.service: not installed -> active"]
    conf = "SRP_LOAD=no\n"
    assert words(Wanted(("srp",), "doca"), found._replace(record=SRP._replace(source="doca"), conf_text=conf)) == ["openib.conf SRP_LOAD: no -> yes"]


def test_another_stack_turns_everything_on_anew() -> None:
    found = Found(SRP, {ON.name: ON}, frozenset(["ib_srp"]), LISTED)
    assert words(Wanted(("srp",), "mlnx_ofed"), found) == ["upper-layer protocol srp: on, with inbox -> on, with mlnx_ofed"]
    assert words(Wanted(("srp",), renewed=True), found) == ["upper-layer protocol srp: on, before the stack was replaced -> on"]


def test_what_waits_for_the_driver_is_enabled_and_not_started() -> None:
    wanted = Wanted(("srp",), start=False)
    found = Found(SRP, {ON.name: ON._replace(active="inactive")}, frozenset(), LISTED)
    assert words(wanted, found) == []
    assert pending(wanted, found) == (Pending(Change(Kind.MODULE, "ib_srp", "", "not loaded", "loaded", "driver_reload")),)
    assert pending(wanted, found._replace(loaded=frozenset(["ib_srp"]))) == pending(wanted._replace(start=True), found) == ()


def test_the_service_of_ibacm_runs_where_there_is_a_device() -> None:
    units = {
        "ibacm.socket": Unit("ibacm.socket", "loaded", "active", "enabled"),
        "ibacm.service": Unit("ibacm.service", "loaded", "inactive", "enabled"),
    }
    found = Found(Record("inbox", {"ibacm": Kept(tuple(units))}), units)
    assert words(Wanted(("ibacm",)), found) == []
    there = found._replace(units={**units, "rdma-hw.target": Unit("rdma-hw.target", "loaded", "active")})
    assert words(Wanted(("ibacm",)), there) == ["service ibacm.service: inactive -> active"]


def test_turning_off_takes_back_what_was_turned_on_and_nothing_else() -> None:
    units = {name: Unit(name, "loaded", "active", "enabled") for name in ("srp_daemon.service", "iscsid.socket")}
    found = Found(units=units, conf_text="SRP_LOAD=no\n")
    record = record_after(Wanted(("iser", "srp"), "doca"), found)
    assert record.protocols == {"iser": Kept(()), "srp": Kept(("srp_daemon.service",), {"SRP_LOAD": "no"})}
    on = found._replace(record=record, conf_text="SRP_LOAD=yes\n", load_text=LISTED)
    off = Wanted((), "doca")
    assert words(off, on) == [
        "upper-layer protocol iser: on -> off",
        "upper-layer protocol srp: on -> off",
        "remove file /etc/modules-load.d/rdma-ofed-ulps.conf",
    ]
    assert units_off(off, on) == ["srp_daemon.service"]
    assert conf_values(off, on) == {"SRP_LOAD": "no"}
    assert conf_values(off._replace(declared_conf=frozenset(["SRP_LOAD"])), on) == {}
    assert record_text(record_after(off, on)) == ""
    assert set(record_meanwhile(off, on).protocols) == {"iser", "srp"}


def test_a_shared_unit_that_the_collection_enabled_is_its_own() -> None:
    disabled = Found(units={"iscsid.socket": Unit("iscsid.socket", "loaded", "inactive", "disabled")})
    record = record_after(Wanted(("iser",)), disabled)
    assert record.protocols["iser"].units == ("iscsid.socket",)
    later = Found(record, {"iscsid.socket": Unit("iscsid.socket", "loaded", "active", "enabled")})
    assert record_after(Wanted(("iser",)), later) == record


def test_the_record_survives_and_rubbish_is_nothing() -> None:
    record = Record("doca", {"srp": Kept(("a", "b"), {"SRP_LOAD": "no"})})
    assert parse_record(record_text(record)) == record
    for text in ("", "{", "[]", '{"protocols": 3}', '{"protocols": {"srp": {}}}', "7"):
        assert parse_record(text) == Record()
