# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _options
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import effect, values
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import Option, parse_template, problems, render, split
from hypothesis import given
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).parents[4] / "corpus/opensm_template"
TEMPLATE = (CORPUS / "debian_3_3_23.conf").read_text(encoding="utf-8")
OPTIONS = parse_template(TEMPLATE)

VENDOR = """\
# Multiple routing engines can be specified
# Supported engines: minhop, updn, dnup, file, ftree, lash,
#    dor, torus-2QoS, kdor-hc, dfsssp (EXPERIMENTAL),
#    sssp (EXPERIMENTAL), chain,
#    ar_updn, ar_ftree, ar_dor (AR)
routing_engine (null)

# Seed of the keys
key_mgr_seed 0x0000000000000000
"""


def test_the_template_is_read_whole() -> None:
    assert len(OPTIONS) == 160
    assert OPTIONS["guid"] == Option("guid", "0x0000000000000000", "hex")
    assert OPTIONS["qos_high_limit"].kind == "signed"
    assert OPTIONS["sweep_interval"].kind == "number"
    assert OPTIONS["qos"].kind == "boolean"
    assert OPTIONS["cc_ca_cong_setting_ccti_min"].kind == "pair"
    assert OPTIONS["cc_sw_cong_setting_credit_starvation_return_delay"].kind == "ratio"
    assert OPTIONS["root_guid_file"].kind == "text"


def test_choices_come_from_the_comments() -> None:
    assert OPTIONS["console"] == Option("console", "off", "choice", ("off", "local", "loopback"))
    assert OPTIONS["part_enforce"] == Option("part_enforce", "both", "choice", ("both", "out", "in", "off"))
    assert OPTIONS["routing_engine"].choices == ("minhop", "updn", "dnup", "file", "ftree", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp", "no_fallback")
    assert [key for key, option in OPTIONS.items() if option.choices] == ["part_enforce", "routing_engine", "console"]


def test_a_vendors_engines_and_secrets() -> None:
    options = parse_template(VENDOR)
    assert options["routing_engine"].choices[-6:] == ("sssp", "chain", "ar_updn", "ar_ftree", "ar_dor", "no_fallback")
    assert _options.is_secret("key_mgr_seed")


def test_the_template_of_a_vendor_is_read_whole() -> None:
    options = parse_template((CORPUS / "mlnx_5_6_0.conf").read_text(encoding="utf-8"))
    assert len(options) == 277
    assert options["sm_priority"] == Option("sm_priority", "0", "number")
    assert options["master_sm_priority"] == Option("master_sm_priority", "14", "number")
    assert options["routing_engine"].kind == "choices"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", None),
        ("# sweep_interval 3", None),
        ("sweep_interval 3", ("sweep_interval", "3")),
        ("  sweep_interval\t3 # seconds", ("sweep_interval", "3")),
        ('log_prefix "a b"', ("log_prefix", "a b")),
        ("log_prefix 'a b'\n", ("log_prefix", "a b")),
        ("log_prefix", ("log_prefix", "")),
    ],
)
def test_a_line_as_opensm_reads_it(line: str, expected: tuple[str, str] | None) -> None:
    assert split(line) == expected


GOOD: dict[str, tuple[t.Any, str]] = {
    "sweep_interval": ("30", "30"),
    "lmc": (7, "7"),
    "log_flags": (255, "0xff"),
    "m_key": (0x1234, "0x0000000000001234"),
    "sa_key": ("0xABCD", "0x000000000000abcd"),
    "qos_high_limit": (-1, "-1"),
    "qos": (True, "TRUE"),
    "honor_guid2lid_file": ("yes", "TRUE"),
    "perfmgr": ("False", "FALSE"),
    "force_link_width": (255, "255"),
    "console": (False, "off"),
    "part_enforce": ("out", "out"),
    "routing_engine": (["ftree", "updn"], "ftree,updn"),
    "root_guid_file": ("/etc/opensm/ib/root guids", "/etc/opensm/ib/root guids"),
    "log_prefix": (None, "(null)"),
    "qos_sl2vl": ("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"),
    "cc_sw_cong_setting_control_map": (3, "0x3"),
    "cc_sw_cong_setting_credit_starvation_return_delay": ("1:2", "1:2"),
    "cc_sw_cong_setting_victim_mask": (1, "0x" + "0" * 63 + "1"),
}


@pytest.mark.parametrize("key", GOOD)
def test_a_value_takes_the_place_of_the_generated_one(key: str) -> None:
    value, text = GOOD[key]
    written = render(TEMPLATE, {key: value})
    expected = TEMPLATE.replace("\n%s %s\n" % (key, OPTIONS[key].default), "\n%s %s\n" % (key, text))
    assert written == _options.HEADER + expected


