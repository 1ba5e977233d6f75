/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cxemu: the management side of a ConnectX-4 or later adapter, as firmware tools see it through PCI
 * configuration space. No traffic, no verbs: only what mstconfig, mstflint and mstfwreset talk to.
 *
 * What each file stands in for:
 *   adapter.c    the card's memory: a state file, mapped by every process that opens a function of it
 *   gateway.c    the vendor specific capability in configuration space, its address spaces and semaphores,
 *                and the command interface (ICMD) behind them
 *   registers.c  the firmware's access registers: identity, capabilities, reset
 *   nvconfig.c   the non-volatile configuration: default, current and next-boot values of each TLV
 *   update.c     the firmware update state machine: an image comes in, is checked and made the one to boot
 *   slots.c      the two places for an image in flash, and which of them is booted
 *   flash.c      the flash chip, and the ways to it past the firmware
 *   control.c    cxemu-ctl: makes adapters, injects faults, cuts the power
 *
 * The layouts are those that the tools of mstflint 4.21 and 4.31 read and write. Where only a card could
 * tell what happens (an unknown TLV, a second burn), the behaviour is a choice of this model.
 */
#ifndef CXEMU_H
#define CXEMU_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CX_MAGIC 0x43584d55u
#define CX_VERSION 8u
#define CX_CONFIG_SIZE 4096
#define CX_TLV_SIZE 256
#define CX_MAX_TLVS 640
#define CX_MAX_FAULTS 16
#define CX_MAX_WORDS 64
#define CX_MAX_ROMS 4
#define CX_MAILBOX_SIZE 0x400
#define CX_PATH_MAX 640
#define CX_FLASH_BLOCK 256

/* Where the adapters of a node are kept: a directory each, with the files "state" and "flash". */
#define CX_ADAPTERS "/var/lib/rdmalab/adapters"

enum cx_method { CX_GET = 1, CX_SET = 2 };

/* Status of an access register. */
enum cx_status {
    CX_OK = 0,
    CX_NOT_SUPPORTED = 4,
    CX_BAD_METHOD = 6,
    CX_BAD_PARAMETER = 7,
    CX_NOT_AVAILABLE = 8,
    CX_BAD_LENGTH = 0x24,
    CX_INTERNAL_ERROR = 0x70,
};

/* One entry of the non-volatile configuration. */
struct cx_tlv {
    uint32_t type; /* class, index, port, host and function in one dword */
    uint16_t length;
    uint8_t readable, writable, version;
    uint8_t stored; /* a value was written to the NV area */
    uint8_t writer;
    uint8_t locked; /* by a fault: it can be read only */
    uint8_t initial[CX_TLV_SIZE], current[CX_TLV_SIZE], next[CX_TLV_SIZE];
};

/* What a register answers instead of working. */
struct cx_fault {
    uint32_t reg;         /* register id; 0: this place is free */
    uint32_t method;      /* 0: any */
    uint32_t tlv;         /* 0: any; else the NV type asked for */
    uint32_t status;      /* of the register */
    uint32_t icmd_status; /* of the command interface */
    uint32_t mcc_error;   /* of the update state machine */
    uint32_t instruction; /* 0: any; else that of the update state machine */
    uint32_t skip;        /* let this many pass first */
    uint32_t count;       /* 0: for ever */
};

struct cx_version {
    uint32_t major, minor, sub;
};

struct cx_rom {
    uint32_t type, architecture;
    struct cx_version version;
};

/* The gateway to the flash chip, and what the chip remembers between two commands. opcode: 0 where none is under way. */
struct cx_chip {
    uint32_t lock, command, address, opcode, position, enabled, status[3];
    uint8_t data[16];
};

/* A firmware image in flash. date: BCD, 0xYYYYMMDD. */
struct cx_image {
    uint32_t start, date, hw_id;
    struct cx_version version;
    char psid[17];
};

/* What the card does instead of completing a command. */
enum cx_hang { CX_ANSWERS = 0, CX_HANGS = 1, CX_HANGS_AFTER_SET = 2 };

/* Somebody else has its semaphores: for ever, or until the process that tries first has given up. */
enum cx_busy { CX_FREE = 0, CX_BUSY = 1, CX_BUSY_ONCE = 2 };

