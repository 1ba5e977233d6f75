// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/*
 * Enhanced IPoIB, seen from outside: as mlx5 does, the device takes part in making
 * IPoIB interfaces (rdma_netdev_get_params), and those have no connected mode: their
 * hardware address lacks the flag for it, and "connected" is refused with EINVAL.
 * Unlike mlx5, the data path stays that of ib_ipoib.
 */
#include "ibdummy.h"
#include <linux/netdevice.h>

#define IPOIB_FLAGS_RC	0x80	/* in the first byte of an address: "I do connected mode" */

struct ibd_rn {
	struct rdma_netdev rn;		/* first: ib_ipoib's */
	const struct net_device_ops *base;
	struct net_device_ops ops;
};

static int ibd_rn_init(struct net_device *dev)
{
	struct ibd_rn *priv = netdev_priv(dev);
	u8 first;
	int ret = priv->base->ndo_init(dev);

	if (!ret) {
		first = dev->dev_addr[0] & ~IPOIB_FLAGS_RC;
		dev_addr_mod(dev, 0, &first, sizeof(first));
	}
	return ret;
}

/* ib_ipoib gave dev its own operations before; "not supported" lets it go on with them. */
static int ibd_rn_setup(struct ib_device *ibdev, u32 num, struct net_device *dev, void *param)
{
	struct ibd_rn *priv = netdev_priv(dev);

	priv->base = dev->netdev_ops;
	priv->ops = *dev->netdev_ops;
	priv->ops.ndo_init = ibd_rn_init;
	dev->netdev_ops = &priv->ops;
	return -EOPNOTSUPP;
}

int ibd_rn_get_params(struct ib_device *ibdev, u32 num, enum rdma_netdev_t type,
		      struct rdma_netdev_alloc_params *params)
{
	if (type != RDMA_NETDEV_IPOIB || !hca_enhanced(to_dev(ibdev)->n))
		return -EOPNOTSUPP;
	*params = (struct rdma_netdev_alloc_params) {
		.sizeof_priv = sizeof(struct ibd_rn),
		.txqs = 1, .rxqs = 1,
		.initialize_rdma_netdev = ibd_rn_setup,
	};
	return 0;
}
