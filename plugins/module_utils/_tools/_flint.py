# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""mstflint and flint (the same tool in the MFT package): command lines, and the grammar of their output. Pure.

The formats are those of mstflint 4.21 to 4.36 and of MFT of the same age. Errors are printed to standard output as `-E- TEXT`;
the exit status is 1 for nearly all of them.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal

TOOLS = ("mstflint", "flint")
"""In this order: mstflint accepts PCI addresses without any service; for some, flint needs the devices of its own driver."""

# With a semaphore left by a dead tool, mstflint gives up only after half a minute.
QUERY_TIMEOUT = 120.0
VERIFY_TIMEOUT = 600.0

_ERROR = re.compile(r"-E- *(?P<text>.*)")
_VERSION = re.compile(r"^[0-9]{1,6}(\.[0-9]{1,6}){1,3}\Z")
_TABLE_HEAD = re.compile(r"(?:UID\s+GuidsNumber|Node\s+Port1\s)")
_NONE = ("", "N/A", "n/a")
_FIRMWARE_CONTROL = "fw_ctrl"
SECURE = "secure-fw"
"""The security attribute of firmware that accepts only signed images and lets no other program write the flash."""


# Flash accesses in the error of a burn.
_WRITING = ("Flash write", "Flash erase")


class Query(t.NamedTuple):
    """The result of `query` for an adapter's flash or an image file. "" for missing values."""

    image_type: str = ""
    """`FS2`, `FS3`, `FS4` ..."""
    version: str = ""
    """For an adapter: the version in its flash, which runs after the next reset."""
    running: str = ""
    """The version that an adapter runs; the same as `version` unless a reset is due."""
    release_date: str = ""
    """`15.5.2023`: day, month, year."""
    part_number: str = ""
    description: str = ""
    roms: tuple[str, ...] = ()
    """`type=PXE version=3.6.804 cpu=AMD64`."""
    base_guid: str = ""
    base_mac: str = ""
    """Digits as printed."""
    psid: str = ""
    running_psid: str = ""
    """The PSID of the running firmware, where both were queried."""
    original_psid: str = ""
    """The factory PSID of the adapter, where another one was burned."""
    security: tuple[str, ...] = ()
    """`secure-fw`, `signed-fw`, `dev` ..."""
    update_method: str = ""
    """`fw_ctrl`: the firmware itself checks an image and writes it; `Legacy`: the tool writes the flash."""


def query_device(tool: str, device: str) -> list[str]:
    return [tool, "-d", device, "query", "full"]


def query_flash(tool: str, device: str) -> list[str]:
    """Query the flash directly: the firmware would report only the PSID that it runs, and no factory PSID.

    `-qq` skips the ROMs, which are large.
    """
    return [tool, "--no_fw_ctrl", "-qq", "-d", device, "query"]


def query_image(tool: str, image: str) -> list[str]:
    return [tool, "-i", image, "query"]


def verify_image(tool: str, image: str) -> list[str]:
    return [tool, "-i", image, "verify"]


def verify_device(tool: str, device: str) -> list[str]:
    return [tool, "-d", device, "verify"]


def burn(tool: str, device: str, image: str, *, change_psid: bool = False) -> list[str]:
    """Burn without a prompt: the decision was made before. To change the PSID, the tool itself writes the flash."""
    return [tool, "-y", "-d", device, "-i", image, *(["-allow_psid_change"] if change_psid else []), "burn"]


def error_of(text: str) -> str:
    """The error that the tool reports: its first error line, else its last line."""
    match = _ERROR.search(text)
    if match:
        return match.group("text").strip().rstrip(".")
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def numbers(version: str) -> tuple[int, ...]:
    """`14.26.0226` -> (14, 26, 226), for comparison as numbers: leading zeros vary."""
    if not _VERSION.match(version):
        raise UnexpectedOutput("%r is no firmware version" % version)
    return tuple(decimal(part, 0) for part in version.split("."))


def by_number(version: str) -> tuple[tuple[int, ...], str]:
    """A key that sorts versions as numbers, oldest first. Any other text comes before them."""
    return (numbers(version) if _VERSION.match(version) else (), version)


def same_version(one: str, other: str) -> bool:
    return numbers(one) == numbers(other)


def _plain(value: str) -> str:
    return "" if value in _NONE else value


def _fields(text: str) -> tuple[dict[str, str], list[str]]:
    """The first value of every key, and the ROMs. `Description` occurs twice: with `full`, and as the head of a table,
    whose first column is `UID`, or `Node` for FS2."""
    fields: dict[str, str] = {}
    roms: list[str] = []
    in_roms = False
    for line in text.replace("\r", "\n").splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if in_roms and line.lstrip().startswith("type="):
            roms.append(line.strip())
            continue
        in_roms = key == "Rom Info" and bool(colon)
        if in_roms:
            roms += [_plain(value)] if _plain(value) else []
        elif key == "Description" and _TABLE_HEAD.match(value):
            continue
        elif colon and key not in fields:
            fields[key] = value
    return fields, roms


def parse_query(text: str) -> Query:
    """Parse the output of `query` and `query full`. Raises UnexpectedOutput where it has no version."""
    fields, roms = _fields(text)

    def field(*keys: str) -> str:
        return next((_plain(fields[key]) for key in keys if key in fields), "")

    def first_word(key: str) -> str:
        return (field(key).split() or [""])[0].replace("N/A", "")

    version = field("FW Version")
    if not _VERSION.match(version):
        raise UnexpectedOutput("The tool names no firmware version: %s" % error_of(text), stdout=text)
    running = field("FW Version(Running)", "FW Version (Running)")
    if running and not _VERSION.match(running):
        raise UnexpectedOutput("The running firmware version is %r" % running, stdout=text)
    return Query(
        image_type=field("Image type"),
        version=version,
        running=running or version,
        release_date=field("FW Release Date"),
        part_number=field("Part Number"),
        description=field("Description"),
        roms=tuple(roms),
        base_guid=first_word("Base GUID"),
        base_mac=first_word("Base MAC"),
        psid=field("PSID"),
        original_psid=field("Orig PSID"),
        security=tuple(word.strip() for word in field("Security Attributes").split(",") if word.strip()),
        update_method=field("Default Update Method"),
    )


def verified(rc: int, text: str) -> bool:
    """Whether `verify` found the image intact."""
    return rc == 0 and "FW image verification succeeded" in text and "-E-" not in text


def wrote_flash(text: str) -> bool:
    """Whether the tool itself wrote the flash, judged by its output.

    It also does so for images that the firmware can't check, whatever the adapter's default method is.
    """
    return "without signatures" in text


def writing_began(text: str) -> bool:
    """Whether a failed burn had begun to write the flash.

    Firmware that writes the flash itself keeps its own image until the new one is complete, so its errors do not count.
    """
    return wrote_flash(text) or any(sign in text for sign in _WRITING)


def firmware_checks(found: Query) -> bool:
    """Whether the adapter's own firmware checks an image before it accepts it."""
    return found.update_method.lower() == _FIRMWARE_CONTROL
