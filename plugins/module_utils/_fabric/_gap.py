# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What could not be determined about a fabric. Pure; `_words.py` puts it into words."""

from __future__ import annotations

import enum
import typing as t

# The number of examples shown of something that may apply to each port of a fabric.
_SHOWN = 3
_LENGTH = 300


class Code(enum.Enum):
    NO_PORT = "no_port"
    NO_LINK = "no_link"
    """The port that the fabric is queried through has no link."""
    UNREAD_LINKS = "unread_links"
    """Links whose bit errors their hosts could not read."""
    NO_SUCH_PORT = "no_such_port"
    SILENT_SWITCHES = "silent_switches"
    """Switches that do not report their firmware."""
    NOT_INSTALLED = "not_installed"
    FAILED = "failed"
    INCOMPLETE = "incomplete"
    UNREAD = "unread"
    NO_SUBNET_MANAGER = "no_subnet_manager"
    NOT_IN_TOPOLOGY = "not_in_topology"
    NO_SUCH_NODE = "no_such_node"
    NAME_MAP = "name_map"
    UNFINISHED = "unfinished"
    NO_LID = "no_lid"
    BROKEN_SAMPLE = "broken_sample"
    CLOCK = "clock"


class Gap(t.NamedTuple):
    """One piece of information that is missing in the result."""

    code: Code
    tool: str = ""
    total: int = 1
    """The total number, of which `examples` shows the first."""
    examples: tuple[str, ...] = ()


def gaps_of(code: Code, tool: str, examples: t.Sequence[str]) -> tuple[Gap, ...]:
    """The gap with one reason: the total number and the first examples. Empty without examples."""
    return (Gap(code, tool, len(examples), tuple(text[:_LENGTH] for text in examples[:_SHOWN])),) if examples else ()
