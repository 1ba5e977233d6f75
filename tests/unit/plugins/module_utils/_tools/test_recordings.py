# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every recorded output of a firmware tool is parsed completely. An added file is tested without a change here."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._values import bounds, name_of, number_of, readable
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _flint as flint
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxconfig as mlxconfig
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxfwreset as mlxfwreset
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxlink as mlxlink
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row
from support.recordings import CORPUS, Step, files, recorded, steps
from support.runners import Says

# The only text that was cut off within a row.
CUT = "mlxconfig_e/cx3pro_default_next_only.txt"
ROW = re.compile(r"^[* ]*(?P<read_only>RO +)?(?P<name>[A-Z_][A-Za-z0-9]*_[A-Za-z0-9_]+(?:\[\d+\])?) +(?P<values>\S.*?)\s*$", re.MULTILINE)
HEADER = re.compile(r"^Configurations:.*$", re.MULTILINE)

BUSY, MISSING, UNKNOWN, OTHER, PLAIN = "busy", "missing", "missing, other tool may know it", "other tool", "plain"
# The classification of each mlxconfig error. An error that is missing here must be classified first.
ERRORS: t.Mapping[str, str] = {
    r"Failed to set \w+ settings Device is busy": BUSY,
    r"Failed to set \w+ settings Resource unavailable": BUSY,
    r"Error when trying to check if NV access registers are supported": BUSY,
    r"Unknown Parameter: ": UNKNOWN,
    r"LINK_TYPE with no port does not exist": UNKNOWN,
    r"The Device doesn't support \w+ parameter": MISSING,
    r"Failed to (backup the configurations: Failed to )?open the device": OTHER,
    r"NVQC access register is not supported": OTHER,
    r"Failed to set \w+ settings (The configuration is rejected|Bad parameter|Firmware internal error|The erase count exceeds its limit)": PLAIN,
    r"Failed to set \w+ settings (ME_ICMD_\w+|Config Section Corrupted)": PLAIN,
    r"Failed to get \w+ settings Bad parameter": PLAIN,
    r"Failed to query (some of the TLVs|device current configuration)": PLAIN,
    r"Failed to (get devices|backup the configurations: NV data area may be empty|invalidate configurations)": PLAIN,
    r"No devices found": PLAIN,
    r"Cannot access NV register": PLAIN,
    r"Device in Livefish mode is not supported": PLAIN,
    r"Parameter \w+' value is larger than maximum allowed": PLAIN,
    r"The value \w+ is not valid": PLAIN,
    r"Unknown value|Cannot parse the value": PLAIN,
    r"Duplicate parameter|Invalid Configuration argument|missing configuration arguments|invalid argument": PLAIN,
    r"Aborted by user": PLAIN,
}


def understood(value: str) -> bool:
    """Return whether it is a number, a name with its number, an array, a byte string, or unreadable."""
    return number_of(value) is not None or bounds(value) is not None or not readable(value) or bool(re.match(r"[0-9a-f]+\Z", value))


def whole(text: str) -> str:
    """Return the text with a header, which some authors cut off: the columns are those of the first row."""
    row = ROW.search(text)
    if HEADER.search(text) or row is None:
        return text
    columns = {1: "Next Boot", 2: "Default  Next Boot", 3: "Default  Current  Next Boot"}
    return "Configurations: %s\n%s" % (columns[len(row["values"].split())], text)


def of_devices(text: str) -> list[mlxconfig.Answer]:
    """Return one answer per device: without -d, the tools print all of them."""
    parts = re.split(r"^(?=\s*Device #\d+:)", text, flags=re.MULTILINE)
    return [answer for answer in map(mlxconfig.parse_query, parts) if answer.device or answer.rows]


def check_table(text: str) -> None:
    """Check that parsing finds exactly the rows of a simple search, with all of their text."""
    announced = HEADER.search(text)
    columns = len(re.findall("Default|Current|Next Boot|New", announced.group())) if announced else None
    lines = list(ROW.finditer(text))
    answers = of_devices(whole(text))
    assert sum(len(answer.rows) for answer in answers) == len(lines)
    by_name = {row["name"]: row for row in lines}
    for row in (row for answer in answers for row in answer.rows.values()):
        line = by_name[row.name]
        values = [value for value in (row.default, row.current, row.next, row.new) if value is not None]
        assert all(understood(value) for value in values), row
        assert columns in (None, len(values))
        assert row.read_only == bool(line["read_only"])
        if len(answers) == 1:
            assert "".join(values) == "".join(line["values"].split())


