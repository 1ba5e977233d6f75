# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings of the node check about the stack: site.yml does not touch a stack in use, and verify reports that."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._check._expect import findings
from ansible_collections.rdma.ofed.plugins.module_utils._check._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._stack._vendors import wanted_stack
from ansible_collections.rdma.ofed.plugins.module_utils._stack._wanted import Wanted as WantedStack
from ansible_collections.rdma.ofed.plugins.modules import node_check
from support.expected import having, wanting

INBOX = Stack("inbox", "44.0")
MLNX = Stack("mlnx_ofed", "23.10-0.5.5", ofed_version="23.10-0.5.5")
DOCA = Stack("doca", "2.9.1")
BUNDLE = "/srv/MLNX_OFED_LINUX-24.10-0.7.0.0-debian12.5-x86_64.tgz"


@pytest.mark.parametrize(
    ("declared", "stack", "fits"),
    [
        (WantedStack(source="inbox"), INBOX, True),
        (WantedStack(source="inbox"), Stack("none"), True),
        (WantedStack(source="inbox"), MLNX, False),
        (WantedStack(source="mlnx_ofed"), MLNX, True),
        (WantedStack(source="mlnx_ofed", version="23.10-0.5.5.0"), MLNX, True),
        (WantedStack(source="mlnx_ofed", version="24.10-0.7.0.0"), MLNX, False),
        (WantedStack(source="mlnx_ofed"), INBOX, False),
        (WantedStack(source="doca", version="2.9.1"), DOCA, True),
        (WantedStack(source="doca", version="2.9.10"), DOCA, False),
        (WantedStack(source="doca"), MLNX, False),
    ],
)
def test_whether_it_is_the_declared_one(declared: WantedStack, stack: Stack, fits: bool) -> None:
    assert declared.fits(stack) is fits
    assert bool(findings(wanting(Wanted(subnet_manager=False), ofed=declared), having(Found(), ofed=stack))) is not fits


def lines(stack: Stack) -> list[str]:
    return _words.lines(
        findings(wanting(Wanted(subnet_manager=False), ofed=WantedStack(source="mlnx_ofed", version="23.10-0.5.5.0")), having(Found(), ofed=stack))
    )


def test_words() -> None:
    assert lines(MLNX) == []
    assert lines(DOCA) == [
        "stack: wanted mlnx_ofed 23.10-0.5.5.0, found doca 2.9.1 (rdma.ofed.site installs it where no stack is in use, "
        "and rdma.ofed.upgrade replaces one that is)"
    ]
    assert lines(MLNX._replace(complete=False)) == [
        "stack: wanted mlnx_ofed 23.10-0.5.5.0, found mlnx_ofed 23.10-0.5.5, half installed "
        "(its installation did not finish: rdma.ofed.upgrade installs it again)"
    ]
    assert all(finding.lasting for finding in findings(wanting(Wanted(subnet_manager=False), ofed=WantedStack(source="inbox")), having(Found(), ofed=MLNX)))


def test_what_is_declared() -> None:
    assert wanted_stack({"ofed_source": "mlnx_ofed", "ofed_bundle": BUNDLE}) == WantedStack(source="mlnx_ofed", version="24.10-0.7.0.0")
    assert wanted_stack({"ofed_source": "doca", "ofed_version": "2.9.1"}) == WantedStack(source="doca", version="2.9.1")
    assert wanted_stack({"ofed_source": "inbox"}) == WantedStack(source="inbox")
    parameters = {name: argument.get("default") for name, argument in node_check.OPTIONS.items()}
    assert "ofed" not in wanted_of(parameters).concerns
    assert wanted_of({**parameters, "ofed_source": "doca"}).concerns["ofed"] == WantedStack(source="doca")
