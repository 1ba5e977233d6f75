# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""mlxconfig (MFT) and mstconfig (mstflint): command lines and output. Pure.

Behaviour of the programs: options precede the command. Every error is a line with `-E- ` on standard output, with exit
status 3. Declining a prompt, also through the end of standard input, gives exit status 2. A declined `set` checks
names, types and enumerations and shows the new values, so it serves as a dry run. A confirmed `set` writes even
if nothing changes.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal, hexadecimal

TOOLS = ("mlxconfig", "mstconfig")

DONE = 0
ABORTED = 2

_DEVICE = re.compile(r"^(?:PCI d|D)evice:(.*)$")
_HEADER = re.compile(r"^Configurations:(.*)$")
_COLUMN = re.compile(r"Default|Current|Next Boot|New")
_ROW = re.compile(r"^(?P<changed>\*)?\s*(?:(?P<read_only>RO)\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\[\d{1,6}\])?)(?:\s+(?P<values>\S.*))?$")
# A value includes its parenthesis: up to version 4.25 the next value may follow without a blank.
_VALUE = re.compile(r"Array\[\d+\.\.\d+\]|[^\s()\[\]]+\(\d+\)|[^\s()\[\]]+")
_ERROR = re.compile(r"-E- (.*)")
_SIZE = re.compile(r"as its size is (\d{1,2}) bits")
_LIMIT = re.compile(r"Parameter \S+?' value is (larger|smaller) than (?:maximum|minimum) allowed (\S+)")
_CONF = re.compile(r"^\s{16,24}(?P<name>[A-Za-z_][A-Za-z0-9_]*)=<(?P<kind>[^<>]*)>")
_CONF_VALUE = re.compile(r"\b0x(?P<number>[0-9a-fA-F]{1,8})\s?: (?P<name>[A-Za-z0-9_]+)")
_CONF_INSTANCE = re.compile(r"^(?P<stem>.+)_(?P<kind>[PM])\d{1,3}$")

# Error messages when another program is using the card, so that a retry is worthwhile.
# The second last is the only message for a semaphore that stays locked for 13 seconds, and for firmware that is still starting.
# The last one appears right after another tool was killed during its work.
BUSY = (
    *("device is busy", "icmd semaphore", "interface busy", "semaphore locked", "resource unavailable"),
    "error when trying to check if nv access registers are supported",
    "me_icmd_status_cr_fail",
)
_UNKNOWN = ("unknown parameter", "failed to find param", "with no port does not exist", "failed to find tlv")
# Error messages when the other program can do what this one can't.
OTHER_TOOL = (
    *("unsupported device", "device type is not supported", "nvqc access register is not supported"),
    *("failed to open the device", "failed to identify the device"),
    *_UNKNOWN,
)
# Error messages when a parameter is unknown to the program or missing on the card.
MISSING = (*_UNKNOWN, "the device doesn't support", "is out of range", "index out of range")


class Row(t.NamedTuple):
    """One parameter. None where the firmware can't tell, or where it was not queried."""

    name: str
    next: str
    """The value that the card will use after its next start."""
    default: str | None = None
    current: str | None = None
    """The value that it uses now."""
    read_only: bool = False
    new: str | None = None
    """In the output of a set: the new `next`."""


class Answer(t.NamedTuple):
    """The output of a query for one device."""

    device: str = ""
    rows: t.Mapping[str, Row] = {}


class Conf(t.NamedTuple):
    """One parameter of the program's database, which covers all cards. Only a query tells whether a card has it."""

    name: str
    kind: str
    """`NUM`, `BINARY`, `BYTES` and so on; "" for an enumeration or boolean."""
    values: tuple[str, ...] = ()
    """The names of an enumeration; with the number where the description has it: `ETH(2)`."""

    def allowed(self) -> str:
        """The values that may be declared, in words."""
        if self.values:
            return ", ".join(self.values)
        return {"NUM": "a number", "BINARY": "a number (bit mask)", "BYTES": "a string of hex digits"}.get(self.kind, self.kind)


def query_command(tool: str, device: str, names: t.Sequence[str] = ()) -> list[str]:
    """Query all three values of some parameters, or of all parameters of the card."""
    return [tool, "-d", device, "-e", "query", *names]


def set_command(tool: str, device: str, assignments: t.Mapping[str, str], *, dry_run: bool) -> list[str]:
    """Set parameters; `dry_run` needs an empty standard input."""
    return [tool, *([] if dry_run else ["-y"]), "-d", device, "set", *("%s=%s" % item for item in assignments.items())]