def check_config_error(text: str) -> None:
    errors = mlxconfig.errors_of(text)
    assert errors
    for error in errors:
        (kind,) = {kind for pattern, kind in ERRORS.items() if re.match(pattern, error)} or {"is not in the table: " + error}
        found = (mlxconfig.says([error], mlxconfig.BUSY), mlxconfig.says([error], mlxconfig.MISSING), mlxconfig.says([error], mlxconfig.OTHER_TOOL))
        assert found == (kind == BUSY, kind in (MISSING, UNKNOWN), kind in (OTHER, UNKNOWN)), error
        assert mlxconfig.allowed_by(error).startswith("at most") == ("larger than" in error)


def check_config_step(step: Step) -> None:
    if step.rc:
        check_config_error(step.text)
        if "Failed to query some" not in step.text:
            return
    if "query" in step.argv:
        asked = step.argv[step.argv.index("query") + 1 :]
        answers = of_devices(step.text)
        if "-j" not in step.argv:
            assert answers and all(set(asked) <= set(answer.rows) for answer in answers)
            assert "-d" not in step.argv or [answer.device for answer in answers] == [step.argv[step.argv.index("-d") + 1]]
    if "set" in step.argv:
        answer = mlxconfig.parse_query(step.text)
        assert set(answer.rows) == {word.partition("=")[0] for word in step.argv if "=" in word}
        assert all(row.new and name_of(row.new) == name_of(row.new).strip() for row in answer.rows.values())
    if "set_raw" not in step.argv:
        check_table(step.text)


def check_flint_query(text: str) -> None:
    found = flint.parse_query(text)
    lines = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("FW Version")]
    assert lines == ([found.version] if found.running == found.version else [found.version, found.running])
    assert found.psid and "  " not in found.description
    for name, value in (("GUID", found.base_guid), ("MAC", found.base_mac)):
        printed = re.search(r"^Base %s: +([0-9a-f]{12,}) " % name, text, flags=re.MULTILINE)
        assert value == (printed.group(1) if printed else "")
    assert len(found.roms) == text.count("type=") and all(rom.startswith("type=") for rom in found.roms)


def check_flint_step(step: Step) -> None:
    assert flint.verified(step.rc, step.text) == ("verify" in step.argv and step.rc == 0)
    if step.rc:
        assert flint.error_of(step.text) in step.text and "-E-" not in flint.error_of(step.text)
    if "query" in step.argv:
        if step.rc == 0:
            check_flint_query(step.text)
        else:
            with pytest.raises(UnexpectedOutput, match=re.escape(flint.error_of(step.text))):
                flint.parse_query(step.text)


def check_reset_query(text: str) -> None:
    query = mlxfwreset.parse_query(text)
    # Newer tools print a fourth section, and "sync" with a blank.
    parts = text[text.index("Reset-levels") :].replace("\nReset sync", "\nReset-sync").replace("\nReset request", "\nReset-request").split("\nReset-")
    levels, types, syncs, *more = (re.findall(r"^(\d+): .*-(Not )?[Ss]upported *(\(default\))?", part, flags=re.MULTILINE) for part in parts)
    assert sum(map(len, (levels, types, syncs, *more))) == len(re.findall(r"^\d+: ", text, flags=re.MULTILINE))
    assert [default for _number, _no, default in levels].count("(default)") == 1 and len(types) >= 2 and len(syncs) in (2, 3)
    assert set(query.levels) == {int(number) for number, no, _default in levels if not no}
    assert query.levels[0] in {int(number) for number, _no, default in levels if default}
    assert set(query.syncs) == {int(number) for number, no, _default in syncs if no.strip().lower() != "not"}


