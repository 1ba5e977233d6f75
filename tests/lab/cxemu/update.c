/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The firmware update state machine, registers 0x9060 (MCQS: components), 0x9061 (MCQI: one component),
 * 0x9062 (MCC: instructions) and 0x9063 (MCDA: data). There is one component, the boot image. It goes to the
 * place in flash that is not booted from, and is made the one to boot when it is activated.
 */
#include "cxemu.h"
#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE 128

enum { IDLE = 0, LOCKED = 1, DOWNLOAD = 3, UPLOAD = 7 };
enum { NO_IMAGE = 1, NOT_APPLICABLE = 3 };
enum { LOCK = 1, RELEASE = 2, UPDATE = 3, VERIFY = 4, ACTIVATE = 6, READ_COMPONENT = 7, CANCEL = 8, FORCE_RELEASE = 0xa, READ_PENDING = 0xb };

/* Look at the image that came in. 0, or an error of the state machine. */
static uint32_t judge(struct cx_adapter *adapter)
{
    struct cx_image image;

    if (!cx_read_image(adapter, adapter->state->fsm_start, &image))
        return NO_IMAGE;
    return image.hw_id == adapter->state->hw_id && !strcmp(image.psid, adapter->state->psid) ? 0 : NOT_APPLICABLE;
}

static uint32_t components(uint8_t *data)
{
    cx_put32(data, 1u << 31 | (cx_get32(data) & 0xffff)); /* the last one */
    cx_put32(data + 4, 1);                                /* a boot image */
    cx_put32(data + 8, 2u << 4);                          /* in use, no update under way */
    return CX_OK;
}

static uint32_t component(struct cx_adapter *adapter, uint8_t *data)
{
    const struct cx_state *state = adapter->state;
    uint32_t asked = cx_get32(data), kind = cx_get32(data + 8) & 0x1f;
    struct cx_image pending, image;
    int stored = asked >> 31, is_pending = cx_pending_image(adapter, &pending);
    uint8_t *out = data + 24;

    if ((asked & 0xffff) || (kind == 1 && stored && !is_pending))
        return CX_BAD_PARAMETER;
    memset(out, 0, 0x7c);
    if (kind == 0) { /* capabilities: can be read, and must fit chip and PSID */
        cx_put32(data + 12, 0x14);
        cx_put32(out, 1u << 0 | 1u << 1 | 1u << 5);
        cx_put32(out + 4, cx_boot_image(adapter, &image) ? cx_image_size(adapter, image.start) : 0);
        cx_put32(out + 8, cx_slot_size());
        cx_put32(out + 12, 2u << 28 | BLOCK_SIZE);
        cx_put32(out + 16, 1u << 31 | (state->signed_fw & 1) << 30 | 1u << 29 | 1u << 28);
    } else if (kind == 1) { /* versions */
        const struct cx_version *version = stored ? &pending.version : &state->running;
        uint32_t date = stored ? pending.date : state->running_date, length;
        char text[32];

        length = 1 + (uint32_t)snprintf(text, sizeof text, "%02u.%02u.%04u", version->major, version->minor, version->sub);
        cx_put32(data + 12, 0x20 + length);
        cx_put32(out, 1u << 29 | length);
        cx_put32(out + 4, (version->major & 0xff) << 24 | (version->minor & 0xff) << 16 | (version->sub & 0xffff));
        cx_put32(out + 12, (date >> 16) << 16 | (date >> 8 & 0xff) << 8 | (date & 0xff));
        memcpy(out + 32, text, length);
    } else if (kind == 5) { /* activation */
        cx_put32(data + 12, 4);
        cx_put32(out, is_pending ? 1u << 2 : 0);
    } else {
        return CX_BAD_PARAMETER;
    }
    return CX_OK;
}

static uint32_t begin(struct cx_adapter *adapter, uint32_t size)
{
    struct cx_state *state = adapter->state;

    if (!cx_flash(adapter) || size > cx_slot_size())
        return CX_BAD_PARAMETER;
    state->fsm_start = cx_free_slot(adapter);
    for (uint32_t at = 0; at < size; at += 0x1000)
        cx_flash_erase(adapter, state->fsm_start + at, 0x1000);
    state->fsm_size = size;
    state->fsm_state = DOWNLOAD;
    return CX_OK;
}

static uint32_t instruct(struct cx_adapter *adapter, const uint8_t *data)
{
    struct cx_state *state = adapter->state;
    uint32_t handle = cx_get32(data + 8) & 0xffffff;
    struct cx_image image;

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
        state->fsm_state = LOCKED;
        state->fsm_error = judge(adapter);
        return state->fsm_error ? CX_BAD_PARAMETER : CX_OK;
    case ACTIVATE:
        state->fsm_error = judge(adapter);
        if (!state->fsm_error)
            cx_activate_slot(adapter, state->fsm_start);
        state->burns++;
        state->fsm_state = LOCKED;
        return CX_OK;
    case READ_COMPONENT:
    case READ_PENDING:
        if (!cx_boot_image(adapter, &image))
            return CX_BAD_PARAMETER;
        state->fsm_start = image.start;
        state->fsm_size = cx_image_size(adapter, image.start);
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

static uint32_t transfer(struct cx_adapter *adapter, uint32_t method, uint8_t *data)
{
    const struct cx_state *state = adapter->state;
    uint32_t offset = cx_get32(data + 4), length = cx_get32(data + 8) & 0xffff;
    uint8_t block[BLOCK_SIZE];

    if (length > sizeof block || offset > state->fsm_size || length > state->fsm_size - offset || !cx_flash(adapter))
        return CX_BAD_PARAMETER;
    if (method == CX_SET) {
        cx_swap(block, data + 16, length);
        cx_flash_program(adapter, state->fsm_start + offset, block, length);
    } else {
        cx_swap(data + 16, adapter->flash + state->fsm_start + offset, length);
    }
    return CX_OK;
}

uint32_t cx_update_register(struct cx_adapter *adapter, uint32_t id, uint32_t method, uint8_t *data)
{
    if (!adapter->state->fw_control)
        return CX_NOT_SUPPORTED;
    switch (id) {
    case 0x9060:
        return components(data);
    case 0x9061:
        return component(adapter, data);
    case 0x9062:
        return control(adapter, method, data);
    case 0x9063:
        return transfer(adapter, method, data);
    }
    return CX_NOT_SUPPORTED;
}
