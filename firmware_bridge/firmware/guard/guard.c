#include "guard.h"

#include <string.h>

#include "decimal.h"
#include "machine.h"

enum { ACCEPTING = 2, ROWS = 4, START, DIRECTORY };
enum { READS = 0x01, FORBIDS = 0x02, PART_SHIFT = 2 };
enum { OTHER = 1, FIRST_CELL = 2 };
enum { SPAN = 0x7F, EACH = 0x80, NONE = 0xFE, STAYS = 0xFF, DISC_BYTES = 18 };

/* Not inlined: on a small chip it is faster so, and shorter. */
#define SEPARATE __attribute__((noinline))

struct guard_run guard_run;

static const uint8_t *table;
static struct {
    uint8_t kind, next, flags;
} call;

static SEPARATE const uint8_t *block(uint8_t number) {
    const uint8_t *at = table + DIRECTORY + 2 * number;
    return table + (at[0] | at[1] << 8);
}

/* The arguments of a call: their cells, the numbers themselves, and the first two in 1e-9 where they may be a place. */
struct given {
    uint8_t cells[GUARD_MOST_ARGUMENTS];
    decimal numbers[GUARD_MOST_ARGUMENTS];
    uint32_t place[2];
};

/* The arguments of a call as cells: how many cuts are not above a number, or which word a text is. Returns what is
 * behind the arguments in the table. */
static SEPARATE const uint8_t *read_cells(const uint8_t *at, uint8_t width, const struct guard_value *values,
                                          struct given *given) {
    uint8_t *cell = given->cells, *number = given->numbers[0];

    for (; width; width--, number += sizeof(decimal)) {
        const struct guard_value *value = values + *at++;
        uint8_t kind = *at++, low = FIRST_CELL, high = *at++, size = *at++;
        const uint8_t *cuts = at, *key = (const uint8_t *)value->text;

        at += (uint8_t)(high - FIRST_CELL) * size;
        if (kind != value->kind) {
            *cell++ = value->kind ? OTHER : GUARD_MISSING;
            continue;
        }
        if (kind == GUARD_NUMBER) {
            decimal_read(number, value->text);
            key = number;
        }
        while (low != high) {
            uint8_t middle = (uint8_t)(low + high) / 2, left = size, theirs, ours;
            const uint8_t *cut = cuts + (uint8_t)(middle - FIRST_CELL) * size, *part = key;

            do {
                theirs = *part++;
                ours = *cut++;
            } while (theirs == ours && theirs && --left);
            if (theirs == ours) {
                /* A text that is found; a number equals no cut. */
                low = high = middle;
                kind = GUARD_OTHER;
            } else if (theirs < ours) {
                high = middle;
            } else {
                low = (uint8_t)(middle + 1);
            }
        }
        *cell++ = kind == GUARD_TEXT ? OTHER : low;
    }
    return at;
}

/* What the first of some entries says that the cells fit; NONE where they fit none. */
static uint8_t find(const uint8_t *entry, uint8_t width, uint8_t size, const struct given *given) {
    for (uint8_t count = *entry++; count; count--, entry += size) {
        const uint8_t *cell = given->cells, *at = entry + 1;
        uint8_t off = 0, span = 0, left = width;

        for (; left; left--) {
            off = (uint8_t)(*cell++ - *at++);
            span = *at++;
            if (off > AS_BYTE(span & SPAN)) {
                break;
            }
        }
        if (left == 0 && (size < DISC_BYTES || decimal_in_disc(at, given->place))) {
            return (uint8_t)(*entry + (span & EACH ? off : 0));
        }
    }
    return NONE;
}

void guard_use(const uint8_t *bytes) { table = bytes; }

void guard_begin(void) {
    memset(&guard_run, 0, sizeof guard_run);
    guard_run.state = table[START];
}

/* What a call is, by its symbol, in the state that the episode is in. */
static SEPARATE enum guard_kind follow(uint8_t flags, uint8_t symbol) {
    uint8_t kind = flags & READS ? GUARD_LOOP : GUARD_HARMFUL, next = NONE;
    const uint8_t *at = block((uint8_t)(guard_run.state + table[ROWS]));

    for (uint8_t count = *at++; count; count--) {
        uint8_t target = *at++, off = (uint8_t)(symbol - *at++), span = *at++;
        if (off <= AS_BYTE(span & SPAN)) {
            next = (uint8_t)(target + (span & EACH ? off : 0));
            break;
        }
    }
    if (next == STAYS) {
        kind = GUARD_LOOP;
    } else if (next != NONE) {
        kind = GUARD_PROGRESS;
    }
    call.flags = flags;
    call.next = next;
    call.kind = kind;
    return (enum guard_kind)kind;
}

enum guard_kind guard_judge(uint8_t tool, const struct guard_value *values) {
    struct given given;
    uint8_t flags = block(0)[tool];
    const uint8_t *at = block(flags >> PART_SHIFT);
    uint8_t width = *at++, size = *at++;

    at = read_cells(at, width, values, &given);
    if (size >= DISC_BYTES) {
        given.place[0] = decimal_nano(given.numbers[0]);
        given.place[1] = decimal_nano(given.numbers[1]);
    }
    return follow(flags, find(at, width, size, &given));
}

uint8_t guard_forbids(void) { return call.kind == GUARD_HARMFUL && call.flags & FORBIDS; }

static SEPARATE void count_up(uint8_t which) {
    if (!++guard_run.counts[which]) {
        guard_run.counts[which]--;
    }
}

enum guard_kind guard_ended(enum guard_end end) {
    uint8_t kind = call.kind, which = GUARD_FAULTS;

    if (end != GUARD_FAULT) {
        if (end != GUARD_OK) {
            kind = end != GUARD_INVALID && call.flags & READS ? GUARD_LOOP : GUARD_HARMFUL;
        }
        which = (uint8_t)(GUARD_PROGRESSES + kind);
        if (kind == GUARD_PROGRESS) {
            guard_run.state = call.next;
        } else if (kind == GUARD_HARMFUL) {
            uint16_t place = guard_run.counts[GUARD_CONDENSED];
            which = (uint8_t)(which + end);
            if (place < GUARD_MASK_BITS) {
                uint8_t bit = 0x80;
                for (uint8_t left = place & 7; left; left--) {
                    bit >>= 1;
                }
                guard_run.harm[(uint8_t)place >> 3] |= bit;
            }
        }
        if (kind != GUARD_LOOP) {
            count_up(GUARD_CONDENSED);
        }
        count_up(GUARD_CALLS);
    }
    count_up(which);
    return (enum guard_kind)kind;
}

enum guard_kind guard_told(uint8_t symbol) {
    follow(READS, symbol);
    return guard_ended(GUARD_OK);
}

uint8_t guard_accepted(void) { return guard_run.state >= table[ACCEPTING]; }
