/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernel keeps no hardware address for a tap of link type 32, and systemd-networkd gives up on an
 * InfiniBand link without one. So the address is put into the link messages that a program receives.
 *
 * A message must not grow: its reader has measured it before. Two attributes that nobody reads make
 * room, the memory map of an ISA card (IFLA_MAP) for the address, and the 32-bit counters (IFLA_STATS)
 * for the broadcast address.
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS_LENGTH 20

/* The 20 bytes in a file of the tree such as "80:00:00:48:...". */
static bool read_address(const char *interface, const char *file, unsigned char *address)
{
    char path[256], text[3 * ADDRESS_LENGTH + 1];
    ssize_t length;
    int fd;

    snprintf(path, sizeof path, LAB_ROOT "/sys/class/net/%.15s/%s", interface, file);
    fd = REAL(open)(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    length = REAL(read)(fd, text, sizeof text - 1);
    REAL(close)(fd);
    if (length < 3 * ADDRESS_LENGTH - 1)
        return false;
    text[length] = '\0';
    for (int i = 0; i < ADDRESS_LENGTH; i++)
        address[i] = (unsigned char)strtoul(text + 3 * i, NULL, 16);
    return true;
}

/* Turn one attribute into another and a filler. */
static void replace(struct rtattr *attribute, unsigned short type, const unsigned char *address)
{
    unsigned short whole = RTA_ALIGN(attribute->rta_len), used = RTA_LENGTH(ADDRESS_LENGTH);
    struct rtattr *filler = (struct rtattr *)((char *)attribute + used);

    if (whole < used + sizeof *filler)
        return;
    attribute->rta_type = type;
    attribute->rta_len = used;
    memcpy(RTA_DATA(attribute), address, ADDRESS_LENGTH);
    filler->rta_type = IFLA_PAD;
    filler->rta_len = whole - used;
}

static void complete_link(struct nlmsghdr *message)
{
    struct ifinfomsg *link = NLMSG_DATA(message);
    int left = (int)IFLA_PAYLOAD(message);
    struct rtattr *map = NULL, *stats = NULL;
    const char *name = NULL;
    unsigned char address[ADDRESS_LENGTH];

    if (message->nlmsg_len < NLMSG_LENGTH(sizeof *link) || link->ifi_type != ARPHRD_INFINIBAND)
        return;
    for (struct rtattr *one = IFLA_RTA(link); RTA_OK(one, left); one = RTA_NEXT(one, left)) {
        if (one->rta_type == IFLA_ADDRESS)
            return;
        if (one->rta_type == IFLA_IFNAME)
            name = RTA_DATA(one);
        if (one->rta_type == IFLA_MAP)
            map = one;
        if (one->rta_type == IFLA_STATS)
            stats = one;
    }
    if (name && map && read_address(name, "address", address))
        replace(map, IFLA_ADDRESS, address);
    if (name && stats && read_address(name, "broadcast", address))
        replace(stats, IFLA_BROADCAST, address);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t size = REAL(recvmsg)(fd, message, flags);
    struct sockaddr *sender = message->msg_name;
    int saved = errno;

    if (size > 0 && sender && message->msg_namelen >= sizeof(struct sockaddr_nl) && sender->sa_family == AF_NETLINK &&
        message->msg_iovlen == 1) {
        size_t there = (size_t)size < message->msg_iov->iov_len ? (size_t)size : message->msg_iov->iov_len;
        unsigned left = (unsigned)there;

        for (struct nlmsghdr *one = message->msg_iov->iov_base; NLMSG_OK(one, left); one = NLMSG_NEXT(one, left))
            if (one->nlmsg_type == RTM_NEWLINK)
                complete_link(one);
        errno = saved;
    }
    return size;
}
