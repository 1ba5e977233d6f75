# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of nodes as written by the kernel, the distribution and dpkg, and the output of modinfo."""

from __future__ import annotations

from support import node_trees as nodes

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION="12 (bookworm)"\nID=debian\n'
X86 = "processor\t: 0\nflags\t\t: fpu vme sse2\n"
HOST: nodes.Tree = {"proc/1/root": nodes.Link("/"), "proc/cpuinfo": X86, "proc/sys/kernel/hostname": "node1\n"}
MODINFO = """filename:       /lib/modules/6.1.0-50-amd64/kernel/drivers/infiniband/core/ib_core.ko
alias:          rdma-netlink-subsys-4
license:        Dual BSD/GPL
description:    core kernel InfiniBand API
author:         Roland Dreier
srcversion:     D0AA3CFDF5D7B8F1A64A2C5
depends:
retpoline:      Y
intree:         Y
name:           ib_core
vermagic:       6.1.0-50-amd64 SMP preempt mod_unload modversions
filename:       /lib/modules/6.1.0-50-amd64/updates/dkms/mlx5_core.ko.xz
srcversion:     533BB7E5866E52F63B9ACCB
depends:        mlx_compat
name:           mlx5_core
"""
PROC = """ib_ipoib 139264 0 - Live 0xffffffffc0d1e000
ib_umad 40960 2 - Live 0xffffffffc0d0f000
mlx5_ib 458752 0 - Live 0xffffffffc0c3d000
ko2iblnd 204800 1 - Live 0xffffffffc0bfe000 (OE)
ib_uverbs 184320 1 mlx5_ib, Live 0xffffffffc0bc3000
rdma_cm 131072 1 ko2iblnd, Live 0xffffffffc0ba0000
ib_core 450560 5 ib_ipoib,ib_umad,mlx5_ib,ib_uverbs,rdma_cm, Live 0xffffffffc0b1f000
mlx5_core 1683456 1 mlx5_ib, Live 0xffffffffc0950000
lnet 700000 2 ko2iblnd, Live 0xffffffffc0450000 (OE)
nvidia_peermem 16384 0 - Live 0xffffffffc0410000 (OE)
ext4 983040 2 - Live 0xffffffffc0600000
"""
DPKG = """Package: rdma-core
Status: install ok installed
Priority: optional
Architecture: amd64
Version: 44.0-2
Description: RDMA core userspace infrastructure and documentation
 This package provides boot time support and documentation for the rdma-core
 userspace infrastructure libraries.
Homepage: https://github.com/linux-rdma/rdma-core

Package: libibverbs1
Status: deinstall ok config-files
Version: 43.0-1

Package: rdma-core-dev-something
Status: install ok installed
Version: 1
"""
ROUTE4 = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
ib0\t0000010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
ib1\t0000010A\t00000000\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0
*\t0000020A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""