def check_reset(text: str) -> None:
    outcome = mlxfwreset.parse_reset(text)
    assert outcome.loaded == ("FW was loaded successfully" in text)
    assert outcome.loaded == (outcome.message == "")
    assert len(outcome.steps) == len(re.findall(r"^-I- .*-Done\s*$", text, flags=re.MULTILINE))


def check_reset_error(text: str) -> None:
    error = mlxfwreset.error_of(text)
    assert error and "-E-" not in error and "\n" not in error and not error.endswith(".")
    outcome = mlxfwreset.parse_reset(text)
    assert not outcome.loaded and outcome.message == error


def check_reset_step(step: Step) -> None:
    if step.rc:
        check_reset_error(step.text)
    else:
        (check_reset_query if "query" in step.argv else check_reset)(step.text)


def check_link(text: str) -> None:
    sections = mlxlink.parse_text(text)
    assert sum(len(rows) for rows in sections.values()) == len(re.findall(r"^\S.{20,}?: ", text, flags=re.MULTILINE))
    link = mlxlink.link_of(sections)
    assert link.state and link.speed and link.fec and link.firmware and link.opcode is not None and link.enabled_speeds and link.cable_speeds
    assert link.cable.part_number and link.cable.serial_number and link.cable.length_m
    assert (link.counters.minutes is None) == ("Physical Counters and BER Info" not in sections)


def check_link_error(text: str) -> None:
    error = mlxlink.error_of(text)
    assert error and error in text and "-E-" not in error and "\x1b" not in error
    with pytest.raises(UnexpectedOutput):
        mlxlink.parse_text(text)


STEPS: t.Mapping[str, t.Callable[[Step], None]] = {
    "mstconfig": check_config_step,
    "mstflint": check_flint_step,
    "mstfwreset": check_reset_step,
    "mstlink": lambda step: check_link_error(step.text),
}


def check_transcript(path: pathlib.Path) -> None:
    found = steps(path)
    assert found
    for step in found:
        STEPS[step.tool](step)


def check_one(folder: str, text: str) -> None:
    if folder in ("mlxconfig", "mlxconfig_e", "mlxconfig_set"):
        check_table(text)
        assert mlxconfig.errors_of(text) == [] and of_devices(whole(text))
    elif folder == "mlxconfig_error":
        check_config_error(text)
        mlxconfig.parse_query(text)
    elif folder == "mlxconfig_confs":
        assert all(conf.allowed() for conf in mlxconfig.parse_confs(text).values()) and len(mlxconfig.parse_confs(text)) > 100
    elif folder == "flint_query":
        check_flint_query(text)
    elif folder == "flint_verify":
        assert flint.verified(0, text) != ("-E-" in text) and not flint.verified(1, text)
    elif folder == "flint_burn":
        assert "-E-" not in text and not flint.verified(0, text)
    elif folder == "flint_burn_error":
        assert flint.writing_began(text) and "-E-" not in flint.error_of(text)
    elif folder == "flint_error":
        assert "-E-" in text and "-E-" not in flint.error_of(text)
    elif folder == "mlxfwreset":
        (check_reset_query if "Reset-levels" in text else check_reset)(text)
    elif folder == "mlxfwreset_error":
        check_reset_error(text)
    elif folder == "mlxlink":
        check_link(text)
    elif folder == "mlxlink_error":
        check_link_error(text)
    else:
        pytest.fail("nothing is known about the folder %s" % folder)


@pytest.mark.parametrize("path", files(), ids=lambda path: "%s/%s" % (path.parent.name, path.stem))
def test_every_recorded_output_is_understood(path: pathlib.Path) -> None:
    if path.parent.name.endswith("_transcript"):
        check_transcript(path)
    elif "%s/%s" % (path.parent.name, path.name) == CUT:
        with pytest.raises(UnexpectedOutput, match="BOOT_RETRY_CNT_P1"):
            mlxconfig.parse_query(recorded(path))
        check_table(recorded(path).rstrip().rpartition("\n")[0])
    else:
        check_one(path.parent.name, recorded(path))


