// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* The device and its ports, as the RDMA core asks for them. */
#include "ibdummy.h"

static int ibd_query_device(struct ib_device *dev, struct ib_device_attr *a,
			    struct ib_udata *udata)
{
	memset(a, 0, sizeof(*a));
	a->fw_ver = 1ULL << 32;
	a->sys_image_guid = dev->node_guid;
	a->max_mr_size = ~0ULL;
	a->page_size_cap = PAGE_SIZE;
	a->vendor_id = 0x02c9;
	a->hw_ver = 1;
	a->max_qp = 1 << 16;
	a->max_qp_wr = 1 << 14;
	a->device_cap_flags = IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_PORT_ACTIVE_EVENT |
			      IB_DEVICE_RC_RNR_NAK_GEN;
	a->max_send_sge = a->max_recv_sge = a->max_srq_sge = IBD_MAX_SGE;
	a->max_cq = a->max_mr = a->max_pd = a->max_ah = a->max_srq = 1 << 16;
	a->max_cqe = 1 << 20;
	a->max_srq_wr = 1 << 14;
	a->max_mcast_grp = ARRAY_SIZE(fab.mgrp);
	a->max_mcast_qp_attach = 1 << 10;
	a->max_total_mcast_qp_attach = 1 << 18;
	a->max_pkeys = IBD_MAX_PKEY;
	a->local_ca_ack_delay = 15;
	return 0;
}

static int ibd_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *a)
{
	struct ibd_port *p = &to_dev(ibdev)->port[num - 1];

	memset(a, 0, sizeof(*a));
	a->state = p->down ? IB_PORT_DOWN : IB_PORT_ACTIVE;
	a->phys_state = p->down ? IB_PORT_PHYS_STATE_POLLING :
				  IB_PORT_PHYS_STATE_LINK_UP;
	a->max_mtu = a->active_mtu = IB_MTU_4096;
	a->gid_tbl_len = 1;
	a->pkey_tbl_len = IBD_MAX_PKEY;
	a->port_cap_flags = IB_PORT_SYS_IMAGE_GUID_SUP | IB_PORT_CM_SUP |
			    IB_PORT_CLIENT_REG_SUP | IB_PORT_EXTENDED_SPEEDS_SUP;
	a->max_msg_sz = 1U << 30;
	a->lid = p->lid;
	a->sm_lid = IBD_SM_LID;
	a->max_vl_num = 4;
	a->subnet_timeout = 18;
	a->active_width = IB_WIDTH_4X;
	a->active_speed = IB_SPEED_EDR;
	if (!ibd_managed)
		return 0;
	a->state = p->state;
	a->phys_state = p->phys_state;
	a->max_mtu = p->max_mtu;
	a->active_mtu = p->mtu;
	a->port_cap_flags = p->cap;
	a->lmc = p->lmc;
	a->sm_lid = p->sm_lid;
	a->sm_sl = p->sm_sl;
	a->subnet_timeout = p->subnet_timeout;
	a->active_width = p->width;
	a->active_speed = p->speed;
	return 0;
}

static int ibd_modify_port(struct ib_device *ibdev, u32 num, int mask,
			   struct ib_port_modify *props)
{
	if (ibd_managed && (props->set_port_cap_mask | props->clr_port_cap_mask) & IB_PORT_SM)
		fabric_sm(&to_dev(ibdev)->port[num - 1], props->set_port_cap_mask & IB_PORT_SM);
	return 0;
}

static int ibd_get_port_immutable(struct ib_device *ibdev, u32 num,
				  struct ib_port_immutable *im)
{
	im->pkey_tbl_len = IBD_MAX_PKEY;
	im->gid_tbl_len = 1;
	im->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	im->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer ibd_get_link_layer(struct ib_device *d, u32 num)
{
	return IB_LINK_LAYER_INFINIBAND;
}

static int ibd_query_gid(struct ib_device *ibdev, u32 num, int index,
			 union ib_gid *gid)
{
	port_gid(&to_dev(ibdev)->port[num - 1], gid);
	return 0;
}

static int ibd_query_pkey(struct ib_device *ibdev, u32 num, u16 index, u16 *pkey)
{
	*pkey = pkey_at(&to_dev(ibdev)->port[num - 1], index);
	return 0;
}

static void ibd_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "1.0.0");
}

/* ibstat's "CA type" and so on. */
#define IBD_ATTR(attr, text) \
static ssize_t attr##_show(struct device *d, struct device_attribute *a, char *buf) \
{ \
	struct ibd_dev *dev = to_dev(container_of(d, struct ib_device, dev)); \
	return sysfs_emit(buf, "%s\n", dev ? text : ""); \
} \
static DEVICE_ATTR_RO(attr)
IBD_ATTR(hca_type, hca_type(dev->n));
IBD_ATTR(hw_rev, "0");
IBD_ATTR(board_id, hca_board(dev->n));

static struct attribute *ibd_attrs[] = {
	&dev_attr_hca_type.attr, &dev_attr_hw_rev.attr, &dev_attr_board_id.attr, NULL
};
static const struct attribute_group ibd_attr_group = { .attrs = ibd_attrs };

struct ib_device_ops ibd_ops = {
	.device_group = &ibd_attr_group,
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,	/* set from the parameter */
	.uverbs_abi_ver = 2,

	.alloc_pd = ibd_alloc_pd,
	.alloc_ucontext = ibd_alloc_ucontext,
	.attach_mcast = ibd_attach_mcast,
	.create_ah = ibd_create_ah,
	.create_cq = ibd_create_cq,
	.create_qp = ibd_create_qp,
	.create_srq = ibd_create_srq,
	.dealloc_pd = ibd_dealloc_pd,
	.dealloc_ucontext = ibd_dealloc_ucontext,
	.dereg_mr = ibd_dereg_mr,
	.destroy_ah = ibd_destroy_ah,
	.destroy_cq = ibd_destroy_cq,
	.destroy_qp = ibd_destroy_qp,
	.destroy_srq = ibd_destroy_srq,
	.detach_mcast = ibd_detach_mcast,
	.get_dev_fw_str = ibd_fw_str,
	.get_dma_mr = ibd_get_dma_mr,
	.get_link_layer = ibd_get_link_layer,
	.get_port_immutable = ibd_get_port_immutable,
	.modify_port = ibd_modify_port,
	.modify_qp = ibd_modify_qp,
	.modify_srq = ibd_modify_srq,
	.poll_cq = ibd_poll_cq,
	.post_recv = ibd_post_recv,
	.post_send = ibd_post_send,
	.post_srq_recv = ibd_post_srq_recv,
	.process_mad = ibd_process_mad,
	.query_ah = ibd_query_ah,
	.query_device = ibd_query_device,
	.query_gid = ibd_query_gid,
	.query_pkey = ibd_query_pkey,
	.query_port = ibd_query_port,
	.query_qp = ibd_query_qp,
	.query_srq = ibd_query_srq,
	.reg_user_mr = ibd_reg_user_mr,
	.rdma_netdev_get_params = ibd_rn_get_params,
	.req_notify_cq = ibd_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, ibd_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, ibd_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_qp, ibd_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, ibd_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_pd, ibd_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, ibd_ucontext, ibuctx),
};
