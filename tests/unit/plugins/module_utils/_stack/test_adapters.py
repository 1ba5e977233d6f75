# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A release of the vendor without a driver for an adapter in use is refused."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import problems

DOCA = {"ofed_source": "doca", "ofed_version": "2.9.1", "ofed_repository": "/srv/doca", "ofed_repository_key": "/srv/key.asc"}
INBOX = {"kind": "inbox", "version": "44.0"}


def mlnx_ofed(version: str, **more: t.Any) -> dict[str, t.Any]:
    return {"ofed_source": "mlnx_ofed", "ofed_version": version, "ofed_bundle": "/srv/ofed", **more}


def facts(kind: str, *, state: str = "ACTIVE", layer: str = "InfiniBand", stack: t.Mapping[str, t.Any] | None = None) -> dict[str, t.Any]:
    return {
        "os": {"family": "Debian", "id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"},
        "hcas": [{"name": "mlx5_0", "type": "MT4119"}, {"name": "old_0", "type": kind}],
        "ports": [
            {"device": "mlx5_0", "port": 1, "state": "ACTIVE", "link_layer": "InfiniBand"},
            {"device": "old_0", "port": 1, "state": state, "link_layer": layer},
        ],
        "stack": stack or INBOX,
    }


@pytest.mark.parametrize(
    ("variables", "node", "words"),
    [
        (mlnx_ofed("23.10-0.5.5.0"), facts("MT4099"), "old_0 (ConnectX-3)"),
        (mlnx_ofed("5.1-0.6.6.0"), facts("MT4103", state="INIT"), "old_0 (ConnectX-3 Pro)"),
        (DOCA, facts("MT4113"), "old_0 (Connect-IB)"),
        ({**DOCA, "ofed_version": None}, facts("MT4099"), "old_0 (ConnectX-3)"),
        (mlnx_ofed("24.10-0.7.0.0"), facts("MT4099", stack={"kind": "mlnx_ofed", "version": "23.10-0.5.5.0"}), "old_0 (ConnectX-3)"),
    ],
)
def test_an_adapter_would_lose_its_driver(variables: dict[str, t.Any], node: dict[str, t.Any], words: str) -> None:
    (problem,) = problems(variables, node)
    assert "this node has %s, which would lose its driver" % words in str(problem)


@pytest.mark.parametrize(
    ("variables", "node"),
    [
        (mlnx_ofed("23.10-0.5.5.0"), facts("MT4115")),
        # The last releases with these drivers.
        (mlnx_ofed("4.9-7.1.0.0"), facts("MT4099")),
        (mlnx_ofed("5.0-2.1.8.0"), facts("MT4099")),
        # It has no link to lose, or is none of the fabric.
        (mlnx_ofed("23.10-0.5.5.0"), facts("MT4099", state="DOWN")),
        (mlnx_ofed("23.10-0.5.5.0"), facts("MT4099", layer="Ethernet")),
        # The kernel's drivers stay.
        (mlnx_ofed("23.10-0.5.5.0", ofed_packages="user-space-only"), facts("MT4099")),
        # What is installed works with it.
        (mlnx_ofed("23.10-0.5.5.0"), facts("MT4099", stack={"kind": "mlnx_ofed", "version": "23.10-0.5.5.0"})),
        (DOCA, facts("MT4099", stack={"kind": "doca", "version": "2.9.1"})),
        ({**DOCA, "ofed_version": None}, facts("MT4099", stack={"kind": "doca", "version": "2.9.1"})),
        (DOCA, {**facts("MT4099"), "hcas": [], "ports": []}),
        ({"ofed_source": "inbox"}, facts("MT4099")),
        ({**DOCA, "ofed_state": "absent"}, facts("MT4099")),
        (DOCA, None),
    ],
)
def test_no_adapter_would_lose_its_driver(variables: dict[str, t.Any], node: dict[str, t.Any] | None) -> None:
    assert [str(problem) for problem in problems(variables, node)] == []
