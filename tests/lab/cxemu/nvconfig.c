/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Non-volatile configuration, registers 0x9024 (NVDA: one value), 0x9025 (NVDI: one back to default),
 * 0x9030 (NVQC: what may be done with one), 0x9033 (NVIA: all back to default), 0x9034 (NVQGC: which
 * values can be shown) and 0x9035 (MNVGN: walk through the stored ones).
 */
#include "cxemu.h"
#include <string.h>

#define HEADER_SIZE 12
#define LENGTH_MASK 0x1ffu
#define WALK_SIZE 0x9c
#define WALK_DATA 28

struct cx_tlv *cx_find_tlv(struct cx_state *state, uint32_t type)
{
    for (uint32_t i = 0; i < state->tlvs; i++)
        if (state->tlv[i].type == type)
            return &state->tlv[i];
    return NULL;
}

void cx_nv_boot(struct cx_state *state)
{
    for (uint32_t i = 0; i < state->tlvs; i++)
        memcpy(state->tlv[i].current, state->tlv[i].next, CX_TLV_SIZE);
}

static void forget(struct cx_tlv *tlv)
{
    memcpy(tlv->next, tlv->initial, CX_TLV_SIZE);
    tlv->stored = tlv->writer = 0;
}

static uint32_t header(const struct cx_tlv *tlv)
{
    return tlv->length | (uint32_t)(tlv->version & 0xf) << 12 | (uint32_t)(tlv->writer & 0x1f) << 16;
}

static uint32_t get_value(const struct cx_tlv *tlv, uint8_t *data, size_t room)
{
    uint32_t asked = cx_get32(data);
    const uint8_t *source = asked >> 23 & 1 ? tlv->initial : asked >> 22 & 1 ? tlv->current : tlv->next;

    if (HEADER_SIZE + (size_t)tlv->length > room)
        return CX_BAD_PARAMETER;
    cx_put32(data, (asked & ~(LENGTH_MASK | 0xfu << 12 | 0x1fu << 16)) | header(tlv));
    memcpy(data + HEADER_SIZE, source, tlv->length);
    return CX_OK;
}

static uint32_t set_value(struct cx_tlv *tlv, const uint8_t *data)
{
    uint32_t asked = cx_get32(data);

    if (!tlv->writable || tlv->locked)
        return CX_BAD_PARAMETER;
    if ((asked & LENGTH_MASK) != tlv->length)
        return CX_BAD_LENGTH;
    memcpy(tlv->next, data + HEADER_SIZE, tlv->length);
    tlv->stored = 1;
    tlv->writer = asked >> 16 & 0x1f;
    return CX_OK;
}

static uint32_t abilities(struct cx_state *state, uint8_t *data)
{
    const struct cx_tlv *tlv = cx_find_tlv(state, cx_get32(data));

    cx_put32(data + 4, tlv ? (tlv->readable ? 1u : 0) | (tlv->writable && !tlv->locked ? 2u : 0) | (uint32_t)(tlv->version & 0xf) << 4 : 0);
    return CX_OK;
}

/* The pointer is the number of entries that were read so far; 0 ends the walk. */
static uint32_t walk(struct cx_state *state, uint8_t *data)
{
    uint32_t done = cx_get32(data), seen = 0;

    for (uint32_t i = 0; i < state->tlvs; i++) {
        const struct cx_tlv *tlv = &state->tlv[i];

        if (!tlv->stored || tlv->length > WALK_SIZE - WALK_DATA || seen++ < done)
            continue;
        memset(data, 0, WALK_SIZE);
        cx_put32(data, done + 1);
        cx_put32(data + 16, header(tlv) | 1u << 25);
        cx_put32(data + 20, tlv->type);
        memcpy(data + WALK_DATA, tlv->next, tlv->length);
        return CX_OK;
    }
    cx_put32(data, 0);
    return done ? CX_OK : CX_NOT_AVAILABLE;
}

uint32_t cx_nv_register(struct cx_state *state, uint32_t id, uint32_t method, uint8_t *data, size_t room)
{
    struct cx_tlv *tlv;

    switch (id) {
    case 0x9024:
        tlv = cx_find_tlv(state, cx_get32(data + 4));
        if (!tlv)
            return CX_BAD_PARAMETER;
        return method == CX_GET ? get_value(tlv, data, room) : set_value(tlv, data);
    case 0x9025:
        tlv = cx_find_tlv(state, cx_get32(data + 4));
        if (method != CX_SET || !tlv)
            return method != CX_SET ? CX_BAD_METHOD : CX_BAD_PARAMETER;
        forget(tlv);
        return CX_OK;
    case 0x9030:
        return method == CX_GET ? abilities(state, data) : CX_BAD_METHOD;
    case 0x9033:
        if (method != CX_SET)
            return CX_BAD_METHOD;
        for (uint32_t i = 0; i < state->tlvs; i++)
            forget(&state->tlv[i]);
        return CX_OK;
    case 0x9034:
        cx_put32(data, (state->shows_default ? 1u : 0) | (state->shows_current ? 2u : 0));
        return CX_OK;
    case 0x9035:
        return walk(state, data);
    }
    return CX_NOT_SUPPORTED;
}
