# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxconfig as mlxconfig
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Answer, Conf, Row
from hypothesis import given, settings
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus"
# The only text that was cut off within a row.
CUT = "mlxconfig_e/cx3pro_default_next_only.txt"


def recorded(name: str) -> str:
    return (CORPUS / name).read_text(encoding="utf-8")


def names(*folders: str) -> list[str]:
    return sorted("%s/%s" % (folder, path.name) for folder in folders for path in (CORPUS / folder).glob("*.txt"))


def transcript(name: str) -> dict[str, str]:
    """Return output by command line; for a repeated command, its first output."""
    found: dict[str, str] = {}
    for part in re.split(r"^\$ ", recorded("mlxconfig_transcript/%s.txt" % name), flags=re.MULTILINE)[1:]:
        command, _newline, text = part.partition("\n")
        found.setdefault(command, re.split(r"^\[exit", text, flags=re.MULTILINE)[0])
    return found


def test_a_row_that_was_cut_is_an_error_and_not_a_wrong_value() -> None:
    with pytest.raises(UnexpectedOutput, match="BOOT_RETRY_CNT_P1"):
        mlxconfig.parse_query(recorded(CUT))
    answer = mlxconfig.parse_query(recorded(CUT).rstrip().rpartition("\n")[0])
    # ConnectX-3 reports its defaults but not its current values.
    assert answer.rows["LINK_TYPE_P1"] == Row("LINK_TYPE_P1", "VPI(3)", "VPI(3)", None)


@pytest.mark.parametrize("version", ["4_21", "4_31"])
def test_the_three_states(version: str) -> None:
    printed = transcript("emulated_cx5_%s_set_query" % version)
    answer = mlxconfig.parse_query(printed["mstconfig -e -d 0000:03:00.0 query LINK_TYPE_P1 LINK_TYPE_P2 SRIOV_EN NUM_OF_VFS"])
    assert answer == Answer(
        "0000:03:00.0",
        {
            "LINK_TYPE_P1": Row("LINK_TYPE_P1", "ETH(2)", "IB(1)", "IB(1)"),
            "LINK_TYPE_P2": Row("LINK_TYPE_P2", "IB(1)", "IB(1)", "IB(1)"),
            "SRIOV_EN": Row("SRIOV_EN", "True(1)", "False(0)", "True(1)"),
            "NUM_OF_VFS": Row("NUM_OF_VFS", "8", "0", "8"),
        },
    )
    refused = mlxconfig.parse_query(printed["mstconfig -d 0000:03:00.0 set LINK_TYPE_P1=1"])
    assert refused.rows["LINK_TYPE_P1"] == Row("LINK_TYPE_P1", "ETH(2)", new="IB(1)")
    assert mlxconfig.errors_of(printed["mstconfig -d 0000:03:00.0 set LINK_TYPE_P1=1"]) == ["Aborted by user."]


@pytest.mark.parametrize("version", ["4_21", "4_31"])
def test_a_whole_query(version: str) -> None:
    answer = mlxconfig.parse_query(transcript("emulated_cx5_%s_query" % version)["mstconfig -d 0000:03:00.0 query"])
    assert len(answer.rows) > 100
    assert answer.rows["EXP_ROM_UEFI_x86_ENABLE"].next == "False(0)"


def test_values_that_touch_each_other_and_read_only_rows() -> None:
    text = """Device type:    BlueField2
Configurations:                              Default         Current         Next Boot
*        INTERNAL_CPU_MODEL                  SEPARATED_HOST(0) EMBEDDED_CPU(15)PCIE_ENDPOINT(0)
 RO     SAFE_MODE_ENABLE                            True(1)             True(1)              True(1)
         ARRAY[3]                            0x10(16)        N/A             Array[0..7]
The '*' shows parameters with next value different from default/current value.
The 'RO' shows parameters which are for read only and cannot be changed
"""
    answer = mlxconfig.parse_query(text)
    assert list(answer.rows.values()) == [
        Row("INTERNAL_CPU_MODEL", "PCIE_ENDPOINT(0)", "SEPARATED_HOST(0)", "EMBEDDED_CPU(15)"),
        Row("SAFE_MODE_ENABLE", "True(1)", "True(1)", "True(1)", read_only=True),
        Row("ARRAY[3]", "Array[0..7]", "0x10(16)", "N/A"),
    ]


def test_errors_without_the_help_behind_them() -> None:
    said = {name.rpartition("/")[2][:-4]: mlxconfig.errors_of(recorded(name)) for name in names("mlxconfig_error")}
    assert said["local_duplicate_parameter"] == ["Duplicate parameter, SRIOV_EN."]
    assert said["local_yes_after_set"] == ["Invalid Configuration argument -y"]
    assert mlxconfig.says(said["cx4lx_unsupported_parameter_after_header"], mlxconfig.MISSING)
    assert mlxconfig.says(said["local_bad_rdma_name"], mlxconfig.OTHER_TOOL)
    assert all(said.values())


