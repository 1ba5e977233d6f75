/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The flash chip: a serial NOR flash of Winbond's, whose cells are the adapter's file "flash". Erasing makes
 * a sector 0xff, programming only clears bits, and both need a write enable before them. What happens
 * between two commands (the write enable latch, a command under way) is in the state file.
 *
 * Tools reach it by two ways: the gateway, registers 0xf0400 ff. of the CR space, which passes commands
 * to the chip as they are; and, where the firmware says that it guards its flash, the access registers 0x9010 (MFPA:
 * which chip), 0x9011 (MFBA: a block) and 0x9012 (MFBE: erase). Secure firmware opens neither.
 */
#define _GNU_SOURCE
#include "cxemu.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUBSECTOR 0x1000u
#define SECTOR 0x10000u
#define PAGE 0x100u
#define ADDRESS_3_BYTES 0xffffffu

enum opcode {
    WRITE_STATUS = 0x01, PROGRAM = 0x02, READ = 0x03, WRITE_DISABLE = 0x04, READ_STATUS = 0x05, WRITE_ENABLE = 0x06,
    WRITE_STATUS_3 = 0x11, PROGRAM_4 = 0x12, READ_4 = 0x13, READ_STATUS_3 = 0x15, ERASE_SUBSECTOR = 0x20, ERASE_SUBSECTOR_4 = 0x21,
    WRITE_STATUS_2 = 0x31, READ_STATUS_2 = 0x35, READ_IDENTITY = 0x9f, RELEASE_POWER_DOWN = 0xab, ERASE_SECTOR = 0xd8, ERASE_SECTOR_4 = 0xdc,
};

#define STATUS_ENABLED 0x02u   /* the write enable latch */
#define STATUS_PROTECTED 0x1cu /* block protect bits: any of them protects the whole chip */

/* The gateway's command register. */
#define PHASE_COMMAND (1u << 2)
#define PHASE_ADDRESS (1u << 3)
#define PHASE_DATA (1u << 4)
#define READS 1u
#define HOLD (1u << 5) /* the chip stays selected: the next data continues these */
#define BUSY (1u << 30)
#define LOCK (1u << 31)

#define CR_COMMAND 0xf0400
#define CR_DATA 0xf0410
#define HW_CONNECTX7 0x218

/* Where the registers are that moved with ConnectX-7. */
struct layout {
    uint32_t address, guard_offset, guard_command, chip_select, length_mask, length_is_log2;
};

static const struct layout *layout_of(const struct cx_state *state)
{
    static const struct layout old = {0xf0404, 0xf0408, 0xf040c, 1u << 11, 7, 1}, new = {0xf0420, 0xf0484, 0xf0488, 1u << 13, 0x1f, 0};

    return state->hw_id >= HW_CONNECTX7 ? &new : &old;
}

uint8_t *cx_flash(struct cx_adapter *adapter)
{
    char path[CX_PATH_MAX];
    struct stat status;
    void *cells;
    int fd;

    if (adapter->flash)
        return adapter->flash;
    snprintf(path, sizeof path, "%s/flash", adapter->directory);
    fd = cx_raw_open(path, O_RDWR, 0);
    if (fd < 0)
        return NULL;
    if (!syscall(SYS_fstat, fd, &status) && status.st_size) {
        cells = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (cells != MAP_FAILED) {
            adapter->flash = cells;
            adapter->flash_size = (uint32_t)status.st_size;
        }
    }
    syscall(SYS_close, fd);
    return adapter->flash;
}

static uint32_t log2_of(uint32_t size)
{
    return 31 - (uint32_t)__builtin_clz(size);
}

/* Manufacturer, type and capacity, as the chip sends them. Chips that need addresses of four bytes are of another type. */
static void identity(struct cx_adapter *adapter, uint8_t *to)
{
    uint32_t capacity = log2_of(adapter->flash_size);

    to[0] = 0xef;
    to[1] = capacity > 24 ? 0x70 : 0x40;
    to[2] = (uint8_t)capacity;
}

