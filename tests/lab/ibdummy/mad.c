// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* Management datagrams that an HCA itself answers. */
#include "ibdummy.h"

/* What a subnet manager, ibdiagnet, smpquery or perfquery asks an HCA. */
static void smp_get(struct ibd_port *p, const struct ib_smp *in, struct ib_smp *out)
{
	struct ib_node_info *ni = (void *)out->data;
	struct ib_port_info *pi = (void *)out->data;
	struct ib_device *d = &p->dev->ibdev;
	int i;

	switch (in->attr_id) {
	case IB_SMP_ATTR_NODE_DESC:
		memcpy(out->data, d->node_desc, sizeof(out->data));
		break;
	case IB_SMP_ATTR_NODE_INFO:
		ni->base_version = ni->class_version = 1;
		ni->node_type = 1;
		ni->num_ports = p->dev->nports;
		ni->sys_guid = ni->node_guid = d->node_guid;
		ni->port_guid = port_guid(p);
		ni->partition_cap = cpu_to_be16(IBD_MAX_PKEY);
		ni->local_port_num = p->num;
		ni->vendor_id[1] = 0x02;
		ni->vendor_id[2] = 0xc9;
		break;
	case IB_SMP_ATTR_PORT_INFO:
		pi->gid_prefix = cpu_to_be64(0xfe80000000000000ULL);
		pi->lid = cpu_to_be16(p->lid);
		pi->sm_lid = cpu_to_be16(IBD_SM_LID);
		pi->cap_mask = cpu_to_be32(IB_PORT_SYS_IMAGE_GUID_SUP | IB_PORT_CM_SUP);
		pi->local_port_num = p->num;
		pi->link_width_enabled = pi->link_width_supported = 3;
		pi->link_width_active = 2;
		pi->linkspeed_portstate = 7 << 4 | (p->down ? 1 : 4);
		pi->portphysstate_linkdown = (p->down ? 2 : 5) << 4 | 2;
		pi->linkspeedactive_enabled = 4 << 4 | 7;
		pi->neighbormtu_mastersmsl = IB_MTU_4096 << 4;
		pi->vlcap_inittype = 3 << 4;
		pi->inittypereply_mtucap = IB_MTU_4096;
		pi->operationalvl_pei_peo_fpi_fpo = 3 << 4;
		pi->guid_cap = 1;
		pi->clientrereg_resv_subnetto = 18;
		break;
	case IB_SMP_ATTR_GUID_INFO:
		put_unaligned_be64(be64_to_cpu(port_guid(p)), out->data);
		break;
	case IB_SMP_ATTR_PKEY_TABLE:
		for (i = 0; i < IBD_MAX_PKEY; i++)
			put_unaligned_be16(pkey_at(p, i), out->data + 2 * i);
		break;
	default:
		out->status |= cpu_to_be16(MAD_STATUS_UNSUPPORTED);
	}
}

static void pma_get(struct ibd_port *p, const struct ib_mad *in, struct ib_mad *out)
{
	u8 *d = out->data + 40;
	struct ib_pma_portcounters *c = (void *)d;
	struct ib_pma_portcounters_ext *x = (void *)d;

	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		d[0] = d[1] = 1;
		put_unaligned_be16(be16_to_cpu(IB_PMA_CLASS_CAP_EXT_WIDTH), d + 2);
		break;
	case IB_PMA_PORT_COUNTERS:
		c->port_select = p->num;
		c->port_xmit_data = cpu_to_be32(p->xmit_words);
		c->port_rcv_data = cpu_to_be32(p->rcv_words);
		c->port_xmit_packets = cpu_to_be32(p->xmit_pkts);
		c->port_rcv_packets = cpu_to_be32(p->rcv_pkts);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		x->port_select = p->num;
		x->port_xmit_data = cpu_to_be64(p->xmit_words);
		x->port_rcv_data = cpu_to_be64(p->rcv_words);
		x->port_xmit_packets = cpu_to_be64(p->xmit_pkts);
		x->port_rcv_packets = cpu_to_be64(p->rcv_pkts);
		x->port_unicast_xmit_packets = cpu_to_be64(p->xmit_pkts);
		x->port_unicast_rcv_packets = cpu_to_be64(p->rcv_pkts);
		break;
	default:
		out->mad_hdr.status |= cpu_to_be16(MAD_STATUS_UNSUPPORTED);
	}
}

int ibd_process_mad(struct ib_device *ibdev, int mad_flags, u32 num,
			   const struct ib_wc *wc, const struct ib_grh *grh,
			   const struct ib_mad *in, struct ib_mad *out,
			   size_t *out_size, u16 *out_pkey_index)
{
	struct ibd_port *p = &to_dev(ibdev)->port[num - 1];
	u8 class = in->mad_hdr.mgmt_class;

	if (in->mad_hdr.method != IB_MGMT_METHOD_GET &&
	    in->mad_hdr.method != IB_MGMT_METHOD_SET)
		return IB_MAD_RESULT_SUCCESS;
	if (class != IB_MGMT_CLASS_SUBN_LID_ROUTED &&
	    class != IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE &&
	    class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_SUCCESS;
	if (ibd_managed && class != IB_MGMT_CLASS_PERF_MGMT)
		return ((const struct ib_smp *)in)->attr_id == IB_SMP_ATTR_SM_INFO ?
			IB_MAD_RESULT_SUCCESS : fabric_ask(p, in, out);
	memcpy(out, in, sizeof(*out));
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	if (class == IB_MGMT_CLASS_PERF_MGMT) {
		memset(out->data + 40, 0, sizeof(out->data) - 40);
		pma_get(p, in, out);
	} else {
		const struct ib_smp *smp = (const void *)in;

		/* SMInfo belongs to a subnet manager, not to the HCA */
		if (smp->attr_id == IB_SMP_ATTR_SM_INFO)
			return IB_MAD_RESULT_SUCCESS;
		memset(((struct ib_smp *)out)->data, 0, IB_SMP_DATA_SIZE);
		smp_get(p, smp, (struct ib_smp *)out);
		if (class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
			out->mad_hdr.status |= IB_SMP_DIRECTION;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
