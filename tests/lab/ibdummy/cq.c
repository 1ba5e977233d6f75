// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* Completion queues. */
#include "ibdummy.h"

void cq_push(struct ib_cq *ibcq, const struct ib_wc *wc, bool solicited)
{
	struct ibd_cq *cq = to_cq(ibcq);

	lockdep_assert_held(&fab.lock);
	if (cq->count == cq->size) {
		pr_warn_ratelimited("CQ overflow (%u entries)\n", cq->size);
		return;
	}
	cq->ring[(cq->head + cq->count++) % cq->size] = *wc;
	if ((cq->armed & IB_CQ_NEXT_COMP) ||
	    (cq->armed && (solicited || wc->status))) {
		cq->armed = 0;
		if (list_empty(&cq->notify))
			list_add_tail(&cq->notify, &fab.notify);
		kick();
	}
}

void cq_clean(struct ib_cq *ibcq, struct ib_qp *qp)
{
	struct ibd_cq *cq = ibcq ? to_cq(ibcq) : NULL;
	unsigned int i, kept = 0, n = cq ? cq->count : 0;

	for (i = 0; i < n; i++) {
		struct ib_wc *wc = &cq->ring[(cq->head + i) % cq->size];

		if (wc->qp != qp)
			cq->ring[(cq->head + kept++) % cq->size] = *wc;
	}
	if (cq)
		cq->count = kept;
}

int ibd_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 struct ibd_cq_udata *udata)
{
	struct ibd_cq *cq = to_cq(ibcq);

	if (udata)
		return -EOPNOTSUPP;	/* kernel users only */
	cq->size = attr->cqe + 1;
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	INIT_LIST_HEAD(&cq->notify);
	ibcq->cqe = attr->cqe;
	return 0;
}

int ibd_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct ibd_cq *cq = to_cq(ibcq);

	spin_lock_irq(&fab.lock);
	cq->armed = 0;
	list_del_init(&cq->notify);
	spin_unlock_irq(&fab.lock);
	flush_workqueue(fab.wq);	/* no comp_handler runs after this */
	kvfree(cq->ring);
	return 0;
}

int ibd_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct ibd_cq *cq = to_cq(ibcq);
	unsigned long flags;
	int i;

	spin_lock_irqsave(&fab.lock, flags);
	for (i = 0; i < n && cq->count; i++, cq->count--) {
		wc[i] = cq->ring[cq->head];
		cq->head = (cq->head + 1) % cq->size;
	}
	spin_unlock_irqrestore(&fab.lock, flags);
	return i;
}

int ibd_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags f)
{
	struct ibd_cq *cq = to_cq(ibcq);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&fab.lock, flags);
	cq->armed |= f & IB_CQ_SOLICITED_MASK;
	missed = (f & IB_CQ_REPORT_MISSED_EVENTS) && cq->count;
	spin_unlock_irqrestore(&fab.lock, flags);
	return missed;
}
