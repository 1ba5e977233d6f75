# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`mlxfwreset` and `mstfwreset`: query how pending firmware and configuration can be loaded, and load them.

The grammar is that of mstflint 4.21 to 4.31 and of MFT with the same version numbers. Exit status: 0 is also returned when the tool
stopped with a notice, a warning, or a declined prompt, so only the line that reports success counts; 1 is an
error, printed to standard output, sometimes after the prompt; 2 means wrong arguments, reported on standard error.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import CommandFailed, UnexpectedOutput, Unsupported
from .._foreign import decimal

if t.TYPE_CHECKING:
    from .._host._run import Runner

TOOLS = ("mlxfwreset", "mstfwreset")

LIVE_PATCH = 0
PCI_RESET = 3
# For this level, the tool runs reboot(8).
WARM_REBOOT = 4

SYNC_BY_TOOL = 0
SYNC_BY_DRIVER = 1
SYNC_BY_FIRMWARE = 2

# A reset takes seconds, or longer if a DPU's Arm cores take part or another host of the card has to agree.
_QUERY_TIMEOUT = 60
_RESET_TIMEOUT = 600

_SECTION = re.compile(r"^Reset[- ](\w+)\b[^:]*:$")
_ROW = re.compile(r"^([0-9]{1,3}): .*?-(not )?supported\b(.*)$", re.IGNORECASE)
# Some errors start with a line break.
_ERROR = re.compile(r"-E-\s+(.*)")
_NOTICE = re.compile(r"^-[IW]- (?!FSM )(.*)$", re.MULTILINE)
_STEP = re.compile(r"^-I- (\S.*)\s-(Done|Failed|Skipped)?[^\S\n]*$", re.MULTILINE)
_LOADED = re.compile(r"^-I- FW was loaded successfully", re.MULTILINE)
# A row of the table of devices with a driver behind the PCIe switch of the card.
_BOUND = re.compile(r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s*\|\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)
_BEHIND = "drivers are currently bound to PCI devices"
_USAGE = re.compile(r"^m[ls][xt]fwreset: error: (.*)$", re.MULTILINE)

# Advice for errors of the tool, by a part of their text.
_HINTS = (
    ("not supported on virtual machines", "reboot the machine that has the card instead"),
    ('stop "opensm"', "stop the subnet manager of this node first"),
    ("Unsupported Device", "this card can't be reset by a tool: reboot instead"),
    ("Failed to Identify Device", "the PCI function is gone, or its address is wrong"),
    ("UEFI Secure Boot", "secure boot forbids it: reboot instead"),
    ("3rd party driver", "release the function from that driver first"),
    ("behind the PCIe switch", "stop what uses these devices and unbind their drivers, or reboot"),
    ("fsm register is busy", "another host that shares this card is resetting it, or failed while doing so"),
    ("not supported in the current state", "reboot instead"),
    ("virtual functions", "remove the virtual functions first"),
    ("reset failed", "reboot instead"),
    ("Only root", "run it as root"),
    ("could not import", "the installation of the tool is incomplete"),
)


class Query(t.NamedTuple):
    """How the card can load pending changes in its present state."""

    levels: tuple[int, ...] = ()
    """The supported levels: first the sufficient one according to the card, then the others, mildest first."""
    syncs: tuple[int, ...] = ()
    """The supported ones of SYNC_BY_TOOL, SYNC_BY_DRIVER and SYNC_BY_FIRMWARE, the default first."""


class Outcome(t.NamedTuple):
    loaded: bool
    steps: tuple[str, ...] = ()
    """The steps that the tool completed, in its words."""
    message: str = ""
    """Why the firmware was not loaded."""


def _bound(text: str) -> str:
    """The drivers that prevent the tool from resetting a card with a PCIe switch, by name."""
    drivers: dict[str, list[str]] = {}
    for pci, driver in _BOUND.findall(text.partition(_BEHIND)[2]):
        drivers.setdefault(driver, []).append(pci)
    found = "; ".join("%s (%s)" % (driver, ", ".join(devices)) for driver, devices in drivers.items())
    return "drivers hold devices behind the PCIe switch of the card: %s" % (found or "the tool does not name them")


