# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unset variable has the default of its declaration."""

from __future__ import annotations

import typing as t
from unittest import mock

import pytest
from ansible.errors import AnsibleError
from ansible_collections.rdma.ofed.plugins.lookup.declared import LookupModule


def declared(name: str, **variables: t.Any) -> t.Any:
    lookup = LookupModule(templar=mock.Mock(template=lambda value: "evaluated " + value if isinstance(value, str) else value))
    return lookup.run([name], variables)[0]


def test_what_is_declared_is_evaluated() -> None:
    assert declared("rdma_hosts", rdma_hosts="nodes") == "evaluated nodes"
    assert declared("rdma_strict", rdma_strict=False) is False


def test_what_is_not_declared_has_its_default_or_the_empty_value_of_its_type() -> None:
    assert declared("rdma_hosts") == "rdma"
    assert declared("ofed_timeout") == 7200
    assert declared("rdma_drain_tasks") == ""
    assert declared("rdma_fabrics") == {}
    # verify passes it on to the module.
    assert declared("rdma_rails") == {}


def test_an_empty_variable_is_not_declared() -> None:
    assert declared("rdma_hosts", rdma_hosts=None) == "rdma"
    # A disabled hook.
    assert declared("rdma_drain_tasks", rdma_drain_tasks=False) == ""
    assert declared("rdma_serial", rdma_serial=0) == 0


def test_a_default_is_not_shared() -> None:
    declared("rdma_accepted").append("x")
    assert declared("rdma_accepted") == []


@pytest.mark.parametrize("name", ["rdma_nosuch", "fabric_monitor_sampler"])
def test_a_name_without_a_declared_default_is_refused(name: str) -> None:
    with pytest.raises(AnsibleError, match="%s is not a variable" % name):
        declared(name)
