# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What needs a boot is there after it."""

from __future__ import annotations

from kernel import Host

testinfra_hosts = ["ansible://rdma"]


def test_the_option_of_the_module_is_in_use(host: Host) -> None:
    assert host.check_output("cat /sys/module/ib_ipoib/parameters/send_queue_size") == "256"
