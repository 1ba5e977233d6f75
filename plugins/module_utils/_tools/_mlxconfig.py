# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""mlxconfig (MFT) and mstconfig (mstflint): command lines, and what they print. Pure.

Facts of the programs: options come before the command; every error is a line with `-E- ` on standard output and exit
status 3; an answer of no, also at the end of standard input, is exit status 2. A `set` with no for an answer checks
names, types and enumerations and shows the new values, so it is the programs' own dry run. A `set` with yes writes even
where nothing changes.
"""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput

TOOLS = ("mlxconfig", "mstconfig")

DONE = 0
ABORTED = 2

# The first version that writes JSON. It must go to a regular file: with a pipe the program reads its own output forever.
_JSON_SINCE = (4, 31)

_VERSION = re.compile(r"\b(?:mft|mstflint) (\d{1,4})\.(\d{1,4})\.")
_FIELD = re.compile(r"^\s*(Device type|Name|Description|Device|PCI device):\s*(.*?)\s*$")
_HEADER = re.compile(r"^\s*Configurations:\s*(.*?)\s*$")
_COLUMN = re.compile(r"Default|Current|Next Boot|New")
_ROW = re.compile(r"^(?P<changed>\*)?\s*(?:(?P<read_only>RO)\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\[\d{1,6}\])?)(?:\s+(?P<values>\S.*?))?\s*$")
# A value ends with its bracket: up to version 4.25 the next one may follow without a blank.
_VALUE = re.compile(r"Array\[\d+\.\.\d+\]|[^\s()\[\]]+\(\d+\)|[^\s()\[\]]+")
_ERROR = re.compile(r"-E- (.*?)\s*$", re.MULTILINE)
_SIZE = re.compile(r"as its size is (\d{1,2}) bits")
_LIMIT = re.compile(r"Parameter (\S+?)' value is (larger|smaller) than (?:maximum|minimum) allowed (\S+)")

# The second last is the only message for a semaphore that stays locked for 13 seconds, and for firmware that is still starting.
# The last one appears right after another tool was killed at work.
_BUSY = (
    *("device is busy", "icmd semaphore", "interface busy", "semaphore locked", "resource unavailable"),
    "error when trying to check if nv access registers are supported",
    "me_icmd_status_cr_fail",
)
_UNREACHED = ("failed to open the device", "failed to identify the device")
_OTHER_TOOL = ("unsupported device", "device type is not supported", "nvqc access register is not supported", *_UNREACHED)
_UNKNOWN = ("unknown parameter", "failed to find param", "with no port does not exist", "failed to find tlv")
_UNAVAILABLE = ("the device doesn't support",)
_OUT_OF_RANGE = ("is out of range", "index out of range")


# The columns of rows whose header was cut off.
_HEADERLESS: t.Mapping[int, tuple[str, ...]] = {1: ("Next Boot",), 2: ("Default", "Next Boot"), 3: ("Default", "Current", "Next Boot")}


class Row(t.NamedTuple):
    """One parameter. None where the firmware can't tell, or the query did not ask."""

    name: str
    next: str
    """What the card will use after its next start."""
    default: str | None = None
    current: str | None = None
    """What it uses now."""
    read_only: bool = False
    new: str | None = None
    """In the answer to a set: what would be `next`."""


class Answer(t.NamedTuple):
    """What a query says of one device."""

    device: str = ""
    type: str = ""
    """`ConnectX5`."""
    name: str = ""
    """The part, `MCX556A-ECA_Ax`; "" where it is not known."""
    rows: t.Mapping[str, Row] = {}


def version_command(tool: str) -> list[str]:
    return [tool, "-v"]


def query_command(tool: str, device: str, names: t.Sequence[str] = (), *, json_file: str = "") -> list[str]:
    """All three states of some parameters, or of all that the card has."""
    return [tool, "-d", device, "-e", *(["-j", json_file] if json_file else []), "query", *names]


def set_command(tool: str, device: str, assignments: t.Mapping[str, str], *, dry_run: bool) -> list[str]:
    """Set parameters; `dry_run` needs an empty standard input."""
    return [tool, *([] if dry_run else ["-y"]), "-d", device, "set", *("%s=%s" % item for item in assignments.items())]


def backup_command(tool: str, device: str, path: str) -> list[str]:
    """Save what is set, in the form that `set_raw` reads."""
    return [tool, "-d", device, "-f", path, "backup"]


def confs_command(tool: str, device: str) -> list[str]:
    return [tool, "-d", device, "show_confs"]


def writes_json(version_text: str) -> bool:
    """Whether the program with the version line `mstconfig, mstflint 4.31.0, ...` writes JSON."""
    match = _VERSION.search(version_text)
    return bool(match and (int(match.group(1)), int(match.group(2))) >= _JSON_SINCE)


def errors_of(text: str) -> list[str]:
    """The texts after `-E-`, with single blanks; usage errors have the whole help behind them, which is left out."""
    return [" ".join(match.split()) for match in _ERROR.findall(text)]


