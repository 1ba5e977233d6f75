// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* The wire between the ports of this machine, and the worker that carries. */
#include "ibdummy.h"

void kick(void)
{
	queue_work(fab.wq, &fab.work);
}

/* Scatter up to len bytes of src into dst from byte off on. */
void sg_scatter(const struct ib_sge *dst, int nd, u32 off,
		       const void *src, u32 len)
{
	int i;

	for (i = 0; i < nd && len; i++) {
		u32 n;

		if (off >= dst[i].length) {
			off -= dst[i].length;
			continue;
		}
		n = min(len, dst[i].length - off);
		memcpy((void *)(uintptr_t)dst[i].addr + off, src, n);
		src += n;
		len -= n;
		off = 0;
	}
}

/* Up to max bytes of src, from byte off on; how many there were. */
u32 sg_gather(const struct ib_sge *src, int ns, u32 off, void *buf, u32 max)
{
	u32 done = 0;
	int i;

	for (i = 0; i < ns && done < max; i++) {
		u32 n;

		if (off >= src[i].length) {
			off -= src[i].length;
			continue;
		}
		n = min(src[i].length - off, max - done);
		memcpy(buf + done, (void *)(uintptr_t)src[i].addr + off, n);
		done += n;
		off = 0;
	}
	return done;
}

u32 sg_len(const struct ib_sge *sge, int n)
{
	u32 len = 0;

	while (n--)
		len += sge++->length;
	return len;
}

static bool pkey_match(u16 a, u16 b)
{
	return (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

u16 pkey_at(const struct ibd_port *p, u16 index)
{
	if (ibd_managed)
		return index < IBD_MAX_PKEY ? p->pkey[index] : 0;
	return index < fab.npkey ? fab.pkey[index] : 0;
}

void rwr_complete(struct ibd_qp *qp, struct ibd_rwr *r, struct ib_wc *wc,
			 bool solicited)
{
	wc->wr_id = r->wr_id;
	wc->qp = &qp->ibqp;
	cq_push(qp->ibqp.recv_cq, wc, solicited);
	kfree(r);
}

struct ibd_rwr *rq_pop(struct ibd_rq *rq)
{
	struct ibd_rwr *r = list_first_entry_or_null(&rq->list, struct ibd_rwr, node);

	if (r) {
		list_del(&r->node);
		rq->count--;
	}
	return r;
}

static void send_complete(struct ibd_swr *s, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = s->wr_id, .status = status, .opcode = IB_WC_SEND,
		.byte_len = s->len, .qp = &s->qp->ibqp,
	};

	if (s->signaled || status)
		cq_push(s->qp->ibqp.send_cq, &wc, false);
}

void qp_to_err(struct ibd_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };
	struct ibd_rwr *r;
	struct ibd_swr *e;

	if (qp->state == IB_QPS_ERR)
		return;
	qp->state = IB_QPS_ERR;
	ether_forget(qp);
	while ((r = rq_pop(&qp->rq)))
		rwr_complete(qp, r, &wc, false);
	if (qp->srq && qp->ibqp.event_handler) {
		e = kzalloc(sizeof(*e), GFP_ATOMIC);
		if (e) {
			e->kind = IBD_LAST_WQE;
			e->qp = qp;
			list_add_tail(&e->node, &fab.sends);
		}
	}
	if (qp->rnr)			/* let them flush now */
		mod_delayed_work(fab.wq, &fab.rnr_work, 0);
	kick();
}

struct ibd_rq *qp_rq(struct ibd_qp *qp)
{
	return qp->srq ? &qp->srq->rq : &qp->rq;
}

/* Put one datagram (header in front, in 40 bytes) into a UD queue pair. */
void ud_deliver(struct ibd_qp *dq, struct ibd_dgram *g)
{
	struct ibd_port *p = qp_port(dq);
	struct ibd_rwr *r = rq_pop(qp_rq(dq));
	struct ib_wc wc = g->wc;
	u32 off = sizeof(g->grh);
	int i;

	if (!r)
		return;			/* no buffer: a datagram is just lost */
	if (sg_len(r->sge, r->nsge) < off + g->len) {
		list_add(&r->node, &qp_rq(dq)->list);
		qp_rq(dq)->count++;
		return;
	}
	if (wc.wc_flags & IB_WC_GRH)
		sg_scatter(r->sge, r->nsge, 0, &g->grh, sizeof(g->grh));
	if (g->flat)
		sg_scatter(r->sge, r->nsge, off, g->flat, g->len);
	for (i = 0; !g->flat && i < g->nsge; off += g->sge[i++].length)
		sg_scatter(r->sge, r->nsge, off,
			   (void *)(uintptr_t)g->sge[i].addr, g->sge[i].length);
	wc.status = IB_WC_SUCCESS;
	wc.opcode = IB_WC_RECV;
	wc.byte_len = sizeof(g->grh) + g->len;
	wc.port_num = dq->port;
	wc.pkey_index = dq->pkey_index;
	p->rcv_pkts++;
	p->rcv_words += g->len / 4;
	rwr_complete(dq, r, &wc, g->solicited);
}

