# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, names_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import settled


def facts(**changed: t.Any) -> dict[str, t.Any]:
    return {"os": {"family": "Debian"}, "stack": {"kind": "inbox"}, "machine": {"kind": "bare metal"}, "modules": [{"name": "ib_core"}], **changed}


def installed(*purposes: str) -> dict[str, str]:
    return dict.fromkeys(names_of(FAMILIES[0], purposes), "1.0")


ALL = installed("core", "tools")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_node_with_the_stack_of_its_distribution(family: t.Any) -> None:
    packages = dict.fromkeys(names_of(family, ["core", "tools"]), "1.0")
    assert settled({}, facts(os={"family": family.name}), packages)
    assert not settled({}, facts(os={"family": family.name}), dict(list(packages.items())[1:]))


@pytest.mark.parametrize(
    ("variables", "found", "packages"),
    [
        ({}, facts(), None),
        ({}, {}, ALL),
        ({}, facts(os={"family": "Plan9"}), ALL),
        ({}, facts(), installed("core")),
        ({}, facts(stack={"kind": "none"}), ALL),
        ({}, facts(stack={"kind": "mlnx_ofed"}), ALL),
        ({}, facts(stack={"kind": "inbox", "protected": True}), ALL),
        ({}, facts(stack={"kind": "inbox", "ulps": ["srp"]}), ALL),
        ({}, facts(modules=[{"name": "ib_core", "differs": True}]), ALL),
        ({"ofed_source": "doca"}, facts(), ALL),
        ({"ofed_state": "absent"}, facts(), ALL),
        ({"ofed_ulps": ["srp"]}, facts(), ALL),
        ({"ofed_extra_packages": ["perftest-of-the-site"]}, facts(), ALL),
    ],
)
def test_on_any_other_the_role_has_its_turn(variables: dict[str, t.Any], found: dict[str, t.Any], packages: dict[str, str] | None) -> None:
    assert not settled(variables, found, packages)


def test_what_is_not_declared_need_not_be_there() -> None:
    assert settled({"ofed_tools": False}, facts(), installed("core"))
    assert settled({"ofed_extra_packages": ["perftest-of-the-site"]}, facts(), {**ALL, "perftest-of-the-site": "1.0"})
    assert settled({}, facts(machine={"kind": "container"}, modules=[{"name": "ib_core", "differs": True}]), ALL), "its driver is that of the host"
