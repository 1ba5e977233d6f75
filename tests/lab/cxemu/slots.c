/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Firmware in flash. There is room for two images (FS4 format), and the one with the whole signature in front
 * is booted: a burn fills the other place, and only then moves the signature. What is in flash is read
 * from there each time, so it does not matter who wrote it.
 */
#define _GNU_SOURCE
#include "cxemu.h"
#include <string.h>

#define SLOT_SIZE 0x400000u
#define SIGNATURE_SIZE 16
#define CONTENTS_POINTER 0x28 /* the third of the hardware pointers: the table of contents */
#define ENTRY_SIZE 0x20
#define MAX_ENTRIES 64
#define LAST 0xff
#define IMAGE_INFO 0x10
#define INFO_SIZE 0x400

static const uint8_t signature[SIGNATURE_SIZE] = {0x4d, 0x54, 0x46, 0x57, 0xab, 0xcd, 0xef, 0x00, 0xfa, 0xde, 0x12, 0x34, 0x56, 0x78, 0xde, 0xad};
static const uint8_t contents[4] = {'I', 'T', 'O', 'C'};

/* The section IMAGE_INFO of the image at a place; NULL where there is no image. */
static const uint8_t *find_information(struct cx_adapter *adapter, uint32_t start)
{
    const uint8_t *slot = adapter->flash + start;
    uint32_t table = cx_get32(slot + CONTENTS_POINTER), address;

    if (table > SLOT_SIZE - ENTRY_SIZE * (MAX_ENTRIES + 1) || memcmp(slot + table, contents, sizeof contents))
        return NULL;
    for (int i = 1; i <= MAX_ENTRIES; i++) {
        const uint8_t *entry = slot + table + (uint32_t)i * ENTRY_SIZE;

        if (entry[0] == LAST)
            break;
        address = cx_get32(entry + 20) & ~3u;
        if (entry[0] == IMAGE_INFO && address <= SLOT_SIZE - INFO_SIZE)
            return slot + address;
    }
    return NULL;
}

int cx_read_image(struct cx_adapter *adapter, uint32_t start, struct cx_image *image)
{
    const uint8_t *information;

    if (!cx_flash(adapter) || start > adapter->flash_size - SLOT_SIZE || !(information = find_information(adapter, start)))
        return 0;
    image->start = start;
    image->version = (struct cx_version){cx_get32(information + 4) >> 16, cx_get32(information + 8) >> 16, cx_get32(information + 8) & 0xffff};
    image->date = cx_get32(information + 16);
    image->hw_id = cx_get32(information + 280);
    memcpy(image->psid, information + 36, 16);
    image->psid[16] = '\0';
    return 1;
}

int cx_boot_image(struct cx_adapter *adapter, struct cx_image *image)
{
    if (!cx_flash(adapter))
        return 0;
    for (uint32_t start = 0; start <= SLOT_SIZE; start += SLOT_SIZE)
        if (!memcmp(adapter->flash + start, signature, SIGNATURE_SIZE) && cx_read_image(adapter, start, image))
            return 1;
    return 0;
}

int cx_pending_image(struct cx_adapter *adapter, struct cx_image *image)
{
    const struct cx_state *state = adapter->state;

    return cx_boot_image(adapter, image) && (memcmp(&image->version, &state->running, sizeof image->version) || strcmp(image->psid, state->psid));
}

uint32_t cx_free_slot(struct cx_adapter *adapter)
{
    struct cx_image image;

    return cx_boot_image(adapter, &image) && image.start == 0 ? SLOT_SIZE : 0;
}

uint32_t cx_slot_size(void)
{
    return SLOT_SIZE;
}

uint32_t cx_image_size(struct cx_adapter *adapter, uint32_t start)
{
    uint32_t size = SLOT_SIZE;

    while (size && adapter->flash[start + size - 1] == 0xff)
        size--;
    return (size + 3) & ~3u;
}

void cx_activate_slot(struct cx_adapter *adapter, uint32_t start)
{
    static const uint8_t void_signature[4] = {0};

    cx_flash_program(adapter, start, signature, sizeof signature);
    cx_flash_program(adapter, start ? 0 : SLOT_SIZE, void_signature, sizeof void_signature);
}
