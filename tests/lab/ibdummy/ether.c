// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/*
 * The wire between machines: what goes to a LID of another machine is broadcast as
 * Ethernet frames on one interface, and the machine that has the LID picks it up.
 *
 * A datagram is one frame, and lost where the frame is lost.  An RC message is as many
 * frames as it needs; one message of a queue pair is on the way at a time, and is sent
 * again as a whole until the other side says how it went.
 */
#include "ibdummy.h"
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/netdevice.h>

#define IBD_ETHERTYPE	0x88b5		/* IEEE: local experiments */
#define IBD_CHUNK	8192		/* of an RC message, in one frame */
#define IBD_RESEND	msecs_to_jiffies(100)
#define IBD_RESENDS	40		/* then the path is broken */
#define IBD_BACKLOG	4096		/* frames that wait for the worker */

enum ibd_frame_kind { IBD_FRAME_UD = 1, IBD_FRAME_RC, IBD_FRAME_ACK };
#define IBD_FRAME_IMM		1
#define IBD_FRAME_SOLICITED	2
#define IBD_FRAME_GRH		4

struct ibd_frame {
	u8 kind, flags, sl, status;	/* status: enum ib_wc_status, in an ACK */
	__be16 slid, dlid, pkey, unused;
	__be32 src_qpn, dst_qpn, qkey, seq;
	__be32 len, off;		/* of the message, and where this piece belongs */
	__be32 imm;			/* as it was given */
	struct ib_grh grh;
} __packed;

static struct sk_buff_head rx, tx;

static int ether_rcv(struct sk_buff *skb, struct net_device *dev,
		     struct packet_type *pt, struct net_device *orig)
{
	if (strcmp(dev->name, ibd_wire) || skb_queue_len(&rx) >= IBD_BACKLOG ||
	    !(skb = skb_share_check(skb, GFP_ATOMIC))) {
		kfree_skb(skb);
		return 0;
	}
	skb_queue_tail(&rx, skb);
	kick();
	return 0;
}

static struct packet_type ether_type = {
	.type = cpu_to_be16(IBD_ETHERTYPE),
	.func = ether_rcv,
};

void ether_start(void)
{
	skb_queue_head_init(&rx);
	skb_queue_head_init(&tx);
	if (*ibd_wire)
		dev_add_pack(&ether_type);
}

void ether_stop(void)
{
	if (*ibd_wire)
		dev_remove_pack(&ether_type);
	flush_workqueue(fab.wq);
	skb_queue_purge(&rx);
	skb_queue_purge(&tx);
}

/* ---- out -------------------------------------------------------------------- */

/* A frame with room for len bytes of content; the caller fills it. */
static struct sk_buff *frame_new(const struct ibd_frame *f, u32 len, void **content)
{
	struct sk_buff *skb;

