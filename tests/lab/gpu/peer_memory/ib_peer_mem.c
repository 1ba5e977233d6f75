// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/*
 * Stand-in for the peer memory of a vendor's ib_core, which that of the lab has not, as it is the distribution's code: a module on
 * top of ib_core that exports the functions. A softdep loads it with ib_core. It shows who has registered as MLNX_OFED does.
 * With STANDIN_OTHER_BUILD the functions are others to the kernel's symbol versions, as those of another release of the stack.
 */
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>

struct standin_peer {
	struct kobject object;
	const char *version;
};

static struct kobject *standin_folder;

static ssize_t standin_show(struct kobject *object, struct kobj_attribute *attribute, char *out)
{
	return sysfs_emit(out, "%s\n", container_of(object, struct standin_peer, object)->version);
}

static struct kobj_attribute standin_version = __ATTR(version, 0444, standin_show, NULL);
static struct attribute *standin_attrs[] = { &standin_version.attr, NULL };
ATTRIBUTE_GROUPS(standin);

static void standin_release(struct kobject *object)
{
	kfree(container_of(object, struct standin_peer, object));
}

static struct kobj_type standin_type = {
	.release = standin_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = standin_groups,
};

#ifdef STANDIN_OTHER_BUILD
void *ib_register_peer_memory_client(const char *name, const char *version, unsigned long more);
void *ib_register_peer_memory_client(const char *name, const char *version, unsigned long more)
#else
void *ib_register_peer_memory_client(const char *name, const char *version);
void *ib_register_peer_memory_client(const char *name, const char *version)
#endif
{
	struct standin_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL);

	if (!peer)
		return NULL;
	peer->version = version;
	if (kobject_init_and_add(&peer->object, &standin_type, standin_folder, "%s", name)) {
		kobject_put(&peer->object);
		return NULL;
	}
	return peer;
}
EXPORT_SYMBOL(ib_register_peer_memory_client);

void ib_unregister_peer_memory_client(void *handle);
void ib_unregister_peer_memory_client(void *handle)
{
	struct standin_peer *peer = handle;

	kobject_put(&peer->object);
}
EXPORT_SYMBOL(ib_unregister_peer_memory_client);

static int standin_add(struct ib_device *device)
{
	return 0;
}

static struct ib_client standin_client = {
	.name = "ib_peer_mem",
	.add = standin_add,
};

static int __init standin_init(void)
{
	int error;

	standin_folder = kobject_create_and_add("memory_peers", mm_kobj);
	if (!standin_folder)
		return -ENOMEM;
	error = ib_register_client(&standin_client);
	if (error)
		kobject_put(standin_folder);
	return error;
}

static void __exit standin_exit(void)
{
	ib_unregister_client(&standin_client);
	kobject_put(standin_folder);
}
module_init(standin_init);
module_exit(standin_exit);

MODULE_DESCRIPTION("stand-in for peer memory");
MODULE_LICENSE("GPL");
