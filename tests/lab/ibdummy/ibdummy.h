/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Copyright (c) 2026 The rdma.ofed engineers */
/*
 * ibdummy - software InfiniBand HCAs on a software fabric, for tests.
 *
 * Registers RDMA devices whose ports really are InfiniBand (RDMA_CORE_PORT_IBA_IB,
 * not RoCE), so ib_mad, ib_sa, ib_cm, ib_umad and ib_ipoib attach to them as they
 * do to a ConnectX.  Sends are copied from the sender's buffers to the receiver's
 * by one ordered worker, or go to other machines as Ethernet frames (ether.c).  A
 * built-in subnet administrator at LID 1 answers what IPoIB asks, so ib0 gets its
 * carrier, unless a real subnet manager does (fabric.c).  No user-space data path, no
 * RDMA read, write or atomics.
 */
#ifndef IBDUMMY_H
#define IBDUMMY_H

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/module.h>
#include <linux/version.h>
#include <linux/slab.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_hdrs.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define ibd_cq_udata uverbs_attr_bundle	/* create_cq() got the whole bundle */
#else
#define ibd_cq_udata ib_udata
#endif

#define IBD_MAX_DEV	8
#define IBD_MAX_PORT	8
#define IBD_MAX_PKEY	32
#define IBD_MAX_SGE	32
#define IBD_MAX_PEER	128
#define IBD_SM_LID	1
#define IBD_FIRST_LID	2
#define IBD_PREFIX	0xfe80000000000000ULL	/* before a subnet manager gives another one */
#define IBD_RNR_DELAY	msecs_to_jiffies(2)
#define IBD_RNR_MAX	1000
#define IBD_UD_MAX	4096
#define MAD_STATUS_UNSUPPORTED	0x000c	/* method and attribute combination */

struct ibd_dev;

struct ibd_port {
	struct ibd_dev *dev;
	u32 num;
	unsigned int index;		/* running number over all HCAs: its bit in ports_down */
	u16 lid;
	bool down;
	struct ibd_qp *special[2];	/* QP0, QP1 */
	/* managed: what the subnet manager made of it (fabric.c) */
	u8 state, phys_state, lmc, sm_sl, mtu, max_mtu, width, speed, subnet_timeout;
	u16 sm_lid, pkey[IBD_MAX_PKEY];
	u32 cap;
	bool sm;			/* one runs here */
	u64 prefix;
	u64 xmit_pkts, rcv_pkts, xmit_words, rcv_words;
};

struct ibd_dev {
	struct ib_device ibdev;
	struct platform_device *plat;	/* parent of an HCA without PCI function */
	unsigned int n, nports;
	struct ibd_port port[IBD_MAX_PORT];
};

struct ibd_cq {
	struct ib_cq ibcq;
	struct list_head notify;	/* on fab.notify */
	enum ib_cq_notify_flags armed;
	unsigned int size, head, count;
	struct ib_wc *ring;
};

struct ibd_rwr {			/* a posted receive */
	struct list_head node;
	u64 wr_id;
	int nsge;
	struct ib_sge sge[];
};

struct ibd_rq {
	struct list_head list;
	unsigned int count, max;
};

struct ibd_srq {
	struct ib_srq ibsrq;
	struct ibd_rq rq;
};

struct ibd_mc {
	struct list_head node;
	union ib_gid gid;
};

struct ibd_addr {
	u16 dlid;
	u8 sl;
	bool grh;
	union ib_gid dgid;
	u8 hop_limit, tclass;
	u32 flow;
};

struct ibd_ah {
	struct ib_ah ibah;
	struct ibd_addr addr;
	struct rdma_ah_attr attr;
};

struct ibd_pd {
	struct ib_pd ibpd;
};

struct ibd_ucontext {
	struct ib_ucontext ibuctx;
};

struct ibd_qp {
	struct ib_qp ibqp;
	struct list_head all;		/* on fab.qps */
	struct ibd_dev *dev;
	enum ib_qp_state state;
	bool sig_all;
	bool rnr;			/* has sends on fab.rnr */
	struct ib_qp_cap cap;
	u32 port, qkey, dest_qpn;
	u16 pkey_index;
	struct ibd_addr av;
	struct ib_qp_attr attr;		/* what modify_qp said, for query_qp */
	struct ibd_rq rq;
	struct ibd_srq *srq;
	struct list_head mc;
	/* RC over Ethernet, one message at a time (ether.c) */
	u32 tx_seq, acked_seq, rx_seq;
	enum ib_wc_status ack_status;
	u32 rx_off;
	struct ibd_rwr *rx;		/* the receive that a message is coming into */
};

enum ibd_kind { IBD_SEND, IBD_LAST_WQE };

struct ibd_swr {			/* a posted send, or an event to raise */
	struct list_head node;
	enum ibd_kind kind;
	struct ibd_qp *qp;
	u64 wr_id;
	bool signaled, solicited, imm;
	__be32 imm_data;
	u32 remote_qpn, remote_qkey;
	u16 pkey_index;
	unsigned int tries;
	u32 seq;			/* 0: not on the Ethernet yet */
	unsigned long sent;
	u32 len;
	struct ibd_addr addr;
	int nsge;
	struct ib_sge sge[];
};

/* One datagram on its way to a port of this machine. */
struct ibd_dgram {
	struct ib_wc wc;		/* what the receiver is told of the sender */
	struct ib_grh grh;
	u16 dlid, pkey;
	u32 qpn, qkey;
	bool solicited;
	const struct ibd_qp *from;	/* NULL: from another machine */
	const struct ib_sge *sge;	/* the content, */
	int nsge;
	const void *flat;		/* or this */
	u32 len;
};

