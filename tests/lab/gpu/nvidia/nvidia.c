// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v2.0 (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
// SPDX-License-Identifier: GPL-2.0

/*
 * Stand-in for NVIDIA's driver: it wants a GPU, says its version in /proc as the driver does, and exports the functions that
 * nvidia-peermem is linked with. With flavour=proprietary it says that it is the other one.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "standin.h"

static char *flavour = "open";
module_param(flavour, charp, 0444);
static struct proc_dir_entry *standin_folder;

int nvidia_p2p_get_pages(void)
{
	return -EINVAL;
}
EXPORT_SYMBOL(nvidia_p2p_get_pages);

static int standin_version(struct seq_file *out, void *unused)
{
	const char *words = strcmp(flavour, "open") ? "x86_64 Kernel Module" : "Open Kernel Module for x86_64";

	seq_printf(out, "NVRM version: NVIDIA UNIX %s  " STANDIN_VERSION "  Release Build  (lab@standin)\n", words);
	seq_puts(out, "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
	return 0;
}

static bool standin_card(void)
{
	struct pci_dev *device = NULL;

	while ((device = pci_get_device(0x10de, PCI_ANY_ID, device)))
		if (device->class >> 16 == PCI_BASE_CLASS_DISPLAY) {
			pci_dev_put(device);
			return true;
		}
	return false;
}

static int __init standin_init(void)
{
	if (!standin_card()) {
		pr_err("NVRM: No NVIDIA GPU found.\n");
		return -ENODEV;
	}
	standin_folder = proc_mkdir("driver/nvidia", NULL);
	if (!standin_folder)
		return -ENOMEM;
	if (!proc_create_single("version", 0444, standin_folder, standin_version)) {
		proc_remove(standin_folder);
		return -ENOMEM;
	}
	return 0;
}

static void __exit standin_exit(void)
{
	proc_remove(standin_folder);
}
module_init(standin_init);
module_exit(standin_exit);

MODULE_VERSION(STANDIN_VERSION);
MODULE_DESCRIPTION("stand-in for NVIDIA's driver");
MODULE_LICENSE("Dual MIT/GPL");
