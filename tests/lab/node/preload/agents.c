/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two requests of ib_umad that a kernel can refuse. A program that answers requests registers their methods, and
 * a method that another program has on that port is refused: a second opensm cannot bind. umad2sim grants all, so
 * rdmalab-agent is asked first; what it grants ends with this process or with its own request.
 */
#include "lab.h"
#include <rdma/ib_user_mad.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MOST_AGENTS 32

/* Connections that hold claims, by number of the registration; 0 where there is none. */
static int claims[MOST_AGENTS];

static int claim_methods(const struct ib_user_mad_reg_req *wanted)
{
    /* the library says unsigned int, older headers of the kernel the same under another name */
    const uint32_t *mask = (const uint32_t *)wanted->method_mask;
    char text[128];

    snprintf(text, sizeof text, "register %s %u %u %08x%08x%08x%08x", lab_umad(), wanted->mgmt_class, wanted->mgmt_class_version,
             mask[3], mask[2], mask[1], mask[0]);
    return lab_request_and_hold(text);
}

static int register_agent(int fd, struct ib_user_mad_reg_req *wanted)
{
    static const unsigned none[4];
    int claim = 0, result;

    if (memcmp(wanted->method_mask, none, sizeof none) && (claim = claim_methods(wanted)) < 0)
        return -1;
    result = REAL(ioctl)(fd, IB_USER_MAD_REGISTER_AGENT, wanted);
    if (claim && !result && wanted->id < MOST_AGENTS)
        claims[wanted->id] = claim;
    else if (claim && result)
        REAL(close)(claim);
    return result;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    void *argument;

    va_start(rest, request);
    argument = va_arg(rest, void *);
    va_end(rest);
    if (request == IB_USER_MAD_REGISTER_AGENT && lab_in_fabric())
        return register_agent(fd, argument);
    if (request == IB_USER_MAD_UNREGISTER_AGENT && lab_in_fabric()) {
        uint32_t id = *(uint32_t *)argument;

        if (id < MOST_AGENTS && claims[id]) {
            REAL(close)(claims[id]);
            claims[id] = 0;
        }
    }
    return REAL(ioctl)(fd, request, argument);
}