struct ibd_fabric {
	spinlock_t lock;		/* everything below, and all objects */
	struct list_head qps, sends, rnr, notify;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct delayed_work rnr_work;
	struct ibd_dev *dev[IBD_MAX_DEV];
	u32 next_qpn, next_key;
	bool sa;
	u16 pkey[IBD_MAX_PKEY];
	unsigned int npkey;
	unsigned long down;
	union ib_gid mgrp[256];
	unsigned int nmgrp;
	struct { u64 guid; u16 lid; } peer[IBD_MAX_PEER];	/* ports of other machines */
	unsigned int npeer;
};

#define IBD_TO(type, member) \
static inline struct ibd_##type *to_##type(struct ib_##type *p) \
{ return container_of(p, struct ibd_##type, member); }
IBD_TO(cq, ibcq)
IBD_TO(qp, ibqp)
IBD_TO(srq, ibsrq)
IBD_TO(ah, ibah)
static inline struct ibd_dev *to_dev(struct ib_device *d)
{
	return container_of(d, struct ibd_dev, ibdev);
}

/* main.c */
extern struct ibd_fabric fab;
extern struct mutex ibd_devices;	/* HCAs come and go */
struct ibd_port *qp_port(const struct ibd_qp *qp);
__be64 port_guid(const struct ibd_port *p);
void port_gid(const struct ibd_port *p, union ib_gid *gid);
struct ibd_port *port_by_lid(u16 lid);
struct ibd_port *port_by_gid(const void *gid);

/* param.c: what the parameters say of HCA n */
extern unsigned int ibd_hcas, ibd_mcast_mtu;
extern bool ibd_managed;
extern char *ibd_wire;
extern int ibd_driver_id;
unsigned int hca_ports(unsigned int n);
u64 hca_guid(unsigned int n);
u16 hca_lid(unsigned int n);
bool hca_enhanced(unsigned int n);
const char *hca_name(unsigned int n);
const char *hca_type(unsigned int n);
const char *hca_board(unsigned int n);
const char *hca_driver(unsigned int n);
int check_parameters(void);

/* device.c, mad.c, ipoib.c */
extern struct ib_device_ops ibd_ops;
int ibd_process_mad(struct ib_device *ibdev, int mad_flags, u32 num,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);
int ibd_rn_get_params(struct ib_device *ibdev, u32 num, enum rdma_netdev_t type,
		      struct rdma_netdev_alloc_params *params);

/* cq.c */
void cq_push(struct ib_cq *ibcq, const struct ib_wc *wc, bool solicited);
void cq_clean(struct ib_cq *ibcq, struct ib_qp *qp);
int ibd_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct ibd_cq_udata *udata);
int ibd_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int ibd_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc);
int ibd_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags f);

/* wire.c: all with the lock held, but for kick() and the workers */
void kick(void);
void fab_work(struct work_struct *w);
void fab_rnr_work(struct work_struct *w);
u16 pkey_at(const struct ibd_port *p, u16 index);
u32 sg_len(const struct ib_sge *sge, int n);
u32 sg_gather(const struct ib_sge *src, int ns, u32 off, void *buf, u32 max);
void sg_scatter(const struct ib_sge *dst, int nd, u32 off, const void *src, u32 len);
struct ibd_qp *find_qp(struct ibd_port *p, u32 qpn);
bool qp_ready(const struct ibd_qp *q);
void qp_to_err(struct ibd_qp *qp);
struct ibd_rq *qp_rq(struct ibd_qp *qp);
struct ibd_rwr *rq_pop(struct ibd_rq *rq);
void rwr_complete(struct ibd_qp *qp, struct ibd_rwr *r, struct ib_wc *wc, bool solicited);
void ud_deliver(struct ibd_qp *dq, struct ibd_dgram *g);
void ud_route(struct ibd_dgram *g);

/* ether.c */
void ether_start(void);
void ether_stop(void);
void ether_work(void);
void ether_ud(const struct ibd_dgram *g);
bool ether_rc(struct ibd_swr *s, enum ib_wc_status *status);
void ether_forget(struct ibd_qp *qp);

/* fabric.c */
int fabric_start(void);
void fabric_stop(void);
bool fabric_send(const struct ibd_dgram *g, const struct ibd_port *p);
int fabric_ask(const struct ibd_port *p, const struct ib_mad *in, struct ib_mad *out);
void fabric_sm(struct ibd_port *p, bool sm);

/* sa.c */
void sa_request(const struct ibd_dgram *g, struct ibd_port *p);

/* work.c */
void rq_free(struct ibd_rq *rq);
int ibd_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
int ibd_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);
int ibd_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);

/* qp.c */
int ibd_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int ibd_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int ibd_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int ibd_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int ibd_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int ibd_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int ibd_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int ibd_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int ibd_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr);
int ibd_destroy_srq(struct ib_srq *srq, struct ib_udata *udata);
int ibd_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int ibd_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int ibd_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void ibd_dealloc_ucontext(struct ib_ucontext *uctx);
int ibd_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int ibd_query_ah(struct ib_ah *ah, struct rdma_ah_attr *attr);
int ibd_destroy_ah(struct ib_ah *ah, u32 flags);
struct ib_mr *ibd_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *ibd_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt,
			      int access, struct ib_udata *udata);
int ibd_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);

#endif
