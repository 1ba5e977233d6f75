# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._plan import NEEDS, Change, Kind, Pending, Plan, changes_of


def test_an_empty_plan_changes_nothing() -> None:
    assert Plan().result() == {"changed": False, "changes": [], "diff": [], "pending": [], "reboot_required": False, "reasons": []}


def test_changes_that_change_nothing_are_dropped() -> None:
    kept = Change(Kind.INTERFACE, "ib0", "mtu", "1500", "2044")
    assert changes_of(None, Change(Kind.INTERFACE, "ib0", "mode", "datagram", "datagram"), kept) == (kept,)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [("", "x", "create file /a"), ("x", "y", "edit file /a"), ("x", "", "remove file /a")],
)
def test_files_are_described_by_what_happens_to_them(before: str, after: str, words: str) -> None:
    assert Change(Kind.FILE, "/a", "", before, after).words() == words


def test_settings_are_described_by_their_values() -> None:
    assert Change(Kind.INTERFACE, "ib0", "mode", "", "connected").words() == "ib0 mode: none -> connected"


def test_diff_shows_files_one_by_one_and_settings_together() -> None:
    plan = Plan(
        (Change(Kind.INTERFACE, "ib0", "mtu", "1500", "2044"), Change(Kind.FILE, "/a", "", "", "x\n"), Change(Kind.INTERFACE, "ib0", "up", "no", "yes"))
    )
    assert plan.diff() == [
        {"before_header": "/a", "after_header": "/a", "before": "", "after": "x\n"},
        {
            "before_header": "settings",
            "after_header": "settings",
            "before": "ib0 mtu: 1500\nib0 up: no\n",
            "after": "ib0 mtu: 2044\nib0 up: yes\n",
        },
    ]


@pytest.mark.parametrize("needs", NEEDS)
def test_what_is_not_effective_at_once_is_pending(needs: str) -> None:
    result = Plan((Change(Kind.PARAMETER, "a", "b", "1", "2", needs),)).result()
    assert bool(result["pending"]) == (needs not in ("", "restart", "interface_bounce"))
    assert result["reboot_required"] == (needs in ("reboot", "cold_boot"))


def test_what_is_pending_is_a_mapping_and_can_be_read_back() -> None:
    entry = Pending(Change(Kind.FIRMWARE_PARAMETER, "0000:03:00.0", "NUM_OF_VFS", "0", "16", "reboot"), ("in use by 2 jobs",))
    (result,) = Plan().result([entry])["pending"]
    assert result == {
        "kind": "firmware_parameter",
        "subject": "0000:03:00.0",
        "aspect": "NUM_OF_VFS",
        "before": "0",
        "after": "16",
        "needs": "reboot",
        "why": ["in use by 2 jobs"],
    }
    assert Pending.of_result(result) == entry
    assert entry.words() == "0000:03:00.0 NUM_OF_VFS: 0 -> 16 (needs reboot; in use by 2 jobs)"
