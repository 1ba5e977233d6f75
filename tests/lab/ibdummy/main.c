// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* HCAs come and go. */
#include "ibdummy.h"

struct ibd_fabric fab = {
	.lock = __SPIN_LOCK_UNLOCKED(fab.lock),
	.qps = LIST_HEAD_INIT(fab.qps),
	.sends = LIST_HEAD_INIT(fab.sends),
	.rnr = LIST_HEAD_INIT(fab.rnr),
	.notify = LIST_HEAD_INIT(fab.notify),
	.next_key = 1,
	.sa = true,
	.pkey = { 0xffff, 0x8001, 0x8002 }, .npkey = 3,
};
DEFINE_MUTEX(ibd_devices);

struct ibd_port *qp_port(const struct ibd_qp *qp)
{
	return qp->port >= 1 && qp->port <= qp->dev->nports ?
		&qp->dev->port[qp->port - 1] : NULL;
}

__be64 port_guid(const struct ibd_port *p)
{
	return cpu_to_be64(be64_to_cpu(p->dev->ibdev.node_guid) + p->num);
}

void port_gid(const struct ibd_port *p, union ib_gid *gid)
{
	gid->global.subnet_prefix = cpu_to_be64(p->prefix);
	gid->global.interface_id = port_guid(p);
}

struct ibd_port *port_by_lid(u16 lid)
{
	unsigned int i, j;

	for (i = 0; i < IBD_MAX_DEV; i++)
		for (j = 0; fab.dev[i] && j < fab.dev[i]->nports; j++)
			if (fab.dev[i]->port[j].lid == lid)
				return &fab.dev[i]->port[j];
	return NULL;
}

struct ibd_port *port_by_gid(const void *gid)
{
	unsigned int i, j;
	union ib_gid own;

	for (i = 0; i < IBD_MAX_DEV; i++)
		for (j = 0; fab.dev[i] && j < fab.dev[i]->nports; j++) {
			port_gid(&fab.dev[i]->port[j], &own);
			if (!memcmp(&own, gid, sizeof(own)))
				return &fab.dev[i]->port[j];
		}
	return NULL;
}

static int add_hca(unsigned int n, struct device *parent, struct platform_device *plat)
{
	struct ibd_dev *d = ib_alloc_device(ibd_dev, ibdev);
	unsigned int i, first = 0;
	int ret;

	if (!d)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		first += hca_ports(i);
	d->n = n;
	d->nports = hca_ports(n);
	d->plat = plat;
	d->ibdev.node_type = RDMA_NODE_IB_CA;
	d->ibdev.phys_port_cnt = d->nports;
	d->ibdev.num_comp_vectors = 1;
	d->ibdev.node_guid = cpu_to_be64(hca_guid(n));
	d->ibdev.dev.parent = parent;
	snprintf(d->ibdev.node_desc, sizeof(d->ibdev.node_desc), "ibdummy HCA-%u", n);
	for (i = 0; i < d->nports; i++) {
		d->port[i].dev = d;
		d->port[i].num = i + 1;
		d->port[i].index = first + i;
		d->port[i].prefix = IBD_PREFIX;
		d->port[i].pkey[0] = 0xffff;
		d->port[i].width = IB_WIDTH_4X;
		d->port[i].speed = IB_SPEED_SDR;
		d->port[i].mtu = d->port[i].max_mtu = IB_MTU_4096;
		d->port[i].lid = ibd_managed ? 0 : hca_lid(n) + i;
		d->port[i].state = ibd_managed ? IB_PORT_DOWN : IB_PORT_ACTIVE;
		d->port[i].phys_state = IB_PORT_PHYS_STATE_POLLING;
		d->port[i].down = ibd_managed || fab.down & BIT(first + i);
	}
	ib_set_device_ops(&d->ibdev, &ibd_ops);
	mutex_lock(&ibd_devices);
	spin_lock_irq(&fab.lock);
	fab.dev[n] = d;
	spin_unlock_irq(&fab.lock);
	ret = ib_register_device(&d->ibdev, hca_name(n), NULL);
	if (ret) {
		spin_lock_irq(&fab.lock);
		fab.dev[n] = NULL;
		spin_unlock_irq(&fab.lock);
		ib_dealloc_device(&d->ibdev);
	}
	mutex_unlock(&ibd_devices);
	return ret;
}