@pytest.mark.parametrize("version", ["4_21", "4_31"])
def test_what_errors_mean(version: str) -> None:
    printed = transcript("emulated_cx5_%s_errors" % version)
    said = {command.partition("0000:03:00.0 ")[2]: mlxconfig.errors_of(text) for command, text in printed.items()}
    assert mlxconfig.says(said["query NO_SUCH_PARAM"], mlxconfig.MISSING) and mlxconfig.says(said["query NO_SUCH_PARAM"], mlxconfig.OTHER_TOOL)
    assert mlxconfig.says(said["query INTERNAL_CPU_MODEL"], mlxconfig.MISSING) and not mlxconfig.says(said["query INTERNAL_CPU_MODEL"], mlxconfig.OTHER_TOOL)
    assert not mlxconfig.says(said["set LINK_TYPE_P1=7"], mlxconfig.MISSING)
    assert mlxconfig.says(["Failed to get the settings: Timed out trying to take the ICMD semaphore"], mlxconfig.BUSY)
    assert not mlxconfig.says(said["set NUM_OF_VFS=1000"], mlxconfig.BUSY)


def test_command_lines_have_their_options_first() -> None:
    assert mlxconfig.query_command("mlxconfig", "0000:03:00.0", ["A", "B[0..3]"]) == [*("mlxconfig", "-d", "0000:03:00.0", "-e", "query", "A", "B[0..3]")]
    assert mlxconfig.set_command("mstconfig", "0000:03:00.0", {"A": "1"}, dry_run=True) == ["mstconfig", "-d", "0000:03:00.0", "set", "A=1"]
    assert mlxconfig.set_command("mstconfig", "0000:03:00.0", {"A": "1"}, dry_run=False) == ["mstconfig", "-y", "-d", "0000:03:00.0", "set", "A=1"]


@pytest.mark.parametrize(("version", "count"), [("4_21", 374), ("4_31", 796)])
def test_the_database_of_the_tool(version: str, count: int) -> None:
    confs = mlxconfig.parse_confs(recorded("mlxconfig_confs/emulated_cx5_%s.txt" % version))
    assert len(confs) == count
    assert confs["LINK_TYPE_P1"].allowed() == "ETH(2), IB(1)"
    assert confs["LINK_TYPE_P2"].allowed() == "ETH(2), IB(1)"  # documented for the first port only
    assert confs["SRIOV_EN"].allowed() == "False(0), True(1)"
    assert confs["INTERNAL_CPU_OFFLOAD_ENGINE"].allowed() == "DISABLED(1), ENABLED(0)"
    assert confs["NUM_OF_VFS"].allowed() == "a number"
    assert confs["MODULE_SPLIT_M0"].allowed() == "a number (bit mask)"


class Layout(t.NamedTuple):
    """The row format of some versions."""

    marks: int
    """Width of the marks before a name."""
    name: int
    value: int
    glued: int
    """A value of this length is followed by the next one without a blank; a longer one is followed by one blank."""
    read_only: bool = True
    keys: int = 20


LAYOUTS = {
    "up to 4.24": Layout(9, 36, 16, 16, read_only=False, keys=16),
    "4.25": Layout(8, 44, 16, 16, keys=16),
    "4.26 to 4.35": Layout(8, 44, 20, 0),
    "from 4.36": Layout(8, 48, 34, 0),
}
COLUMNS = (("Next Boot",), ("Default", "Next Boot"), ("Default", "Current", "Next Boot"), ("Next Boot", "New"))
NUMBER = st.integers(min_value=0, max_value=2**32 - 1)
TEXTS = st.sampled_from(["True", "_4_VLs", "DEVICE_DEFAULT", "PCIE_ENDPOINT", "A_NAME_OF_SIXTEEN_"])
VALUE = st.one_of(
    NUMBER.map(str),
    st.tuples(TEXTS, st.integers(0, 15)).map(lambda pair: "%s(%d)" % pair),
    NUMBER.map(lambda number: "0x%x(%d)" % (number, number)),
    st.sampled_from(["Array[0..7]", "Array[1..64]", "N/A"]),
)
BYTES = st.sampled_from(["0f" * 16, "00" * 16, "a0" * 16])
STEMS = st.sampled_from(["LINK_TYPE_P", "EXP_ROM_UEFI_x86_ENABLE_", "_N_", "A_LONG_NAME_OF_ALL_THAT_THERE"])
NAME = st.tuples(STEMS, st.integers(0, 99), st.sampled_from(["", "[0]", "[63]"])).map(lambda parts: "%s%d%s" % parts)
ROWS = st.lists(st.tuples(NAME, st.tuples(VALUE, VALUE, VALUE), BYTES, st.booleans(), st.booleans()), max_size=6, unique_by=lambda row: row[0])


