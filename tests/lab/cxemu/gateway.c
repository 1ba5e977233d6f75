/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The way in: the vendor specific capability (id 9) in configuration space is a window to the adapter's
 * address spaces, with a semaphore. One of the spaces is the command interface (ICMD), which carries the
 * access registers.
 */
#define _GNU_SOURCE
#include "cxemu.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPACE_CR = 2, SPACE_ICMD = 3, SPACE_SEMAPHORES = 0xa };
enum { ICMD_ACCESS_REGISTER = 0x9001, ICMD_CAPABILITIES = 0x8400 };
enum { CAP_CONTROL = 4, CAP_TICKET = 8, CAP_SEMAPHORE = 0xc, CAP_ADDRESS = 0x10, CAP_DATA = 0x14, CAP_SIZE = 0x18 };

#define CR_HARDWARE_ID 0xf0014
#define ICMD_SIZE_ADDRESS 0x1000
#define ICMD_MAILBOX 0x100000
#define ICMD_USABLE 0x340
#define REGISTER_ID_NVDA 0x9024
#define REGISTER_ID_MCC 0x9062
#define REGISTER_AT 20 /* in the mailbox, behind the operation and register headers */
#define BUSY 1u
#define SOMEBODY 0xdeadu /* the owner of a semaphore that is no process */

/* Is there a fault for this register access? Then its statuses are given, and the register does nothing. */
static int faulty(struct cx_state *state, uint32_t id, uint32_t method, uint32_t *status, uint32_t *icmd_status)
{
    uint8_t *data = state->mailbox + REGISTER_AT;

    for (int i = 0; i < CX_MAX_FAULTS; i++) {
        struct cx_fault *fault = &state->faults[i];

        if (!fault->reg || fault->reg != id || (fault->method && fault->method != method))
            continue;
        if (fault->tlv && cx_get32(data + 4) != fault->tlv)
            continue;
        if (fault->instruction && (id != REGISTER_ID_MCC || data[3] != fault->instruction))
            continue;
        if (fault->skip) {
            fault->skip--;
            continue;
        }
        *status = fault->status;
        *icmd_status = fault->icmd_status;
        state->fault_hits++;
        if (fault->mcc_error)
            cx_put32(data + 12, (state->fsm_state & 0xf) | fault->mcc_error << 8);
        if (fault->count && !--fault->count)
            memset(fault, 0, sizeof *fault);
        return 1;
    }
    return 0;
}

/* The result is the status of the command interface. */
static uint32_t access_register(struct cx_adapter *adapter)
{
    struct cx_state *state = adapter->state;
    uint8_t *mailbox = state->mailbox;
    uint32_t id = (uint32_t)mailbox[4] << 8 | mailbox[5], method = mailbox[6] & 0x7f, status = 0, icmd_status = 0;

    if (!faulty(state, id, method, &status, &icmd_status))
        status = cx_register(adapter, id, method, mailbox + REGISTER_AT, CX_MAILBOX_SIZE - REGISTER_AT);
    mailbox[2] = (uint8_t)((mailbox[2] & 0x80) | (status & 0x7f));
    mailbox[6] |= 0x80;
    return icmd_status;
}

static int is_nv_set(const uint8_t *mailbox)
{
    return mailbox[4] == REGISTER_ID_NVDA >> 8 && mailbox[5] == (REGISTER_ID_NVDA & 0xff) && (mailbox[6] & 0x7f) == CX_SET;
}

static void take_time(uint32_t milliseconds)
{
    struct timespec left = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};

    while (nanosleep(&left, &left))
        ;
}

