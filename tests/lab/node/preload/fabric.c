/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * /dev/infiniband: a program that is linked with libibumad joins the simulated fabric by itself.
 *
 * At start such a program is executed once more with umad2sim preloaded behind this library: sysfs
 * is then answered by our tree (its device names, all of its attributes), the device files by
 * umad2sim. Doing it here and not in an environment file makes it work under systemd, sudo and
 * "env -i" alike. umad2sim knows one device, umad0, and takes its place in the fabric from the
 * environment when that is first opened: so the environment is set right then, for the port whose
 * device file the program opens.
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define LAB_LIBRARIES "/opt/lab/lib"
#define SYSTEM_LIBIBMAD "/usr/lib/x86_64-linux-gnu/libibmad.so.5"
#define DEVICES "/dev/infiniband/"
/* A simulator that hangs must not hang the tools for ever. */
#define SIMULATOR_TIMEOUT_S 5

struct libraries {
    bool umad, umad2sim;
};

static int look_at_library(struct dl_phdr_info *info, size_t size, void *result)
{
    struct libraries *found = result;
    const char *name = strrchr(info->dlpi_name, '/');

    (void)size;
    name = name ? name + 1 : info->dlpi_name;
    found->umad |= !strncmp(name, "libibumad.so.", 13);
    found->umad2sim |= !strcmp(name, "libumad2sim.so");
    return 0;
}

static struct libraries loaded_libraries(void)
{
    struct libraries found = {false, false};

    dl_iterate_phdr(look_at_library, &found);
    return found;
}

static bool is_there(const char *path)
{
    return REAL(access)(path, F_OK) == 0;
}

static const char preload_marker[] = "LD_PRELOAD=" LAB_LIBRARIES "/librdmalab.so:" LAB_LIBRARIES "/libumad2sim.so";

/* Run this very program again, with the two libraries in front. Returns only when that failed. */
static void start_again(char **argv, char **environment)
{
    char program[LAB_PATH_MAX], preload[512];
    ssize_t length = REAL(readlink)("/proc/self/exe", program, sizeof program - 1);
    size_t count = 0, used = 0;
    char **extended;

    while (environment[count])
        count++;
    extended = calloc(count + 2, sizeof *extended);
    if (length < 0 || !extended)
        return;
    program[length] = '\0';
    /* umad2sim needs libibmad, which not every user of libibumad brings along */
    snprintf(preload, sizeof preload, "%s%s", preload_marker,
             is_there(SYSTEM_LIBIBMAD) ? "" : ":" LAB_LIBRARIES "/libibmad.so.5");
    for (size_t i = 0; i < count; i++)
        if (strncmp(environment[i], "LD_PRELOAD=", 11))
            extended[used++] = environment[i];
    extended[used] = preload;
    execve(program, argv, extended);
    free(extended);
}

__attribute__((constructor)) static void join_fabric(int argc, char **argv, char **environment)
{
    struct libraries found = loaded_libraries();
    const char *preload = getenv("LD_PRELOAD");

    (void)argc;
    if (found.umad2sim) {
        /* for this program only, not for what it starts */
        if (preload && !strncmp(preload, preload_marker + 11, sizeof preload_marker - 1 - 11))
            unsetenv("LD_PRELOAD");
        return;
    }
    /* without ib_umad there is no device to open, and sysfs needs no simulator */
    if (found.umad && !getauxval(AT_SECURE) && is_there(LAB_ROOT "/umad") && is_there(LAB_LIBRARIES "/libumad2sim.so"))
        start_again(argv, environment);
}

bool lab_is_umad(const char *path)
{
    return path && (!strncmp(path, DEVICES "umad", sizeof DEVICES "umad" - 1) || !strncmp(path, DEVICES "issm", sizeof DEVICES "issm" - 1));
}

/* Two lines: the simulator's address, the node's name in it. */
static bool read_place(const char *device, char *simulator, char *node, size_t size)
{
    char path[256], text[512];
    ssize_t length;
    char *second, *end;
    int fd;

    snprintf(path, sizeof path, LAB_ROOT "/umad/umad%.16s", device + 4);
    fd = REAL(open)(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    length = REAL(read)(fd, text, sizeof text - 1);
    REAL(close)(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    if (!(second = strchr(text, '\n')) || !(end = strchr(second + 1, '\n')))
        return false;
    *second++ = *end = '\0';
    snprintf(simulator, size, "%s", text);
    snprintf(node, size, "%s", second);
    return true;
}

/* umad2sim's exit handler waits for its receiver with a lock held that a late answer makes the receiver
 * wait for: with a slow simulator the program would never end. It has left the simulator by then. */
static bool ending;
static int exit_status;

static void note_exit(int status, void *unused)
{
    (void)unused;
    ending = true;
    exit_status = status;
}

EXPORT int pthread_join(pthread_t thread, void **result)
{
    struct timespec deadline;

    if (!ending)
        return REAL(pthread_join)(thread, result);
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 1;
    if (!pthread_timedjoin_np(thread, result, &deadline))
        return 0;
    fflush(NULL);
    _exit(exit_status);
}

/* umad2sim's descriptors are none of the kernel's. One on the device file itself, which opens nothing, shows in
 * /proc/PID/fd that this process uses it. */
static void show_use(const char *path)
{
    static char shown[8][64];
    size_t i = 0;

    while (i < sizeof shown / sizeof *shown && shown[i][0] && strcmp(shown[i], path))
        i++;
    if (i == sizeof shown / sizeof *shown || shown[i][0] || strlen(path) >= sizeof *shown)
        return;
    if (syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0) >= 0)
        strcpy(shown[i], path);
}

static char opened[32];

const char *lab_umad(void)
{
    return opened;
}

bool lab_in_fabric(void)
{
    return loaded_libraries().umad2sim;
}

int lab_open_umad(const char *path, int flags)
{
    static bool held, handled;
    int fd;
    char simulator[512], node[512];
    const char *device = path + sizeof DEVICES - 1;

    if (!loaded_libraries().umad2sim || !read_place(device, simulator, node, sizeof node)) {
        errno = is_there(path) ? ENXIO : ENOENT;
        return -1;
    }
    setenv("IBSIM_SERVER_NAME", simulator, 1);
    setenv("SIM_HOST", node, 1);
    /* ib_umad is in use while one of its device files is open */
    if (!held && lab_request_and_hold("hold ib_umad") >= 0)
        held = true;
    show_use(path);
    if (!strncmp(device, "umad", 4))
        snprintf(opened, sizeof opened, "%s", device);
    fd = REAL(open)(!strncmp(device, "issm", 4) ? DEVICES "issm0" : DEVICES "umad0", flags, 0);
    /* registered after umad2sim's own handler, so called before it */
    if (!handled && !on_exit(note_exit, NULL))
        handled = true;
    return fd;
}

EXPORT int socket(int family, int type, int protocol)
{
    int fd = REAL(socket)(family, type, protocol);

    if (fd >= 0 && family == AF_INET && (type & 0xf) == SOCK_DGRAM && loaded_libraries().umad2sim) {
        struct timeval patience = {.tv_sec = SIMULATOR_TIMEOUT_S};

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    return fd;
}
