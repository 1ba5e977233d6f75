// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/*
 * Stand-in for nvidia-peermem: registers with the RDMA stack where that was there when it was built, and else is as empty as the
 * real one, whose init then returns EINVAL without a word. Writing to the parameter standin_users says how many registrations of
 * GPU memory there are: each holds the module, as it does there.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "standin.h"

static int peerdirect_support;
module_param(peerdirect_support, int, 0444);

static int standin_users;

static int standin_set_users(const char *text, const struct kernel_param *parameter)
{
	int before = standin_users;
	int error = param_set_int(text, parameter);

	if (error)
		return error;
	for (; before < standin_users; before++)
		__module_get(THIS_MODULE);
	for (; before > standin_users; before--)
		module_put(THIS_MODULE);
	return 0;
}

static const struct kernel_param_ops standin_users_ops = {
	.set = standin_set_users,
	.get = param_get_int,
};
module_param_cb(standin_users, &standin_users_ops, &standin_users, 0644);

#ifdef STANDIN_PEER_MEMORY
extern void *ib_register_peer_memory_client(const char *name, const char *version);
extern void ib_unregister_peer_memory_client(void *handle);

static void *standin_handle;

static int __init standin_init(void)
{
	if (peerdirect_support != 0 && peerdirect_support != 1)
		return -EINVAL;
	nvidia_p2p_get_pages();
	standin_handle = ib_register_peer_memory_client("nv_mem", STANDIN_VERSION);
	return standin_handle ? 0 : -EINVAL;
}

static void __exit standin_exit(void)
{
	ib_unregister_peer_memory_client(standin_handle);
}
#else
static int __init standin_init(void)
{
	return -EINVAL;
}

static void __exit standin_exit(void)
{
}
#endif
module_init(standin_init);
module_exit(standin_exit);

MODULE_VERSION(STANDIN_VERSION);
MODULE_DESCRIPTION("stand-in for nvidia-peermem");
MODULE_LICENSE("Dual MIT/GPL");
