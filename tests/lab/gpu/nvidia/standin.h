// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/* What the stand-ins for NVIDIA's modules have in common. */
#define STANDIN_VERSION "535.104.05"

int nvidia_p2p_get_pages(void);
