# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._discovery import read


def test_links() -> None:
    links = [{"name": "rxe0", "type": "rxe", "netdev": "eth0"}, {"name": "rxe{{ 7 }}", "type": "rxe", "netdev": "eth0"}, {"name": 7}]
    hcas = [{"name": "rxe0", "pci": ""}, {"name": "siw0", "pci": ""}, {"name": "mlx5_0", "pci": "0000:03:00.0"}]
    found = read(Subject("node1", facts={"soft_links": links, "hcas": hcas}))
    assert [(value.variable, value.value) for value in found.values] == [("soft_rdma_links", [{"name": "rxe0", "type": "rxe", "netdev": "eth0"}])]
    assert found.values[0].source == "/etc/systemd/system/rdma-ofed-link-rxe0.service"
    assert [left.what for left in found.left] == ["software RDMA device siw0"]
    assert read(Subject("node1")).values == []
