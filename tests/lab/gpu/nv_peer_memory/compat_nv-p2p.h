// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/* Of NVIDIA's driver, for nodes without its sources. */
int nvidia_p2p_get_pages(void);
