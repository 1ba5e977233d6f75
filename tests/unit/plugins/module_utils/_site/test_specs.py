# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values that Ansible would refuse at the start of a role are refused before the first change of the run."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rdma.ofed.plugins.module_utils._concerns import _registry as registry
from support.subjects import host_problems

ROLES = pathlib.Path(__file__).parents[5] / "roles"
# Without ofed, which makes the first changes: Ansible refuses its values early enough. Firmware and monitor are not roles of the site: their modules refuse the
# rest before their first change.
LATER = tuple(name for name in registry.ROLES if name not in ("ofed", "hca_firmware", "fabric_monitor"))
KEPT = ("choices", "elements", "options", "required", "type")
VALUES: tuple[t.Any, ...] = (
    *(7, -1, 10**12, 1.5, "x", "", True),
    *([], [7], ["x"], [{}], [[]], [None], [{"a": 1}]),
    *({}, {"a": 1}, {"a": [1]}, {"a": {"b": 1}}),
)


def spec_of(option: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return a role option in the form of a module's argument specification."""
    spec = {key: option[key] for key in KEPT if key in option}
    if "options" in spec:
        spec["options"] = {name: spec_of(nested) for name, nested in spec["options"].items()}
    return spec


@pytest.mark.parametrize("role", LATER)
def test_what_a_role_refuses_is_refused_before(role: str) -> None:
    options = yaml.safe_load((ROLES / role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    refused = 0
    for name, option in options.items():
        validator = ArgumentSpecValidator({name: spec_of(option)})
        for value in VALUES:
            if validator.validate({name: value}).error_messages:
                refused += 1
                assert any(problem.variable.startswith(name) for problem in host_problems({name: value}, {}, True)), (name, value)
    assert refused > len(options)
