# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output of mstflint and flint, recorded from cards and from the lab's emulated card."""

from __future__ import annotations

import contextlib
import pathlib
import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _flint as flint
from hypothesis import given, settings
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus"


class Step(t.NamedTuple):
    command: str
    text: str
    rc: int


def steps(path: pathlib.Path) -> list[Step]:
    """Return the commands of a transcript with their output and exit status."""
    pattern = re.compile(r"^\$ (?P<command>[^\n]*)\n(?P<text>.*?)^\[exit (?P<rc>\d+), \d+ cs\]$", re.MULTILINE | re.DOTALL)
    # The file shows as ^M the carriage return with which the tool overwrites its progress.
    text = path.read_text(encoding="utf-8").replace("^M", "\r")
    return [Step(match["command"], match["text"], int(match["rc"])) for match in pattern.finditer(text)]


def render(query: flint.Query) -> str:
    """Return the output of `query full`."""
    lines = [("Image type", query.image_type), ("FW Version", query.version)]
    lines += [("FW Version(Running)", query.running)] if query.running != query.version else []
    lines += [("FW Release Date", query.release_date), ("Part Number", query.part_number), ("Description", query.description)]
    lines += [("Product Version", query.version)]
    lines += [("Rom Info" if not at else "", rom) for at, rom in enumerate(query.roms)]
    lines += [("Description", "UID                GuidsNumber"), ("Base GUID", query.base_guid and query.base_guid + "        8")]
    lines += [("Base MAC", query.base_mac and query.base_mac + "            8"), ("Image VSD", ""), ("PSID", query.psid)]
    lines += [("Orig PSID", query.original_psid), ("Security Attributes", ", ".join(query.security)), ("Security Ver", "0")]
    lines += [("Default Update Method", query.update_method)]
    return "".join("%-22s %s\n" % (key + ":" if key else "", value or "N/A") for key, value in lines)


def test_a_full_query() -> None:
    found = flint.parse_query((CORPUS / "flint_query/cx4lx_full_hpe.txt").read_text(encoding="utf-8"))
    assert found == flint.Query(
        image_type="FS3",
        version="14.32.1908",
        running="14.32.1908",
        release_date="17.8.2025",
        part_number="817753-B21_Ax",
        description="HPE Ethernet 10/25Gb 2-port 640SFP28 Adapter",
        roms=("type=UEFI version=14.25.17 cpu=AMD64", "type=PXE version=3.6.502 cpu=AMD64"),
        base_guid="9440c9ffffc367fa",
        base_mac="9440c9c367fa",
        psid="HP_2420110034",
        update_method="fw_ctrl",
    )
    assert flint.firmware_checks(found)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("cx4lx_orig_psid_huawei", ("MT_2420110034", "HUA0000000001", ())),
        ("cx6lx_26_33_flint", ("MT_0000000575", "", ("secure-fw",))),
        ("cx4lx_ibm_no_rom", ("IBM0000000034", "", ())),
    ],
)
def test_psids_and_security(name: str, wanted: tuple[str, str, tuple[str, ...]]) -> None:
    found = flint.parse_query((CORPUS / "flint_query" / (name + ".txt")).read_text(encoding="utf-8"))
    assert (found.psid, found.original_psid, found.security) == wanted


@pytest.mark.parametrize("release", ["4_21", "4_31"])
def test_what_runs_and_what_is_burned(release: str) -> None:
    found = [
        flint.parse_query(step.text)
        for step in steps(CORPUS / ("flint_transcript/emulated_cx5_%s_query_burn.txt" % release))
        if "-d" in step.command and "query" in step.command
    ]
    assert [(one.version, one.running) for one in found] == [
        ("16.35.2000", "16.35.2000"),
        ("16.35.2000", "16.35.2000"),
        ("16.35.3006", "16.35.2000"),
        ("16.35.3006", "16.35.3006"),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (" Do you want to continue ? (y/n) [n] : -E- Aborted by user\n", "Aborted by user"),
        ("0%\r99%\r-E- Burning FS4 image failed: Rejected authentication\n", "Burning FS4 image failed: Rejected authentication"),
        ('HW access is disabled on the device.\n-E- Run "flint -d D hw_access enable [key]".\n', 'Run "flint -d D hw_access enable [key]"'),
        ("a\nno mark\n", "no mark"),
        ("", "it said nothing"),
    ],
)
def test_errors(text: str, error: str) -> None:
    assert flint.error_of(text) == error


@pytest.mark.parametrize(
    ("text", "by_tool"),
    [
        ("Burning FW image without signatures - OK\nRestoring signature                     - OK\n", True),
        ("Burning FS2 FW image without signatures - OK\n", True),
        ("FSMST_INITIALIZE -   OK\nWriting Boot image component -   OK\nRestoring signature - OK\n", False),
    ],
)
def test_who_wrote_the_flash(text: str, by_tool: bool) -> None:
    assert flint.wrote_flash(text) == by_tool


def test_commands() -> None:
    assert flint.query_device("mstflint", "0000:03:00.0") == ["mstflint", "-d", "0000:03:00.0", "query", "full"]
    assert flint.burn("flint", "0000:03:00.0", "/f.bin") == ["flint", "-y", "-d", "0000:03:00.0", "-i", "/f.bin", "burn"]
    assert flint.query_flash("mstflint", "0000:03:00.0") == ["mstflint", "--no_fw_ctrl", "-qq", "-d", "0000:03:00.0", "query"]
    assert "-allow_psid_change" in flint.burn("flint", "0000:03:00.0", "/f.bin", change_psid=True)


@given(st.lists(st.integers(0, 999999), min_size=2, max_size=4))
def test_leading_zeros_mean_nothing(parts: list[int]) -> None:
    plain, padded = ".".join(map(str, parts)), ".".join("%06d" % part for part in parts)
    assert flint.same_version(plain, padded) and flint.numbers(plain) == tuple(parts)


@given(st.text())
def test_no_text_raises_anything_but_our_error(text: str) -> None:
    for damaged in (text, "FW Version: " + text, "FW Version: 1.2.3\nFW Version(Running): %s\nRom Info: %s\n%s" % (text, text, text)):
        with contextlib.suppress(UnexpectedOutput):
            assert flint.parse_query(damaged).version
        flint.error_of(damaged)
        flint.verified(0, damaged)
    with contextlib.suppress(UnexpectedOutput):
        flint.numbers(text)


versions = st.lists(st.integers(0, 99999), min_size=3, max_size=3).map(lambda parts: ".".join(map(str, parts)))
word = st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True)
maybe = st.just("") | word
queries = st.builds(
    flint.Query,
    image_type=maybe,
    version=versions,
    running=versions,
    release_date=maybe,
    part_number=maybe,
    description=maybe | st.just("ConnectX-5: EDR IB (100Gb/s)"),
    roms=st.lists(word.map("type={}".format), max_size=3).map(tuple),
    base_guid=maybe,
    base_mac=maybe,
    psid=maybe,
    running_psid=st.just(""),
    original_psid=maybe,
    security=st.lists(st.sampled_from(["secure-fw", "signed-fw", "dev"]), unique=True).map(tuple),
    update_method=st.sampled_from(["", "fw_ctrl", "Legacy"]),
)


@settings(max_examples=30)
@given(queries)
def test_what_is_rendered_is_read_back(query: flint.Query) -> None:
    assert flint.parse_query(render(query)) == query