void cx_flash_erase(struct cx_adapter *adapter, uint32_t at, uint32_t size)
{
    at &= ~(size - 1);
    if (cx_flash(adapter) && at < adapter->flash_size && size <= adapter->flash_size - at)
        memset(adapter->flash + at, 0xff, size);
}

void cx_flash_program(struct cx_adapter *adapter, uint32_t at, const uint8_t *data, uint32_t length)
{
    if (!cx_flash(adapter))
        return;
    for (uint32_t i = 0; i < length && at + i < adapter->flash_size; i++)
        adapter->flash[at + i] &= data[i];
}

static uint8_t read_byte(struct cx_adapter *adapter, uint32_t number)
{
    struct cx_chip *chip = &adapter->state->chip;
    uint8_t id[4] = {0};

    switch (chip->opcode) {
    case READ:
    case READ_4:
        return adapter->flash[chip->position++ & (adapter->flash_size - 1)];
    case READ_STATUS:
        return (uint8_t)(chip->status[0] | (chip->enabled ? STATUS_ENABLED : 0));
    case READ_STATUS_2:
        return (uint8_t)chip->status[1];
    case READ_STATUS_3:
        return (uint8_t)chip->status[2];
    case READ_IDENTITY:
        identity(adapter, id);
        return id[number & 3];
    case RELEASE_POWER_DOWN:
        return (uint8_t)(log2_of(adapter->flash_size) - 1);
    }
    return 0xff;
}

static void write_byte(struct cx_adapter *adapter, uint32_t number, uint8_t byte)
{
    struct cx_chip *chip = &adapter->state->chip;
    int writable = chip->enabled && !(chip->status[0] & STATUS_PROTECTED);

    switch (chip->opcode) {
    case PROGRAM:
    case PROGRAM_4: /* behind the end of its page, the chip goes on at the page's beginning */
        if (writable)
            cx_flash_program(adapter, chip->position, &byte, 1);
        chip->position = (chip->position & ~(PAGE - 1)) | ((chip->position + 1) & (PAGE - 1));
        break;
    case WRITE_STATUS:
        if (chip->enabled && number < 2)
            chip->status[number] = number ? byte : byte & ~3u;
        break;
    case WRITE_STATUS_2:
    case WRITE_STATUS_3:
        if (chip->enabled)
            chip->status[chip->opcode == WRITE_STATUS_2 ? 1 : 2] = byte;
        break;
    }
}

/* The chip is deselected: now it erases. Each command that writes uses up the write enable before it. */
static void finish(struct cx_adapter *adapter)
{
    struct cx_chip *chip = &adapter->state->chip;
    int writable = chip->enabled && !(chip->status[0] & STATUS_PROTECTED);

    switch (chip->opcode) {
    case WRITE_ENABLE:
        chip->enabled = 1;
        break;
    case ERASE_SUBSECTOR:
    case ERASE_SUBSECTOR_4:
    case ERASE_SECTOR:
    case ERASE_SECTOR_4:
        if (writable)
            cx_flash_erase(adapter, chip->position, (chip->opcode & 0xf0) == 0x20 ? SUBSECTOR : SECTOR);
        chip->enabled = 0;
        break;
    case WRITE_DISABLE:
    case PROGRAM:
    case PROGRAM_4:
    case WRITE_STATUS:
    case WRITE_STATUS_2:
    case WRITE_STATUS_3:
        chip->enabled = 0;
        break;
    }
    chip->opcode = 0;
}

static int has_4_byte_address(uint32_t opcode)
{
    return opcode == READ_4 || opcode == PROGRAM_4 || opcode == ERASE_SUBSECTOR_4 || opcode == ERASE_SECTOR_4;
}

