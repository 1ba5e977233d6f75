# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings are taken out of texts of others, and everything else stays byte for byte."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import Naming
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._edits import with_rule, without_lines, without_modules, without_options
from hypothesis import given
from hypothesis import strategies as st

DECLARED = {"ib_ipoib": {"send_queue_size", "recv_queue_size"}, "mlx5_core": {"prof_sel"}}
RULE = Naming("kernel").rules
PERSISTENT = Naming("persistent").rules


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("options ib_ipoib send_queue_size=128\n", ""),
        ("# why\noptions ib_ipoib send_queue_size=128 recv_queue_size=1\n\n", "# why\n\n"),
        ("options ib_ipoib send_queue_size=128 ipoib_enhanced=0\n", "options ib_ipoib ipoib_enhanced=0\n"),
        ("options  ib-ipoib\tdebug_level=1 send-queue-size=9\n", "options  ib-ipoib\tdebug_level=1\n"),
        ("options ib_ipoib \\\n  send_queue_size=1 \\\n  debug_level=1 \\\n  recv_queue_size=2\n", "options ib_ipoib \\\n  debug_level=1\n"),
        ("options ib_ipoib send_queue_size=1 \\\n  recv_queue_size=2\nblacklist x\n", "blacklist x\n"),
        ('options ib_ipoib note="a b" send_queue_size="1 2"', 'options ib_ipoib note="a b"'),
        ("  options ib_ipoib send_queue_size=1 send_queue_size=2 x", "  options ib_ipoib x"),
        ("options mlx5_core prof_sel=3\noptions mlx4_core prof_sel=3\n", "options mlx4_core prof_sel=3\n"),
    ],
)
def test_declared_parameters_go(text: str, rest: str) -> None:
    edit = without_options(text, DECLARED)
    assert (edit.text, dict(edit.left)) == (rest, {})
    assert edit.taken
    assert not without_options(edit.text, DECLARED).taken


@pytest.mark.parametrize(
    "text",
    [
        "#options ib_ipoib send_queue_size=128\n",
        "# a comment that goes on \\\noptions ib_ipoib send_queue_size=128\n",
        "options ib_ipoib debug_level=1 # send_queue_size is the default\n",
        "options ib_ipoib\n",
        "options\n",
        "install ib_ipoib send_queue_size=1\n",
        "options ib_iser send_queue_size=1\n",
        "",
    ],
)
def test_what_sets_no_declared_parameter_stays(text: str) -> None:
    edit = without_options(text, DECLARED)
    assert edit.text == text and not edit.taken


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("options ib_ipoib send_queue_size=128 # as the vendor says\n", "no comments at the end of a line"),
        ('options ib_ipoib send_queue_size="1\n', "leave open"),
        ("options ib_ipoib send_queue_size='1 2'\n", "leave open"),
        ('options ib_ipoib "send_queue_size=1"\n', "leave open"),
        ("options ib_ipoib debug_level=1\\\n send_queue_size=1\\\nrecv_queue_size=1\n", "leave open"),
        ("options ib_ipoib send_queue_size=\\x\n", "leave open"),
        ('options ib_ipoib send_queue_size="1 \\\n 2"\n', "leave open"),
    ],
)
def test_what_is_not_certain_stays_and_is_named(line: str, why: str) -> None:
    edit = without_options("# first\n" + line + "options mlx5_core prof_sel=1\n", DECLARED)
    assert edit.text == "# first\n" + line
    assert list(edit.left) == [2] and why in edit.left[2]
    assert list(edit.taken) == [2 + line.count("\n")]


WORD = st.sampled_from(
    ("send_queue_size=1", "recv-queue-size=2", "prof_sel=3", "debug_level=4", 'note="a b"', "ipoib_enhanced", 'send_queue_size="5"', "send_queue_size_max=6")
)
GAP = st.sampled_from((" ", "\t", "  ", " \\\n", "\\\n  ", " \\\n \\\n  "))
MODULE = st.sampled_from(("ib_ipoib", "ib-ipoib", "mlx5_core", "mlx4_core"))


