# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Files of sections and assignments, as daemons read them. Pure."""

from __future__ import annotations


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """`[Section]` -> its assignments in order. Repeated sections are one, as systemd and GLib have it."""
    found: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            current = found.setdefault(line[1:-1], [])
        elif "=" in line:
            key, value = line.split("=", 1)
            current.append((key.strip(), value.strip()))
    return found