def _says(texts: t.Iterable[str], phrases: t.Sequence[str]) -> bool:
    return any(phrase in text.lower() for text in texts for phrase in phrases)


def is_busy(errors: t.Sequence[str]) -> bool:
    """Whether another program is using the card, so that another try is worthwhile."""
    return _says(errors, _BUSY)


def needs_other_tool(errors: t.Sequence[str]) -> bool:
    """Whether the other of the two programs can do what this one can't."""
    return _says(errors, _OTHER_TOOL) or _says(errors, _UNKNOWN)


def is_missing(errors: t.Sequence[str]) -> bool:
    """Whether a parameter is unknown to the program or missing on the card."""
    return _says(errors, _UNKNOWN) or _says(errors, _UNAVAILABLE) or _says(errors, _OUT_OF_RANGE)


def limit_of(errors: t.Sequence[str]) -> tuple[str, str] | None:
    """The parameter whose value the firmware refuses, and what it allows."""
    for text in errors:
        match = _LIMIT.search(text)
        if match:
            return match.group(1), "%s %s" % ("at most" if match.group(2) == "larger" else "at least", match.group(3))
    return None


def allowed_by(error: str) -> str:
    """What the error names as allowed, in words; "" if it names nothing."""
    size, limit = _SIZE.search(error), limit_of([error])
    if size:
        return "0 to %d" % (2 ** int(size.group(1)) - 1)
    return limit[1] if limit else ""


def _row(line: str, announced: t.Sequence[str] | None) -> Row | None:
    match = _ROW.match(line)
    if match is None:
        return None
    values = _VALUE.findall(match.group("values") or "")
    name = match.group("name")
    columns = _HEADERLESS.get(len(values), ()) if announced is None and "_" in name else announced or ()
    if not columns or len(values) != len(columns) or "".join(values) != "".join((match.group("values") or "").split()):
        if announced and re.match(r"^[A-Z][A-Z0-9_]*_[A-Z0-9_]+(\[\d+\])?$", name):
            raise UnexpectedOutput("mlxconfig printed a row of %d columns where %d were announced: %s" % (len(values), len(columns), line.strip()))
        return None
    found = dict(zip(columns, values))
    return Row(name, found["Next Boot"], found.get("Default"), found.get("Current"), bool(match.group("read_only")), found.get("New"))


def parse_query(text: str) -> tuple[Answer, ...]:
    """The text of a query, or of a set up to its question: one answer a device.

    The columns are counted in the header; widths and blanks differ between versions and mean nothing. Rows without any
    header, as in a cut piece of output, are told apart by their number of values.
    """
    answers: list[Answer] = []
    fields: dict[str, str] = {}
    rows: dict[str, Row] = {}
    columns: list[str] | None = None

    def finish() -> None:
        if fields or rows:
            name = fields.get("Name", "")
            device = fields.get("Device", fields.get("PCI device", ""))
            answers.append(Answer(device, fields.get("Device type", ""), "" if name == "N/A" else name, dict(rows)))

    for line in text.splitlines():
        field, header = _FIELD.match(line), _HEADER.match(line)
        if re.match(r"^\s*Device #\d+:", line):
            finish()
            fields, rows, columns = {}, {}, None
        elif field:
            fields.setdefault(field.group(1), field.group(2))
        elif header:
            columns = _COLUMN.findall(header.group(1)) or ["Next Boot"]
            if "Next Boot" not in columns:
                raise UnexpectedOutput("mlxconfig announced no next boot values: %s" % line.strip())
        else:
            row = _row(line, columns)
            if row:
                rows[row.name] = row
    finish()
    return tuple(answers)


def _json_value(value: t.Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise UnexpectedOutput("mlxconfig wrote a %s as the value of %s" % (type(value).__name__, where))


def _json_text(device: t.Mapping[str, t.Any], key: str) -> str:
    value = device.get(key, "")
    if not isinstance(value, str):
        raise UnexpectedOutput("mlxconfig wrote a %s as the %s of a device" % (type(value).__name__, key))
    return value


def parse_json(text: str) -> tuple[Answer, ...]:
    """The file of `-j`: one answer a device."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise UnexpectedOutput("mlxconfig wrote no JSON: %s" % exc) from exc
    answers = []
    for device in document.values() if isinstance(document, dict) else [document]:
        parameters = device.get("tlv_configuration", {}) if isinstance(device, dict) else None
        if not isinstance(parameters, dict):
            raise UnexpectedOutput("mlxconfig wrote an unknown form of JSON: %.80s" % text)
        rows = {}
        for name, states in parameters.items():
            if not isinstance(states, dict) or "next_value" not in states:
                raise UnexpectedOutput("mlxconfig wrote no next_value of %s" % name)
            values = {key: _json_value(states[key], name) for key in ("next_value", "default_value", "current_value") if key in states}
            rows[name] = Row(name, values["next_value"], values.get("default_value"), values.get("current_value"), states.get("read_only") is True)
        part = _json_text(device, "name")
        answers.append(Answer(_json_text(device, "device"), _json_text(device, "device_type"), "" if part == "N/A" else part, rows))
    return tuple(answers)
