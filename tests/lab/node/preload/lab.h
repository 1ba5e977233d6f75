/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * librdmalab.so makes a container look like a host with InfiniBand adapters. It is named in
 * /etc/ld.so.preload, so PID 1, shells, Python and the RDMA tools all see the same world whatever
 * their environment is.
 *
 * What each file stands in for:
 *   paths.c       sysfs and procfs of the RDMA stack: their paths are looked up in a tree on tmpfs
 *   files.c       the libc functions that take a path, each looking it up with paths.c
 *   attributes.c  sysfs attributes whose writes can be refused (mode, create_child ...)
 *   boot.c        a boot id for each start of the container, reboot(2), no command before boot is over
 *   kernel.c      uname(2), init_module(2), finit_module(2), delete_module(2)
 *   fabric.c      /dev/infiniband: programs of libibumad join the simulated fabric (ibsim)
 *   config.c      PCI configuration space of an emulated adapter (../../cxemu)
 *   locks.c       flock(2) on the lock files of the tools that reach for it
 *   descriptors.c what those two know of open files
 *   netlink.c     the hardware address of an IPoIB interface in link messages
 *   agents.c      who receives the requests that come to a port: one program a method
 *   client.c      the line to rdmalab-agent, which decides everything a kernel would decide
 *
 * Not covered: statically linked programs, system calls made without libc, and paths that are
 * relative to a directory of the real /sys.
 */
#ifndef LAB_H
#define LAB_H
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#define LAB_ROOT "/run/rdmalab"
#define LAB_PATH_MAX 4096
#define EXPORT __attribute__((visibility("default")))

/* The next definition of a libc function: umad2sim's where that library is loaded, else libc's. */
#define REAL(name) \
    ({ \
        static __typeof__(&name) real_; \
        if (!real_) \
            real_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
        real_; \
    })

/* Where PATH really is: itself, or its place in the tree (written into BUFFER). */
const char *lab_path(const char *path, char *buffer, size_t size);
bool lab_is_in_tree(const char *path);

/* Send a request, with an open file unless FD is -1. 0, or -1 with errno as a kernel would set it. */
int lab_request(const char *text, int fd);
/* The same; what was granted is held as long as the connection is open, which is what it returns: -1, or a
 * descriptor that is closed when this process ends, as that of an open device file would be. */
int lab_request_and_hold(const char *text);

/* The tree file behind an open descriptor, if writing to it is for the agent to judge. */
bool lab_is_attribute(int fd);
int lab_store(int fd, const char *text, size_t length);

/* What reboot(2) does to the first process of a container. */
int lab_reboot(unsigned how);

/* What is known of an open file. All of it is 0 until somebody finds out, and again when the file is closed. */
struct cx_adapter;
struct lab_lock;
struct lab_descriptor {
    struct cx_adapter *adapter; /* whose configuration space it is */
    struct lab_lock *lock;      /* what flock(2) on it takes, and whether it has it */
    bool held;
};
/* NULL for a descriptor too high to be remembered. */
struct lab_descriptor *lab_descriptor(int fd);
void lab_let_go(struct lab_descriptor *known);

/* Open a device file of ib_umad. */
int lab_open_umad(const char *path, int flags);
bool lab_is_umad(const char *path);
/* Whether this program has joined the simulated fabric. */
bool lab_in_fabric(void);
/* The name of the device file of ib_umad that was opened last ("umad0"), empty before. */
const char *lab_umad(void);
#endif
