# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._ipv6 import ipv6_refused, is_ipv6_off


def test_a_kernel_without_ipv6_refuses_it_to_every_stack(tmp_path: pathlib.Path) -> None:
    (tmp_path / "proc/sys/net/ipv4").mkdir(parents=True)
    found = ipv6_refused(str(tmp_path), ["ib0"], enabled=True)
    assert set(found) == {"ib0", "default"}
    assert "ipv6.disable=1" in found["ib0"]


def test_networkd_turns_the_switch_itself(tmp_path: pathlib.Path) -> None:
    for name in ("ib0", "default"):
        folder = tmp_path / "proc/sys/net/ipv6/conf" / name
        folder.mkdir(parents=True)
        (folder / "disable_ipv6").write_text("1\n", encoding="utf-8")
    assert ipv6_refused(str(tmp_path), ["ib0"], enabled=True) == {}
    assert is_ipv6_off(str(tmp_path), "ib0")