static void run_command(struct cx_adapter *adapter)
{
    struct cx_state *state = adapter->state;
    uint32_t status = 1, command = state->icmd_control >> 16;

    if (state->slow)
        take_time(state->slow);
    if (state->vanish_after && !--state->vanish_after)
        state->gone = 1;
    if (state->gone || state->hangs == CX_HANGS)
        return; /* busy for ever */
    if (command == ICMD_ACCESS_REGISTER) {
        status = access_register(adapter);
    } else if (command == ICMD_CAPABILITIES) {
        memset(state->mailbox, 0, 16);
        status = 0;
    }
    if (state->hangs == CX_HANGS_AFTER_SET && command == ICMD_ACCESS_REGISTER && is_nv_set(state->mailbox))
        state->hangs = CX_HANGS;
    else
        state->icmd_control = (state->icmd_control & ~(0xff00u | BUSY)) | status << 8;
}

static uint32_t read_cr(struct cx_adapter *adapter, uint32_t address)
{
    const struct cx_state *state = adapter->state;
    uint32_t value;

    if (address == CR_HARDWARE_ID)
        return state->hw_revision << 16 | state->hw_id;
    if (address == 0xb5e04 || address == 0xb5f04 || address == 0xb0004) /* ConnectX-5, -6 and -7, -4: firmware is not ready */
        return state->not_ready ? 1u << 31 : 0;
    if (cx_gateway_read(adapter, address, &value))
        return value;
    for (uint32_t i = 0; i < state->words; i++)
        if (state->word_address[i] == address)
            return state->word_value[i];
    return 0;
}

static void write_cr(struct cx_adapter *adapter, uint32_t address, uint32_t value)
{
    struct cx_state *state = adapter->state;
    uint32_t i = 0;

    if (cx_gateway_write(adapter, address, value))
        return;
    while (i < state->words && state->word_address[i] != address)
        i++;
    if (i == CX_MAX_WORDS)
        return;
    if (i == state->words)
        state->words++;
    state->word_address[i] = address;
    state->word_value[i] = value;
}

static uint32_t *semaphore_at(struct cx_state *state, uint32_t address)
{
    return address == 0 ? &state->icmd_semaphore : address == 0x10 ? &state->flash_semaphore : NULL;
}

/* Has somebody else the semaphores? "Once" ends with the first process that tries: the next one finds them free. */
static int is_held(struct cx_state *state)
{
    if (state->busy != CX_BUSY_ONCE)
        return state->busy == CX_BUSY;
    if (!state->busy_pid)
        state->busy_pid = (uint32_t)getpid();
    if (state->busy_pid == (uint32_t)getpid())
        return 1;
    state->busy = state->busy_pid = 0;
    return 0;
}

static int in_mailbox(uint32_t address)
{
    return address >= ICMD_MAILBOX && address < ICMD_MAILBOX + CX_MAILBOX_SIZE;
}

static uint32_t read_space(struct cx_adapter *adapter, uint32_t space, uint32_t address)
{
    struct cx_state *state = adapter->state;

    if (space == SPACE_SEMAPHORES) {
        const uint32_t *semaphore = semaphore_at(state, address);

        return !semaphore ? 0 : is_held(state) ? SOMEBODY : *semaphore;
    }
    if (space != SPACE_ICMD)
        return read_cr(adapter, address);
    if (address == 0)
        return state->icmd_control;
    if (address == ICMD_SIZE_ADDRESS)
        return ICMD_USABLE;
    return in_mailbox(address) ? cx_get32(state->mailbox + (address - ICMD_MAILBOX)) : 0;
}

static void write_space(struct cx_adapter *adapter, uint32_t space, uint32_t address, uint32_t value)
{
    struct cx_state *state = adapter->state;

    if (space == SPACE_SEMAPHORES) {
        uint32_t *semaphore = semaphore_at(state, address);

        /* a taken semaphore keeps its owner */
        if (semaphore && !is_held(state) && (!value || !*semaphore))
            *semaphore = value;
    } else if (space != SPACE_ICMD) {
        write_cr(adapter, address, value);
    } else if (in_mailbox(address)) {
        cx_put32(state->mailbox + (address - ICMD_MAILBOX), value);
    } else if (address == 0) {
        state->icmd_control = value;
        if (value & BUSY)
            run_command(adapter);
    }
}

