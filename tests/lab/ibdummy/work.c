// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* Work requests. */
#include "ibdummy.h"

int ibd_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	struct ibd_qp *qp = to_qp(ibqp);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fab.lock, flags);
	for (; wr; wr = wr->next) {
		struct ibd_swr *s;

		ret = -EINVAL;
		if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_ERR)
			break;
		if (wr->num_sge > IBD_MAX_SGE ||
		    (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM))
			break;
		ret = -ENOMEM;
		s = kzalloc(struct_size(s, sge, wr->num_sge), GFP_ATOMIC);
		if (!s)
			break;
		s->qp = qp;
		s->wr_id = wr->wr_id;	/* or wr_cqe: same union */
		s->signaled = qp->sig_all || wr->send_flags & IB_SEND_SIGNALED;
		s->solicited = wr->send_flags & IB_SEND_SOLICITED;
		s->imm = wr->opcode == IB_WR_SEND_WITH_IMM;
		s->imm_data = wr->ex.imm_data;
		s->nsge = wr->num_sge;
		memcpy(s->sge, wr->sg_list, wr->num_sge * sizeof(*s->sge));
		s->len = sg_len(s->sge, s->nsge);
		s->pkey_index = qp->pkey_index;
		if (qp->state == IB_QPS_RTS && ibqp->qp_type != IB_QPT_RC &&
		    ibqp->qp_type != IB_QPT_UC) {
			const struct ib_ud_wr *ud = ud_wr(wr);

			s->remote_qpn = ud->remote_qpn;
			s->remote_qkey = ud->remote_qkey & 0x80000000 ?
					 qp->qkey : ud->remote_qkey;
			s->addr = to_ah(ud->ah)->addr;
			if (ibqp->qp_type == IB_QPT_GSI)
				s->pkey_index = ud->pkey_index;
			if (s->len > IBD_UD_MAX) {
				kfree(s);
				ret = -EMSGSIZE;
				break;
			}
		}
		list_add_tail(&s->node, &fab.sends);
		ret = 0;
	}
	if (ret && bad)
		*bad = wr;
	spin_unlock_irqrestore(&fab.lock, flags);
	kick();
	return ret;
}

static int rq_post(struct ibd_rq *rq, struct ibd_qp *qp,
		   const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fab.lock, flags);
	for (; wr; wr = wr->next) {
		struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };
		struct ibd_rwr *r;

		ret = -ENOMEM;
		if (rq->count >= rq->max || wr->num_sge > IBD_MAX_SGE)
			break;
		r = kmalloc(struct_size(r, sge, wr->num_sge), GFP_ATOMIC);
		if (!r)
			break;
		ret = 0;
		r->wr_id = wr->wr_id;
		r->nsge = wr->num_sge;
		memcpy(r->sge, wr->sg_list, wr->num_sge * sizeof(*r->sge));
		if (qp && qp->state == IB_QPS_ERR) {
			rwr_complete(qp, r, &wc, false);
			continue;
		}
		list_add_tail(&r->node, &rq->list);
		rq->count++;
	}
	if (ret && bad)
		*bad = wr;
	spin_unlock_irqrestore(&fab.lock, flags);
	return ret;
}

int ibd_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	return rq_post(&to_qp(ibqp)->rq, to_qp(ibqp), wr, bad);
}

int ibd_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad)
{
	return rq_post(&to_srq(srq)->rq, NULL, wr, bad);
}

void rq_free(struct ibd_rq *rq)
{
	struct ibd_rwr *r;

	while ((r = rq_pop(rq)))
		kfree(r);
}
