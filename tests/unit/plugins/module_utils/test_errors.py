# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem


def test_a_problem_names_variable_value_and_what_is_allowed() -> None:
    assert str(Problem("ipoib_interfaces[0].mtu", 9000, "68 to 4092")) == "ipoib_interfaces[0].mtu is 9000; allowed: 68 to 4092"
    assert str(Problem("fabric", None, "a name", "set it")) == "fabric is not set; allowed: a name (set it)"


def test_invalid_input_reports_every_problem() -> None:
    error = InvalidInput([Problem("a", 1, "2"), Problem("b", "x", "y")])
    assert error.msg == "a is 1; allowed: 2; b is 'x'; allowed: y"
    assert error.details["problems"] == ["a is 1; allowed: 2", "b is 'x'; allowed: y"]