@pytest.mark.parametrize("value", [-1, "-1", "0", 0, "0x10", 255])
def test_a_number_may_be_a_text(value: t.Any) -> None:
    """-1 is opensm's default, which a site may quote as it appears in opensm.conf."""
    assert "\nqos_high_limit %d\n" % (int(value, 0) if isinstance(value, str) else value) in render(TEMPLATE, {"qos_high_limit": value})


def test_a_key_by_service_level_may_stand_several_times() -> None:
    written = render(TEMPLATE, {"cc_ca_cong_setting_ccti_timer": ["0 5", "3 7"]})
    assert "\ncc_ca_cong_setting_ccti_timer 0 5\ncc_ca_cong_setting_ccti_timer 3 7\ncc_ca_cong" in written
    assert values(written)["cc_ca_cong_setting_ccti_timer"] == ("0 5", "3 7")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sweep_interval", "soon"),
        ("sweep_interval", -1),
        ("sweep_interval", "010"),
        ("sweep_interval", True),
        ("sweep_interval", 1 << 32),
        ("sweep_interval", None),
        ("lmc", 8),
        ("log_flags", 256),
        ("m_key", 1 << 64),
        ("force_link_speed", 9),
        ("qos", "TRUE "),
        ("qos", 2),
        ("console", "socket"),
        ("console", True),
        ("console", None),
        ("part_enforce", "none"),
        ("routing_engine", "updn,best"),
        ("routing_engine", ["updn", "updn"]),
        ("routing_engine", {"a": 1}),
        ("log_file", None),
        ("root_guid_file", "/etc/roots # old"),
        ("root_guid_file", " /etc/roots"),
        ("root_guid_file", "/etc/roots\nlmc 3"),
        ("root_guid_file", "x" * 1022),
        ("root_guid_file", '"/etc/roots"'),
        ("root_guid_file", ["/etc/roots"]),
        ("cc_ca_cong_setting_ccti_timer", "5"),
        ("cc_ca_cong_setting_ccti_timer", []),
        ("cc_sw_cong_setting_credit_starvation_return_delay", "1"),
    ],
)
def test_a_value_of_another_kind_is_refused(key: str, value: t.Any) -> None:
    with pytest.raises(InvalidInput, match=r"opensm_((secret_)?options\.)?%s is " % key):
        render(TEMPLATE, {key: value})


def test_an_unknown_key_is_refused_with_the_one_that_is_meant() -> None:
    (problem,) = problems({"sweep_intervall": 3}, OPTIONS)
    assert problem.allowed == "sweep_interval"
    (problem,) = problems({"xyz": 3}, OPTIONS)
    assert "160 keys" in problem.allowed
    assert len(problems({1: 2, None: 3}, OPTIONS)) == 2


def test_a_wrong_secret_is_not_shown() -> None:
    for declared in ({"m_key": "hunter2"}, {"vs_key": "hunter2"}):
        (problem,) = problems(declared, OPTIONS)
        assert "hunter2" not in str(problem)
        assert "hidden" in str(problem)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        render(TEMPLATE, {"lmc": 9, "qos": "perhaps", "bogus": 1})
    assert len(caught.value.problems) == 3


def test_nothing_declared_changes_nothing() -> None:
    assert render(TEMPLATE, {}) == _options.HEADER + TEMPLATE


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["off", "TRUE", "0x3", "3 4", "(null)", "updn"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=2)),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*OPTIONS, "bogus"]), anything, max_size=4))
def test_any_value_is_refused_or_read_back(declared: dict[str, t.Any]) -> None:
    if problems(declared, OPTIONS):
        return
    written = render(TEMPLATE, declared)
    assert written == render(TEMPLATE, declared)
    again = parse_template(written)
    assert list(again) == list(OPTIONS)
    for key, option in again.items():
        if key not in declared:
            assert option.default == OPTIONS[key].default
    # The result is a template with the same kinds of keys: an accepted value is accepted again.
    assert problems(declared, OPTIONS) == []
    assert effect(written, render(TEMPLATE, declared)) == "running"


def test_opensm_reads_what_is_written() -> None:
    written = (CORPUS / "debian_3_3_23_all_kinds.conf").read_text(encoding="utf-8")
    assert written == render(TEMPLATE, {key: value for key, (value, _text) in GOOD.items()})
    transcript = (CORPUS / "debian_3_3_23_all_kinds.txt").read_text(encoding="utf-8")
    assert not [line for line in transcript.splitlines() if "Unrecognized" in line or "-E-" in line or "Invalid" in line]
    # Output of opensm after it has read that file.
    read = values((CORPUS / "debian_3_3_23_all_kinds_reread.conf").read_text(encoding="utf-8"))
    assert read == values(written)


def test_opensm_prints_the_secrets_that_it_reads() -> None:
    """This is why the unit must not pass on the output of opensm."""
    assert "sm_key = 0x0000000000123456" in (CORPUS / "secret_on_stdout.txt").read_text(encoding="utf-8")
