// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/*
 * Stand-in for NFS over RDMA, for which the adapters of these machines lack reads and writes: a file system of the type nfs4 whose
 * mounts show the options of one over RDMA, in a module that depends on ib_core as rpcrdma does, and is held by each mount.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>

static int standin_add(struct ib_device *device)
{
	return 0;
}

static struct ib_client standin_client = {
	.name = "nfsrdma_standin",
	.add = standin_add,
};

static int standin_options(struct seq_file *out, struct dentry *root)
{
	seq_puts(out, ",vers=4.2,proto=rdma,port=20049,addr=10.20.0.2");
	return 0;
}

static const struct super_operations standin_operations = {
	.statfs = simple_statfs,
	.show_options = standin_options,
};

static int standin_fill(struct super_block *super, void *data, int silent)
{
	static const struct tree_descr files[] = { { "" } };
	int error = simple_fill_super(super, 0x6969, files);

	super->s_op = &standin_operations;
	return error;
}

static struct dentry *standin_mount(struct file_system_type *type, int flags, const char *name, void *data)
{
	return mount_nodev(type, flags, data, standin_fill);
}

static struct file_system_type standin_type = {
	.owner = THIS_MODULE,
	.name = "nfs4",
	.mount = standin_mount,
	.kill_sb = kill_litter_super,
};

static int __init standin_init(void)
{
	int error = ib_register_client(&standin_client);

	if (error)
		return error;
	error = register_filesystem(&standin_type);
	if (error)
		ib_unregister_client(&standin_client);
	return error;
}

static void __exit standin_exit(void)
{
	unregister_filesystem(&standin_type);
	ib_unregister_client(&standin_client);
}
module_init(standin_init);
module_exit(standin_exit);

MODULE_DESCRIPTION("stand-in for NFS over RDMA");
MODULE_LICENSE("GPL");