static void remove_hca(unsigned int n)
{
	struct ibd_dev *d = fab.dev[n];
	struct platform_device *plat = d ? d->plat : NULL;

	if (!d)
		return;
	mutex_lock(&ibd_devices);
	ib_unregister_device(&d->ibdev);
	flush_workqueue(fab.wq);
	spin_lock_irq(&fab.lock);
	fab.dev[n] = NULL;
	spin_unlock_irq(&fab.lock);
	ib_dealloc_device(&d->ibdev);
	mutex_unlock(&ibd_devices);
	if (plat)
		platform_device_unregister(plat);
}

/*
 * An HCA for each test function that QEMU has (-device pci-testdev): the driver is
 * loaded by its modalias, and the devices have a place on the PCI bus, as with a card.
 */
static const struct pci_device_id ibd_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT, 0x0005) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ibd_ids);

/* Which of the functions it is, or how many there are. */
static unsigned int count_functions(const struct pci_dev *before)
{
	struct pci_dev *pdev = NULL;
	unsigned int n = 0;

	while ((pdev = pci_get_device(ibd_ids[0].vendor, ibd_ids[0].device, pdev)) && pdev != before)
		n++;
	pci_dev_put(pdev);
	return n;
}

static int ibd_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	unsigned int n = count_functions(pdev);
	int ret;

	if (n >= IBD_MAX_DEV || strcmp(hca_driver(n), to_pci_driver(pdev->dev.driver)->name))
		return -ENODEV;
	ret = add_hca(n, &pdev->dev, NULL);
	if (!ret)
		pci_set_drvdata(pdev, fab.dev[n]);
	return ret;
}

static void ibd_remove(struct pci_dev *pdev)
{
	remove_hca(((struct ibd_dev *)pci_get_drvdata(pdev))->n);
}

/* One for each name that the parameter "driver" has. */
static struct pci_driver drivers[IBD_MAX_DEV];

static int add_driver(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(hca_driver(i), hca_driver(n)))
			return 0;
	drivers[n].name = hca_driver(n);
	drivers[n].id_table = ibd_ids;
	drivers[n].probe = ibd_probe;
	drivers[n].remove = ibd_remove;
	return pci_register_driver(&drivers[n]);
}

static int add_virtual(unsigned int n)
{
	/* ipoib_get_drvinfo() (ETHTOOL_GDRVINFO) needs a parent */
	struct platform_device *plat = platform_device_register_simple(KBUILD_MODNAME, n, NULL, 0);
	int ret;

	if (IS_ERR(plat))
		return PTR_ERR(plat);
	ret = add_hca(n, &plat->dev, plat);
	if (ret)
		platform_device_unregister(plat);
	return ret;
}

static void ibd_stop(unsigned int ndrivers)
{
	unsigned int i;

	fabric_stop();
	while (ndrivers--)
		if (drivers[ndrivers].name)
			pci_unregister_driver(&drivers[ndrivers]);
	for (i = 0; i < IBD_MAX_DEV; i++)
		remove_hca(i);
	ether_stop();
	cancel_delayed_work_sync(&fab.rnr_work);
	destroy_workqueue(fab.wq);
}

static unsigned int npci;

static int __init ibd_init(void)
{
	unsigned int i;
	int ret = check_parameters();

	if (ret)
		return ret;
	/* other machines must not take the queue pairs of this boot for those of the last */
	fab.next_qpn = 0x48 + get_random_u32() % 0x100000;
	INIT_WORK(&fab.work, fab_work);
	INIT_DELAYED_WORK(&fab.rnr_work, fab_rnr_work);
	fab.wq = alloc_ordered_workqueue("ibdummy", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	if (!fab.wq)
		return -ENOMEM;
	ibd_ops.driver_id = ibd_driver_id;
	ether_start();
	ret = fabric_start();
	if (ret) {
		ether_stop();
		destroy_workqueue(fab.wq);
		return ret;
	}
	npci = min_t(unsigned int, count_functions(NULL), IBD_MAX_DEV);
	for (i = 0; !ret && i < (npci ?: ibd_hcas); i++)
		ret = npci ? add_driver(i) : add_virtual(i);
	if (ret)
		ibd_stop(npci ? i - 1 : 0);
	return ret;
}

static void __exit ibd_exit(void)
{
	ibd_stop(npci);
}

module_init(ibd_init);
module_exit(ibd_exit);
MODULE_DESCRIPTION("Software InfiniBand HCAs for tests");
MODULE_LICENSE("Dual MIT/GPL");
