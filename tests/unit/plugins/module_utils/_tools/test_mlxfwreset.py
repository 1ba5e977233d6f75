# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, RdmaError, UnexpectedOutput, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxfwreset as tool
from hypothesis import given, settings
from hypothesis import strategies as st
from support.runners import Says

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus"
QUERIES = sorted((CORPUS / "mlxfwreset").glob("*query*.txt"))
RESETS = sorted((CORPUS / "mlxfwreset").glob("*_reset*.txt"))
ERRORS = sorted((CORPUS / "mlxfwreset_error").glob("*.txt"))
PCI = "0000:03:00.0"
STEPS = ("Sending Reset Command To Fw", "Stopping Driver", "Resetting PCI", "Starting Driver")


def recorded(name: str) -> str:
    return (CORPUS / name).read_text()


@pytest.mark.parametrize(
    ("name", "level", "live", "driver", "by_tool"),
    [
        ("emulated_4_21_query", 3, False, False, True),
        ("emulated_4_21_query_driver_sync", 3, False, True, True),
        ("emulated_4_31_query", 3, False, False, True),
        ("emulated_4_31_query_driver_sync", 3, False, True, True),
        ("bf3_dpu_query", 0, True, True, False),
    ],
)
def test_a_query_says_what_the_card_can(name: str, level: int, live: bool, driver: bool, by_tool: bool) -> None:
    query = tool.parse_query(recorded("mlxfwreset/%s.txt" % name))
    assert query.levels[0] == level
    assert (tool.LIVE_PATCH in query.levels, tool.SYNC_BY_DRIVER in query.syncs, tool.SYNC_BY_TOOL in query.syncs) == (live, driver, by_tool)


# As printed by cmd_reg_mroq.py of mstflint 4.31 and later if the firmware reports how it is reset.
BY_REGISTER = """
Reset sync (relevant only for reset-level 3):
0: Tool is the owner                                             -Not Supported
1: NIC Driver is the owner                                       -Supported     (default)
2: FW is the owner                                               -Supported

Reset request method (relevant only for reset-level 3):
0: Link Disable method                                           -Supported     (default)
1: Hot reset (SBR)                                               -Not Supported
"""


def test_headings_without_a_hyphen_are_headings_too() -> None:
    text = recorded("mlxfwreset/emulated_4_31_query.txt").partition("\nReset-sync")[0]
    assert tool.parse_query(text + BY_REGISTER) == tool.Query(tool.parse_query(text).levels, (1, 2))


def test_rows_below_an_unknown_heading_belong_to_no_section() -> None:
    text = "Reset-levels:\n3: PCI reset -Supported (default)\nMethod of a request (level 3):\n0: Link Disable method -Supported\n"
    assert tool.parse_query(text).levels == (3,)


def test_the_default_comes_first() -> None:
    text = "Reset-levels:\n0: live-Patch    -Supported\n1: only ARM side -Not Supported\n3: PCI reset     -Supported (default)\n"
    assert tool.parse_query(text).levels == (3, 0)


def test_a_row_with_a_reason_is_read_too() -> None:
    text = "Reset-levels:\n3: Driver restart and PCI reset      -Not Supported (Reason: none given)\n4: Warm Reboot    -Supported\n"
    query = tool.parse_query(text)
    assert query.levels == (4,)


def test_no_level_at_all_is_none() -> None:
    assert tool.parse_query("Reset-levels:\n3: PCI reset -Not Supported\n").levels == ()


def test_the_steps_of_a_reset() -> None:
    assert tool.parse_reset(recorded("mlxfwreset/emulated_4_21_reset.txt")).steps == STEPS
    assert tool.parse_reset(recorded("mlxfwreset/emulated_4_21_reset_driver_sync.txt")).steps == STEPS[:1]


@pytest.mark.parametrize(
    ("name", "error", "hint"),
    [
        ("emulated_4_21_virtual_machine", "The tool is not supported on virtual machines", "reboot the machine"),
        ("emulated_4_21_opensm_runs", 'Please stop "opensm" manually and resume operation!', "stop the subnet manager"),
        ("emulated_4_31_no_device", "Failed to Identify Device: 0000:09:00.0, mopen: No such file or directory", "PCI function is gone"),
        ("emulated_4_21_reset_no_answer", "EOF when reading a line", ""),
        ("emulated_4_21_level_1", "argument --level/-l: invalid choice: 1 (choose from 0, 3, 4)", ""),
        ("cx3_unsupported_device", "Unsupported Device: /dev/mst/mt4099_pci_cr0 (ConnectX3)", "reboot instead"),
    ],
)
def test_errors_come_with_the_next_step(name: str, error: str, hint: str) -> None:
    assert tool.error_of(recorded("mlxfwreset_error/%s.txt" % name)) == error
    assert tool.with_hint(error).startswith(error + " (") and hint in tool.with_hint(error) if hint else tool.with_hint(error) == error


def test_drivers_behind_the_switch_of_a_card_are_named() -> None:
    outcome = tool.parse_reset(recorded("mlxfwreset_error/composed_drivers_bound.txt"))
    assert not outcome.loaded
    assert outcome.message == "drivers hold devices behind the PCIe switch of the card: nvidia (0000:0d:00.0); nvme (0000:0e:00.0)"
    assert "unbind their drivers, or reboot" in tool.with_hint(outcome.message)
    # Another release prints no blanks around the bar, and no further columns.
    other = "ERROR: The following drivers are currently bound to PCI devices on the switch:\n0000:0D:00.0  | nvidia\n0000:0f:00.0|nvidia\n"
    assert tool.parse_reset(other).message.endswith("nvidia (0000:0D:00.0, 0000:0f:00.0)")
    assert tool.parse_reset("drivers are currently bound to PCI devices\n").message.endswith("the tool does not name them")


