/* Copyright (c) 2026 The rdma.ofed engineers
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cxemu-ctl ADAPTER COMMAND: the hand on the card. ADAPTER is a PCI address (any function) or a directory.
 *
 *   create KEY=VALUE...   a new card; its TLVs come on standard input, from cxemu/nvconfig.py
 *   set KEY=VALUE...      change anything of it ("show" lists the keys)
 *   fault KEY=VALUE...    reg= method= tlv= status= icmd= mcc= instruction= skip= count=
 *   nofault [KEY=VALUE...]  these, or all of them, gone
 *   lock TYPE, unlock [TYPE]  a TLV can only be read, or is as it was made
 *   powercycle            what a cold boot does to it
 *   show | nv [all]       the card; its configuration, only what was written unless "all"
 */
#define _GNU_SOURCE
#include "cxemu.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum kind { NUMBER, LONG, TEXT, VERSION };

struct key {
    const char *name;
    enum kind kind;
    size_t offset, size;
};

#define KEY(kind, member) {#member, kind, offsetof(struct cx_state, member), sizeof(((struct cx_state *)0)->member)}
static const struct key keys[] = {
    KEY(VERSION, running), KEY(NUMBER, running_date),
    KEY(NUMBER, hw_id), KEY(NUMBER, hw_revision), KEY(NUMBER, pci_id), KEY(NUMBER, ports), KEY(TEXT, psid), KEY(TEXT, name),
    KEY(TEXT, description), KEY(TEXT, vsd), KEY(LONG, base_mac), KEY(LONG, base_guid), KEY(NUMBER, secured), KEY(NUMBER, signed_fw),
    KEY(NUMBER, debug_fw), KEY(NUMBER, dev_fw), KEY(NUMBER, secure_boot), KEY(NUMBER, life_cycle), KEY(NUMBER, shows_default),
    KEY(NUMBER, shows_current), KEY(NUMBER, fw_control), KEY(NUMBER, not_ready), KEY(NUMBER, hangs), KEY(NUMBER, busy),
    KEY(NUMBER, busy_pid), KEY(NUMBER, slow), KEY(NUMBER, vanish_after), KEY(NUMBER, gone), KEY(NUMBER, icmd_control), KEY(NUMBER, reset_levels),
    KEY(NUMBER, reset_types), KEY(NUMBER, driver_sync), KEY(NUMBER, last_reset), KEY(NUMBER, booted), KEY(NUMBER, resets),
    KEY(NUMBER, semaphore), KEY(NUMBER, icmd_semaphore), KEY(NUMBER, flash_semaphore), KEY(NUMBER, spaces), KEY(NUMBER, fsm_state),
    KEY(NUMBER, fsm_handle), KEY(NUMBER, flash_guard), KEY(NUMBER, chip.lock), KEY(NUMBER, burns), KEY(NUMBER, fault_hits),
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void die(const char *what, const char *which)
{
    fprintf(stderr, "cxemu-ctl: %s: %s\n", what, which);
    exit(2);
}

/* Cuts "KEY=VALUE" in two. */
static char *value_of(char *argument)
{
    char *value = strchr(argument, '=');

    if (!value)
        die("not KEY=VALUE", argument);
    *value = '\0';
    return value + 1;
}

static int set_rom(struct cx_state *state, const char *name, const char *value)
{
    unsigned number;
    struct cx_rom *rom;

    if (sscanf(name, "rom%u", &number) != 1 || number >= CX_MAX_ROMS)
        return 0;
    rom = &state->roms[number]; /* TYPE:ARCHITECTURE:VERSION */
    return sscanf(value, "%u:%u:%u.%u.%u", &rom->type, &rom->architecture, &rom->version.major, &rom->version.minor, &rom->version.sub) == 5;
}

static void set(struct cx_state *state, char *argument)
{
    char *value = value_of(argument);

    for (size_t i = 0; i < COUNT(keys); i++) {
        uint8_t *at = (uint8_t *)state + keys[i].offset;
        struct cx_version *version = (struct cx_version *)at;

        if (strcmp(keys[i].name, argument))
            continue;
        if (keys[i].kind == NUMBER)
            *(uint32_t *)at = (uint32_t)strtoul(value, NULL, 0);
        else if (keys[i].kind == LONG)
            *(uint64_t *)at = strtoull(value, NULL, 0);
        else if (keys[i].kind == TEXT)
            snprintf((char *)at, keys[i].size, "%s", value);
        else if (sscanf(value, "%u.%u.%u", &version->major, &version->minor, &version->sub) != 3)
            die("not a version", value);
        return;
    }
    if (!set_rom(state, argument, value))
        die("unknown key", argument);
}

static void show(struct cx_adapter *adapter)
{
    const struct cx_state *state = adapter->state;
    struct cx_image image;

    for (size_t i = 0; i < COUNT(keys); i++) {
        const uint8_t *at = (const uint8_t *)state + keys[i].offset;
        const struct cx_version *version = (const struct cx_version *)at;

        printf("%s=", keys[i].name);
        if (keys[i].kind == NUMBER)
            printf("0x%x\n", *(const uint32_t *)at);
        else if (keys[i].kind == LONG)
            printf("0x%llx\n", (unsigned long long)*(const uint64_t *)at);
        else if (keys[i].kind == TEXT)
            printf("%s\n", (const char *)at);
        else
            printf("%u.%u.%u\n", version->major, version->minor, version->sub);
    }
    if (cx_boot_image(adapter, &image))
        printf("flash=%u.%u.%u %s at 0x%x\n", image.version.major, image.version.minor, image.version.sub, image.psid, image.start);
    else
        printf("flash=no image\n");
}

/* A PCI Express endpoint with the capabilities power management (0x40), PCI Express (0x60), MSI-X (0x9c)
 * and vendor specific (0xc0), the last being the gateway. */
static void build_config(struct cx_state *state)
{
    static const struct {
        uint16_t at;
        uint8_t value;
    } bytes[] = {
        {0x00, 0xb3}, {0x01, 0x15}, {0x04, 0x06}, {0x06, 0x10}, {0x0a, 0x07}, {0x0b, 0x02}, {0x0c, 0x08}, {0x10, 0x0c}, {0x13, 0xe0},
        {0x2c, 0xb3}, {0x2d, 0x15}, {0x2e, 0x08}, {0x34, 0x60}, {0x3d, 0x01}, {0x40, 0x01}, {0x42, 0x03}, {0x60, 0x10}, {0x61, 0x9c},
        {0x62, 0x02}, {0x64, 0x83}, {0x68, 0x30}, {0x69, 0x29}, {0x6c, 0x04}, {0x6d, 0xf1}, {0x72, 0x04}, {0x73, 0x11}, {0x9c, 0x11},
        {0x9d, 0xc0}, {0x9e, 0x3f}, {0xc0, 0x09}, {0xc1, 0x40}, {0xc2, 0x18},
    };

    for (size_t i = 0; i < COUNT(bytes); i++)
        state->config[bytes[i].at] = bytes[i].value;
    state->config[2] = (uint8_t)state->pci_id;
    state->config[3] = (uint8_t)(state->pci_id >> 8);
    state->capability = 0xc0;
}

static void read_hex(const char *text, uint8_t *bytes, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        unsigned byte = 0;

        sscanf(text + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
}

static void print_hex(const char *before, const uint8_t *bytes, unsigned length)
{
    printf("%s", before);
    for (unsigned i = 0; i < length; i++)
        printf("%02x", bytes[i]);
}

/* Lines of: type length readable writable version, and the default, current and next values, all but the numbers in hex. */
static void read_tlvs(struct cx_state *state)
{
    char text[3][2 * CX_TLV_SIZE + 8];
    unsigned type, length, readable, writable, version;

    while (scanf("%x %u %u %u %u %519s %519s %519s", &type, &length, &readable, &writable, &version, text[0], text[1], text[2]) == 8) {
        struct cx_tlv *tlv = &state->tlv[state->tlvs++];

        if (state->tlvs > CX_MAX_TLVS || length > CX_TLV_SIZE)
            die("too many or too long TLVs", text[0]);
        *tlv = (struct cx_tlv){.type = type, .length = (uint16_t)length, .readable = (uint8_t)readable, .writable = (uint8_t)writable, .version = (uint8_t)version};
        read_hex(text[0], tlv->initial, length);
        read_hex(text[1], tlv->current, length);
        read_hex(text[2], tlv->next, length);
        tlv->stored = memcmp(tlv->next, tlv->initial, length) != 0;
    }
}

/* The base addresses of the card are a TLV too (type 2). */
static void put_addresses(struct cx_state *state)
{
    struct cx_tlv *tlv = cx_find_tlv(state, 2);

    if (!tlv || tlv->length != 16)
        return;
    for (int half = 0; half < 2; half++) {
        uint64_t address = half ? state->base_guid : state->base_mac;

        cx_put32(tlv->initial + 8 * half, (uint32_t)(address >> 32));
        cx_put32(tlv->initial + 8 * half + 4, (uint32_t)address);
    }
    memcpy(tlv->current, tlv->initial, 16);
    memcpy(tlv->next, tlv->initial, 16);
}

static void create(const char *directory, char **arguments)
{
    struct cx_state *state = calloc(1, sizeof *state);
    char path[CX_PATH_MAX + 8], temporary[CX_PATH_MAX + 16];
    FILE *file;

    state->magic = CX_MAGIC;
    state->version = CX_VERSION;
    state->shows_default = state->shows_current = state->fw_control = 1;
    state->reset_levels = 0x48; /* PCI reset, warm reboot */
    state->reset_types = 1;
    state->chip.status[1] = 2; /* quad mode */
    state->spaces = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 6 | 1u << 10;
    state->ticket = 1;
    state->booted = (uint32_t)time(NULL);
    for (; *arguments; arguments++)
        set(state, *arguments);
    build_config(state);
    read_tlvs(state);
    put_addresses(state);
    mkdir(directory, 0700);
    snprintf(path, sizeof path, "%s/state", directory);
    snprintf(temporary, sizeof temporary, "%s.new", path);
    file = fopen(temporary, "w");
    if (!file || fwrite(state, sizeof *state, 1, file) != 1 || fclose(file) || rename(temporary, path))
        die("cannot be written", path);
    free(state);
}

static struct cx_fault read_fault(char **arguments)
{
    struct cx_fault fault = {0};
    const struct {
        const char *name;
        uint32_t *to;
    } names[] = {{"reg", &fault.reg},           {"method", &fault.method}, {"tlv", &fault.tlv}, {"status", &fault.status},
                 {"icmd", &fault.icmd_status},  {"mcc", &fault.mcc_error}, {"skip", &fault.skip}, {"count", &fault.count},
                 {"instruction", &fault.instruction}};

    for (; *arguments; arguments++) {
        char *value = value_of(*arguments);
        size_t i = 0;

        while (i < COUNT(names) && strcmp(names[i].name, *arguments))
            i++;
        if (i == COUNT(names))
            die("unknown key", *arguments);
        *names[i].to = (uint32_t)strtoul(value, NULL, 0);
    }
    return fault;
}

static void add_fault(struct cx_state *state, char **arguments)
{
    struct cx_fault fault = read_fault(arguments);

    if (!fault.reg)
        die("missing", "reg=");
    for (int i = 0; i < CX_MAX_FAULTS; i++)
        if (!state->faults[i].reg) {
            state->faults[i] = fault;
            return;
        }
    die("no place for another fault", "nofault");
}

static void remove_faults(struct cx_state *state, char **arguments)
{
    struct cx_fault like = read_fault(arguments);

    for (int i = 0; i < CX_MAX_FAULTS; i++) {
        struct cx_fault *fault = &state->faults[i];

        if ((!like.reg || like.reg == fault->reg) && (!like.method || like.method == fault->method) && (!like.tlv || like.tlv == fault->tlv) &&
            (!like.instruction || like.instruction == fault->instruction))
            memset(fault, 0, sizeof *fault);
    }
}

/* type: NULL for all of them */
static void set_lock(struct cx_state *state, const char *type, int locked)
{
    struct cx_tlv *tlv = type ? cx_find_tlv(state, (uint32_t)strtoul(type, NULL, 0)) : NULL;

    if (type && !tlv)
        die("no such TLV", type);
    for (uint32_t i = 0; i < state->tlvs; i++)
        if (!tlv || tlv == &state->tlv[i])
            state->tlv[i].locked = (uint8_t)locked;
}

static void show_nv(const struct cx_state *state, int all)
{
    for (uint32_t i = 0; i < state->tlvs; i++) {
        const struct cx_tlv *tlv = &state->tlv[i];

        if (!all && !tlv->stored)
            continue;
        printf("%08x length %u writer 0x%x", tlv->type, tlv->length, tlv->writer);
        print_hex(" default ", tlv->initial, tlv->length);
        print_hex(" current ", tlv->current, tlv->length);
        print_hex(" next ", tlv->next, tlv->length);
        printf("\n");
    }
}

int main(int count, char **arguments)
{
    char directory[CX_PATH_MAX];
    struct cx_adapter *adapter;
    const char *command;

    if (count < 3)
        die("usage", "cxemu-ctl ADAPTER create|set|fault|nofault|lock|unlock|powercycle|show|nv ...");
    /* the functions of a card differ behind the point */
    if (strchr(arguments[1], '/'))
        snprintf(directory, sizeof directory, "%s", arguments[1]);
    else
        snprintf(directory, sizeof directory, CX_ADAPTERS "/%.*s", (int)strcspn(arguments[1], "."), arguments[1]);
    command = arguments[2];
    arguments += 3;
    if (!strcmp(command, "create")) {
        create(directory, arguments);
        return 0;
    }
    if (!(adapter = cx_open(directory, "")))
        die("no adapter in", directory);
    if (!strcmp(command, "set"))
        for (; *arguments; arguments++)
            set(adapter->state, *arguments);
    else if (!strcmp(command, "fault"))
        add_fault(adapter->state, arguments);
    else if (!strcmp(command, "nofault"))
        remove_faults(adapter->state, arguments);
    else if (!strcmp(command, "lock") && *arguments)
        set_lock(adapter->state, *arguments, 1);
    else if (!strcmp(command, "unlock"))
        set_lock(adapter->state, *arguments, 0);
    else if (!strcmp(command, "powercycle"))
        cx_power_cycle(adapter);
    else if (!strcmp(command, "show"))
        show(adapter);
    else if (!strcmp(command, "nv"))
        show_nv(adapter->state, *arguments != NULL);
    else
        die("unknown command", command);
    return 0;
}
