# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The file opensm.conf of an instance: single keys of it. What a key may be, and what a change of it takes, is in C(_options*.py). Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import split


def parse_conf(text: str) -> dict[str, str]:
    """The keys of a file with their values as they stand there. The last one of two counts."""
    return dict(pair for pair in map(split, text.splitlines()) if pair is not None)


def render_conf(values: t.Mapping[str, t.Any]) -> str:
    """Keys alone, as long as there is no template of an installed opensm."""
    return "".join("%s %s\n" % (key, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value) for key, value in values.items())


def with_key(text: str, key: str, value: t.Any) -> str:
    """The same file with another value of one key, added at its end where it has none."""
    lines = text.splitlines(keepends=True)
    hits = [index for index, line in enumerate(lines) if line.split()[:1] == [key]]
    for index in hits:
        lines[index] = "%s %s\n" % (key, value)
    return "".join(lines) + ("" if hits else "%s %s\n" % (key, value))
