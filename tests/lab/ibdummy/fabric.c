// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/*
 * Management by a real subnet manager: /dev/ibdummy, in the mode "managed".
 *
 * What goes out through QP0 and QP1 for the subnet manager or an agent of the fabric is read
 * from the device by a daemon, which is the way to the simulated switches; what comes in
 * from there is written.  The simulator holds PortInfo and P_Key table of each port and
 * answers for the HCA; the daemon brings them here whenever they have changed.
 */
#include "ibdummy.h"
#include <linux/completion.h>
#include <linux/miscdevice.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#define IBD_NOTES	4096		/* that wait for the daemon */
#define IBD_PATIENCE	(30 * HZ)	/* an emulated machine may be slow */

enum ibd_kind_of_record {
	IBD_REC_MAD = 1,	/* a datagram out to a LID, in from a LID */
	IBD_REC_ASK,		/* a local query, and its answer with the same cookie */
	IBD_REC_SM,		/* flag: a subnet manager runs on the port */
	IBD_REC_PORT,		/* PortInfo and P_Keys of a port; flag: clients register again */
};

struct ibd_record {
	u8 kind, hca, port, flag;
	u16 lid, qpn;
	u32 cookie;
	u8 data[IB_MGMT_MAD_SIZE];
};

struct ibd_note {
	struct list_head node;
	struct ibd_record r;
};

struct ibd_ask {
	struct list_head node;
	u32 cookie;
	void *answer;
	struct completion done;
};

static LIST_HEAD(notes);
static LIST_HEAD(asks);
static DEFINE_SPINLOCK(lock);		/* the lists and counters; inside of fab.lock */
static DECLARE_WAIT_QUEUE_HEAD(readers);
static unsigned int nnotes;
static u32 next_cookie;
static bool opened;

/* ---- to the daemon ---------------------------------------------------------- */

/* The note, with the lock of the lists held. */
static struct ibd_record *add_note(const struct ibd_port *p, enum ibd_kind_of_record kind)
{
	struct ibd_note *n;

	if (!opened || nnotes >= IBD_NOTES)
		return NULL;
	n = kzalloc(sizeof(*n), GFP_ATOMIC);
	if (!n)
		return NULL;
	n->r.kind = kind;
	n->r.hca = p->dev->n;
	n->r.port = p->num;
	list_add_tail(&n->node, &notes);
	nnotes++;
	return &n->r;
}

/*
 * A datagram from a special queue pair.  Returns false for what the wire carries: what is
 * for this port itself, and what ports say to each other, such as ib_cm.
 */
bool fabric_send(const struct ibd_dgram *g, const struct ibd_port *p)
{
	struct ib_mad_hdr hdr = {};
	struct ibd_record *r;
	unsigned long flags;

	sg_gather(g->sge, g->nsge, 0, &hdr, sizeof(hdr));
	if (g->wc.src_qp && hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT &&
	    (hdr.mgmt_class != IB_MGMT_CLASS_SUBN_ADM || g->dlid == p->lid))
		return false;
	spin_lock_irqsave(&lock, flags);
	r = add_note(p, IBD_REC_MAD);
	if (r) {
		r->lid = g->dlid;
		r->qpn = g->wc.src_qp;
		sg_gather(g->sge, g->nsge, 0, r->data, sizeof(r->data));
	}
	spin_unlock_irqrestore(&lock, flags);
	wake_up_interruptible(&readers);
	return true;
}

/* What a program asks the HCA that it runs on: the simulator knows. May sleep, as a program called. */
int fabric_ask(const struct ibd_port *p, const struct ib_mad *in, struct ib_mad *out)
{
	struct ibd_ask ask = { .answer = out };
	struct ibd_record *r;
	bool answered = false;

	init_completion(&ask.done);
	spin_lock_irq(&lock);
	ask.cookie = ++next_cookie;
	list_add(&ask.node, &asks);
	r = add_note(p, IBD_REC_ASK);
	if (r) {
		r->cookie = ask.cookie;
		memcpy(r->data, in, sizeof(r->data));
	}
	spin_unlock_irq(&lock);
	wake_up_interruptible(&readers);
	if (r)
		wait_for_completion_timeout(&ask.done, IBD_PATIENCE);
	spin_lock_irq(&lock);
	list_del(&ask.node);
	answered = !ask.answer;
	spin_unlock_irq(&lock);
	return answered ? IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY : IB_MAD_RESULT_FAILURE;
}