	if (!*ibd_wire || skb_queue_len(&tx) >= IBD_BACKLOG)
		return NULL;
	skb = alloc_skb(LL_MAX_HEADER + sizeof(*f) + len, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	skb_put_data(skb, f, sizeof(*f));
	*content = skb_put(skb, len);
	return skb;
}

static void frame_send(struct sk_buff *skb)
{
	skb_queue_tail(&tx, skb);
	kick();
}

void ether_ud(const struct ibd_dgram *g)
{
	struct ibd_frame f = {
		.kind = IBD_FRAME_UD,
		.flags = (g->wc.wc_flags & IB_WC_GRH ? IBD_FRAME_GRH : 0) |
			 (g->wc.wc_flags & IB_WC_WITH_IMM ? IBD_FRAME_IMM : 0) |
			 (g->solicited ? IBD_FRAME_SOLICITED : 0),
		.sl = g->wc.sl,
		.slid = cpu_to_be16(g->wc.slid), .dlid = cpu_to_be16(g->dlid),
		.pkey = cpu_to_be16(g->pkey),
		.src_qpn = cpu_to_be32(g->wc.src_qp), .dst_qpn = cpu_to_be32(g->qpn),
		.qkey = cpu_to_be32(g->qkey), .len = cpu_to_be32(g->len),
		.imm = g->wc.ex.imm_data, .grh = g->grh,
	};
	void *content;
	struct sk_buff *skb = frame_new(&f, g->len, &content);

	if (skb) {
		sg_gather(g->sge, g->nsge, 0, content, g->len);
		frame_send(skb);
	}
}

static void send_message(struct ibd_swr *s)
{
	struct ibd_qp *qp = s->qp;
	struct ibd_frame f = {
		.kind = IBD_FRAME_RC,
		.flags = (s->imm ? IBD_FRAME_IMM : 0) | (s->solicited ? IBD_FRAME_SOLICITED : 0),
		.sl = qp->av.sl,
		.slid = cpu_to_be16(qp_port(qp)->lid), .dlid = cpu_to_be16(qp->av.dlid),
		.src_qpn = cpu_to_be32(qp->ibqp.qp_num), .dst_qpn = cpu_to_be32(qp->dest_qpn),
		.seq = cpu_to_be32(s->seq), .len = cpu_to_be32(s->len),
		.imm = s->imm_data,
	};
	u32 off = 0;

	do {
		u32 n = min_t(u32, s->len - off, IBD_CHUNK);
		void *content;
		struct sk_buff *skb;

		f.off = cpu_to_be32(off);
		skb = frame_new(&f, n, &content);
		if (!skb)
			return;
		sg_gather(s->sge, s->nsge, off, content, n);
		frame_send(skb);
		off += n;
	} while (off < s->len);
}

/* As rc_send(): false while there is no answer. */
bool ether_rc(struct ibd_swr *s, enum ib_wc_status *status)
{
	struct ibd_qp *qp = s->qp;

	if (!*ibd_wire || qp->ibqp.qp_type != IB_QPT_RC)
		return true;		/* with the status "nobody answered" */
	if (s->seq && qp->acked_seq == s->seq && qp->ack_status != IB_WC_RNR_RETRY_EXC_ERR) {
		*status = qp->ack_status;
		return true;
	}
	if (s->seq && qp->acked_seq != s->seq && time_before(jiffies, s->sent + IBD_RESEND))
		return false;
	if (qp->acked_seq == s->seq) {	/* the receiver had no buffer */
		if (s->seq && s->tries > IBD_RNR_MAX) {
			*status = IB_WC_RNR_RETRY_EXC_ERR;
			return true;
		}
	} else if (s->tries > IBD_RESENDS) {
		return true;
	}
	if (!s->seq) {
		qp_port(qp)->xmit_pkts++;
		qp_port(qp)->xmit_words += s->len / 4;
		s->seq = ++qp->tx_seq;
	}
	qp->acked_seq = s->seq - 1;
	s->tries++;
	s->sent = jiffies;
	send_message(s);
	return false;
}

static void send_ack(const struct ibd_frame *to, struct ibd_qp *qp, enum ib_wc_status status)
{
	struct ibd_frame f = {
		.kind = IBD_FRAME_ACK, .status = status,
		.slid = to->dlid, .dlid = to->slid,
		.src_qpn = to->dst_qpn, .dst_qpn = to->src_qpn, .seq = to->seq,
	};
	void *content;
	struct sk_buff *skb = frame_new(&f, 0, &content);

	if (skb)
		frame_send(skb);
}

/* ---- in --------------------------------------------------------------------- */

/* A message that came half way does not come any more: its receive goes back, or is flushed. */
void ether_forget(struct ibd_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };
	struct ibd_rwr *r = qp->rx;

	qp->rx = NULL;
	if (!r)
		return;
	if (!qp->srq) {
		rwr_complete(qp, r, &wc, false);
		return;
	}
	list_add(&r->node, &qp->srq->rq.list);
	qp->srq->rq.count++;
}

static void take_ud(const struct ibd_frame *f, const void *content, u32 len)
{
	struct ibd_dgram g = {
		.wc = {
			.src_qp = be32_to_cpu(f->src_qpn), .slid = be16_to_cpu(f->slid), .sl = f->sl,
			.wc_flags = (f->flags & IBD_FRAME_GRH ? IB_WC_GRH : 0) |
				    (f->flags & IBD_FRAME_IMM ? IB_WC_WITH_IMM : 0),
			.ex.imm_data = f->imm,
		},
		.grh = f->grh, .dlid = be16_to_cpu(f->dlid), .pkey = be16_to_cpu(f->pkey),
		.qpn = be32_to_cpu(f->dst_qpn), .qkey = be32_to_cpu(f->qkey),
		.solicited = f->flags & IBD_FRAME_SOLICITED,
		.flat = content, .len = len,
	};

	ud_route(&g);
}

