/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every libc function that takes a path and that programs on a node use on sysfs or procfs. Each
 * looks its path up and calls the next definition.
 */
#include "lab.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Declared by fortified headers only. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
/* What stat() was called in programs built before glibc 2.33, umad2sim among them, and with an older glibc in all of them. */
#define NEW_STAT __GLIBC_PREREQ(2, 33)
#if NEW_STAT
int __xstat(int version, const char *path, struct stat *status);
int __lxstat(int version, const char *path, struct stat *status);
int __xstat64(int version, const char *path, struct stat64 *status);
int __lxstat64(int version, const char *path, struct stat64 *status);
#endif

/* sysfs files are neither created nor shortened by opening them; files on tmpfs would be. */
static int flags_for(const char *place, const char *asked, int flags)
{
    return place != asked && lab_is_in_tree(place) ? flags & ~(O_CREAT | O_TRUNC | O_EXCL) : flags;
}

#define MODE_OF(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode = va_arg(arguments, mode_t); \
        va_end(arguments); \
    }

#define OPEN(name) \
    EXPORT int name(const char *path, int flags, ...) \
    { \
        char buffer[LAB_PATH_MAX]; \
        const char *place = lab_path(path, buffer, sizeof buffer); \
        MODE_OF(flags) \
        if (lab_is_umad(path)) \
            return lab_open_umad(path, flags); \
        return REAL(name)(place, flags_for(place, path, flags), mode); \
    }

#define OPENAT(name) \
    EXPORT int name(int directory, const char *path, int flags, ...) \
    { \
        char buffer[LAB_PATH_MAX]; \
        const char *place = lab_path(path, buffer, sizeof buffer); \
        MODE_OF(flags) \
        return REAL(name)(directory, place, flags_for(place, path, flags), mode); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

EXPORT int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

EXPORT int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

/* A stream for writing goes through open(), so that a file of the tree is not cut or made. */
#define FOPEN(name) \
    EXPORT FILE *name(const char *restrict path, const char *restrict how) \
    { \
        char buffer[LAB_PATH_MAX]; \
        const char *place = lab_path(path, buffer, sizeof buffer); \
        int fd; \
        if (place == path || how[0] == 'r' || !lab_is_in_tree(place)) \
            return REAL(name)(place, how); \
        fd = open(path, O_WRONLY | (strchr(how, 'e') ? O_CLOEXEC : 0)); \
        return fd < 0 ? NULL : fdopen(fd, how); \
    }

FOPEN(fopen)
FOPEN(fopen64)

#define BY_PATH(type, name, parameters, arguments) \
    EXPORT type name parameters \
    { \
        char buffer[LAB_PATH_MAX]; \
        const char *place = lab_path(path, buffer, sizeof buffer); \
        return REAL(name) arguments; \
    }

BY_PATH(DIR *, opendir, (const char *path), (place))
BY_PATH(int, chdir, (const char *path), (place))
BY_PATH(int, mkdir, (const char *path, mode_t mode), (place, mode))
BY_PATH(int, rmdir, (const char *path), (place))
BY_PATH(int, unlink, (const char *path), (place))
BY_PATH(int, access, (const char *path, int mode), (place, mode))
BY_PATH(int, eaccess, (const char *path, int mode), (place, mode))
BY_PATH(int, euidaccess, (const char *path, int mode), (place, mode))
BY_PATH(int, faccessat, (int directory, const char *path, int mode, int flags), (directory, place, mode, flags))
BY_PATH(int, statx, (int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status),
        (directory, place, flags, mask, status))
BY_PATH(ssize_t, readlink, (const char *restrict path, char *restrict target, size_t size), (place, target, size))
BY_PATH(ssize_t, readlinkat, (int directory, const char *restrict path, char *restrict target, size_t size),
        (directory, place, target, size))

#if NEW_STAT
BY_PATH(int, stat, (const char *restrict path, struct stat *restrict status), (place, status))
BY_PATH(int, lstat, (const char *restrict path, struct stat *restrict status), (place, status))
BY_PATH(int, stat64, (const char *restrict path, struct stat64 *restrict status), (place, status))
BY_PATH(int, lstat64, (const char *restrict path, struct stat64 *restrict status), (place, status))
BY_PATH(int, fstatat, (int directory, const char *restrict path, struct stat *restrict status, int flags),
        (directory, place, status, flags))
BY_PATH(int, fstatat64, (int directory, const char *restrict path, struct stat64 *restrict status, int flags),
        (directory, place, status, flags))

#define OLD_STAT(old, name, type) \
    EXPORT int old(int version, const char *path, struct type *status) \
    { \
        (void)version; \
        return name(path, status); \
    }

OLD_STAT(__xstat, stat, stat)
OLD_STAT(__lxstat, lstat, stat)
OLD_STAT(__xstat64, stat64, stat64)
OLD_STAT(__lxstat64, lstat64, stat64)
#else
BY_PATH(int, __xstat, (int version, const char *path, struct stat *status), (version, place, status))
BY_PATH(int, __lxstat, (int version, const char *path, struct stat *status), (version, place, status))
BY_PATH(int, __xstat64, (int version, const char *path, struct stat64 *status), (version, place, status))
BY_PATH(int, __lxstat64, (int version, const char *path, struct stat64 *status), (version, place, status))
BY_PATH(int, __fxstatat, (int version, int directory, const char *path, struct stat *status, int flags),
        (version, directory, place, status, flags))
BY_PATH(int, __fxstatat64, (int version, int directory, const char *path, struct stat64 *status, int flags),
        (version, directory, place, status, flags))
#endif

/* ls -l asks for access control lists */
BY_PATH(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size), (place, name, value, size))
BY_PATH(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size), (place, name, value, size))
BY_PATH(ssize_t, listxattr, (const char *path, char *list, size_t size), (place, list, size))
BY_PATH(ssize_t, llistxattr, (const char *path, char *list, size_t size), (place, list, size))

typedef int filter_t(const struct dirent *);
typedef int compare_t(const struct dirent **, const struct dirent **);
BY_PATH(int, scandir, (const char *restrict path, struct dirent ***restrict list, filter_t *filter, compare_t *compare),
        (place, list, filter, compare))
typedef int filter64_t(const struct dirent64 *);
typedef int compare64_t(const struct dirent64 **, const struct dirent64 **);
BY_PATH(int, scandir64,
        (const char *restrict path, struct dirent64 ***restrict list, filter64_t *filter, compare64_t *compare),
        (place, list, filter, compare))

/* A resolved name is a name of the world that the caller knows. */
static char *without_root(char *resolved)
{
    if (resolved && lab_is_in_tree(resolved))
        memmove(resolved, resolved + sizeof LAB_ROOT - 1, strlen(resolved) - (sizeof LAB_ROOT - 1) + 1);
    return resolved;
}

/* libc has two. dlsym() of glibc 2.31 finds the older one, which refuses to allocate the result. */
static char *real_realpath(const char *restrict path, char *restrict resolved)
{
    static __typeof__(&realpath) real;

    if (!real)
        real = (__typeof__(&realpath))dlvsym(RTLD_NEXT, "realpath", "GLIBC_2.3");
    return real(path, resolved);
}

EXPORT char *realpath(const char *restrict path, char *restrict resolved)
{
    char buffer[LAB_PATH_MAX];
    const char *place = lab_path(path, buffer, sizeof buffer);

    return place == path ? real_realpath(place, resolved) : without_root(real_realpath(place, resolved));
}

EXPORT char *canonicalize_file_name(const char *path)
{
    return realpath(path, NULL);
}
