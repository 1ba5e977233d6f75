// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/* Stand-in for mlx_compat of the vendor's drivers: it can be built, loaded, told from the distribution's, and does nothing. */
#include <linux/init.h>
#include <linux/module.h>

void mlx_compat_standin(void);

void mlx_compat_standin(void)
{
}
EXPORT_SYMBOL(mlx_compat_standin);

MODULE_VERSION("@VERSION@");
MODULE_DESCRIPTION("stand-in for mlx_compat");
MODULE_LICENSE("GPL");
