// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/* Stand-in for mlx5_ib of the vendor's drivers: it can be built, loaded, told from the distribution's, and does nothing. */
#include <linux/init.h>
#include <linux/module.h>

extern void mlx_compat_standin(void);
extern void mlx5_core_standin(void);

static int __init standin_init(void)
{
	mlx_compat_standin();
	mlx5_core_standin();
	return 0;
}

static void __exit standin_exit(void)
{
}
module_init(standin_init);
module_exit(standin_exit);

MODULE_VERSION("@VERSION@");
MODULE_DESCRIPTION("stand-in for mlx5_ib");
MODULE_LICENSE("GPL");