@pytest.mark.parametrize("folder", sorted(CORPUS.iterdir()), ids=lambda folder: folder.name)
def test_every_recording_has_its_source(folder: pathlib.Path) -> None:
    listed = [line.split("\t")[0] for line in (folder / "PROVENANCE.tsv").read_text(encoding="utf-8").splitlines()]
    assert sorted([*listed[1:], "PROVENANCE.tsv"]) == sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("error", [path for path in files() if path.parent.name == "mlxlink_error"], ids=lambda path: path.stem)
def test_an_error_of_mlxlink_reaches_the_user(error: pathlib.Path) -> None:
    with pytest.raises(CommandFailed, match=r"^F\w+ "):
        mlxlink.query(Says(1, "\x1b[31m \n\x1b[0m \n", recorded(error)), "mstlink", "0000:03:00.0", port=1)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("mlxconfig_e/emulated_cx5_4_31_read_only", Row("SRIOV_EN", "True(1)", "False(0)", "True(1)")),
        ("mlxconfig/emulated_cx5_4_31_read_only_rows", Row("SAFE_MODE_THRESHOLD", "10", read_only=True)),
        ("mlxconfig/cx7_excerpt_array", Row("MODULE_SPLIT_M0", "Array[0..15]")),
        ("mlxconfig_e/cx6lx_pr358_excerpt", Row("NUM_OF_VL_P2", "_4_VLs(3)", "_4_VLs(3)", "_4_VLs(3)")),
        ("mlxconfig/bf3_supernic_single_param_query", Row("ATS_ENABLED", "False(0)")),
    ],
)
def test_rows(name: str, row: Row) -> None:
    answer = mlxconfig.parse_query(whole(recorded(CORPUS / (name + ".txt"))))
    assert answer.rows[row.name] == row


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ("DEVICE_DEFAULT(0) PCIE_ENDPOINT(0)EMBEDDED_CPU(15)", ("EMBEDDED_CPU(15)", "DEVICE_DEFAULT(0)", "PCIE_ENDPOINT(0)")),
        ("MNG_PF_ENABLE(1)MNG_PF_ENABLE(1)MNG_PF_ENABLE(1)", ("MNG_PF_ENABLE(1)", "MNG_PF_ENABLE(1)", "MNG_PF_ENABLE(1)")),
        ("_NAME(4)        7               N/A", ("N/A", "_NAME(4)", "7")),
        ("0x0(0)          0x10(16)        Array[1..64]    ", ("Array[1..64]", "0x0(0)", "0x10(16)")),
        (
            "00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff ffffffffffffffffffffffffffffffff ",
            ("f" * 32, "00112233445566778899aabbccddeeff", "00112233445566778899aabbccddeeff"),
        ),
    ],
)
def test_values_that_blanks_do_not_part(values: str, row: tuple[str, str, str]) -> None:
    answer = mlxconfig.parse_query("Configurations:   Default         Current         Next Boot\n*RO     SOME_NAME     %s\n" % values)
    assert answer.rows["SOME_NAME"] == Row("SOME_NAME", *row, read_only=True)


def test_a_dpu_and_a_card_of_the_old_kind_say_what_they_hold() -> None:
    four = flint.parse_query(recorded(CORPUS / "flint_query/bf3_four_roms.txt"))
    assert [rom.partition(" version")[0] for rom in four.roms] == ["type=UEFI Virtio net", "type=UEFI Virtio blk", "type=UEFI", "type=PXE"]
    old = flint.parse_query(recorded(CORPUS / "flint_query/cx3_fs2_pending_full.txt"))
    assert (old.version, old.running, old.psid, old.description) == ("2.42.5000", "2.35.5100", "MT_1170110023", "")


def test_a_cable_of_400_gigabits() -> None:
    link = mlxlink.link_of(mlxlink.parse_text(recorded(CORPUS / "mlxlink/cx7_ndr_show_module.txt")))
    assert (link.state, link.speed, link.width, link.enabled_speeds) == ("Active", "IB-NDR", "4x", ("NDR", "HDR", "EDR", "FDR", "SDR"))
    assert (link.cable.identifier, link.cable.part_number, link.cable.length_m, link.cable.temperature_c) == ("OSFP", "OSFPFL-400G-PC01", 1.0, None)
