// SPDX-License-Identifier: GPL-2.0 OR MIT
// Copyright (c) 2026 The rdma.ofed engineers
/* Module parameters. Those that are lists have an entry an HCA. */
#include "ibdummy.h"

unsigned int ibd_hcas = 1;
module_param_named(hcas, ibd_hcas, uint, 0444);
MODULE_PARM_DESC(hcas, "number of HCAs where there is no PCI function for them (default 1)");

static unsigned int ports[IBD_MAX_DEV];
static int nports;
module_param_array(ports, uint, &nports, 0444);
MODULE_PARM_DESC(ports, "how many ports the HCA has (default 2)");

static char *name[IBD_MAX_DEV];
static int nname;
module_param_array(name, charp, &nname, 0444);
MODULE_PARM_DESC(name, "RDMA device name, such as mlx5_0 (default ibdummy0, ibdummy1, ...)");

static char *type[IBD_MAX_DEV];
static int ntype;
module_param_array(type, charp, &ntype, 0444);
MODULE_PARM_DESC(type, "hca_type, such as MT4099");

static char *board[IBD_MAX_DEV];
static int nboard;
module_param_array(board, charp, &nboard, 0444);
MODULE_PARM_DESC(board, "board_id, the PSID");

static char *driver[IBD_MAX_DEV];
static int ndriver;
module_param_array(driver, charp, &ndriver, 0444);
MODULE_PARM_DESC(driver, "name of the PCI driver, such as mlx4_core: that one can't be loaded beside it (default ibdummy)");

static unsigned long long guid[IBD_MAX_DEV];
static int nguid;
module_param_array(guid, ullong, &nguid, 0444);
MODULE_PARM_DESC(guid, "node GUID; port p has the node GUID plus p");

static ushort lid[IBD_MAX_DEV];
static int nlid;
module_param_array(lid, ushort, &nlid, 0444);
MODULE_PARM_DESC(lid, "LID of the first port (default: from 2 on)");

static bool enhanced[IBD_MAX_DEV];
static int nenhanced;
module_param_array(enhanced, bool, &nenhanced, 0444);
MODULE_PARM_DESC(enhanced, "enhanced IPoIB as on mlx5: the interfaces refuse connected mode (default N)");

char *ibd_wire = "";
module_param_named(wire, ibd_wire, charp, 0444);
MODULE_PARM_DESC(wire, "Ethernet interface that reaches the ports of other machines (default: none)");

bool ibd_managed;
module_param_named(managed, ibd_managed, bool, 0444);
MODULE_PARM_DESC(managed, "a subnet manager that is reached through /dev/ibdummy manages the ports; sa, pkeys, mcast_mtu, lid and peers do nothing then");

unsigned int ibd_mcast_mtu = 2048;
int ibd_driver_id = RDMA_DRIVER_QIB;
module_param_named(driver_id, ibd_driver_id, int, 0444);
MODULE_PARM_DESC(driver_id, "uverbs driver id; qib's (default) lets rdma-core's ipathverbs provider open the device");

unsigned int hca_ports(unsigned int n)
{
	return n < nports ? ports[n] : 2;
}

u64 hca_guid(unsigned int n)
{
	return n < nguid ? guid[n] : 0x0002c903000f0000ULL + n * 16;
}

u16 hca_lid(unsigned int n)
{
	u16 next = IBD_FIRST_LID;
	unsigned int i;

	for (i = 0; i < n; i++)
		next += hca_ports(i);
	return n < nlid ? lid[n] : next;
}

bool hca_enhanced(unsigned int n)
{
	return n < nenhanced && enhanced[n];
}

const char *hca_name(unsigned int n)
{
	return n < nname ? name[n] : "ibdummy%d";
}

const char *hca_type(unsigned int n)
{
	return n < ntype ? type[n] : "ibdummy";
}

const char *hca_board(unsigned int n)
{
	return n < nboard ? board[n] : "IBDUMMY0000";
}

const char *hca_driver(unsigned int n)
{
	return n < ndriver ? driver[n] : KBUILD_MODNAME;
}

int check_parameters(void)
{
	unsigned int i;

	for (i = 0; i < IBD_MAX_DEV; i++)
		if (!hca_ports(i) || hca_ports(i) > IBD_MAX_PORT) {
			pr_err("an HCA has 1 to %d ports, not %u\n", IBD_MAX_PORT, hca_ports(i));
			return -EINVAL;
		}
	if (!ibd_hcas || ibd_hcas > IBD_MAX_DEV) {
		pr_err("there can be 1 to %d HCAs, not %u\n", IBD_MAX_DEV, ibd_hcas);
		return -EINVAL;
	}
	return 0;
}

/* ---- those that may be written while running -------------------------------- */

/* Raise an event on the ports in the mask. */
static void event_all(enum ib_event_type event, unsigned long mask)
{
	unsigned int i, j;

	mutex_lock(&ibd_devices);
	for (i = 0; i < IBD_MAX_DEV; i++)
		for (j = 0; fab.dev[i] && j < fab.dev[i]->nports; j++)
			if (mask & BIT(fab.dev[i]->port[j].index)) {
				struct ib_event ev = {
					.device = &fab.dev[i]->ibdev,
					.element.port_num = j + 1,
					.event = event,
				};
				ib_dispatch_event(&ev);
			}
	mutex_unlock(&ibd_devices);
}

