# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where packages come from has to be declared only for a node that needs some."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import problems

MLNX = {"ofed_source": "mlnx_ofed", "ofed_version": "23.10-0.5.5.0"}
BY_REPOSITORY = {"ofed_source": "mlnx_ofed", "ofed_method": "repository", "ofed_repository_trusted": True}
DOCA = {"ofed_source": "doca", "ofed_version": "2.9.1"}


def stack(kind: str, version: str = "", **more: t.Any) -> dict[str, t.Any]:
    return {"kind": kind, "version": version, **more}


def words(variables: dict[str, t.Any], found: dict[str, t.Any] | None) -> list[str]:
    facts = {"os": {"family": "Debian", "id": "debian", "version": "12"}, **({} if found is None else {"stack": found})}
    return [str(problem) for problem in problems(variables, facts)]


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        (MLNX, stack("mlnx_ofed", "23.10-0.5.5.0")),
        # A bundle that is declared as empty is none.
        ({**MLNX, "ofed_bundle": "", "ofed_bundle_checksum": ""}, stack("mlnx_ofed", "23.10-0.5.5.0")),
        (BY_REPOSITORY, stack("mlnx_ofed", "23.10-0.5.5.0")),
        (DOCA, stack("doca", "2.9.1")),
        ({**DOCA, "ofed_version": "2.9"}, stack("doca", "2.9.1")),
        ({"ofed_source": "doca"}, stack("doca", "2.9.1")),
        # What the node has is not known.
        (MLNX, None),
        (DOCA, {}),
        # Nothing is to be installed.
        ({**MLNX, "ofed_state": "absent"}, stack("none")),
    ],
)
def test_the_declared_release_needs_no_source_where_it_is_installed(variables: dict[str, t.Any], found: dict[str, t.Any] | None) -> None:
    assert words(variables, found) == []


@pytest.mark.parametrize(
    ("variables", "found", "expected"),
    [
        (MLNX, stack("none"), "ofed_bundle is not set; .*mlnx_ofed 23.10-0.5.5.0 is declared, and the node has no RDMA stack; the installer needs a bundle"),
        ({**MLNX, "ofed_bundle": ""}, stack("inbox", "44.0"), "ofed_bundle is ''; allowed: the absolute path .* the node has inbox 44.0"),
        (MLNX, stack("mlnx_ofed", "5.8-1.0.1.1"), "ofed_bundle is not set; .*the node has mlnx_ofed 5.8-1.0.1.1"),
        (MLNX, stack("mlnx_ofed", "23.10-0.5.5.0", complete=False), "ofed_bundle is not set; .*mlnx_ofed 23.10-0.5.5.0, half installed"),
        (MLNX, stack("doca", "2.9.1"), "ofed_bundle is not set; .*the node has doca 2.9.1"),
        # The installer would have to know which release.
        ({"ofed_source": "mlnx_ofed"}, stack("mlnx_ofed", "23.10-0.5.5.0"), "ofed_bundle is not set"),
        (BY_REPOSITORY, stack("inbox", "44.0"), "ofed_repository is not set; .*mlnx_ofed is declared, and the node has inbox 44.0"),
        ({**DOCA, "ofed_repository_trusted": True}, stack("doca", "2.9.0"), "ofed_repository is not set; .*the node has doca 2.9.0"),
    ],
)
def test_a_node_that_needs_packages_is_refused_without_a_source(variables: dict[str, t.Any], found: dict[str, t.Any], expected: str) -> None:
    (problem,) = words(variables, found)
    assert re.match(expected, problem), problem


def test_a_declared_source_is_judged_wherever_it_may_be_needed() -> None:
    found = stack("mlnx_ofed", "23.10-0.5.5.0")
    assert "ofed_bundle is 'bundle.tgz'" in words({**MLNX, "ofed_bundle": "bundle.tgz"}, found)[0]
    assert "ofed_repository_key is not set" in words({**DOCA, "ofed_repository": "https://mirror.example.org/doca"}, stack("doca", "2.9.1"))[0]
