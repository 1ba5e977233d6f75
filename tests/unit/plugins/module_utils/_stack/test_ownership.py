# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._stack._concern import CONCERN

DGX = {"name": "NVIDIA DGX Server", "release": "5.2.0", "marker": "/etc/dgx-release"}
DOCA = {"kind": "doca", "version": "2.9.1", "complete": True, "appliance": DGX}
INBOX = {"kind": "inbox", "version": "44.0", "complete": True, "appliance": DGX}


def refusals(stack: dict[str, t.Any], **variables: t.Any) -> list[str]:
    return list(CONCERN.refusals(Subject("node1", variables, {"stack": stack})))


@pytest.mark.parametrize(
    ("stack", "variables", "would"),
    [
        (DOCA, {}, "replace it with that of the distribution"),
        (DOCA, {"ofed_source": "doca", "ofed_version": "3.0.0"}, "replace it with doca 3.0.0"),
        (DOCA, {"ofed_source": "mlnx_ofed", "ofed_version": "24.10-0.7.0.0"}, "replace it with mlnx_ofed 24.10-0.7.0.0"),
        (DOCA, {"ofed_state": "absent"}, "remove it"),
        (DOCA, {"ofed_source": "doca", "rdma_allow_upgrade": False, "ofed_state": "absent"}, "remove it"),
        (INBOX, {"ofed_state": "absent"}, "remove it"),
        (INBOX, {"ofed_source": "doca"}, "replace it with doca"),
        ({**DOCA, "complete": False}, {"ofed_source": "doca"}, "install it again, because its installation was not completed"),
    ],
)
def test_what_would_change_the_stack_of_an_image(stack: dict[str, t.Any], variables: dict[str, t.Any], would: str) -> None:
    (words,) = refusals(stack, **variables)
    assert "belongs to its image, NVIDIA DGX Server 5.2.0 (/etc/dgx-release), and the role would %s." % would in words
    assert "%s %s" % (stack["kind"], stack["version"]) in words and "set rdma_allow_upgrade: true for this host" in words
    assert refusals(stack, **{**variables, "rdma_allow_upgrade": True}) == []
    assert refusals({**stack, "appliance": None}, **variables) == []


@pytest.mark.parametrize(
    ("stack", "variables"),
    [
        (DOCA, {"ofed_source": "doca"}),
        (DOCA, {"ofed_source": "doca", "ofed_version": "2.9.1"}),
        (DOCA, {"ofed_source": "doca", "ofed_version": "2.9"}),
        (INBOX, {}),
        ({}, {}),
    ],
)
def test_what_leaves_it_as_it_is(stack: dict[str, t.Any], variables: dict[str, t.Any]) -> None:
    assert refusals(stack, **variables) == []


def test_without_a_look_nothing_is_known() -> None:
    assert list(CONCERN.refusals(Subject("node1", {}, None))) == []