static int down_set(const char *val, const struct kernel_param *kp)
{
	unsigned long was = fab.down;
	unsigned int i, j;
	int ret = kstrtoul(val, 0, &fab.down);

	if (ret)
		return ret;
	spin_lock_irq(&fab.lock);
	for (i = 0; i < IBD_MAX_DEV; i++)
		for (j = 0; fab.dev[i] && j < fab.dev[i]->nports; j++)
			fab.dev[i]->port[j].down = fab.down & BIT(fab.dev[i]->port[j].index);
	spin_unlock_irq(&fab.lock);
	event_all(IB_EVENT_PORT_ERR, fab.down & ~was);
	event_all(IB_EVENT_PORT_ACTIVE, was & ~fab.down);
	return 0;
}

static const struct kernel_param_ops down_ops = { .set = down_set, .get = param_get_ulong };
module_param_cb(ports_down, &down_ops, &fab.down, 0644);
MODULE_PARM_DESC(ports_down, "bit mask of ports with their cable pulled, counted over all HCAs; may be written any time");

static int sa_set(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_bool(val, kp);

	if (!ret)
		event_all(IB_EVENT_CLIENT_REREGISTER, ~0UL);
	return ret;
}

static const struct kernel_param_ops sa_ops = { .set = sa_set, .get = param_get_bool };
module_param_cb(sa, &sa_ops, &fab.sa, 0644);
MODULE_PARM_DESC(sa, "answer SA queries (default Y); N is a fabric without a subnet manager; may be written any time");

static int mtu_set(const char *val, const struct kernel_param *kp)
{
	unsigned int mtu;
	int ret = kstrtouint(val, 0, &mtu);

	if (ret || (mtu != 2048 && mtu != 4096)) {
		pr_err("mcast_mtu is 2048 or 4096, not %s\n", val);
		return -EINVAL;
	}
	ibd_mcast_mtu = mtu;
	event_all(IB_EVENT_CLIENT_REREGISTER, ~0UL);
	return 0;
}

static const struct kernel_param_ops mtu_ops = { .set = mtu_set, .get = param_get_uint };
module_param_cb(mcast_mtu, &mtu_ops, &ibd_mcast_mtu, 0644);
MODULE_PARM_DESC(mcast_mtu, "MTU of the multicast groups: 2048 (opensm's default) or 4096; may be written any time");

/* Calls each() with the words between the commas of val; returns how many there were. */
static int each_word(const char *val, int max, int (*each)(void *into, int n, char *word), void *into)
{
	char *dup = kstrdup(val, GFP_KERNEL), *s = dup, *word;
	int n = 0, ret = dup ? 0 : -ENOMEM;

	while (!ret && s && (word = strsep(&s, ",\n")))
		if (*word) {
			ret = n < max ? each(into, n, word) : -E2BIG;
			n++;
		}
	kfree(dup);
	return ret ?: n;
}

static int pkey_word(void *into, int n, char *word)
{
	return kstrtou16(word, 0, (u16 *)into + n);
}

static int pkeys_set(const char *val, const struct kernel_param *kp)
{
	u16 key[IBD_MAX_PKEY] = {};
	int n = each_word(val, IBD_MAX_PKEY, pkey_word, key);

	if (n <= 0)
		return n ?: -EINVAL;
	spin_lock_irq(&fab.lock);
	memcpy(fab.pkey, key, sizeof(key));
	fab.npkey = n;
	spin_unlock_irq(&fab.lock);
	event_all(IB_EVENT_PKEY_CHANGE, ~0UL);
	return 0;
}

static int pkeys_get(char *buf, const struct kernel_param *kp)
{
	unsigned int i;
	int n = 0;

	for (i = 0; i < fab.npkey; i++)
		n += scnprintf(buf + n, PAGE_SIZE - n, "%s0x%04x", i ? "," : "", fab.pkey[i]);
	return n + scnprintf(buf + n, PAGE_SIZE - n, "\n");
}

static const struct kernel_param_ops pkeys_ops = { .set = pkeys_set, .get = pkeys_get };
module_param_cb(pkeys, &pkeys_ops, NULL, 0644);
MODULE_PARM_DESC(pkeys, "P_Key table, default 0xffff,0x8001,0x8002; may be written any time");

static int peer_word(void *into, int n, char *word)
{
	char *lid = strchr(word, ':');
	int ret;

	if (!lid)
		return -EINVAL;
	*lid++ = 0;
	ret = kstrtou64(word, 0, &fab.peer[n].guid);
	return ret ?: kstrtou16(lid, 0, &fab.peer[n].lid);
}

static int peers_set(const char *val, const struct kernel_param *kp)
{
	int n = each_word(val, IBD_MAX_PEER, peer_word, NULL);

	fab.npeer = n > 0 ? n : 0;
	return n < 0 ? n : 0;
}

static const struct kernel_param_ops peers_ops = { .set = peers_set };
module_param_cb(peers, &peers_ops, NULL, 0200);
MODULE_PARM_DESC(peers, "ports of other machines: GUID:LID, ...");