/* A subnet manager comes, or goes. */
void fabric_sm(struct ibd_port *p, bool sm)
{
	struct ibd_record *r;

	spin_lock_irq(&lock);
	p->sm = sm;
	r = add_note(p, IBD_REC_SM);
	if (r)
		r->flag = sm;
	spin_unlock_irq(&lock);
	wake_up_interruptible(&readers);
}

/* ---- from the daemon -------------------------------------------------------- */

static void take_answer(const struct ibd_record *r)
{
	struct ibd_ask *ask;

	spin_lock_irq(&lock);
	list_for_each_entry(ask, &asks, node)
		if (ask->cookie == r->cookie && ask->answer) {
			memcpy(ask->answer, r->data, sizeof(r->data));
			ask->answer = NULL;
			complete(&ask->done);
		}
	spin_unlock_irq(&lock);
}

static void take_mad(const struct ibd_record *r, struct ibd_port *p)
{
	struct ibd_dgram g = {
		.wc = { .src_qp = r->qpn, .slid = r->lid },
		.solicited = true, .flat = r->data, .len = sizeof(r->data),
	};
	u8 class = ((const struct ib_mad_hdr *)r->data)->mgmt_class;
	bool smp = class == IB_MGMT_CLASS_SUBN_LID_ROUTED || class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	struct ibd_qp *qp;

	spin_lock_irq(&fab.lock);
	qp = p->special[!smp];
	if (qp && qp_ready(qp))
		ud_deliver(qp, &g);
	spin_unlock_irq(&fab.lock);
	kick();
}

static void raise_event(struct ibd_port *p, enum ib_event_type event, bool happened)
{
	struct ib_event ev = {
		.device = &p->dev->ibdev, .element.port_num = p->num, .event = event,
	};

	if (happened)
		ib_dispatch_event(&ev);
}

static void take_port(const struct ibd_record *r, struct ibd_port *p)
{
	const struct ib_port_info *pi = (const void *)r->data;
	const u8 *key = r->data + sizeof(*pi);
	u16 pkey[IBD_MAX_PKEY];
	struct ibd_port was;
	unsigned int i;
	u8 ext = r->data[62] >> 4;	/* LinkSpeedExtActive */

	for (i = 0; i < IBD_MAX_PKEY; i++)
		pkey[i] = get_unaligned_be16(key + 2 * i);
	spin_lock_irq(&fab.lock);
	was = *p;
	p->state = pi->linkspeed_portstate & 0xf;
	p->phys_state = pi->portphysstate_linkdown >> 4;
	p->down = p->phys_state != IB_PORT_PHYS_STATE_LINK_UP;
	p->lid = be16_to_cpu(pi->lid);
	p->sm_lid = be16_to_cpu(pi->sm_lid);
	p->lmc = pi->mkeyprot_resv_lmc & 7;
	p->sm_sl = pi->neighbormtu_mastersmsl & 0xf;
	p->mtu = pi->neighbormtu_mastersmsl >> 4;
	p->max_mtu = pi->inittypereply_mtucap & 0xf;
	p->width = pi->link_width_active;
	p->speed = ext ? ext * IB_SPEED_FDR : pi->linkspeedactive_enabled >> 4;
	p->cap = be32_to_cpu(pi->cap_mask);
	p->subnet_timeout = pi->clientrereg_resv_subnetto & 0x1f;
	p->prefix = be64_to_cpu(pi->gid_prefix) ?: IBD_PREFIX;
	memcpy(p->pkey, pkey, sizeof(pkey));
	spin_unlock_irq(&fab.lock);

	raise_event(p, IB_EVENT_PORT_ERR, was.state == IB_PORT_ACTIVE && p->state != IB_PORT_ACTIVE);
	raise_event(p, IB_EVENT_GID_CHANGE, was.prefix != p->prefix);
	raise_event(p, IB_EVENT_LID_CHANGE, was.lid != p->lid);
	raise_event(p, IB_EVENT_PKEY_CHANGE, memcmp(was.pkey, pkey, sizeof(pkey)));
	raise_event(p, IB_EVENT_SM_CHANGE, was.sm_lid != p->sm_lid || was.sm_sl != p->sm_sl);
	raise_event(p, IB_EVENT_PORT_ACTIVE, was.state != IB_PORT_ACTIVE && p->state == IB_PORT_ACTIVE);
	raise_event(p, IB_EVENT_CLIENT_REREGISTER, r->flag && p->state == IB_PORT_ACTIVE);
}

