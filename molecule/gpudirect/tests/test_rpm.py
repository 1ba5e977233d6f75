# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""rpmbuild --rebuild of what build_module.sh makes, and rpm: the real ones on a look-alike, so not what a vendor's macros would do."""

from __future__ import annotations

from legacy import Host, Legacy

testinfra_hosts = ["ansible://node2"]


class TestRpm(Legacy):
    newer = "package mlnx-ofa_kernel 5.0"

    def packages(self, host: Host) -> list[str]:
        return str(host.run("rpm -qa 'nvidia_peer_memory*'").stdout).split()
