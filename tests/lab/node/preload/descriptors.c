/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What was found out of open descriptors, kept until they are closed: a tool makes 50,000 accesses to a
 * card for one query, and most of its time would go into asking the kernel each time.
 */
#include "lab.h"
#include <string.h>
#include <unistd.h>

#define MAX_DESCRIPTORS 256

static struct lab_descriptor descriptors[MAX_DESCRIPTORS];

struct lab_descriptor *lab_descriptor(int fd)
{
    return fd >= 0 && fd < MAX_DESCRIPTORS ? &descriptors[fd] : NULL;
}

EXPORT int close(int fd)
{
    struct lab_descriptor *known = lab_descriptor(fd);

    if (known && (known->adapter || known->lock)) {
        lab_let_go(known);
        memset(known, 0, sizeof *known);
    }
    return REAL(close)(fd);
}