bool qp_ready(const struct ibd_qp *q)
{
	const struct ibd_port *p = qp_port(q);

	return (q->state == IB_QPS_RTR || q->state == IB_QPS_RTS) && p && !p->down &&
	       (q->ibqp.qp_num < 2 || p->state == IB_PORT_ACTIVE);
}

struct ibd_qp *find_qp(struct ibd_port *p, u32 qpn)
{
	struct ibd_qp *q;

	if (qpn < 2)
		return p->special[qpn];
	list_for_each_entry(q, &fab.qps, all)
		if (q->dev == p->dev && q->port == p->num &&
		    q->ibqp.qp_num == qpn)
			return q;
	return NULL;
}

static bool is_multicast(u16 lid)
{
	return lid >= be16_to_cpu(IB_MULTICAST_LID_BASE) && lid != 0xffff;
}

/* To the ports of this machine that it is for. */
void ud_route(struct ibd_dgram *g)
{
	struct ibd_port *p;
	struct ibd_qp *q;
	struct ibd_mc *mc;

	if (is_multicast(g->dlid)) {
		list_for_each_entry(q, &fab.qps, all) {
			if (q == g->from || !qp_ready(q) || q->qkey != g->qkey ||
			    !pkey_match(g->pkey, pkey_at(qp_port(q), q->pkey_index)))
				continue;
			list_for_each_entry(mc, &q->mc, node)
				if (!memcmp(&mc->gid, &g->grh.dgid, sizeof(mc->gid))) {
					ud_deliver(q, g);
					break;
				}
		}
		return;
	}
	p = port_by_lid(g->dlid);
	q = p ? find_qp(p, g->qpn) : NULL;
	if (!q || !qp_ready(q) || (g->qpn && q->qkey != g->qkey))
		return;
	if (g->qpn > 1 && !pkey_match(g->pkey, pkey_at(p, q->pkey_index)))
		return;
	ud_deliver(q, g);
}

static void ud_send(struct ibd_swr *s)
{
	struct ibd_port *p = qp_port(s->qp);
	struct ibd_addr *a = &s->addr;
	struct ibd_dgram g = {
		.wc = {
			.src_qp = s->qp->ibqp.qp_num, .slid = p->lid, .sl = a->sl,
			.wc_flags = (a->grh ? IB_WC_GRH : 0) | (s->imm ? IB_WC_WITH_IMM : 0),
			.ex.imm_data = s->imm_data,
		},
		.dlid = a->dlid, .pkey = pkey_at(p, s->pkey_index),
		.qpn = s->remote_qpn, .qkey = s->remote_qkey, .solicited = s->solicited,
		.from = s->qp, .sge = s->sge, .nsge = s->nsge, .len = s->len,
	};

	if (p->down)
		return;
	p->xmit_pkts++;
	p->xmit_words += s->len / 4;
	if (a->grh) {
		g.grh.version_tclass_flow = cpu_to_be32(6 << 28 | a->tclass << 20 |
							(a->flow & 0xfffff));
		g.grh.paylen = cpu_to_be16(s->len + 24);
		g.grh.next_hdr = 0x1b;
		g.grh.hop_limit = a->hop_limit;
		port_gid(p, &g.grh.sgid);
		g.grh.dgid = a->dgid;
	}
	if (ibd_managed && s->remote_qpn < 2 && fabric_send(&g, p))
		return;
	if (!ibd_managed && a->dlid == IBD_SM_LID) {
		if (s->remote_qpn == 1 && fab.sa)
			sa_request(&g, p);
		return;
	}
	if (is_multicast(a->dlid) || !port_by_lid(a->dlid))
		ether_ud(&g);
	ud_route(&g);
}

