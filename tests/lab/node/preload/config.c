/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PCI configuration space. The file "config" of an emulated adapter carries the set-group-ID bit in the
 * tree, and beside it the link "adapter" leads to the card. pread(2) and pwrite(2) on it are answered by
 * the model; read(2) gives the file's bytes, which is enough for who looks at the header.
 */
#include "lab.h"
#include "cxemu.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t room);

/* The card behind an open file, found by the file's place in the tree. */
static struct cx_adapter *find(int fd)
{
    char link[64], path[512], directory[512];
    ssize_t length;
    char *name;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = REAL(readlink)(link, path, sizeof path - 16);
    if (length < 0)
        return NULL;
    path[length] = '\0';
    name = strrchr(path, '/');
    if (!name || strcmp(name, "/config") || !lab_is_in_tree(path))
        return NULL;
    strcpy(name, "/adapter");
    length = REAL(readlink)(path, directory, sizeof directory - 1);
    if (length < 0)
        return NULL;
    directory[length] = *name = '\0';
    return cx_open(directory, path);
}

static struct cx_adapter *adapter_of(int fd)
{
    struct lab_descriptor *known = lab_descriptor(fd);
    struct cx_adapter *adapter = known ? known->adapter : NULL;
    struct stat status;
    int saved = errno;

    if (!adapter && !fstat(fd, &status) && S_ISREG(status.st_mode) && (status.st_mode & S_ISGID)) {
        adapter = find(fd);
        if (known)
            known->adapter = adapter;
    }
    errno = saved;
    return adapter;
}

/* A card that leaves the bus takes its entries in sysfs along: the agent sees to that, before the tool goes on. */
static ssize_t after(const struct cx_adapter *adapter, ssize_t result)
{
    static const struct cx_adapter *told;

    if (adapter->state->gone && told != adapter && !lab_request("look", -1))
        told = adapter;
    return result;
}

#define READ(name, offset_t) \
    EXPORT ssize_t name(int fd, void *data, size_t size, offset_t offset) \
    { \
        struct cx_adapter *adapter = adapter_of(fd); \
        return adapter ? after(adapter, cx_read(adapter, data, size, offset)) : REAL(name)(fd, data, size, offset); \
    }

#define WRITE(name, offset_t) \
    EXPORT ssize_t name(int fd, const void *data, size_t size, offset_t offset) \
    { \
        struct cx_adapter *adapter = adapter_of(fd); \
        return adapter ? after(adapter, cx_write(adapter, data, size, offset)) : REAL(name)(fd, data, size, offset); \
    }

READ(pread, off_t)
READ(pread64, off64_t)
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

/* What pread() is called in programs built with _FORTIFY_SOURCE. */
EXPORT ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room)
{
    struct cx_adapter *adapter = adapter_of(fd);

    return adapter ? cx_read(adapter, data, size, offset) : REAL(__pread_chk)(fd, data, size, offset, room);
}

EXPORT ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t room)
{
    struct cx_adapter *adapter = adapter_of(fd);

    return adapter ? cx_read(adapter, data, size, offset) : REAL(__pread64_chk)(fd, data, size, offset, room);
}
