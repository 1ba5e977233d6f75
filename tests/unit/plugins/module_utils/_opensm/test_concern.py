# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._concern import unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._places import PACKAGED, TEMPLATE
from ansible_collections.rdma.ofed.plugins.module_utils._tools._node_names import BEGIN, END

DEFAULTS: dict[str, t.Any] = {"state": "present", "instances": None, "wait_timeout": 60}
RESTING = Found(masked=tuple(sorted(PACKAGED)))
UNCHANGED = {
    "changed": False,
    "changes": [],
    "diff": [],
    "pending": [],
    "reboot_required": False,
    "reasons": [],
    "package_recorded": False,
    "fabrics": [],
    "deviations": [],
}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"instances": [], "wait_timeout": 60}, RESTING),
        ({"instances": []}, RESTING),
        ({"state": "absent"}, Found()),
        # What others run, wrote or masked stays.
        ({"state": "absent"}, RESTING),
        ({"state": "absent"}, Found(running=("opensm.service",), strays=(7,), unmaskable=("opensmd.service",))),
    ],
)
def test_the_result_of_the_module_where_there_is_nothing_to_do(options: dict[str, t.Any], found: Found) -> None:
    assert unchanged({**DEFAULTS, **options}, found.public()) == UNCHANGED


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"instances": [{"fabric": "ib"}]}, RESTING),
        ({"instances": None}, RESTING),
        ({}, RESTING),
        ({"state": "running", "instances": []}, RESTING),
        ({"instances": [], "wait_timeout": 0}, RESTING),
        ({"instances": []}, Found()),
        ({"instances": []}, RESTING._replace(running=("opensm.service",))),
        ({"instances": []}, RESTING._replace(strays=(7,))),
        ({"instances": []}, RESTING._replace(files={TEMPLATE: "x"})),
        ({"instances": []}, RESTING._replace(node_names=BEGIN + END)),
        ({"instances": []}, RESTING._replace(unmaskable=("opensm.service",))),
        ({"state": "absent"}, RESTING._replace(recorded=("opensm.service",))),
        ({"state": "absent"}, Found(recorded=("package",))),
        ({"state": "absent"}, Found(running=("rdma-opensm@ib.service",))),
    ],
)
def test_the_module_has_to_run(options: dict[str, t.Any], found: Found) -> None:
    assert unchanged({**DEFAULTS, **options}, found.public()) is None
