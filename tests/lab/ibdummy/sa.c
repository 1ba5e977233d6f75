// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* The subnet administrator. */
#include "ibdummy.h"

static u16 mgrp_lid(const u8 *mgid)
{
	unsigned int i;

	for (i = 0; i < fab.nmgrp; i++)
		if (!memcmp(&fab.mgrp[i], mgid, 16))
			break;
	if (i == ARRAY_SIZE(fab.mgrp))
		i--;			/* full: share the last LID, as real SMs do */
	else if (i == fab.nmgrp)
		memcpy(&fab.mgrp[fab.nmgrp++], mgid, 16);
	return 0xc000 + i;
}

/* SA status codes, in the class-specific byte of the MAD status */
#define SA_STATUS_REQ_INVALID	(2 << 8)
#define SA_STATUS_NO_RECORDS	(3 << 8)
#define SEL_EXACT(x)	(2 << 6 | (x))
#define SA_RATE		IB_RATE_100_GBPS
#define SA_LIFE		18

static u16 sa_mcmember(struct ib_sa_mad *m, struct ibd_port *p)
{
	u8 *d = m->data;	/* mgid 0, port_gid 16, qkey 32, mlid 36, ... */
	u16 pkey = get_unaligned_be16(d + 40);
	unsigned int i;

	if (m->sa_hdr.comp_mask & IB_SA_MCMEMBER_REC_PKEY) {
		for (i = 0; i < fab.npkey; i++)
			if ((fab.pkey[i] & 0x7fff) == (pkey & 0x7fff))
				break;
		if (i == fab.npkey)
			return SA_STATUS_REQ_INVALID;
	}
	put_unaligned_be32(0x0b1b, d + 32);
	put_unaligned_be16(mgrp_lid(d), d + 36);
	d[38] = SEL_EXACT(ib_mtu_int_to_enum(ibd_mcast_mtu));
	d[42] = SEL_EXACT(SA_RATE);
	d[43] = SEL_EXACT(SA_LIFE);
	put_unaligned_be32(0, d + 44);			/* sl, flow, hop */
	d[48] = (d[1] & 0xf) << 4 | (d[48] & 0xf);	/* scope, join state */
	return 0;
}

/* The port that a path is asked for: its LID and GUID, 0 where there is none. */
static u16 sa_find(const struct ib_sa_mad *m, u64 *guid)
{
	const u8 *d = m->data;
	bool by_gid = m->sa_hdr.comp_mask & IB_SA_PATH_REC_DGID;
	u64 wanted = get_unaligned_be64(d + 16);
	u16 lid = get_unaligned_be16(d + 40);
	struct ibd_port *p;
	unsigned int i;

	if (!by_gid && !(m->sa_hdr.comp_mask & IB_SA_PATH_REC_DLID))
		return 0;
	p = by_gid ? port_by_gid(d + 8) : port_by_lid(lid);
	if (p) {
		*guid = be64_to_cpu(port_guid(p));
		return p->down ? 0 : p->lid;
	}
	for (i = 0; i < fab.npeer; i++)
		if (by_gid ? fab.peer[i].guid == wanted : fab.peer[i].lid == lid) {
			*guid = fab.peer[i].guid;
			return fab.peer[i].lid;
		}
	return 0;
}

static u16 sa_path(struct ib_sa_mad *m, struct ibd_port *p)
{
	u8 *d = m->data;	/* dgid 8, sgid 24, dlid 40, slid 42, ... */
	union ib_gid gid;
	u64 guid = 0;
	u16 lid = sa_find(m, &guid);

	if (!lid)
		return SA_STATUS_NO_RECORDS;
	port_gid(p, &gid);
	memcpy(d + 24, &gid, 16);
	memcpy(d + 8, &gid, 8);
	put_unaligned_be64(guid, d + 16);
	put_unaligned_be16(lid, d + 40);
	put_unaligned_be16(p->lid, d + 42);
	put_unaligned_be32(0, d + 44);
	d[48] = 0;
	d[49] = 0x80 | 1;				/* reversible, one path */
	if (!(m->sa_hdr.comp_mask & IB_SA_PATH_REC_PKEY))
		put_unaligned_be16(fab.pkey[0], d + 50);
	put_unaligned_be16(0, d + 52);			/* QoS class, SL */
	d[54] = SEL_EXACT(IB_MTU_4096);
	d[55] = SEL_EXACT(SA_RATE);
	d[56] = SEL_EXACT(SA_LIFE);
	d[57] = 0;
	return 0;
}

void sa_request(const struct ibd_dgram *g, struct ibd_port *p)
{
	struct ibd_qp *gsi = p->special[1];
	struct ib_sa_mad m = {};
	struct ibd_dgram answer = {
		.wc = { .src_qp = 1, .slid = IBD_SM_LID }, .solicited = true,
		.flat = &m, .len = sizeof(m),
	};
	u16 status = 0;
	u8 method;

	sg_gather(g->sge, g->nsge, 0, &m, sizeof(m));
	method = m.mad_hdr.method;
	if (m.mad_hdr.mgmt_class != IB_MGMT_CLASS_SUBN_ADM ||
	    method & IB_MGMT_METHOD_RESP || !gsi || !qp_ready(gsi))
		return;
	m.mad_hdr.method |= IB_MGMT_METHOD_RESP;
	switch (be16_to_cpu(m.mad_hdr.attr_id)) {
	case IB_SA_ATTR_CLASS_PORTINFO:
		memset(m.data, 0, sizeof(m.data));
		m.data[0] = 1;				/* base version */
		m.data[1] = 2;				/* class version */
		put_unaligned_be32(18, m.data + 4);	/* response time */
		break;
	case IB_SA_ATTR_MC_MEMBER_REC:
		if (method != IB_SA_METHOD_DELETE)
			status = sa_mcmember(&m, p);
		break;
	case IB_SA_ATTR_PATH_REC:
		status = method == IB_MGMT_METHOD_GET ? sa_path(&m, p) :
							MAD_STATUS_UNSUPPORTED;
		break;
	case IB_SA_ATTR_INFORM_INFO:
	case IB_SA_ATTR_SERVICE_REC:
		break;					/* granted as asked */
	default:
		status = MAD_STATUS_UNSUPPORTED;
	}
	m.mad_hdr.status = cpu_to_be16(status);
	ud_deliver(gsi, &answer);
}
