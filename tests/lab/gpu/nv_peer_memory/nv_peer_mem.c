// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/* Stand-in for nv_peer_mem: uses what the real one is linked with, NVIDIA's driver and the peer memory of the RDMA stack. */
#include <linux/init.h>
#include <linux/module.h>

#include "nv-p2p.h"

void *ib_register_peer_memory_client(const char *name, const char *version);
void ib_unregister_peer_memory_client(void *handle);

static void *standin_handle;

static int __init standin_init(void)
{
	nvidia_p2p_get_pages();
	standin_handle = ib_register_peer_memory_client("nv_mem", "1.0");
	return standin_handle ? 0 : -EINVAL;
}

static void __exit standin_exit(void)
{
	ib_unregister_peer_memory_client(standin_handle);
}
module_init(standin_init);
module_exit(standin_exit);

MODULE_VERSION("1.0");
MODULE_DESCRIPTION("stand-in for nv_peer_mem");
MODULE_LICENSE("Dual BSD/GPL");