def error_of(text: str) -> str:
    """The error of an output, without marks and trailing full stop; "" where there is none."""
    if _BEHIND in text:
        return _bound(text)
    match = _ERROR.search(text) or _USAGE.search(text)
    return match.group(1).strip().rstrip(".").strip() if match else ""


def with_hint(error: str) -> str:
    """An error, with advice where it is known."""
    hint = next((hint for part, hint in _HINTS if part.lower() in error.lower()), "")
    return "%s (%s)" % (error, hint) if hint else error


def parse_query(stdout: str) -> Query:
    """Parse the output of `query`: sections of rows "N: text -[Not ]Supported [(default)]". Raises UnexpectedOutput.

    "Not supported" has a lower-case letter in the section on synchronization. Its heading is `Reset-sync (...):`, and
    `Reset sync (...):` where the firmware reports its reset method. Unknown sections and lines outside of sections
    are ignored: newer tools have more of them, such as `Reset request method (...):`.
    """
    found: dict[str, list[re.Match[str]]] = {}
    rows: list[re.Match[str]] = []
    for line in stdout.splitlines():
        section, row = _SECTION.match(line.strip()), _ROW.match(line.strip())
        if section:
            rows = found.setdefault(section.group(1).lower(), [])
        elif row:
            rows.append(row)
        elif line.rstrip().endswith(":"):
            rows = []
    if not found.get("levels"):
        raise UnexpectedOutput("the firmware reset tool printed %r, which names no reset levels" % stdout.strip()[:500])
    return Query(_supported(found["levels"]), _supported(found.get("sync", ())))


def _supported(rows: t.Sequence[re.Match[str]]) -> tuple[int, ...]:
    """The numbers of the supported rows, with the default first."""
    supported = [row for row in rows if not row.group(2)]
    return tuple(decimal(row.group(1), 0) for row in sorted(supported, key=lambda row: "(default)" not in row.group(3).lower()))


def parse_reset(stdout: str, stderr: str = "") -> Outcome:
    """Parse the output of `reset`. Never raises: unknown output counts as a failed reset."""
    text = stdout + "\n" + stderr
    steps = tuple(match.group(1).strip() for match in _STEP.finditer(stdout) if match.group(2) == "Done")
    error = error_of(text)
    if _LOADED.search(stdout) and not error:
        return Outcome(True, steps)
    notices = [notice for notice in _NOTICE.findall(text) if not _STEP.match("-I- " + notice) and "FW was loaded" not in notice]
    message = error or (notices[-1].strip() if notices else "") or text.strip()[-500:] or "the tool printed nothing"
    return Outcome(False, steps, message)


def query(run: Runner, name: str, pci: str) -> Query | None:
    """How one card can load pending changes; None where the tool supports the query of the card, but not its reset."""
    argv = [name, "-d", pci, "query"]
    output = run(argv, ok=None, timeout=_QUERY_TIMEOUT)
    if output.rc == 0 and "-E-" not in output.stdout:
        return parse_query(output.stdout)
    if "unsupported device" in (output.stdout + output.stderr).lower():
        return None
    error = error_of(output.stdout + "\n" + output.stderr) or (output.stderr or output.stdout).strip()
    text = "%s failed with exit status %d: %s" % (" ".join(argv), output.rc, with_hint(error))
    raise CommandFailed(text, cmd=argv, error=error, **output._asdict())


def reset(run: Runner, name: str, pci: str, *, level: int | None, sync: int | None) -> Outcome:
    """Reset one card. The driver of all its functions is stopped and started again. Raises Unsupported for a level that reboots."""
    if level not in (LIVE_PATCH, PCI_RESET):
        raise Unsupported("reset level %s of %s is not used by this collection: it stops more than the card" % (level, pci))
    owner = ["--sync", str(sync)] if sync is not None else []
    # Options precede the command.
    output = run([name, "-y", "-d", pci, "-l", str(level), *owner, "reset"], ok=None, timeout=_RESET_TIMEOUT)
    outcome = parse_reset(output.stdout, output.stderr)
    return outcome if output.rc == 0 else outcome._replace(loaded=False, message=outcome.message or "exit status %d" % output.rc)