/* ---- the device ------------------------------------------------------------- */

static int fabric_open(struct inode *inode, struct file *file)
{
	unsigned int i, j;
	int ret = 0;

	mutex_lock(&ibd_devices);
	spin_lock_irq(&lock);
	if (opened)
		ret = -EBUSY;
	opened = true;
	spin_unlock_irq(&lock);
	/* one daemon after another: the next one learns of the subnet managers that are there */
	for (i = 0; !ret && i < IBD_MAX_DEV; i++)
		for (j = 0; fab.dev[i] && j < fab.dev[i]->nports; j++)
			if (fab.dev[i]->port[j].sm)
				fabric_sm(&fab.dev[i]->port[j], true);
	mutex_unlock(&ibd_devices);
	return ret;
}

static int fabric_release(struct inode *inode, struct file *file)
{
	struct ibd_note *n, *t;

	spin_lock_irq(&lock);
	opened = false;
	list_for_each_entry_safe(n, t, &notes, node)
		kfree(n);
	INIT_LIST_HEAD(&notes);
	nnotes = 0;
	spin_unlock_irq(&lock);
	return 0;
}

static ssize_t fabric_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct ibd_note *n;
	ssize_t ret;

	if (size < sizeof(n->r))
		return -EINVAL;
	spin_lock_irq(&lock);
	n = list_first_entry_or_null(&notes, struct ibd_note, node);
	if (n) {
		list_del(&n->node);
		nnotes--;
	}
	spin_unlock_irq(&lock);
	if (!n)
		return -EAGAIN;
	ret = copy_to_user(buf, &n->r, sizeof(n->r)) ? -EFAULT : sizeof(n->r);
	kfree(n);
	return ret;
}

static ssize_t fabric_write(struct file *file, const char __user *buf, size_t size, loff_t *pos)
{
	struct ibd_record r;
	struct ibd_dev *d;
	ssize_t ret = size;

	if (size != sizeof(r))
		return -EINVAL;
	if (copy_from_user(&r, buf, sizeof(r)))
		return -EFAULT;
	if (r.kind == IBD_REC_ASK) {
		take_answer(&r);
		return ret;
	}
	mutex_lock(&ibd_devices);
	d = r.hca < IBD_MAX_DEV ? fab.dev[r.hca] : NULL;
	if (!d || !r.port || r.port > d->nports)
		ret = -ENODEV;
	else if (r.kind == IBD_REC_MAD)
		take_mad(&r, &d->port[r.port - 1]);
	else if (r.kind == IBD_REC_PORT)
		take_port(&r, &d->port[r.port - 1]);
	else
		ret = -EINVAL;
	mutex_unlock(&ibd_devices);
	return ret;
}

static __poll_t fabric_poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &readers, wait);
	return EPOLLOUT | EPOLLWRNORM | (READ_ONCE(nnotes) ? EPOLLIN | EPOLLRDNORM : 0);
}

static const struct file_operations fabric_fops = {
	.owner = THIS_MODULE,
	.open = fabric_open,
	.release = fabric_release,
	.read = fabric_read,
	.write = fabric_write,
	.poll = fabric_poll,
};

static struct miscdevice fabric_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.fops = &fabric_fops,
};

int fabric_start(void)
{
	BUILD_BUG_ON(sizeof(struct ibd_record) != 268);
	BUILD_BUG_ON(sizeof(struct ib_port_info) != 64);
	return ibd_managed ? misc_register(&fabric_device) : 0;
}

void fabric_stop(void)
{
	if (ibd_managed)
		misc_deregister(&fabric_device);
}
