/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The firmware update state machine, registers 0x9060 (MCQS: components), 0x9061 (MCQI: one component),
 * 0x9062 (MCC: instructions) and 0x9063 (MCDA: data). There is one component, the boot image. It is kept
 * in the adapter's file "image"; the line that cxemu/image.py leaves in it says what it is.
 */
#define _GNU_SOURCE
#include "cxemu.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK_SIZE 128
#define IMAGE_MAX 0x1000000
#define LABEL "CXEMU-FW "

enum { IDLE = 0, LOCKED = 1, DOWNLOAD = 3, UPLOAD = 7 };
enum { NO_IMAGE = 1, NOT_APPLICABLE = 3 };
enum { LOCK = 1, RELEASE = 2, UPDATE = 3, VERIFY = 4, ACTIVATE = 6, READ_COMPONENT = 7, CANCEL = 8, FORCE_RELEASE = 0xa, READ_PENDING = 0xb };

static int open_image(const struct cx_adapter *adapter, int flags)
{
    char path[CX_PATH_MAX];

    snprintf(path, sizeof path, "%s/image", adapter->directory);
    return cx_raw_open(path, flags, 0600);
}

/* Look at the image that came in, and make it pending. 0, or an error of the state machine. */
static uint32_t take_image(struct cx_adapter *adapter, int activate)
{
    struct cx_state *state = adapter->state;
    unsigned major, minor, sub, date, hw_id;
    uint32_t error = 0;
    char *content, *label;
    int fd = open_image(adapter, O_RDONLY);

    if (fd < 0 || !state->image_size)
        return NO_IMAGE;
    content = mmap(NULL, state->image_size, PROT_READ, MAP_PRIVATE, fd, 0);
    syscall(SYS_close, fd);
    if (content == MAP_FAILED)
        return NO_IMAGE;
    label = memmem(content, state->image_size, LABEL, sizeof LABEL - 1);
    if (!label || sscanf(label + sizeof LABEL - 1, "%u.%u.%u %x %x", &major, &minor, &sub, &date, &hw_id) != 5) {
        error = NO_IMAGE;
    } else if (hw_id != state->hw_id) {
        error = NOT_APPLICABLE;
    } else if (activate) {
        state->pending = (struct cx_version){major, minor, sub};
        state->pending_date = date;
        state->is_pending = 1;
    }
    munmap(content, state->image_size);
    return error;
}

static uint32_t components(uint8_t *data)
{
    cx_put32(data, 1u << 31 | (cx_get32(data) & 0xffff)); /* the last one */
    cx_put32(data + 4, 1);                                /* a boot image */
    cx_put32(data + 8, 2u << 4);                          /* in use, no update under way */
    return CX_OK;
}

static uint32_t component(const struct cx_state *state, uint8_t *data)
{
    uint32_t asked = cx_get32(data), kind = cx_get32(data + 8) & 0x1f;
    int stored = asked >> 31;
    uint8_t *out = data + 24;

    if ((asked & 0xffff) || (kind == 1 && stored && !state->is_pending))
        return CX_BAD_PARAMETER;
    memset(out, 0, 0x7c);
    if (kind == 0) { /* capabilities: can be read, updated, and is checked */
        cx_put32(data + 12, 0x14);
        cx_put32(out, 1u << 0 | 1u << 1 | 1u << 5);
        cx_put32(out + 4, state->image_size);
        cx_put32(out + 8, IMAGE_MAX);
        cx_put32(out + 12, 2u << 28 | BLOCK_SIZE);
    } else if (kind == 1) { /* versions */
        const struct cx_version *version = stored ? &state->pending : &state->running;
        uint32_t date = stored ? state->pending_date : state->running_date, length;
        char text[32];

        length = 1 + (uint32_t)snprintf(text, sizeof text, "%02u.%02u.%04u", version->major, version->minor, version->sub);
        cx_put32(data + 12, 0x20 + length);
        cx_put32(out, 1u << 29 | length);
        cx_put32(out + 4, (version->major & 0xff) << 24 | (version->minor & 0xff) << 16 | (version->sub & 0xffff));
        cx_put32(out + 12, (date >> 16) << 16 | (date >> 8 & 0xff) << 8 | (date & 0xff));
        memcpy(out + 32, text, length);
    } else if (kind == 5) { /* activation */
        cx_put32(data + 12, 4);
        cx_put32(out, state->is_pending ? 1u << 2 : 0);
    } else {
        return CX_BAD_PARAMETER;
    }
    return CX_OK;
}

