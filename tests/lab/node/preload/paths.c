/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which paths belong to the lab's tree.
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Wholly the tree's: what the machine below has here must not shine through. */
static const char *const replaced[] = {
    "/sys/bus/pci", "/sys/class/infiniband", "/sys/class/infiniband_mad", "/sys/class/infiniband_verbs",
    "/sys/module",  "/proc/modules",         "/proc/bus/pci",        "/proc/driver/nvidia",
    "/proc/kallsyms",
};
/* The tree's only as far as the tree has them; the rest is the real kernel's (lo, eth0, MTU, flags). */
static const char *const overlaid[] = {
    "/sys/devices", "/sys/class/net", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/random/boot_id",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    return !strncmp(path, directory, length) && (path[length] == '\0' || path[length] == '/');
}

static bool exists(const char *path)
{
    struct stat status;
    int saved = errno;
#if __GLIBC_PREREQ(2, 33)
    bool found = REAL(fstatat)(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
#else
    bool found = REAL(__fxstatat)(_STAT_VER, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
#endif

    errno = saved;
    return found;
}

/* The tree appears during boot and stays: only "yes" may be remembered. */
static bool tree_is_ready(void)
{
    static bool ready;

    if (!ready)
        ready = exists(LAB_ROOT "/proc/modules");
    return ready;
}

/* Programs write "//" where they join names; the table above has single slashes. */
static const char *without_double_slashes(const char *path, char *buffer, size_t size)
{
    size_t length = 0;

    if (!strstr(path, "//"))
        return path;
    for (; *path && length + 1 < size; path++)
        if (*path != '/' || path[1] != '/')
            buffer[length++] = *path;
    buffer[length] = '\0';
    return buffer;
}

/* umad2sim keeps a copy of sysfs in "./sys-PID" of whatever directory the caller is in: not there. */
static const char *umad2sim_path(const char *path, char *buffer, size_t size)
{
    char prefix[32];

    snprintf(prefix, sizeof prefix, "./sys-%d", (int)getpid());
    if (!is_below(path, prefix))
        return path;
    snprintf(buffer, size, LAB_ROOT "/umad2sim/%s", path + 2);
    return buffer;
}

const char *lab_path(const char *path, char *buffer, size_t size)
{
    char single[LAB_PATH_MAX];
    const char *wanted;

    if (!path)
        return path;
    if (path[0] == '.')
        return umad2sim_path(path, buffer, size);
    if (strncmp(path, "/sys", 4) && strncmp(path, "/proc", 5) && strncmp(path, "//", 2))
        return path;
    wanted = without_double_slashes(path, single, sizeof single);
    for (size_t i = 0; i < COUNT(replaced); i++)
        if (is_below(wanted, replaced[i])) {
            if (!tree_is_ready())
                return path;
            snprintf(buffer, size, LAB_ROOT "%s", wanted);
            return buffer;
        }
    for (size_t i = 0; i < COUNT(overlaid); i++)
        if (is_below(wanted, overlaid[i])) {
            size_t length = strlen(overlaid[i]);

            /* the directories themselves list what the real kernel has */
            if (wanted[length] == '\0' && !strncmp(wanted, "/sys", 4))
                return path;
            snprintf(buffer, size, LAB_ROOT "%s", wanted);
            return exists(buffer) ? buffer : path;
        }
    return path;
}

bool lab_is_in_tree(const char *path)
{
    return !strncmp(path, LAB_ROOT "/sys/", sizeof LAB_ROOT "/sys/" - 1);
}