static void run(struct cx_adapter *adapter, uint32_t command)
{
    struct cx_chip *chip = &adapter->state->chip;
    const struct layout *layout = layout_of(adapter->state);
    uint32_t length = command >> 8 & layout->length_mask;

    if (layout->length_is_log2)
        length = 1u << length;
    if (length > sizeof chip->data)
        length = sizeof chip->data;
    if (!cx_flash(adapter) || command & layout->chip_select) { /* nobody drives the wire */
        if (command & READS)
            memset(chip->data, 0xff, sizeof chip->data);
        return;
    }
    if (command & PHASE_COMMAND)
        chip->opcode = command >> 16 & 0xff;
    if (command & PHASE_ADDRESS)
        chip->position = has_4_byte_address(chip->opcode) ? chip->address : chip->address & ADDRESS_3_BYTES;
    for (uint32_t i = 0; command & PHASE_DATA && i < length; i++)
        if (command & READS)
            chip->data[i] = read_byte(adapter, i);
        else
            write_byte(adapter, i, chip->data[i]);
    if (!(command & HOLD))
        finish(adapter);
}

int cx_gateway_read(struct cx_adapter *adapter, uint32_t address, uint32_t *value)
{
    struct cx_chip *chip = &adapter->state->chip;
    const struct layout *layout = layout_of(adapter->state);

    if (address == CR_COMMAND) { /* who reads it unlocked has the lock */
        *value = chip->command | (chip->lock ? LOCK : 0);
        chip->lock = 1;
    } else if (address == layout->address) {
        *value = chip->address;
    } else if (address == layout->guard_offset || address == layout->guard_command) {
        *value = adapter->state->flash_guard || adapter->state->secured ? 0x00030000 : 0;
    } else if (address >= CR_DATA && address < CR_DATA + sizeof chip->data) {
        *value = cx_get32(chip->data + (address - CR_DATA));
    } else {
        return 0;
    }
    return 1;
}

int cx_gateway_write(struct cx_adapter *adapter, uint32_t address, uint32_t value)
{
    struct cx_chip *chip = &adapter->state->chip;
    const struct layout *layout = layout_of(adapter->state);

    if (address == CR_COMMAND) {
        chip->lock = value >> 31;
        chip->command = value & ~LOCK;
        if (value & BUSY && !adapter->state->secured) {
            chip->command &= ~BUSY;
            run(adapter, value);
        }
    } else if (address == layout->address) {
        chip->address = value;
    } else if (address >= CR_DATA && address < CR_DATA + sizeof chip->data) {
        cx_put32(chip->data + (address - CR_DATA), value);
    } else {
        return 0;
    }
    return 1;
}

/* There is one chip; a tool asks for the next until there is none. */
static uint32_t parameters(struct cx_adapter *adapter, uint8_t *data)
{
    uint8_t id[3];

    identity(adapter, id);
    memset(data + 8, 0, 24);
    cx_put32(data + 16, 1u << 29 | 1); /* erases sectors of 64 KB; one chip */
    cx_put32(data + 20, (uint32_t)id[2] << 16 | (uint32_t)id[1] << 8 | id[0]);
    cx_put32(data + 24, log2_of(SUBSECTOR));
    return CX_OK;
}

uint32_t cx_flash_register(struct cx_adapter *adapter, uint32_t id, uint32_t method, uint8_t *data)
{
    uint32_t chip = cx_get32(data) >> 4 & 3, size = cx_get32(data + 4) & 0x1ff, at = cx_get32(data + 8);
    uint8_t block[CX_FLASH_BLOCK];

    if (!cx_flash(adapter) || adapter->state->secured)
        return CX_NOT_SUPPORTED;
    if (chip)
        return CX_BAD_PARAMETER;
    if (id == 0x9010)
        return parameters(adapter, data);
    if (at >= adapter->flash_size || (id == 0x9011 && (size > sizeof block || size > adapter->flash_size - at)))
        return CX_BAD_PARAMETER;
    if (id == 0x9012) {
        cx_flash_erase(adapter, at, cx_get32(data) >> 29 & 1 ? SECTOR : SUBSECTOR);
    } else if (method == CX_SET) {
        cx_swap(block, data + 12, size);
        cx_flash_program(adapter, at, block, size);
    } else {
        cx_swap(data + 12, adapter->flash + at, size);
    }
    return CX_OK;
}
