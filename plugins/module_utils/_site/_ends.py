# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the tasks of a run ended on one host. Pure."""

from __future__ import annotations

import typing as t

FAILED, UNREACHABLE = "failed", "unreachable"
# The maximum length of a line. Longer texts are in full in the output above.
_MOST_LETTERS = 600


class Record(t.NamedTuple):
    """What the tasks of a run recorded for one host."""

    changed: bool = False
    kind: str = ""
    """FAILED or UNREACHABLE; "" where no task of the collection ended in that way."""
    task: str = ""
    """The name of that task, as it is printed."""
    said: str = ""
    changes: tuple[str, ...] = ()
    """What modules have changed, or would change, in their words. These have nothing of the content of files, which can be secret."""


def generic(text: str, names: t.Iterable[str]) -> str:
    """The message about a host without what is specific to it, so that equal faults have equal texts. `names`: those of the host."""
    line = " ".join(text.split())
    for name in sorted({name for name in names if name}, key=len, reverse=True):
        line = line.replace(name + ": ", "", 1) if line.startswith(name + ": ") else line
        line = _without(line, name)
    return line if len(line) <= _MOST_LETTERS else line[:_MOST_LETTERS].rpartition(" ")[0] + " ..."


def _without(line: str, name: str) -> str:
    words: list[str] = []
    for part in line.split(" "):
        if part.strip("'\"(),.;") != name:
            words.append(part)
            continue
        end = part[len(part.rstrip(".,;")) :]
        # "connect to host 10.0.0.1 port 22"
        if words and words[-1] == "host":
            words[-1] += end
        else:
            words.append("the host" + end)
    return " ".join(words)
