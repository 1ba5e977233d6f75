# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""nv_peer_mem with dpkg-buildpackage, and DKMS in the installed package."""

from __future__ import annotations

import pytest
from legacy import Host, Legacy

testinfra_hosts = ["ansible://node1"]


@pytest.mark.proves("gpudirect", debian12="look-alike")
class TestDeb(Legacy):
    newer = "package mlnx-ofed-kernel-dkms 5.0-OFED.5.0.2.1.8.1"

    def packages(self, host: Host) -> list[str]:
        return [line for line in host.run("dpkg-query -W -f '${db:Status-Abbrev}${Package}\\n' 'nvidia-peer-memory*'").stdout.splitlines() if line[:2] == "ii"]

    def test_dkms_forgets_it(self, host: Host) -> None:
        """The purged package had added it."""
        assert "nvidia-peer-memory" not in host.check_output("dkms status")