static void take_rc(const struct ibd_frame *f, struct ibd_qp *qp, const void *content, u32 n)
{
	u32 seq = be32_to_cpu(f->seq), off = be32_to_cpu(f->off), len = be32_to_cpu(f->len);
	struct ibd_port *p = qp_port(qp);
	struct ib_wc wc = {
		.opcode = IB_WC_RECV, .byte_len = len, .sl = f->sl,
		.src_qp = be32_to_cpu(f->src_qpn), .slid = be16_to_cpu(f->slid),
		.wc_flags = f->flags & IBD_FRAME_IMM ? IB_WC_WITH_IMM : 0,
		.ex.imm_data = f->imm,
	};

	if (seq == qp->rx_seq) {	/* known: the answer was lost */
		if (off + n == len)
			send_ack(f, qp, IB_WC_SUCCESS);
		return;
	}
	if (seq != qp->rx_seq + 1 || off + n > len)
		return;
	if (!off)
		qp->rx_off = 0;
	if (off != qp->rx_off)
		return;			/* a piece is missing: all comes again */
	if (!qp->rx)
		qp->rx = rq_pop(qp_rq(qp));
	if (!qp->rx) {
		if (off + n == len)
			send_ack(f, qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (sg_len(qp->rx->sge, qp->rx->nsge) < len) {
		send_ack(f, qp, IB_WC_REM_INV_REQ_ERR);
		wc.status = IB_WC_LOC_LEN_ERR;
		rwr_complete(qp, qp->rx, &wc, true);
		qp->rx = NULL;
		qp_to_err(qp);
		return;
	}
	sg_scatter(qp->rx->sge, qp->rx->nsge, off, content, n);
	qp->rx_off = off + n;
	if (qp->rx_off < len)
		return;
	qp->rx_seq = seq;
	p->rcv_pkts++;
	p->rcv_words += len / 4;
	rwr_complete(qp, qp->rx, &wc, f->flags & IBD_FRAME_SOLICITED);
	qp->rx = NULL;
	send_ack(f, qp, IB_WC_SUCCESS);
}

static void take_ack(const struct ibd_frame *f, struct ibd_qp *qp)
{
	qp->acked_seq = be32_to_cpu(f->seq);
	qp->ack_status = f->status;
	/* a receiver without a buffer is asked again after the usual delay */
	if (f->status != IB_WC_RNR_RETRY_EXC_ERR)
		mod_delayed_work(fab.wq, &fab.rnr_work, 0);
}

static void take(struct sk_buff *skb)
{
	const struct ibd_frame *f;
	struct ibd_port *p;
	struct ibd_qp *qp;
	const void *content;
	u32 n;

	if (skb_linearize(skb) || skb->len < sizeof(*f))
		return;
	f = (const void *)skb->data;
	content = skb->data + sizeof(*f);
	n = skb->len - sizeof(*f);
	spin_lock_irq(&fab.lock);
	if (f->kind == IBD_FRAME_UD) {
		if (n >= be32_to_cpu(f->len))	/* short frames come with padding */
			take_ud(f, content, be32_to_cpu(f->len));
	} else {
		p = port_by_lid(be16_to_cpu(f->dlid));
		qp = p && !p->down ? find_qp(p, be32_to_cpu(f->dst_qpn)) : NULL;
		n = min3(n, be32_to_cpu(f->len) - be32_to_cpu(f->off), (u32)IBD_CHUNK);
		if (qp && qp->ibqp.qp_type == IB_QPT_RC && qp_ready(qp) &&
		    qp->dest_qpn == be32_to_cpu(f->src_qpn) &&
		    qp->av.dlid == be16_to_cpu(f->slid)) {
			if (f->kind == IBD_FRAME_RC)
				take_rc(f, qp, content, n);
			else if (f->kind == IBD_FRAME_ACK)
				take_ack(f, qp);
		}
	}
	spin_unlock_irq(&fab.lock);
}

/* By the worker, without the lock: frames in, frames out. */
void ether_work(void)
{
	struct net_device *dev;
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&rx))) {
		take(skb);
		consume_skb(skb);
		cond_resched();
	}
	if (skb_queue_empty(&tx))
		return;
	dev = dev_get_by_name(&init_net, ibd_wire);
	while ((skb = skb_dequeue(&tx))) {
		if (!dev || !netif_running(dev)) {
			kfree_skb(skb);
			continue;
		}
		skb->dev = dev;
		skb->protocol = cpu_to_be16(IBD_ETHERTYPE);
		if (dev_hard_header(skb, dev, IBD_ETHERTYPE, dev->broadcast, dev->dev_addr, skb->len) < 0)
			kfree_skb(skb);
		else
			dev_queue_xmit(skb);
	}
	dev_put(dev);
}