static uint32_t read_capability(struct cx_state *state, uint32_t at)
{
    uint32_t value;

    switch (at) {
    case CAP_CONTROL:
        return state->control;
    case CAP_TICKET:
        return ++state->ticket;
    case CAP_SEMAPHORE:
        return state->semaphore;
    case CAP_ADDRESS:
        return state->address;
    case CAP_DATA:
        return state->data;
    }
    memcpy(&value, state->config + state->capability, sizeof value);
    return value;
}

static void write_capability(struct cx_adapter *adapter, uint32_t at, uint32_t value)
{
    struct cx_state *state = adapter->state;
    uint32_t space = state->control & 0xffff, address = value & 0x3fffffff;

    switch (at) {
    case CAP_CONTROL:
        space = value & 0xffff;
        state->control = space | (space < 32 && (state->spaces >> space & 1) ? 1u << 29 : 0);
        break;
    case CAP_SEMAPHORE:
        if (!value || !state->semaphore)
            state->semaphore = value;
        break;
    case CAP_ADDRESS: /* bit 31: write; it is turned when done */
        if (value >> 31) {
            write_space(adapter, space, address, state->data);
            state->address = value & 0x7fffffff;
        } else {
            state->data = read_space(adapter, space, address);
            state->address = value | 1u << 31;
        }
        break;
    case CAP_DATA:
        state->data = value;
        break;
    }
}

/* Any write to the configuration space of the port above, after the card was armed, is taken for the toggle of its link. */
static void look_at_link(struct cx_adapter *adapter)
{
    struct stat status;
    char path[CX_PATH_MAX];

    snprintf(path, sizeof path, "%s/../config", adapter->function);
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0))
        return;
    if ((uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec > adapter->state->armed)
        cx_power_cycle(adapter);
}

static int in_capability(const struct cx_state *state, size_t length, off_t offset)
{
    return length == 4 && !(offset & 3) && offset >= state->capability && offset < state->capability + CAP_SIZE;
}

/* Command, base addresses, interrupt line, PCI Express and MSI-X capabilities. */
static int is_writable(off_t offset)
{
    return offset == 4 || offset == 5 || (offset >= 0x10 && offset < 0x28) || offset == 0x3c || (offset >= 0x60 && offset < 0x9c);
}

ssize_t cx_read(struct cx_adapter *adapter, void *data, size_t length, off_t offset)
{
    struct cx_state *state = adapter->state;

    if (state->armed)
        look_at_link(adapter);
    if (offset < 0 || offset >= CX_CONFIG_SIZE)
        return 0;
    if (length > (size_t)(CX_CONFIG_SIZE - offset))
        length = (size_t)(CX_CONFIG_SIZE - offset);
    if (state->gone)
        memset(data, 0xff, length); /* nobody answers on the bus */
    else if (in_capability(state, length, offset)) {
        uint32_t value = read_capability(state, (uint32_t)offset - state->capability);

        memcpy(data, &value, sizeof value);
    } else {
        memcpy(data, state->config + offset, length);
    }
    return (ssize_t)length;
}

ssize_t cx_write(struct cx_adapter *adapter, const void *data, size_t length, off_t offset)
{
    struct cx_state *state = adapter->state;
    uint32_t value;

    if (state->gone)
        return (ssize_t)length;
    if (in_capability(state, length, offset)) {
        memcpy(&value, data, sizeof value);
        write_capability(adapter, (uint32_t)offset - state->capability, value);
        return (ssize_t)length;
    }
    for (size_t i = 0; i < length && offset >= 0 && offset + (off_t)i < CX_CONFIG_SIZE; i++)
        if (is_writable(offset + (off_t)i))
            state->config[offset + (off_t)i] = ((const uint8_t *)data)[i];
    return (ssize_t)length;
}