def test_an_error_that_begins_with_a_line_end() -> None:
    assert tool.error_of("-E- \nExit on error..\n") == "Exit on error"


def test_who_steers_a_reset_of_new_cards() -> None:
    query = tool.parse_query(recorded("mlxfwreset/composed_query_sync_2.txt"))
    assert (query.levels, query.syncs) == ((4, 3), (tool.SYNC_BY_FIRMWARE,))


def test_success_is_the_line_that_says_so() -> None:
    assert not tool.parse_reset("Continue with reset?[y/N] n\n").loaded
    assert tool.parse_reset("-W- Failed to restart MST, please restart MST manually.\n").message.startswith("Failed to restart MST")
    assert not tool.parse_reset("-I- FW was loaded successfully.\n-E- Something else.\n").loaded
    assert tool.parse_reset("").message == "the tool printed nothing"
    assert not tool.reset(Says(1, recorded("mlxfwreset/emulated_4_21_reset.txt")), "mstfwreset", PCI, level=3, sync=None).loaded


def test_a_card_that_no_tool_can_reset_is_an_answer() -> None:
    assert tool.query(Says(1, recorded("mlxfwreset_error/cx3_unsupported_device.txt")), "mlxfwreset", PCI) is None


@pytest.mark.parametrize("rc", [0, 1])
def test_a_query_that_fails_says_why(rc: int) -> None:
    with pytest.raises(CommandFailed, match=r"Failed to Identify Device.*PCI function is gone"):
        tool.query(Says(rc, recorded("mlxfwreset_error/emulated_4_21_no_device.txt")), "mstfwreset", PCI)


def test_command_lines() -> None:
    run = Says(0, recorded("mlxfwreset/emulated_4_21_query.txt"))
    tool.query(run, "mstfwreset", PCI)
    assert run.argv == ["mstfwreset", "-d", PCI, "query"]
    tool.reset(run, "mstfwreset", PCI, level=3, sync=None)
    assert run.argv == ["mstfwreset", "-y", "-d", PCI, "-l", "3", "reset"]
    tool.reset(run, "mlxfwreset", PCI, level=3, sync=1)
    assert run.argv == ["mlxfwreset", "-y", "-d", PCI, "-l", "3", "--sync", "1", "reset"]


@pytest.mark.parametrize("level", [1, 4, 5, None])
def test_a_level_that_stops_more_than_the_card_has_no_command_line(level: int | None) -> None:
    run = Says(0)
    with pytest.raises(Unsupported):
        tool.reset(run, "mstfwreset", PCI, level=level, sync=None)
    assert run.argv == []


class Choice(t.NamedTuple):
    """One row of a query."""

    number: int
    text: str
    supported: bool
    default: bool


def supported(rows: t.Sequence[Choice]) -> tuple[int, ...]:
    return tuple(row.number for row in rows if row.supported and row.default) + tuple(row.number for row in rows if row.supported and not row.default)


def render(title: str, rows: t.Sequence[Choice]) -> str:
    lines = [
        "%d: %-62s-%-14s%s" % (row.number, row.text, "Supported" if row.supported else "Not Supported", "(default)" if row.default else "") for row in rows
    ]
    return "\n".join(["Reset-%s:" % title, *lines, ""])


choices = st.builds(
    Choice,
    st.integers(0, 9),
    st.from_regex(r"[A-Za-z][A-Za-z ,()\"]{0,60}[a-z)]", fullmatch=True).filter(lambda text: "supported" not in text.lower()),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=40)
@given(st.lists(choices, min_size=1, max_size=5), st.lists(choices, max_size=5), st.lists(choices, max_size=3))
def test_what_is_rendered_is_read_back(levels: list[Choice], types: list[Choice], syncs: list[Choice]) -> None:
    text = "\n".join(
        ["", render("levels", levels), render("types (relevant only for reset-levels 3,4)", types), render("sync (relevant only for reset-level 3)", syncs)]
    )
    assert tool.parse_query(text) == tool.Query(supported(levels), supported(syncs))


PIECES = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(["Reset-levels:\n", "\n", "3: x -Supported", "99999: ", "-E- ", "-I- ", " -Done", "-Not Supported", "(default)", "²: x -Supported\n"]),
    ),
    max_size=12,
).map("".join)


def read_all(text: str) -> None:
    """Parse a text in all ways."""
    with contextlib.suppress(UnexpectedOutput):
        tool.parse_query(text)
    outcome = tool.parse_reset(text, text)
    assert outcome.loaded or outcome.message
    tool.with_hint(tool.error_of(text))
    for rc in (0, 1):
        with contextlib.suppress(RdmaError):
            tool.query(Says(rc, text, text), "mstfwreset", PCI)


@settings(max_examples=40)
@given(PIECES)
def test_no_text_raises_anything_but_ours(text: str) -> None:
    read_all(text)


@given(st.sampled_from([*QUERIES, *RESETS, *ERRORS]), st.integers(0, 3000), st.integers(0, 40), PIECES)
def test_no_damaged_recording_raises_anything_but_ours(path: pathlib.Path, at: int, length: int, put: str) -> None:
    text = path.read_text()
    read_all(text[:at] + put + text[at + length :])
