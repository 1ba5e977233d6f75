/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two ends of a boot. A container shares its kernel's boot id with the machine; a node has one of
 * its own from the moment that systemd starts, because the journal is kept by it. And where the kernel
 * would bring the machine up again, the first process ends with a status that tells the container
 * engine to start it anew (restart policy "on-failure"). In between, "docker exec" comes in before a
 * host would have its sshd; what it starts waits, as /tmp is still to be emptied.
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BOOT_ID LAB_ROOT "/proc/sys/kernel/random/boot_id"
#define LOGIN LAB_ROOT "/login" /* made by rdmalab-login.service */
#define LOGIN_SECONDS 30           /* of a boot that got stuck, one wants to see the journal */
#define EXIT_REBOOT 133

/* A random UUID in the kernel's spelling. */
static void write_boot_id(int fd)
{
    uint8_t b[16];

    if (getrandom(b, sizeof b, 0) != sizeof b)
        return;
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    dprintf(fd, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", b[0], b[1], b[2], b[3], b[4], b[5],
            b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void make_directories(const char *path)
{
    char part[sizeof BOOT_ID];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        REAL(mkdir)(part, 0755);
    }
}

/* /run is a new tmpfs at each start of a container, so a file that is there is of this boot. */
static void begin(void)
{
    int fd;

    make_directories(BOOT_ID);
    fd = REAL(open)(BOOT_ID, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd >= 0) {
        write_boot_id(fd);
        REAL(close)(fd);
    }
}

static void wait_for_login(void)
{
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

    for (int i = 0; i < LOGIN_SECONDS * 50 && REAL(access)(LOGIN, F_OK); i++)
        nanosleep(&pause, NULL);
}

/* A process without a parent in here was started by the container engine. */
__attribute__((constructor)) static void boot(void)
{
    int saved = errno;

    if (getppid() == 0 && !REAL(access)("/etc/lab/node.json", F_OK)) {
        if (getpid() == 1)
            begin();
        else
            wait_for_login();
    }
    errno = saved;
}

/* Nobody else can: a container lacks CAP_SYS_BOOT. */
int lab_reboot(unsigned how)
{
    if (getpid() == 1) {
        if (how == (unsigned)RB_AUTOBOOT || how == LINUX_REBOOT_CMD_RESTART2)
            _exit(EXIT_REBOOT);
        if (how == (unsigned)RB_HALT_SYSTEM || how == (unsigned)RB_POWER_OFF)
            _exit(0);
    }
    errno = EPERM;
    return -1;
}

EXPORT int reboot(int how)
{
    return lab_reboot((unsigned)how);
}