@st.composite
def lines(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(("options", "options", "options", "comment", "blacklist", "blank")))
    if kind == "options":
        return "options" + draw(GAP) + draw(MODULE) + "".join(draw(GAP) + word for word in draw(st.lists(WORD, max_size=5))) + draw(st.sampled_from(("", " ")))
    return {"comment": "# options ib_ipoib send_queue_size=1", "blacklist": "blacklist ib_ipoib", "blank": ""}[kind]


def as_modprobe_reads(text: str) -> list[tuple[str, str]]:
    """Return module and assignment of each option in the order in which the kernel gets them. A blank in quotes is written as `_`."""
    found = []
    for line in text.replace("\\\n", "").replace('"a b"', '"a_b"').split("\n"):
        words = line.split()
        if words[:1] == ["options"]:
            found += [(words[1].replace("-", "_"), word.replace("-", "_")) for word in words[2:]]
    return found


@given(st.lists(lines(), max_size=8), st.booleans())
def test_modprobe_reads_what_it_read_before_without_the_declared_parameters(rows: list[str], ends: bool) -> None:
    text = "\n".join(rows) + ("\n" if ends else "")
    edit = without_options(text, DECLARED)
    assert not edit.left
    undeclared = [(module, word) for module, word in as_modprobe_reads(text) if word.split("=")[0] not in DECLARED.get(module, ())]
    assert as_modprobe_reads(edit.text) == undeclared
    # Lines without a declared parameter stay, in their order.
    own = [row for row in rows if as_modprobe_reads(row) == [each for each in as_modprobe_reads(row) if each[1].split("=")[0] not in DECLARED.get(each[0], ())]]
    rest = iter(edit.text.split("\n"))
    assert all(any(line == part for part in rest) for row in own for line in row.split("\n"))


@given(st.text(alphabet='options ib_pmlx5="\\\n#\t\r\x0c\u2028', max_size=60))
def test_any_text(text: str) -> None:
    edit = without_options(text, DECLARED)
    assert (edit.text == text) == (not edit.taken)
    assert without_options(edit.text, DECLARED).text == edit.text
    without_modules(text, lambda _name: True)
    without_lines(text, [1, 2, 99])
    with_rule(text, RULE, "rdma_rename")


def test_modules_leave_a_list() -> None:
    edit = without_modules("# site\nib_umad\n\n  ib-srp  \nloop\n;ib_umad\nib_umad now\n", {"ib_umad", "ib_srp"}.__contains__)
    assert edit.text == "# site\n\nloop\n;ib_umad\nib_umad now\n"
    assert dict(edit.taken) == {2: "", 4: ""}
    assert list(edit.left) == [7]


def test_a_line_that_continues_another_one_stays() -> None:
    edit = without_lines("a\\\nb\nc\nd", [2, 3])
    assert (edit.text, dict(edit.taken), list(edit.left)) == ("a\\\nb\nd", {3: ""}, [2])


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("# why\n" + PERSISTENT + "# end\n", "# why\n" + RULE + "# end\n"),
        (PERSISTENT.replace("rdma_rename", "/usr/lib/udev/rdma_rename").strip(), RULE),
        (PERSISTENT + 'KERNEL=="sda", MODE="0600"\n' + RULE, RULE + 'KERNEL=="sda", MODE="0600"\n'),
    ],
)
def test_a_rule_for_all_devices_is_replaced(text: str, rest: str) -> None:
    edit = with_rule(text, RULE, "rdma_rename")
    assert edit.text == rest and edit.taken and not edit.left
    assert not with_rule(rest, RULE, "rdma_rename").taken


@pytest.mark.parametrize(
    "line",
    [
        'ACTION=="add", SUBSYSTEM=="infiniband", KERNEL=="mlx5_0", PROGRAM="rdma_rename %k NAME_FALLBACK"\n',
        'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_FIXED mlx_0"\n',
        'ACTION=="add", \\\nSUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_PCI"\n',
    ],
)
def test_a_rule_with_conditions_stays(line: str) -> None:
    edit = with_rule(PERSISTENT + line, RULE, "rdma_rename")
    assert edit.text == PERSISTENT + line and not edit.taken and edit.left
    assert with_rule('KERNEL=="sda"\n', RULE, "rdma_rename").text == 'KERNEL=="sda"\n'
