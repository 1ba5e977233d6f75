# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings that take effect at boot are there afterwards."""

from __future__ import annotations

import pytest
from kernel import Host

testinfra_hosts = ["ansible://rdma"]


@pytest.mark.proves("modules", "reboot", debian12="real")
def test_the_option_of_the_module_is_in_use(host: Host) -> None:
    assert host.check_output("cat /sys/module/ib_ipoib/parameters/send_queue_size") == "256"


@pytest.mark.parametrize("name", ["ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib", "ib_isert"])
@pytest.mark.proves("modules", "reboot", debian12="real")
def test_the_modules_are_loaded(host: Host, name: str) -> None:
    assert host.file("/sys/module/%s" % name).is_directory


def test_the_kernel_and_its_options_come_from_the_disk(host: Host) -> None:
    assert "BOOT_IMAGE=/boot/vmlinuz-%s" % host.check_output("uname -r") in host.check_output("cat /proc/cmdline").split()
