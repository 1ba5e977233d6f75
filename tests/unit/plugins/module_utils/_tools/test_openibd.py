# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _openibd as openibd
from hypothesis import given, settings
from hypothesis import strategies as st

CONF = """# Start HCA driver upon boot
ONBOOT=yes

# Node description
NODE_DESC=$(printf 'two words')

# SMARTNIC_PF_MAC_CONF="[<bdf1>-<MAC1>] ..."
MLX5_LOAD=yes
IPOIB_LOAD=yes  # appended
IPOIB_LOAD=no
"""

LINES = (
    "# a comment",
    "",
    "ONBOOT=yes",
    "ONBOOT=no # for now",
    "export ONBOOT='yes'",
    "  ONBOOT=no",
    "if true; then\nONBOOT=yes\nfi",
    "if false; then\nONBOOT=yes\nfi",
    "ONBOOT=yes IPOIB_LOAD=no",
    ": ${ONBOOT:=no}",
    "NODE_DESC=$(printf x)",
    'NODE_DESC="$(printf "y z")"',
    'NODE_DESC="first\nONBOOT=maybe\nlast"',
    "NODE_DESC=one\\\nONBOOT=no",
    "NODE_DESC='it'\"'\"'s'",
    'IPOIB_LOAD="yes"',
    "IPOIB_LOAD=no;IPOIB_LOAD=yes",
    "# it's ONBOOT=yes",
    "cat >/dev/null <<END\nONBOOT=text\nEND",
    "# NODE_DESC=commented",
    "NODE_DESC=a#b",
)
KEYS = ("ONBOOT", "IPOIB_LOAD", "NODE_DESC", "POST_START_DELAY")
VALUES = st.one_of(
    st.sampled_from(["yes", "no", "", "$(id)", "`id`", "two words", "it's", '"', "\\", "a#b", "#", "$HOME", "*", "~"]),
    st.text("ab $\"'\\`#;&|<>(){}[]*?~!=", max_size=8),
)


def sourced(folder: pathlib.Path, text: str) -> dict[str, str]:
    path = folder / "openib.conf"
    path.write_text(text, encoding="utf-8")
    script = '. "$0"; for key in %s; do printf "%%s\\0" "${!key}"; done' % " ".join(KEYS)
    done = subprocess.run(["bash", "-c", script, str(path)], stdout=subprocess.PIPE, cwd=str(folder), check=True, env={"PATH": "/usr/bin:/bin"})
    return dict(zip(KEYS, done.stdout.decode().split("\0")))


@settings(max_examples=3 * settings.default.max_examples)
@given(st.lists(st.sampled_from(LINES), max_size=6), st.booleans(), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3))
def test_bash_reads_what_is_wanted_and_nothing_else_changes(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], newline: bool, wanted: dict[str, str]
) -> None:
    text = "\n".join(lines) + ("\n" if newline and lines else "")
    folder = tmp_path_factory.getbasetemp()
    before, result = sourced(folder, text), openibd.edited(text, wanted)
    assert sourced(folder, result) == {**before, **wanted}
    # Applying it twice gives the same result.
    assert openibd.edited(result, wanted) == result
    # No comment and no line of another key is lost.
    left = iter(result.split("\n"))
    for line in text.split("\n"):
        if line.lstrip().startswith("#") or not any(key in line for key in wanted):
            assert line in left


@settings(max_examples=2 * settings.default.max_examples)
@given(st.lists(st.sampled_from(LINES), max_size=6))
def test_a_known_value_is_what_bash_has(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    text = "\n".join(lines)
    found = sourced(tmp_path_factory.getbasetemp(), text)
    for key in KEYS:
        assert openibd.value_of(text, key) in (None, found[key])


@given(st.text(), st.dictionaries(st.sampled_from(openibd.KEYS), st.text(max_size=5)))
def test_any_text(text: str, wanted: dict[str, str]) -> None:
    assert len(openibd.edited(text, wanted)) >= 0


@pytest.mark.parametrize("end", ["NODE_DESC=a\\", "NODE_DESC=a\\\n", "# a comment \\", "NODE_DESC='a\n", 'NODE_DESC="a', "NODE_DESC='a\\"])
def test_a_file_that_ends_in_the_middle_of_a_line_does_not_grow(tmp_path: pathlib.Path, end: str) -> None:
    wanted = {"ONBOOT": "no", "POST_START_DELAY": "5"}
    result = openibd.edited("IPOIB_LOAD=yes\n" + end, wanted)
    assert openibd.edited(result, wanted) == result
    found = sourced(tmp_path, result)
    assert {key: found[key] for key in (*wanted, "IPOIB_LOAD")} == {**wanted, "IPOIB_LOAD": "yes"}


def test_in_place() -> None:
    assert openibd.edited(CONF, {"ONBOOT": "no", "IPOIB_LOAD": "yes", "NODE_DESC": "node 1", "UMAD_LOAD": "yes"}) == CONF.replace(
        "ONBOOT=yes", "ONBOOT=no"
    ).replace("IPOIB_LOAD=no\n", 'IPOIB_LOAD=yes\nNODE_DESC="node 1"\nUMAD_LOAD=yes\n')
    assert openibd.edited(CONF, {"ONBOOT": "yes", "IPOIB_LOAD": "no"}) == CONF


@pytest.mark.parametrize(
    ("text", "allowed"), [("", True), ("ALLOW_STOP=yes\n", True), ("ALLOW_STOP=no\n", False), ("ALLOW_STOP=$(x)\n", False), ("#ALLOW_STOP=no", True)]
)
def test_stop(text: str, allowed: bool) -> None:
    assert openibd.stop_allowed(text) is allowed


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, ""),
        ({}, ""),
        ({"ONBOOT": True, "POST_START_DELAY": 5, "NODE_DESC": "x", "SET_IPOIB_CM": "auto"}, ""),
        ([], "a mapping"),
        ({"IPOIB_LAOD": "yes"}, "did you mean IPOIB_LOAD?"),
        ({"ipoib_load": "yes"}, "did you mean IPOIB_LOAD?"),
        ({"PATH": "/tmp"}, "a key that openibd reads"),
        ({7: "x"}, "a key that openibd reads"),
        ({"ONBOOT": "maybe"}, "yes, no"),
        ({"ONBOOT": None}, "a text, a number, yes or no"),
        ({"POST_START_DELAY": True}, "a number from 0 on"),
        ({"POST_START_DELAY": "-1"}, "a number from 0 on"),
        ({"NODE_DESC": "a\nb"}, "one line"),
        ({"SET_IPOIB_CM": "sometimes"}, "yes, no, auto"),
    ],
)
def test_problems(value: t.Any, words: str) -> None:
    found = openibd.conf_problems("ofed_openib_conf", value)
    assert bool(found) is bool(words)
    assert not found or words in str(found[0])