/* Returns false when it is to be tried again: the receiver has no buffer, or is another machine. */
static bool rc_send(struct ibd_swr *s, enum ib_wc_status *status)
{
	struct ibd_qp *sq = s->qp, *dq;
	struct ibd_port *p = qp_port(sq), *dp = port_by_lid(sq->av.dlid);
	struct ib_wc wc = {
		.opcode = IB_WC_RECV, .byte_len = s->len,
		.src_qp = sq->ibqp.qp_num, .sl = sq->av.sl,
		.wc_flags = s->imm ? IB_WC_WITH_IMM : 0,
		.ex.imm_data = s->imm_data,
	};
	struct ibd_rwr *r;
	u32 off = 0;
	int i;

	*status = IB_WC_RETRY_EXC_ERR;
	if (!p || p->down)
		return true;
	if (!dp)
		return ether_rc(s, status);
	if (dp->down)
		return true;
	dq = find_qp(dp, sq->dest_qpn);
	if (!dq || dq->ibqp.qp_type != sq->ibqp.qp_type || !qp_ready(dq) ||
	    dq->dest_qpn != sq->ibqp.qp_num)
		return true;
	r = rq_pop(qp_rq(dq));
	if (!r) {
		*status = IB_WC_RNR_RETRY_EXC_ERR;
		return ++s->tries > IBD_RNR_MAX;
	}
	wc.slid = p->lid;
	if (sg_len(r->sge, r->nsge) < s->len) {
		wc.status = IB_WC_LOC_LEN_ERR;
		*status = IB_WC_REM_INV_REQ_ERR;
		rwr_complete(dq, r, &wc, true);
		qp_to_err(dq);
		return true;
	}
	for (i = 0; i < s->nsge; off += s->sge[i++].length)
		sg_scatter(r->sge, r->nsge, off,
			   (void *)(uintptr_t)s->sge[i].addr, s->sge[i].length);
	p->xmit_pkts++;
	p->xmit_words += s->len / 4;
	dp->rcv_pkts++;
	dp->rcv_words += s->len / 4;
	*status = IB_WC_SUCCESS;
	rwr_complete(dq, r, &wc, s->solicited);
	return true;
}

/* Returns true when the item was put aside for a later try. */
static bool fab_one(struct ibd_swr *s)
{
	struct ibd_qp *qp = s->qp;
	enum ib_wc_status status = IB_WC_SUCCESS;

	if (qp->state != IB_QPS_RTS) {
		status = IB_WC_WR_FLUSH_ERR;
	} else if (qp->ibqp.qp_type == IB_QPT_RC || qp->ibqp.qp_type == IB_QPT_UC) {
		if (qp->rnr || !rc_send(s, &status)) {
			qp->rnr = true;
			list_add_tail(&s->node, &fab.rnr);
			queue_delayed_work(fab.wq, &fab.rnr_work, IBD_RNR_DELAY);
			return true;
		}
	} else {
		ud_send(s);
	}
	send_complete(s, status);
	if (status && status != IB_WC_WR_FLUSH_ERR)
		qp_to_err(qp);
	return false;
}

void fab_work(struct work_struct *w)
{
	unsigned int n = 0;

	ether_work();
	spin_lock_irq(&fab.lock);
	for (;;) {
		struct ibd_cq *cq;
		struct ibd_swr *s;

		/* tell consumers now and then while there is more to carry */
		cq = list_first_entry_or_null(&fab.notify, struct ibd_cq, notify);
		if (cq && (list_empty(&fab.sends) || !(++n % 16))) {
			list_del_init(&cq->notify);
			spin_unlock_irq(&fab.lock);
			local_bh_disable();	/* NAPI gets its softirq at once */
			cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
			local_bh_enable();
			spin_lock_irq(&fab.lock);
			continue;
		}
		s = list_first_entry_or_null(&fab.sends, struct ibd_swr, node);
		if (!s)
			break;
		list_del(&s->node);
		if (s->kind == IBD_LAST_WQE) {
			struct ib_qp *qp = &s->qp->ibqp;
			struct ib_event ev = {
				.device = qp->device, .element.qp = qp,
				.event = IB_EVENT_QP_LAST_WQE_REACHED,
			};

			spin_unlock_irq(&fab.lock);
			qp->event_handler(&ev, qp->qp_context);
			kfree(s);
		} else {
			if (!fab_one(s))
				kfree(s);
			spin_unlock_irq(&fab.lock);
		}
		cond_resched();
		spin_lock_irq(&fab.lock);
	}
	spin_unlock_irq(&fab.lock);
	ether_work();
}

void fab_rnr_work(struct work_struct *w)
{
	struct ibd_swr *s;

	spin_lock_irq(&fab.lock);
	list_for_each_entry(s, &fab.rnr, node)
		s->qp->rnr = false;
	list_splice_init(&fab.rnr, &fab.sends);	/* in front: keeps the order */
	spin_unlock_irq(&fab.lock);
	kick();
}
