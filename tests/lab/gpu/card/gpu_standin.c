// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/*
 * Stand-in for a GPU, which no virtual machine has: a PCI domain of its own with one function, whose configuration space says
 * that it is a 3D controller of NVIDIA. It has no memory, no interrupt and no capabilities, so nothing can be done with it.
 */
#include <linux/module.h>
#include <linux/pci.h>

#define STANDIN_DOMAIN 0x10de

static struct pci_sysdata standin_sysdata = {
	.domain = STANDIN_DOMAIN,
	.node = NUMA_NO_NODE,
};
static struct pci_bus *standin_bus;

static int standin_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	u32 word = 0;

	if (devfn) {
		*value = ~0U;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	switch (where & ~3) {
	case PCI_VENDOR_ID:
		word = 0x233010de;
		break;
	case PCI_CLASS_REVISION:
		word = 0x030200a1;
		break;
	case PCI_SUBSYSTEM_VENDOR_ID:
		word = 0x16c110de;
		break;
	}
	word >>= 8 * (where & 3);
	*value = size == 4 ? word : word & ((1U << (8 * size)) - 1);
	return PCIBIOS_SUCCESSFUL;
}

static int standin_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops standin_ops = {
	.read = standin_read,
	.write = standin_write,
};

static int __init standin_init(void)
{
	LIST_HEAD(resources);

	standin_bus = pci_scan_root_bus(NULL, 0, &standin_ops, &standin_sysdata, &resources);
	if (!standin_bus)
		return -ENOMEM;
	pci_bus_add_devices(standin_bus);
	return 0;
}

static void __exit standin_exit(void)
{
	pci_stop_root_bus(standin_bus);
	pci_remove_root_bus(standin_bus);
}
module_init(standin_init);
module_exit(standin_exit);

MODULE_DESCRIPTION("stand-in for a GPU");
MODULE_LICENSE("GPL");
