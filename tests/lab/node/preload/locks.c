/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * flock(2) on the lock files of mstflint's tools. They take one and give it back around each of some
 * 50,000 accesses that one query of a card makes. A card's answer takes no system call here, so those
 * two would be most of the time of all tests with adapters. The lock is a robust mutex in the lock
 * file: it excludes the same processes, and is free again when its owner dies or closes the file.
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOCK_FILES "/tmp/mstflint_lockfiles/"
#define LOCK_MAGIC 0x4c4f434bu

struct lab_lock {
    uint32_t magic;
    pthread_mutex_t mutex;
};

static void initialise(struct lab_lock *lock)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    lock->magic = LOCK_MAGIC;
}

/* The tools open the file for reading only, and it is empty. */
static struct lab_lock *map_file(const char *path)
{
    struct lab_lock *lock = MAP_FAILED;
    int file = REAL(open)(path, O_RDWR | O_CLOEXEC);

    if (file < 0)
        return NULL;
    REAL(flock)(file, LOCK_EX);
    if (!ftruncate(file, sizeof *lock))
        lock = mmap(NULL, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (lock != MAP_FAILED && lock->magic != LOCK_MAGIC)
        initialise(lock);
    REAL(flock)(file, LOCK_UN); /* closing it would not do: it is mapped */
    REAL(close)(file);
    return lock == MAP_FAILED ? NULL : lock;
}

/* NULL where the descriptor is not that of a lock file. */
static struct lab_lock *lock_of(int fd)
{
    char link[64], path[512];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = REAL(readlink)(link, path, sizeof path - 1);
    if (length < 0)
        return NULL;
    path[length] = '\0';
    return strncmp(path, LOCK_FILES, strlen(LOCK_FILES)) ? NULL : map_file(path);
}

static int take(struct lab_lock *lock, int operation)
{
    int error = operation & LOCK_NB ? pthread_mutex_trylock(&lock->mutex) : pthread_mutex_lock(&lock->mutex);

    return error == EOWNERDEAD ? pthread_mutex_consistent(&lock->mutex) : error;
}

EXPORT int flock(int fd, int operation)
{
    struct lab_descriptor *known = lab_descriptor(fd);
    int error = 0, saved = errno;

    if (known && !known->lock)
        known->lock = lock_of(fd);
    errno = saved;
    if (!known || !known->lock)
        return REAL(flock)(fd, operation);
    if (!(operation & LOCK_UN) && !known->held)
        error = take(known->lock, operation);
    else if (operation & LOCK_UN && known->held)
        error = pthread_mutex_unlock(&known->lock->mutex);
    if (error) {
        errno = error == EBUSY ? EWOULDBLOCK : error;
        return -1;
    }
    known->held = !(operation & LOCK_UN);
    return 0;
}

void lab_let_go(struct lab_descriptor *known)
{
    if (known->held)
        pthread_mutex_unlock(&known->lock->mutex);
    if (known->lock)
        munmap(known->lock, sizeof *known->lock);
}
