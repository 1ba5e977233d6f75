# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`saquery`: what the subnet administration of the master knows. Grammar from infiniband-diags, `saquery.c`."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import integer
from ansible_collections.rdma.ofed.plugins.module_utils._tools._sminfo import SmInfo, ask

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

_HEAD = "SMInfoRecord dump:"
_FIELD = re.compile(r"^\s*(\w+)\.{2,}(.*)$")
_NEEDED = ("LID", "GUID", "ActCount", "Priority", "SMState")

# No subnet manager configured the port, or the one that did went away.
_NOBODY = re.compile(r"No SM/SA found|Failed to bind to the SA|Query SA failed: Connection timed out")


def parse_sm_records(stdout: str) -> tuple[SmInfo, ...]:
    """`saquery SMIR`: one block a subnet manager; sorted by port GUID. Raises UnexpectedOutput."""
    records: list[SmInfo] = []
    head, *blocks = stdout.split(_HEAD)
    if head.strip():
        raise UnexpectedOutput("saquery SMIR printed %r before the first record" % head.strip())
    for block in blocks:
        fields = {match.group(1): match.group(2) for match in map(_FIELD.match, block.splitlines()) if match}
        found = [number for number in (integer(fields.get(key, "").strip()) for key in _NEEDED) if number is not None]
        if len(found) != len(_NEEDED):
            raise UnexpectedOutput("saquery SMIR printed a record without the fields %s: %r" % (", ".join(_NEEDED), block.strip()))
        lid, guid, activity, priority, state = found
        records.append(SmInfo(lid, "0x%016x" % guid, activity, priority, state))
    return tuple(sorted(records, key=lambda record: record.guid))


def sm_records(run: Runner, device: str, port: int) -> tuple[SmInfo, ...] | None:
    """Every subnet manager of the fabric as its master lists them, itself included; None where no master answers.

    A second master on a fabric that is split in two is invisible here.
    """
    stdout = ask(run, ["saquery", "-C", device, "-P", str(port), "SMIR"], _NOBODY)
    return None if stdout is None else parse_sm_records(stdout)
