/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The card's memory. Tools live for milliseconds and several run at once, so a card is a file that each
 * of them maps. System calls are made by number: this is linked into the preload library, whose open()
 * would look at every path again.
 */
#define _GNU_SOURCE
#include "cxemu.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_OPEN 32

int cx_raw_open(const char *path, int flags, int mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static struct cx_state *map_state(const char *directory)
{
    char path[CX_PATH_MAX];
    struct cx_state *state;
    int fd;

    snprintf(path, sizeof path, "%s/state", directory);
    fd = cx_raw_open(path, O_RDWR, 0);
    if (fd < 0)
        return NULL;
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (state == MAP_FAILED)
        return NULL;
    if (state->magic == CX_MAGIC && state->version == CX_VERSION)
        return state;
    munmap(state, sizeof *state);
    return NULL;
}

struct cx_adapter *cx_open(const char *directory, const char *function)
{
    static struct cx_adapter *known[MAX_OPEN];
    struct cx_adapter *adapter;
    int count = 0;

    for (; count < MAX_OPEN && known[count]; count++)
        if (!strcmp(known[count]->directory, directory) && !strcmp(known[count]->function, function))
            return known[count];
    if (count == MAX_OPEN || !(adapter = calloc(1, sizeof *adapter)))
        return NULL;
    snprintf(adapter->directory, sizeof adapter->directory, "%s", directory);
    snprintf(adapter->function, sizeof adapter->function, "%s", function);
    if (!(adapter->state = map_state(directory))) {
        free(adapter);
        return NULL;
    }
    return known[count] = adapter;
}

/* Without an image in flash it goes on with what it had: recovery mode is not modelled here. */
void cx_power_cycle(struct cx_adapter *adapter)
{
    struct cx_state *state = adapter->state;
    struct cx_image image;

    cx_nv_boot(state);
    if (cx_boot_image(adapter, &image)) {
        state->running = image.version;
        state->running_date = image.date;
        memcpy(state->psid, image.psid, sizeof image.psid);
    }
    state->chip.lock = state->chip.command = state->chip.opcode = state->chip.enabled = 0;
    state->semaphore = state->icmd_semaphore = state->flash_semaphore = state->icmd_control = 0;
    state->fsm_state = state->fsm_error = 0;
    state->armed = 0;
    state->gone = state->hangs = 0;
    state->booted = (uint32_t)time(NULL);
    state->resets++;
}
