// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* Queue pairs, and the objects around them. */
#include "ibdummy.h"

static void addr_from_attr(struct ibd_addr *a, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	memset(a, 0, sizeof(*a));
	a->dlid = rdma_ah_get_dlid(attr);
	a->sl = rdma_ah_get_sl(attr);
	if (rdma_ah_get_ah_flags(attr) & IB_AH_GRH) {
		a->grh = true;
		a->dgid = grh->dgid;
		a->hop_limit = grh->hop_limit;
		a->tclass = grh->traffic_class;
		a->flow = grh->flow_label;
	}
}

int ibd_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			 struct ib_udata *udata)
{
	struct ibd_qp *qp = to_qp(ibqp);
	struct ibd_port *p;
	int qpn = -1;

	if (udata || init->create_flags)
		return -EOPNOTSUPP;
	switch (init->qp_type) {
	case IB_QPT_SMI:
	case IB_QPT_GSI:
		qpn = init->qp_type == IB_QPT_GSI;
		break;
	case IB_QPT_UD:
	case IB_QPT_RC:
	case IB_QPT_UC:
		break;
	default:
		return -EOPNOTSUPP;
	}
	qp->dev = to_dev(ibqp->device);
	qp->state = IB_QPS_RESET;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	init->cap.max_inline_data = 0;
	qp->cap = init->cap;
	qp->srq = init->srq ? to_srq(init->srq) : NULL;
	INIT_LIST_HEAD(&qp->rq.list);
	INIT_LIST_HEAD(&qp->mc);
	qp->rq.max = init->cap.max_recv_wr + 1;	/* + 1: ib_drain_rq() */

	spin_lock_irq(&fab.lock);
	if (qpn >= 0) {
		p = &qp->dev->port[init->port_num - 1];
		if (p->special[qpn]) {
			spin_unlock_irq(&fab.lock);
			return -EBUSY;
		}
		p->special[qpn] = qp;
		qp->port = init->port_num;
	} else {
		qpn = fab.next_qpn++ & 0xffffff;
	}
	ibqp->qp_num = qpn;
	list_add_tail(&qp->all, &fab.qps);
	spin_unlock_irq(&fab.lock);
	return 0;
}

/* Forget everything queued by or for qp.  Called with the lock held. */
static void qp_purge(struct ibd_qp *qp)
{
	struct list_head *lists[] = { &fab.sends, &fab.rnr };
	struct ibd_swr *s, *t;
	int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_entry_safe(s, t, lists[i], node)
			if (s->qp == qp) {
				list_del(&s->node);
				kfree(s);
			}
	qp->rnr = false;
	ether_forget(qp);
	kfree(qp->rx);
	qp->rx = NULL;
	qp->tx_seq = qp->acked_seq = qp->rx_seq = 0;
	rq_free(&qp->rq);
	cq_clean(qp->ibqp.send_cq, &qp->ibqp);
	cq_clean(qp->ibqp.recv_cq, &qp->ibqp);
}

int ibd_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata)
{
	struct ibd_qp *qp = to_qp(ibqp);
	enum ib_qp_state next;
	int ret = 0;

	spin_lock_irq(&fab.lock);
	next = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	if (!ib_modify_qp_is_ok(qp->state, next, ibqp->qp_type, mask)) {
		ret = -EINVAL;
		goto out;
	}
	if (mask & IB_QP_PORT)
		qp->port = attr->port_num;
	if (mask & IB_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index;
	if (mask & IB_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & IB_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qp_num;
	if (mask & IB_QP_AV) {
		addr_from_attr(&qp->av, &attr->ah_attr);
		qp->attr.ah_attr = attr->ah_attr;
		qp->attr.ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (next == IB_QPS_ERR)
		qp_to_err(qp);
	else if (next == IB_QPS_RESET)
		qp_purge(qp);
	qp->state = next;
out:
	spin_unlock_irq(&fab.lock);
	return ret;
}

int ibd_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_qp_init_attr *init)
{
	struct ibd_qp *qp = to_qp(ibqp);

	spin_lock_irq(&fab.lock);
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = qp->state;
	attr->qkey = qp->qkey;
	attr->port_num = qp->port;
	attr->pkey_index = qp->pkey_index;
	attr->dest_qp_num = qp->dest_qpn;
	attr->cap = qp->cap;
	spin_unlock_irq(&fab.lock);
	memset(init, 0, sizeof(*init));
	init->qp_context = ibqp->qp_context;
	init->event_handler = ibqp->event_handler;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	return 0;
}

int ibd_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct ibd_qp *qp = to_qp(ibqp);
	struct ibd_mc *mc, *t;

	spin_lock_irq(&fab.lock);
	list_del(&qp->all);
	if (ibqp->qp_num < 2)
		qp->dev->port[qp->port - 1].special[ibqp->qp_num] = NULL;
	qp_purge(qp);
	list_for_each_entry_safe(mc, t, &qp->mc, node)
		kfree(mc);
	spin_unlock_irq(&fab.lock);
	flush_workqueue(fab.wq);	/* an event for qp may be on its way */
	return 0;
}

int ibd_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct ibd_mc *mc = kmalloc(sizeof(*mc), GFP_KERNEL);

	if (!mc)
		return -ENOMEM;
	mc->gid = *gid;
	spin_lock_irq(&fab.lock);
	list_add(&mc->node, &to_qp(ibqp)->mc);
	spin_unlock_irq(&fab.lock);
	return 0;
}

int ibd_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct ibd_mc *mc, *t;
	int ret = -EINVAL;

	spin_lock_irq(&fab.lock);
	list_for_each_entry_safe(mc, t, &to_qp(ibqp)->mc, node)
		if (!memcmp(&mc->gid, gid, sizeof(*gid))) {
			list_del(&mc->node);
			kfree(mc);
			ret = 0;
			break;
		}
	spin_unlock_irq(&fab.lock);
	return ret;
}

int ibd_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			  struct ib_udata *udata)
{
	if (udata || init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	INIT_LIST_HEAD(&to_srq(ibsrq)->rq.list);
	to_srq(ibsrq)->rq.max = init->attr.max_wr;
	return 0;
}

int ibd_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	return -EOPNOTSUPP;
}

int ibd_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr)
{
	attr->max_wr = to_srq(srq)->rq.max;
	attr->max_sge = IBD_MAX_SGE;
	attr->srq_limit = 0;
	return 0;
}

int ibd_destroy_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	spin_lock_irq(&fab.lock);
	rq_free(&to_srq(srq)->rq);
	spin_unlock_irq(&fab.lock);
	return 0;
}


int ibd_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

int ibd_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

int ibd_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	return 0;
}

void ibd_dealloc_ucontext(struct ib_ucontext *uctx)
{
}

int ibd_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init,
			 struct ib_udata *udata)
{
	addr_from_attr(&to_ah(ah)->addr, init->ah_attr);
	to_ah(ah)->attr = *init->ah_attr;
	to_ah(ah)->attr.grh.sgid_attr = NULL;
	return 0;
}

/* ib_sa will not send, and ib_mad not match a response, without this. */
int ibd_query_ah(struct ib_ah *ah, struct rdma_ah_attr *attr)
{
	*attr = to_ah(ah)->attr;
	return 0;
}

int ibd_destroy_ah(struct ib_ah *ah, u32 flags)
{
	return 0;
}

struct ib_mr *ibd_get_dma_mr(struct ib_pd *pd, int access)
{
	struct ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->lkey = mr->rkey = fab.next_key++;
	return mr;
}

struct ib_mr *ibd_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				     u64 virt, int access, struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

int ibd_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	kfree(mr);
	return 0;
}
