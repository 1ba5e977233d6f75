# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Edit the configuration of openibd, /etc/infiniband/openib.conf, key by key. Pure.

bash sources the file, so the last assignment of a key counts. Nothing is ever dropped: without the `..._LOAD` lines of
the package, openibd loads nothing at all.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem, did_you_mean, label
from .._host._files import file_change
from .._host._sourced import assignments, quoted
from .._plan import Change, Kind

PATH = "/etc/infiniband/openib.conf"

# The keys that openibd reads in any release since 4.9; first, those with yes or no.
_SWITCHES_TEXT = """
ALLOW_STOP CX3_ETH_ONLY ENABLE_FW_TRACER ESP_OFFLOAD_LOAD E_IPOIB_LOAD FORCE_MODE IPOIB_LOAD LOAD_EIPOIB MLX4_EN_LOAD MLX4_LOAD MLX5_FPGA_LOAD MLX5_LOAD ONBOOT
RDMA_CM_LOAD RDMA_UCM_LOAD RENICE_IB_MAD RUN_AFFINITY_TUNER RUN_FW_UPDATER_ONBOOT RUN_MLNX_TUNE RUN_SYSCTL SRP_DAEMON_ENABLE SRP_LOAD SRP_TARGET_LOAD
UCM_LOAD UMAD_LOAD UVERBS_LOAD
"""
CHOICES: t.Mapping[str, tuple[str, ...]] = {**dict.fromkeys(_SWITCHES_TEXT.split(), ("yes", "no")), "SET_IPOIB_CM": ("yes", "no", "auto")}
NUMBERS = ("IPOIB_MTU", "NODE_DESC_TIME_BEFORE_UPDATE", "NODE_DESC_UPDATE_TIMEOUT", "POST_START_DELAY")
TEXTS = ("NODE_DESC", "OPENIBD_POST_START", "OPENIBD_POST_STOP", "OPENIBD_PRE_START", "OPENIBD_PRE_STOP", "SMARTNIC_PF_MAC_CONF")
KEYS = tuple(sorted((*CHOICES, *NUMBERS, *TEXTS)))

# One assignment alone on its line: the part before the value, the value, and what follows it.
_SIMPLE = re.compile(r"""^((?:export\s+)?[A-Za-z_][A-Za-z0-9_]*=)((?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|<>()])*)(\s*|\s+#.*)\Z""")
# Any assignment that is certainly alone on its line: NODE_DESC=$(hostname -s).
_ASSIGNMENT = re.compile(r"""^(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*=(?:\S*|"[^"]*"|\$\([^()]*\))\s*(?:\s#.*)?\Z""")
_EXPANSION = re.compile(r"""(?<!\\)[$`*?\[{~]""")


class _Line(t.NamedTuple):
    text: str
    whole: bool
    """Whether it begins and ends outside of quotes, and neither it nor the previous line is continued."""


def _lines(text: str) -> list[_Line]:
    """The lines, with the state of bash's parser at their start and end."""
    found = []
    quote, continued = "", False
    for line in text.split("\n"):
        begins = not quote and not continued
        continued, position, word = False, 0, False
        while position < len(line):
            char = line[position]
            if char == "\\" and quote != "'":
                continued = position + 1 == len(line)
                position += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char == "#" and not word:
                break
            word = not char.isspace() and char not in ";&|()<>"
            position += 1
        found.append(_Line(line, begins and not quote and not continued))
    return found


def _mentions(line: str, key: str) -> bool:
    return re.search(r"(?<![A-Za-z0-9_])%s(?![A-Za-z0-9_])" % key, line) is not None and not line.lstrip().startswith("#")


def _is_plain(line: _Line) -> bool:
    """Whether it is a comment or an assignment, which can't include the lines around it in another construct."""
    text = line.text.strip()
    if not text or text.startswith("#"):
        return line.whole
    return line.whole and (_SIMPLE.match(line.text) or _ASSIGNMENT.match(line.text)) is not None and not text.endswith(("&", "|"))