def backup_command(tool: str, device: str, path: str) -> list[str]:
    """Save the configured values in the format that `set_raw` reads."""
    return [tool, "-d", device, "-f", path, "backup"]


def confs_command(tool: str, device: str) -> list[str]:
    return [tool, "-d", device, "show_confs"]


def errors_of(text: str) -> list[str]:
    """The texts after `-E-`, with single blanks. The help that follows usage errors is left out."""
    return [" ".join(match.split()) for match in _ERROR.findall(text)]


def says(errors: t.Iterable[str], phrases: t.Sequence[str]) -> bool:
    """Whether one of the errors contains one of the phrases, which are those of BUSY, OTHER_TOOL or MISSING."""
    return any(phrase in error.lower() for error in errors for phrase in phrases)


def allowed_by(error: str) -> str:
    """The values that the error names as allowed, in words; "" if it names none."""
    size, limit = _SIZE.search(error), _LIMIT.search(error)
    if size:
        return "0 to %d" % (2 ** decimal(size.group(1), 0) - 1)
    return "%s %s" % ("at most" if limit.group(1) == "larger" else "at least", limit.group(2)) if limit else ""


def _row(line: str, columns: t.Sequence[str]) -> Row | None:
    match = _ROW.match(line)
    if match is None or not columns:
        return None
    values = _VALUE.findall(match.group("values") or "")
    name = match.group("name")
    if len(values) != len(columns) or "".join(values) != "".join((match.group("values") or "").split()):
        if re.match(r"^[A-Z][A-Z0-9_]*(\[\d+\])?$", name) and "_" in name.partition("[")[0][1:-1]:
            raise UnexpectedOutput("mlxconfig printed a row of %d columns where %d were announced: %s" % (len(values), len(columns), line.strip()))
        return None
    found = dict(zip(columns, values))
    return Row(name, found["Next Boot"], found.get("Default"), found.get("Current"), bool(match.group("read_only")), found.get("New"))


def parse_query(text: str) -> Answer:
    """Parse the output of a query of one device, or of a set up to its prompt. Raises UnexpectedOutput where it covers several devices.

    The header determines the number of columns; widths and blanks differ between versions and have no meaning.
    """
    device = ""
    rows: dict[str, Row] = {}
    columns: list[str] = []
    for line in map(str.strip, text.splitlines()):
        found, header = _DEVICE.match(line), _HEADER.match(line)
        if found and device:
            raise UnexpectedOutput("mlxconfig was run for one device, and answered for %s and %s" % (device, found.group(1).strip()))
        if found:
            device = found.group(1).strip()
        elif header:
            columns = _COLUMN.findall(header.group(1)) or ["Next Boot"]
            if "Next Boot" not in columns:
                raise UnexpectedOutput("mlxconfig announced no next boot values: %s" % line.strip())
        else:
            row = _row(line, columns)
            if row:
                rows[row.name] = row
    return Answer(device, rows)


def parse_confs(text: str) -> dict[str, Conf]:
    """Parse the output of `show_confs`: the parameters by name. Lines of unknown form are prose."""
    kinds: dict[str, tuple[str, dict[str, str]]] = {}
    # Lines before the first parameter belong to none.
    numbers: dict[str, str] = {}
    for line in text.splitlines():
        match = _CONF.match(line)
        if match:
            numbers = {}
            kinds[match.group("name")] = (match.group("kind"), numbers)
            line = line[match.end() :]
        for entry in _CONF_VALUE.finditer(line):
            numbers.setdefault(entry.group("name"), str(hexadecimal(entry.group("number"), 0)))
    found = {name: _conf(name, kind, numbers) for name, (kind, numbers) in kinds.items()}
    return {name: _like_first(conf, found) for name, conf in found.items()}


def _conf(name: str, kind: str, numbers: t.Mapping[str, str]) -> Conf:
    names = kind.split("|")
    if len(names) < 2:
        return Conf(name, kind)
    known = {"False": "0", "True": "1"} if set(names) == {"False", "True"} else numbers
    return Conf(name, "", tuple("%s(%s)" % (value, known[value]) if value in known else value for value in names))


def _like_first(conf: Conf, found: t.Mapping[str, Conf]) -> Conf:
    """Parameters of port 2 or module 1 are described only at the first port or module."""
    match = _CONF_INSTANCE.match(conf.name)
    first = found.get("%s%s" % (match.group("stem"), "_P1" if match.group("kind") == "P" else "_M0")) if match else None
    if first is None or sorted(value.partition("(")[0] for value in first.values) != sorted(conf.values):
        return conf
    return conf._replace(values=first.values)
