/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Access registers of the firmware: 0x9020 (MGIR: identity), 0x9064 (MQIS: texts), 0x907f (MCAM: which
 * registers there are), 0x9028 (MFRL: reset), 0x9029 (MFAI: which image to boot), 0x902c (MVTS: time stamp) and 0x905a
 * (MPCIR: prepare a reset).
 */
#include "cxemu.h"
#include <string.h>
#include <time.h>

#define LIVE_PATCH 0x01u
#define PCI_RESET 0x08u
#define WARM_REBOOT 0x40u
#define FEATURE_DRIVER_SYNC 19

static uint32_t identity(const struct cx_state *state, uint8_t *data)
{
    uint8_t *firmware = data + 0x20, *roms = data + 0x64;
    const struct cx_version *version = &state->running;
    uint32_t date = state->running_date, kinds = 0;
    uint32_t flags = (state->secured & 1) | (state->signed_fw & 1) << 1 | (state->debug_fw & 1) << 2 | (state->dev_fw & 1) << 3;

    memset(data, 0, 0xa0);
    cx_put32(data, state->hw_revision << 16 | state->pci_id);
    cx_put32(data + 4, state->ports << 16);
    cx_put32(data + 8, state->hw_id);
    cx_put32(data + 0x10, (uint32_t)(state->base_mac >> 32) & 0xffff);
    cx_put32(data + 0x14, (uint32_t)state->base_mac);
    cx_put32(data + 0x1c, (uint32_t)time(NULL) - state->booted);
    cx_put32(firmware, flags << 24 | (version->major & 0xff) << 16 | (version->minor & 0xff) << 8 | (version->sub & 0xff));
    cx_put32(firmware + 8, (date >> 8 & 0xff) << 24 | (date & 0xff) << 16 | date >> 16);
    memcpy(firmware + 16, state->psid, 16);
    cx_put32(firmware + 36, version->major);
    cx_put32(firmware + 40, version->minor);
    cx_put32(firmware + 44, version->sub);
    cx_put32(firmware + 52, (state->life_cycle & 3) | (state->secure_boot & 1) << 2);
    for (int i = 0; i < CX_MAX_ROMS; i++) {
        const struct cx_rom *rom = &state->roms[i];

        kinds |= ((rom->type & 0xf) << 24 | (rom->architecture & 0xf) << 28) >> 8 * i;
        cx_put32(roms + 4 + 4 * i, rom->version.major << 24 | (rom->version.minor & 0xff) << 16 | (rom->version.sub & 0xffff));
    }
    cx_put32(roms, kinds);
    return CX_OK;
}

/* Eight bytes of a text at a time. */
static uint32_t text(const struct cx_state *state, uint8_t *data)
{
    const char *const texts[] = {NULL, state->name, state->description, state->vsd, state->vsd};
    uint32_t kind = cx_get32(data) & 0xff, length = cx_get32(data + 8) & 0xffff, offset = cx_get32(data + 8) >> 16, size;

    if (!kind || kind >= sizeof texts / sizeof *texts)
        return CX_BAD_PARAMETER;
    size = (uint32_t)strlen(texts[kind]);
    if (size)
        size++;
    cx_put32(data + 4, size);
    memset(data + 16, 0, 8);
    for (uint32_t i = 0; i < length && i < 8 && offset + i < size; i++)
        data[16 + i] = (uint8_t)texts[kind][offset + i];
    return CX_OK;
}

/* Bit n of a 128 bit mask. */
static void set_bit(uint8_t *mask, unsigned bit)
{
    mask[15 - bit / 8] |= (uint8_t)(1u << bit % 8);
}

static uint32_t capabilities(const struct cx_state *state, uint8_t *data)
{
    static const uint8_t registers[] = {0x20, 0x24, 0x25, 0x28, 0x30, 0x33, 0x34, 0x5a, 0x7f};
    unsigned group = cx_get32(data) & 0xff;

    memset(data + 8, 0, 64);
    if (!group) {
        for (size_t i = 0; i < sizeof registers; i++)
            set_bit(data + 8, registers[i]);
        for (unsigned bit = 0x60; state->fw_control && bit <= 0x64; bit++)
            set_bit(data + 8, bit);
    }
    if (state->driver_sync)
        set_bit(data + 40, FEATURE_DRIVER_SYNC);
    return CX_OK;
}

/* A live patch, and a PCI reset that the driver takes part in, happen at once. Without the driver the card waits for
 * the link above to go down (gateway.c), and a warm reboot is left to "cxemu-ctl ADAPTER powercycle". */
static uint32_t reset(struct cx_adapter *adapter, uint32_t method, uint8_t *data)
{
    struct cx_state *state = adapter->state;
    uint32_t asked = cx_get32(data + 4), level = asked & 0xff;
    struct timespec now;

    if (method == CX_GET) {
        cx_put32(data, 0);
        cx_put32(data + 4, (state->reset_levels & 0xff) | (state->reset_types & 0xff) << 8);
        return CX_OK;
    }
    state->last_reset = asked;
    if (level && !(level & (state->reset_levels | WARM_REBOOT)))
        return CX_BAD_PARAMETER;
    if (level & LIVE_PATCH || (level & PCI_RESET && asked >> 29 & 1)) {
        cx_power_cycle(adapter);
    } else if (level & PCI_RESET) {
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        state->armed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
    return CX_OK;
}

uint32_t cx_register(struct cx_adapter *adapter, uint32_t id, uint32_t method, uint8_t *data, size_t room)
{
    struct cx_state *state = adapter->state;

    switch (id) {
    case 0x9020:
        return identity(state, data);
    case 0x9010:
    case 0x9011:
    case 0x9012:
        return cx_flash_register(adapter, id, method, data);
    case 0x9029: /* what is booted follows from the flash */
        return CX_OK;
    case 0x9028:
        return reset(adapter, method, data);
    case 0x902c: /* no time stamp was ever set */
        if (method == CX_GET)
            memset(data + 4, 0, 16);
        return CX_OK;
    case 0x905a: /* prepared */
        cx_put32(data + 12, 1);
        return CX_OK;
    case 0x9060:
    case 0x9061:
    case 0x9062:
    case 0x9063:
        return cx_update_register(adapter, id, method, data);
    case 0x9064:
        return text(state, data);
    case 0x907f:
        return capabilities(state, data);
    }
    return cx_nv_register(state, id, method, data, room);
}
