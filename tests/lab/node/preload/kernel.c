/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The system calls at the boundary between Debian's kmod and the kernel. depmod, modprobe, lsmod and
 * modinfo are the real programs on real module files; only the kernel's side is stood in for. The
 * agent reads the module's own .modinfo and answers as kernel/module does: EEXIST for a loaded
 * module, ENOEXEC for one of another kernel, ENOENT for an unknown symbol, EWOULDBLOCK for one in use.
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define REQUEST_MAX 4096

/* libc has them, its headers do not */
int init_module(void *image, unsigned long length, const char *parameters);
int delete_module(const char *name, unsigned flags);

EXPORT int uname(struct utsname *name)
{
    static char release[sizeof name->release];
    int result = REAL(uname)(name), saved = errno;

    if (!release[0]) {
        int fd = REAL(open)(LAB_ROOT "/proc/sys/kernel/osrelease", O_RDONLY | O_CLOEXEC);

        if (fd >= 0) {
            char text[sizeof release] = "";
            ssize_t length = REAL(read)(fd, text, sizeof text - 1);

            REAL(close)(fd);
            text[strcspn(text, "\n")] = '\0';
            if (length > 0)
                memcpy(release, text, sizeof release);
        }
        errno = saved;
    }
    if (!result && release[0])
        memcpy(name->release, release, sizeof name->release);
    return result;
}

static int load(int fd, const char *parameters, int flags)
{
    char request[REQUEST_MAX];

    snprintf(request, sizeof request, "load %d\n%s", flags, parameters ? parameters : "");
    return lab_request(request, fd);
}

EXPORT int init_module(void *image, unsigned long length, const char *parameters)
{
    int result = -1, fd = memfd_create("module", MFD_CLOEXEC);

    if (fd < 0)
        return -1;
    if (REAL(write)(fd, image, length) == (ssize_t)length)
        result = load(fd, parameters, 0);
    REAL(close)(fd);
    return result;
}

EXPORT int delete_module(const char *name, unsigned flags)
{
    char request[REQUEST_MAX];

    snprintf(request, sizeof request, "unload %u\n%s", flags, name);
    return lab_request(request, -1);
}

/* kmod calls finit_module(2) by number. A system call has at most six arguments. */
EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_finit_module)
        return load((int)a[0], (const char *)a[1], (int)a[2]);
    if (number == SYS_init_module)
        return init_module((void *)a[0], (unsigned long)a[1], (const char *)a[2]);
    if (number == SYS_delete_module)
        return delete_module((const char *)a[0], (unsigned)a[1]);
    if (number == SYS_reboot)
        return lab_reboot((unsigned)a[2]);
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
