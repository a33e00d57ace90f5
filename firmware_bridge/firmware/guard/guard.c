#include "guard.h"

#include <string.h>

#include "decimal.h"

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

/* An argument of a tool, as the table has it. */
struct argument {
    uint8_t place, kind, count, size;
    char cuts[];
};

/* The arguments of a call: their cells, and the numbers themselves. */
struct given {
    uint8_t cells[GUARD_MOST_ARGUMENTS];
    decimal numbers[GUARD_MOST_ARGUMENTS];
};

/* The cell of a value: how many cuts are not above a number, or which word a text is. */
static SEPARATE uint8_t cell_of(const struct argument *argument, const struct guard_value *value, uint8_t *number) {
    uint8_t kind = value->kind, low = FIRST_CELL, high;
    const char *key = value->text;

    if (kind != argument->kind) {
        return kind ? OTHER : GUARD_MISSING;
    }
    if (kind == GUARD_NUMBER) {
        decimal_read(number, key, value->length);
        key = (const char *)number;
    }
    high = argument->count;
    while (low != high) {
        uint8_t middle = (uint8_t)(low + high) / 2;
        int order = strncmp(key, argument->cuts + (uint8_t)(middle - FIRST_CELL) * argument->size, argument->size);
        if (order < 0) {
            high = middle;
            continue;
        }
        if (order == 0) {
            /* Only a text is equal to what is there. */
            return middle;
        }
        low = (uint8_t)(middle + 1);
    }
    return kind == GUARD_TEXT ? OTHER : low;
}

/* Whether two numbers, in 1e-9, are a place in a disc: its centre, and 2^63 plus the square of its radius. */
static SEPARATE uint8_t in_disc(const uint8_t *disc, const decimal *numbers) {
    uint64_t left;

    memcpy(&left, disc + 8, sizeof left);
    for (uint8_t axis = 2; axis; axis--) {
        uint32_t centre, away = decimal_nano(*numbers++);

        memcpy(&centre, disc, sizeof centre);
        disc += sizeof centre;
        away -= centre;
        if (away >> 31) {
            away = 0 - away;
        }
        left -= (uint64_t)away * away;
    }
    return (int64_t)left < 0;
}

/* What the first of some entries says that the cells fit; NONE where they fit none. */
static SEPARATE uint8_t find(const uint8_t *entry, uint8_t width, uint8_t size, const struct given *given) {
    for (uint8_t count = *entry++; count; count--, entry += size) {
        const uint8_t *cell = given->cells, *at = entry + 1;
        uint8_t off = 0, span = 0, left = width;

        for (; left; left--) {
            off = (uint8_t)(*cell++ - *at++);
            span = *at++;
            if (off > (span & SPAN)) {
                break;
            }
        }
        if (left == 0 && (size < DISC_BYTES || in_disc(at, given->numbers))) {
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

enum guard_kind guard_judge(uint8_t tool, const struct guard_value *values) {
    uint8_t flags = block(0)[tool], kind = flags & READS ? GUARD_LOOP : GUARD_HARMFUL;

    struct given given;
    const uint8_t *at = block(flags >> PART_SHIFT);
    uint8_t width = *at++, size = *at++;

    for (uint8_t i = 0; i < width; i++) {
        const struct argument *argument = (const struct argument *)at;
        given.cells[i] = cell_of(argument, values + argument->place, given.numbers[i]);
        at = (const uint8_t *)argument->cuts + (uint8_t)(argument->count - FIRST_CELL) * argument->size;
    }
    given.cells[0] = find(at, width, size, &given);
    uint8_t next = find(block((uint8_t)(guard_run.state + table[ROWS])), 1, 3, &given);
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

uint8_t guard_accepted(void) { return guard_run.state >= table[ACCEPTING]; }
