# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The file opensm.conf of an instance: its keys, and what a change of them takes. Pure.

Grammar: C(key value) lines, C(#) begins a comment, C((null)) is no value; opensm reads it at its start and again, as far as a
key allows that, before each heavy sweep, which SIGHUP makes it do.
"""

from __future__ import annotations

import re
import typing as t

NOTHING, RELOAD, RESTART = "", "reload", "restart"

# The keys of ours that a running opensm takes over (can_update in its table of options); no other one is assumed to be.
RELOADED = frozenset(("log_max_size", "polling_retry_number", "sm_priority", "sminfo_polling_timeout"))

_LINE = re.compile(r"^\s*([A-Za-z0-9_]+)\s+(.*?)\s*$")


def parse_conf(text: str) -> dict[str, str]:
    """The keys of a file with their values. The last one of two counts, as it does for opensm."""
    found = {}
    for line in text.splitlines():
        match = _LINE.match(line.split("#", 1)[0])
        if match:
            found[match[1]] = match[2].strip('"')
    return found


def render_conf(values: t.Mapping[str, t.Any]) -> str:
    return "".join("%s %s\n" % (key, value) for key, value in values.items())


def with_key(text: str, key: str, value: t.Any) -> str:
    """The same file with another value of one key, added at its end where it has none."""
    lines = text.splitlines(keepends=True)
    hits = [index for index, line in enumerate(lines) if line.split()[:1] == [key]]
    for index in hits:
        lines[index] = "%s %s\n" % (key, value)
    return "".join(lines) + ("" if hits else "%s %s\n" % (key, value))


def conf_effect(before: str, after: str, reloaded: t.Collection[str] = RELOADED) -> str:
    """What a running opensm needs for the new file: NOTHING, RELOAD or RESTART."""
    old, new = parse_conf(before), parse_conf(after)
    changed = {key for key in {*old, *new} if old.get(key) != new.get(key)}
    if not changed:
        return NOTHING
    # A key that is left out goes back to its default only at a start.
    return RELOAD if changed <= set(reloaded) and changed <= set(new) else RESTART


__all__ = ("NOTHING", "RELOAD", "RELOADED", "RESTART", "conf_effect", "parse_conf", "render_conf", "with_key")
