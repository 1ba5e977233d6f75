# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""nmcli: its terse output, and what is asked of it."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Active

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

ACTIVE = ("nmcli", "--terse", "--fields", "NAME,UUID,DEVICE,STATE", "connection", "show", "--active")


def fields(line: str) -> list[str]:
    """A line of terse output: colons between the fields, those inside of one behind a backslash."""
    return [re.sub(r"\\(.)", r"\1", field) for field in re.findall(r"(?:^|(?<=:))((?:\\.|[^:\\])*)", line)]


def parse_active(stdout: str) -> dict[str, Active]:
    """`ACTIVE` -> what is active, by interface. A profile that is still being taken down is none."""
    found = {}
    for line in stdout.splitlines():
        values = fields(line)
        if len(values) == 4 and values[2] and not values[3].startswith("deactivat"):
            found[values[2]] = Active(values[0], values[1], values[3] == "activating")
    return found


def parse_version(stdout: str) -> tuple[int, int] | None:
    """`nmcli tool, version 1.42.4`."""
    match = re.search(r"(\d+)\.(\d+)", stdout)
    return (int(match.group(1)), int(match.group(2))) if match else None


def read_active(run: Runner) -> dict[str, Active]:
    output = run(ACTIVE, ok=None, timeout=20)
    return parse_active(output.stdout) if output.rc == 0 else {}


def read_version(run: Runner) -> tuple[int, int] | None:
    return parse_version(run(["nmcli", "--version"], ok=None, timeout=20).stdout)
