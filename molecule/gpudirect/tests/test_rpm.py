# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""nv_peer_mem with rpmbuild --rebuild of the package that build_module.sh creates, and rpm: the real tools on a look-alike, so without a vendor's macros."""

from __future__ import annotations

import pytest
from legacy import Host, Legacy

testinfra_hosts = ["ansible://node2"]


@pytest.mark.proves("gpudirect", el9="look-alike")
class TestRpm(Legacy):
    newer = "package mlnx-ofa_kernel 5.0"

    def packages(self, host: Host) -> list[str]:
        return str(host.run("rpm -qa 'nvidia_peer_memory*'").stdout).split()