def _place(lines: t.Sequence[_Line], key: str) -> tuple[int, t.Match[str]] | None:
    """The line with the effective assignment, and its parts, if it can be changed in place: only assignments follow it."""
    for index in range(len(lines) - 1, -1, -1):
        if not _is_plain(lines[index]):
            return None
        if _mentions(lines[index].text, key):
            match = _SIMPLE.match(lines[index].text)
            return (index, match) if match and re.match(r"(?:export\s+)?%s=\Z" % key, match.group(1)) else None
    return None


def value_of(text: str, key: str) -> str | None:
    """The value of a key; None where it is not set, or where only bash can evaluate it."""
    place = _place(_lines(text), key)
    if place is None or _EXPANSION.search(re.sub(r"'[^']*'", "", place[1].group(2))):
        return None
    return assignments(place[1].string)[key]


def _ended(text: str) -> str:
    """The text, completed so that a line can be added. After a backslash or an open quote, a new line would belong to the text before it."""
    text += "\n" if text and not text.endswith("\n") else ""
    return next((text + end for end in ("", "\n", "'\n", '"\n') if _lines(text + end)[-1].whole), text)


def edited(text: str, wanted: t.Mapping[str, str]) -> str:
    """The file with the wanted values. A line is changed in place where that has the same effect; otherwise a line is appended."""
    for key, value in sorted(wanted.items()):
        if value_of(text, key) == value:
            continue
        lines = _lines(text)
        place = _place(lines, key)
        if place is None:
            text = "%s%s=%s\n" % (_ended(text), key, quoted(value))
            continue
        index, match = place
        rows = [line.text for line in lines]
        rows[index] = match.group(1) + quoted(value) + match.group(3)
        text = "\n".join(rows)
    return text


def key_changes(text: str, wanted: t.Mapping[str, t.Any]) -> tuple[Change, ...]:
    """The keys whose value differs from the declared one."""
    found = {key: value_of(text, key) for key in wanted}
    values = {key: value_text(value) for key, value in sorted(wanted.items())}
    # Most keys are read at the next start of openibd, for which no driver is unloaded.
    needs = {key: "driver_reload" if key.endswith("_LOAD") or key == "SET_IPOIB_CM" else "" for key in values}
    return tuple(Change(Kind.OPENIB_CONF, key, "", found[key] or "", value, needs[key]) for key, value in values.items() if found[key] != value)


def edit(text: str, wanted: t.Mapping[str, t.Any]) -> Change | None:
    """The change of the file to the declared values."""
    return file_change(PATH, text, edited(text, {key: value_text(value) for key, value in wanted.items()}))


def value_text(value: t.Any) -> str:
    """A declared value in the notation of the file. YAML turns yes and no into booleans."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _allowed(key: str, value: t.Any) -> str:
    """The allowed values; "" where the value is valid."""
    if not isinstance(value, (str, int)):
        return "a text, a number, yes or no"
    text = value_text(value)
    if key in CHOICES:
        return "" if text in CHOICES[key] else ", ".join(CHOICES[key])
    if key in NUMBERS:
        return "" if re.match(r"^[0-9]{1,9}\Z", text) else "a number from 0 on"
    if isinstance(value, bool):
        return "a text"
    return "" if re.match(r"^[^\0\n\r\ud800-\udfff]*\Z", text) else "a text of one line"


def conf_problems(variable: str, value: t.Any) -> list[Problem]:
    """Problems of declared keys and values."""
    if value is None:
        return []
    if not isinstance(value, dict):
        return [Problem(variable, value, "a mapping of keys of openib.conf to values, such as {IPOIB_LOAD: yes}")]
    found = []
    for key, item in value.items():
        where = "%s.%s" % (variable, label(key))
        if not isinstance(key, str) or key not in KEYS:
            hint = did_you_mean(key.upper(), KEYS) if isinstance(key, str) else ""
            found.append(Problem(where, item, "a key that openibd reads: %s" % ", ".join(KEYS), hint))
        elif _allowed(key, item):
            hint = "bash reads the file, and the value is written so that it means itself" if key in TEXTS else ""
            found.append(Problem(where, item, _allowed(key, item), hint))
    return found


def stop_allowed(text: str) -> bool:
    """Whether the site lets openibd stop the driver. A value that only bash can evaluate counts as no."""
    if not any(_mentions(line, "ALLOW_STOP") for line in text.splitlines()):
        return True
    return value_of(text, "ALLOW_STOP") in ("yes", "")
