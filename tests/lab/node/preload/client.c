/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The line to rdmalab-agent: one request and one answer over a SOCK_SEQPACKET socket. The answer is
 * an errno value as text, 0 for success.
 */
#include "lab.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The agent may be starting: a kernel is there before its first process. */
#define CONNECT_TRIES 60
#define CONNECT_PAUSE_NS 50000000L
#define ANSWER_TIMEOUT_S 10

static int connect_to_agent(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = LAB_ROOT "/agent.sock"};
    struct timeval patience = {.tv_sec = ANSWER_TIMEOUT_S};
    struct timespec pause = {.tv_nsec = CONNECT_PAUSE_NS};
    int line = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (line < 0)
        return -1;
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (int i = 0; i < CONNECT_TRIES; i++) {
        if (!connect(line, (struct sockaddr *)&address, sizeof address))
            return line;
        if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN)
            break;
        nanosleep(&pause, NULL);
    }
    REAL(close)(line);
    errno = EIO;
    return -1;
}

static bool send_request(int line, const char *text, int fd)
{
    struct iovec data = {.iov_base = (void *)text, .iov_len = strlen(text)};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

    if (fd >= 0) {
        struct cmsghdr *header;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    return sendmsg(line, &message, MSG_NOSIGNAL) == (ssize_t)data.iov_len;
}

/* The connection after a granted request, or -1 with errno. */
static int ask(const char *text, int fd)
{
    char answer[32];
    ssize_t length;
    int error = EIO, line = connect_to_agent();

    if (line < 0)
        return -1;
    if (send_request(line, text, fd) && (length = recv(line, answer, sizeof answer - 1, 0)) > 0) {
        answer[length] = '\0';
        error = atoi(answer);
    }
    if (!error)
        return line;
    REAL(close)(line);
    errno = error;
    return -1;
}

int lab_request(const char *text, int fd)
{
    int saved = errno, line = ask(text, fd);

    if (line < 0)
        return -1;
    REAL(close)(line);
    errno = saved;
    return 0;
}

int lab_request_and_hold(const char *text)
{
    return ask(text, -1);
}