static uint32_t begin(struct cx_adapter *adapter, uint32_t size)
{
    int fd = open_image(adapter, O_WRONLY | O_CREAT | O_TRUNC);

    if (fd < 0)
        return CX_INTERNAL_ERROR;
    syscall(SYS_close, fd);
    adapter->state->fsm_size = size;
    adapter->state->fsm_state = DOWNLOAD;
    return CX_OK;
}

static uint32_t instruct(struct cx_adapter *adapter, const uint8_t *data)
{
    struct cx_state *state = adapter->state;
    uint32_t handle = cx_get32(data + 8) & 0xffffff;

    state->fsm_error = 0;
    switch (cx_get32(data) & 0xff) {
    case LOCK:
        if (state->fsm_state != IDLE && handle != state->fsm_handle)
            return CX_NOT_AVAILABLE;
        state->fsm_state = LOCKED;
        return CX_OK;
    case RELEASE:
    case FORCE_RELEASE:
        state->fsm_state = IDLE;
        state->fsm_handle++;
        return CX_OK;
    case UPDATE:
        return begin(adapter, cx_get32(data + 16));
    case VERIFY:
        state->image_size = state->fsm_size;
        state->fsm_state = LOCKED;
        state->fsm_error = take_image(adapter, 0);
        return state->fsm_error ? CX_BAD_PARAMETER : CX_OK;
    case ACTIVATE:
        state->fsm_error = take_image(adapter, 1);
        state->burns++;
        state->fsm_state = LOCKED;
        return CX_OK;
    case READ_COMPONENT:
    case READ_PENDING:
        state->fsm_state = UPLOAD;
        return CX_OK;
    case CANCEL:
        state->fsm_state = LOCKED;
        return CX_OK;
    }
    return CX_BAD_PARAMETER;
}

static uint32_t control(struct cx_adapter *adapter, uint32_t method, uint8_t *data)
{
    struct cx_state *state = adapter->state;
    uint32_t status = method == CX_SET ? instruct(adapter, data) : CX_OK;

    if (!state->fsm_handle)
        state->fsm_handle = 1;
    cx_put32(data + 8, state->fsm_handle & 0xffffff);
    cx_put32(data + 12, (state->fsm_state & 0xf) | state->fsm_error << 8);
    return status;
}

/* Dwords travel byte swapped. */
static void swap(uint8_t *to, const uint8_t *from, uint32_t length)
{
    for (uint32_t i = 0; i + 3 < length; i += 4)
        for (uint32_t k = 0; k < 4; k++)
            to[i + k] = from[i + 3 - k];
}

static uint32_t transfer(struct cx_adapter *adapter, uint32_t method, uint8_t *data)
{
    uint32_t offset = cx_get32(data + 4), length = cx_get32(data + 8) & 0xffff, status = CX_OK;
    uint8_t block[BLOCK_SIZE];
    int fd;

    if (length > sizeof block)
        return CX_BAD_PARAMETER;
    fd = open_image(adapter, method == CX_SET ? O_WRONLY | O_CREAT : O_RDONLY);
    if (fd < 0)
        return CX_BAD_PARAMETER;
    if (method == CX_SET) {
        swap(block, data + 16, length);
        if (syscall(SYS_pwrite64, fd, block, length, (off_t)offset) != (long)length)
            status = CX_INTERNAL_ERROR;
    } else {
        memset(block, 0xff, sizeof block);
        if (syscall(SYS_pread64, fd, block, length, (off_t)offset) < 0)
            status = CX_INTERNAL_ERROR;
        swap(data + 16, block, length);
    }
    syscall(SYS_close, fd);
    return status;
}

uint32_t cx_update_register(struct cx_adapter *adapter, uint32_t id, uint32_t method, uint8_t *data)
{
    if (!adapter->state->fw_control)
        return CX_NOT_SUPPORTED;
    switch (id) {
    case 0x9060:
        return components(data);
    case 0x9061:
        return component(adapter->state, data);
    case 0x9062:
        return control(adapter, method, data);
    case 0x9063:
        return transfer(adapter, method, data);
    }
    return CX_NOT_SUPPORTED;
}
