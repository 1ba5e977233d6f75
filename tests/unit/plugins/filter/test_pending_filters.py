# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that merge pending changes and describe them."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.ofed.plugins.filter import activation, merge_pending, pending_words
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending

PARAMETER = Pending(Change(Kind.PARAMETER, "ib_ipoib", "send_queue_size", "128", "512", "driver_reload"))
KERNEL = Pending(Change(Kind.KERNEL, "", "running", "6.1.0-50-amd64", "6.1.0-51-amd64", "reboot"))


def test_lists_are_merged() -> None:
    merge = merge_pending.FilterModule().filters()["merge_pending"]
    later = PARAMETER._replace(change=PARAMETER.change._replace(needs="reboot"))
    assert merge([PARAMETER.result()], [KERNEL.result()], [], [later.result()]) == [later.result(), KERNEL.result()]
    assert merge([]) == []


def test_words_are_for_people() -> None:
    words = pending_words.FilterModule().filters()["pending_words"]
    assert words([PARAMETER.result(), KERNEL.result()]) == [
        "module option ib_ipoib send_queue_size: 128 -> 512 (needs driver_reload)",
        "kernel: 6.1.0-50-amd64 -> 6.1.0-51-amd64 (needs reboot)",
    ]


@pytest.mark.parametrize("module", [merge_pending, pending_words])
@pytest.mark.parametrize("entries", ["driver", ["driver"], [{"kind": "driver"}], None])
def test_what_is_no_pending_change_is_refused(module: t.Any, entries: t.Any) -> None:
    (function,) = module.FilterModule().filters().values()
    with pytest.raises(AnsibleFilterError, match="rdma_pending"):
        function(entries)


@pytest.mark.parametrize(("allowed", "action"), [(True, "reload"), ("yes", "reload"), ("True", "reload"), (False, ""), ("false", ""), (0, "")])
def test_consent(allowed: t.Any, action: str) -> None:
    assert activation.activation([PARAMETER.result()], allow_reload=allowed) == action


@pytest.mark.parametrize("value", ["maybe", "", None, [], 2])
@pytest.mark.parametrize("name", ["allow_reload", "allow_reboot"])
def test_what_is_no_boolean_is_no_consent(value: t.Any, name: str) -> None:
    """In Python, texts such as `maybe` and `false` are true."""
    with pytest.raises(AnsibleFilterError, match=name):
        activation.FilterModule().filters()["activation"]([PARAMETER.result()], **{name: value})