/* The first six members are read by labnode/adapter.py too. */
struct cx_state {
    uint32_t magic, version;
    struct cx_version running;
    char psid[20];
    uint32_t gone; /* it left the bus */
    uint8_t config[CX_CONFIG_SIZE];
    /* identity */
    uint32_t hw_id, hw_revision, pci_id, ports;
    uint32_t running_date; /* BCD, 0xYYYYMMDD */
    struct cx_rom roms[CX_MAX_ROMS];
    uint32_t secured, signed_fw, debug_fw, dev_fw, secure_boot, life_cycle;
    char name[64], description[256], vsd[256];
    uint64_t base_mac, base_guid;
    /* behaviour */
    uint32_t shows_default, shows_current, fw_control, not_ready;
    uint32_t hangs, busy, busy_pid; /* enum cx_hang, enum cx_busy */
    uint32_t slow;                  /* ms that each command takes */
    uint32_t vanish_after;          /* commands until it leaves the bus; 0: it stays */
    uint32_t reset_levels, reset_types, driver_sync, last_reset;
    uint32_t booted; /* seconds since the epoch */
    uint32_t resets;
    uint64_t armed; /* ns since the epoch: a reset waits for the link of the port above to toggle */
    /* vendor specific capability */
    uint32_t capability, control, ticket, semaphore, address, data, spaces;
    /* command interface */
    uint32_t icmd_control, icmd_semaphore, flash_semaphore;
    uint8_t mailbox[CX_MAILBOX_SIZE];
    /* flash. flash_guard: only the firmware gets at it, which the tools find out */
    uint32_t flash_guard;
    struct cx_chip chip;
    /* firmware update. fsm_start: the place in flash that it fills */
    uint32_t fsm_state, fsm_handle, fsm_size, fsm_error, fsm_start;
    uint32_t burns;
    /* words of the configuration registers that somebody wrote */
    uint32_t words, word_address[CX_MAX_WORDS], word_value[CX_MAX_WORDS];
    uint32_t fault_hits;
    struct cx_fault faults[CX_MAX_FAULTS];
    uint32_t tlvs;
    struct cx_tlv tlv[CX_MAX_TLVS];
};

/* An adapter as this process sees it. directory: its place on disk. function: the PCI function that it was opened by. */
struct cx_adapter {
    struct cx_state *state;
    char directory[512], function[512];
    uint8_t *flash; /* NULL until cx_flash() was called */
    uint32_t flash_size;
};

/* NULL where the directory holds no adapter. function may be "". */
struct cx_adapter *cx_open(const char *directory, const char *function);
void cx_power_cycle(struct cx_adapter *adapter);
int cx_raw_open(const char *path, int flags, int mode);

/* pread(2) and pwrite(2) on the function's configuration space. */
ssize_t cx_read(struct cx_adapter *adapter, void *data, size_t length, off_t offset);
ssize_t cx_write(struct cx_adapter *adapter, const void *data, size_t length, off_t offset);

/* Access registers; data is the register in network byte order, room its space. The result is a cx_status. */
uint32_t cx_register(struct cx_adapter *adapter, uint32_t id, uint32_t method, uint8_t *data, size_t room);
uint32_t cx_nv_register(struct cx_state *state, uint32_t id, uint32_t method, uint8_t *data, size_t room);
uint32_t cx_update_register(struct cx_adapter *adapter, uint32_t id, uint32_t method, uint8_t *data);
uint32_t cx_flash_register(struct cx_adapter *adapter, uint32_t id, uint32_t method, uint8_t *data);
struct cx_tlv *cx_find_tlv(struct cx_state *state, uint32_t type);
void cx_nv_boot(struct cx_state *state);

/* The cells of the flash chip; NULL where the adapter has none. Sizes are powers of two. */
uint8_t *cx_flash(struct cx_adapter *adapter);
void cx_flash_erase(struct cx_adapter *adapter, uint32_t at, uint32_t size);
void cx_flash_program(struct cx_adapter *adapter, uint32_t at, const uint8_t *data, uint32_t length);

/* Registers of the flash gateway in CR space. The result is 0 where the address is another register's. */
int cx_gateway_read(struct cx_adapter *adapter, uint32_t address, uint32_t *value);
int cx_gateway_write(struct cx_adapter *adapter, uint32_t address, uint32_t value);

/* The image at a place in flash, that which is booted next, and the same unless it runs already. The result is 0 for none. */
int cx_read_image(struct cx_adapter *adapter, uint32_t start, struct cx_image *image);
int cx_boot_image(struct cx_adapter *adapter, struct cx_image *image);
int cx_pending_image(struct cx_adapter *adapter, struct cx_image *image);

/* Where an image can be written without harm to the one that is booted, how much fits there and how much of it is used, and
 * the step that makes it the one to boot. */
uint32_t cx_free_slot(struct cx_adapter *adapter);
uint32_t cx_slot_size(void);
uint32_t cx_image_size(struct cx_adapter *adapter, uint32_t start);
void cx_activate_slot(struct cx_adapter *adapter, uint32_t start);

/* In registers, the bytes of data come in reverse order, dword by dword. */
static inline void cx_swap(uint8_t *to, const uint8_t *from, uint32_t length)
{
    for (uint32_t i = 0; i + 3 < length; i += 4)
        for (uint32_t k = 0; k < 4; k++)
            to[i + k] = from[i + 3 - k];
}

static inline uint32_t cx_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void cx_put32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}
#endif