def rows_of(drawn: t.Any, columns: t.Sequence[str], layout: Layout) -> dict[str, Row]:
    found = {}
    for name, values, digits, read_only, is_bytes in drawn:
        # Byte strings were introduced with the versions that put blanks between all values.
        shown = dict(zip(columns, [digits] * 3 if is_bytes and not layout.glued else values))
        found[name] = Row(name, shown["Next Boot"], shown.get("Default"), shown.get("Current"), read_only and layout.read_only, shown.get("New"))
    return found


def render(answers: t.Sequence[Answer], columns: t.Sequence[str], layout: Layout) -> str:
    """Return the output of a version: values are padded, and a value that is too long is followed by one blank or none."""

    def cell(value: str) -> str:
        return value.ljust(layout.value) + (" " if len(value) >= layout.value and len(value) != layout.glued else "")

    lines: list[str] = []
    for number, answer in enumerate(answers, 1):
        lines += ["", "Device #%d:" % number, "----------", ""]
        for key, value in (("Device type:", "ConnectX5"), ("Name:", "MCX556A-ECA_Ax"), ("Description:", "N/A"), ("Device:", answer.device)):
            lines.append(key.ljust(layout.keys) + value.ljust(layout.keys))
        lines += ["", "Configurations:".ljust(layout.name + layout.marks) + "".join(column.ljust(16) for column in columns)]
        for row in answer.rows.values():
            values = {"Default": row.default, "Current": row.current, "Next Boot": row.next, "New": row.new}
            mark = ("*" if row.next != row.default else " ") + ("RO" if row.read_only else "  ")
            lines.append(mark.ljust(layout.marks) + row.name.ljust(layout.name) + "".join(cell(values[column] or "") for column in columns))
    return "\n".join([*lines, "The '*' shows parameters with next value different from default/current value.", ""])


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
@settings(max_examples=25)
@given(drawn=ROWS, columns=st.sampled_from(COLUMNS))
def test_parse_undoes_render(layout: Layout, drawn: t.Any, columns: t.Sequence[str]) -> None:
    answer = Answer("0000:03:00.0", rows_of(drawn, columns, layout))
    assert mlxconfig.parse_query(render([answer], columns, layout)) == answer
    assert mlxconfig.errors_of(render([answer], columns, layout)) == []


def test_two_devices_are_no_answer() -> None:
    text = render([Answer("0000:03:00.0"), Answer("0000:04:00.0")], COLUMNS[0], LAYOUTS["from 4.36"])
    with pytest.raises(UnexpectedOutput, match=r"answered for 0000:03:00\.0 and 0000:04:00\.0"):
        mlxconfig.parse_query(text)


CONF = st.one_of(
    st.sampled_from([Conf("x", "NUM"), Conf("x", "BINARY"), Conf("x", "BYTES")]),
    st.lists(st.sampled_from(["IB", "ETH", "VPI", "_4_VLs"]), min_size=2, max_size=4, unique=True).map(
        lambda values: Conf("x", "", tuple("%s(%d)" % (value, number) for number, value in enumerate(values)))
    ),
    st.just(Conf("x", "", ("False(0)", "True(1)"))),
)


@settings(max_examples=50)
@given(st.lists(CONF, max_size=5))
def test_parse_confs_undoes_render(drawn: list[Conf]) -> None:
    confs = {"A_NAME%d" % at: conf._replace(name="A_NAME%d" % at) for at, conf in enumerate(drawn)}
    lines = ["List of configurations the device 0000:03:00.0 may support:", "\t\tPARAMETERS:"]
    for name, conf in confs.items():
        values = [value.rstrip(")").split("(") for value in conf.values]
        lines.append((" " * 20 + "%s=<%s>" % (name, conf.kind or "|".join(word for word, _number in values))).ljust(60) + "What it is for, in several lines.")
        lines += [" " * 60 + "0x%x: %s - what this one means" % (int(number), word) for word, number in values]
    assert mlxconfig.parse_confs("\n".join(lines)) == confs


@pytest.mark.parametrize(
    ("error", "allowed"),
    [
        ("The value 100000 is not valid, as its size is 16 bits", "0 to 65535"),
        ("The value 9 is not valid, as its size is 3 bits", "0 to 7"),
        ("Parameter NUM_OF_VFS' value is larger than maximum allowed 127", "at most 127"),
        ("Unknown value IBX", ""),
    ],
)
def test_what_an_error_allows(error: str, allowed: str) -> None:
    assert mlxconfig.allowed_by(error) == allowed


def test_what_is_worth_another_try() -> None:
    left = mlxconfig.errors_of("-E- Failed to query device current configuration ME_ICMD_STATUS_CR_FAIL\n")
    assert mlxconfig.says(left, mlxconfig.BUSY) and not mlxconfig.says(left, mlxconfig.MISSING)
    gone = mlxconfig.errors_of("-E- Failed to identify the device\n")
    assert mlxconfig.says(gone, mlxconfig.OTHER_TOOL) and not mlxconfig.says(gone, mlxconfig.BUSY)
