# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters of the measurement between GPUs take and give plain data."""

from __future__ import annotations

import pytest

pytest.importorskip("ansible", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.ofed.plugins.filter.gpudirect_bandwidth import FilterModule as Bandwidth
from ansible_collections.rdma.ofed.plugins.filter.gpudirect_endpoint import FilterModule as Endpoint

endpoint = Endpoint().filters()["gpudirect_endpoint"]
bandwidth = Bandwidth().filters()["gpudirect_bandwidth"]


def test_an_endpoint_goes_into_the_table() -> None:
    one = endpoint({"gpu": {}, "ports": []}, "")
    assert len(one["problems"]) == 3
    found = bandwidth(" 65536 1856412 0.00 97.31 0.185602\n", [{"host": "node2", "endpoint": one}, {"host": "node1", "endpoint": one}], 65536)
    assert found["gbps"] == 97.31
    assert found["table"][-1].startswith("97.31 Gb/s")


def test_what_is_no_fact_and_no_result() -> None:
    with pytest.raises(AnsibleFilterError, match="allowed: the fact rdma"):
        endpoint("no", "")
    with pytest.raises(AnsibleFilterError, match="Couldn't connect"):
        bandwidth("Couldn't connect to node1:18515", [], 2)
