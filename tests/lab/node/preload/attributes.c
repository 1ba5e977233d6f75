/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attributes with a store function in the kernel: writing to them acts, and can be refused. Such
 * files carry the sticky bit in the tree; write(2) on one becomes a request to the agent.
 *
 * A descriptor says by itself what it is (fstat), so dup2() in a shell needs no bookkeeping. What
 * cannot be caught is a write(2) from inside libc's stdio: for tee, and for bash, whose echo uses
 * stdout, the stream is made to collect its text until fflush() or fclose().
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_MAX 4096
#define STDIO_ERROR_SEEN 0x20 /* _IO_ERR_SEEN of glibc, what ferror() looks at */

bool lab_is_attribute(int fd)
{
    struct stat status;
    int saved = errno;
    bool found = !fstat(fd, &status) && S_ISREG(status.st_mode) && (status.st_mode & S_ISVTX);

    errno = saved;
    return found;
}

int lab_store(int fd, const char *text, size_t length)
{
    char link[64], path[1024], request[STORE_MAX + sizeof path];
    ssize_t size;
    int used;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = REAL(readlink)(link, path, sizeof path - 1);
    if (size < 0)
        return -1;
    path[size] = '\0';
    if (!lab_is_in_tree(path))
        return 1;
    if (length > STORE_MAX - 64) {
        errno = EINVAL;
        return -1;
    }
    used = snprintf(request, sizeof request, "store %s\n", path + sizeof LAB_ROOT - 1);
    memcpy(request + used, text, length);
    request[used + length] = '\0';
    return lab_request(request, -1);
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
    int result;

    if (!size || !lab_is_attribute(fd))
        return REAL(write)(fd, data, size);
    result = lab_store(fd, data, size);
    if (result > 0)
        return REAL(write)(fd, data, size);
    return result < 0 ? -1 : (ssize_t)size;
}

EXPORT int dup2(int from, int to)
{
    int result = REAL(dup2)(from, to);

    if (result == STDOUT_FILENO && lab_is_attribute(result))
        REAL(setvbuf)(stdout, NULL, _IOFBF, STORE_MAX);
    return result;
}

/* tee(1) wants its streams unbuffered. */
EXPORT int setvbuf(FILE *restrict stream, char *restrict buffer, int mode, size_t size)
{
    if (mode != _IOFBF && lab_is_attribute(fileno(stream)))
        return 0;
    return REAL(setvbuf)(stream, buffer, mode, size);
}

/* Hand over what a stream has collected for an attribute. */
static int flush_to_attribute(FILE *stream)
{
    size_t length = (size_t)(stream->_IO_write_ptr - stream->_IO_write_base);
    int result = lab_store(fileno(stream), stream->_IO_write_base, length), saved = errno;

    if (result > 0)
        return REAL(fflush)(stream);
    __fpurge(stream);
    errno = saved;
    if (!result)
        return 0;
    stream->_flags |= STDIO_ERROR_SEEN;
    return EOF;
}

EXPORT int fflush(FILE *stream)
{
    if (stream && __fpending(stream) && lab_is_attribute(fileno(stream)))
        return flush_to_attribute(stream);
    return REAL(fflush)(stream);
}

EXPORT int fclose(FILE *stream)
{
    int failed = __fpending(stream) && lab_is_attribute(fileno(stream)) ? flush_to_attribute(stream) : 0;
    int saved = errno, result = REAL(fclose)(stream);

    if (failed) {
        errno = saved;
        return EOF;
    }
    return result;
}
