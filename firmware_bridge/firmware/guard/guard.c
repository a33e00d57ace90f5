#include "guard.h"

#include <stddef.h>
#include <string.h>

enum { BLOCKS = 0x01, READS = 0x01, PASSES = 0x02, TOOL_SHIFT = 3 };
enum { CELL_MISSING, CELL_OTHER, CELL_FIRST };
enum { STAYS = 0xFF, STEPS = 0x80, EACH = 0x01, NO_SYMBOL = 0xFF, DISC_BYTES = 13 };
enum { DIGITS = 18, KEY_BYTES = 1 + DIGITS / 2, POWER_ZERO = 0x40, MOST_POWER = 62 };

/* Not inlined: on a small chip it is faster so, and shorter. */
#define SEPARATE __attribute__((noinline))

struct guard_run guard_run;

static const uint8_t *table;
static struct {
    uint8_t kind, next, flags;
} call;

static uint16_t word(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }

static uint32_t word32(const uint8_t *at) { return word(at) | (uint32_t)word(at + 2) << 16; }

/* Writes a number, given as its JSON, as bytes that compare as numbers do: the power of ten of 0.DIGITS with the sign,
 * and the digits, two a byte; all bits inverted where it is negative. */
static SEPARATE void write_key(const struct guard_value *number, uint8_t *key) {
    const char *text = number->text, *end = text + number->length;
    uint8_t *at = key + 1, low = 0, fraction = 0, negative = 0, minus = 0;
    int16_t power = 0, exponent = 0;

    memset(key, 0, KEY_BYTES);
    for (; text < end; text++) {
        uint8_t digit = (uint8_t)(*text - '0');
        if (digit > 9) {
            if (*text == '-') {
                negative = 0xFF;
            } else if (*text == '.') {
                fraction = 1;
            } else {
                break;
            }
        } else if (digit || at != key + 1 || low) {
            if (at != key + KEY_BYTES) {
                *at |= low ? digit : (uint8_t)(digit << 4);
                at += low;
                low ^= 1;
            }
            power = (int16_t)(power + !fraction);
        } else {
            power = (int16_t)(power - fraction);
        }
    }
    /* The exponent, if there is one. */
    for (; text < end; text++) {
        uint8_t digit = (uint8_t)(*text - '0');
        if (*text == '-') {
            minus = 1;
        } else if (digit <= 9 && exponent < 1000) {
            exponent = (int16_t)(10 * exponent + digit);
        }
    }
    power = (int16_t)(minus ? power - exponent : power + exponent);
    power = power > MOST_POWER ? MOST_POWER : power < -MOST_POWER ? -MOST_POWER : power;
    key[0] = 0x80;
    if (at != key + 1 || low) {
        key[0] = (uint8_t)(0x80 + POWER_ZERO + power);
        for (uint8_t i = 0; negative && i < KEY_BYTES; i++) {
            key[i] = (uint8_t)~key[i];
        }
    }
}

/* Whether a number is above a cut of so many bytes, behind which it goes on as its first bit does not; `from_it`: the
 * cut's own number is, too. */
static uint8_t above(const uint8_t *key, const uint8_t *cut, uint8_t size, uint8_t from_it) {
    uint8_t rest = cut[0] & 0x80 ? 0 : 0xFF;
    int order = memcmp(key, cut, size);

    for (; order == 0 && size < KEY_BYTES; size++) {
        order = key[size] - rest;
    }
    return order ? order > 0 : from_it;
}

/* How many cuts lie below a number; their number, their size, they themselves and their sides are here. */
static SEPARATE uint8_t cuts_below(const uint8_t *key, const uint8_t *at) {
    uint8_t low = 0, high = at[-1], size = at[0];
    const uint8_t *cuts = at + 1, *sides = cuts + (uint16_t)(high * size);

    while (low < high) {
        uint8_t middle = (uint8_t)((low + high) / 2);
        if (above(key, cuts + (uint16_t)(middle * size), size, sides[middle / 8] >> middle % 8 & 1)) {
            low = (uint8_t)(middle + 1);
        } else {
            high = middle;
        }
    }
    return low;
}

/* A call's arguments as the table's cells; of a tool with discs also the values of numbers in 1e-9, modulo 2^32. */
struct cells {
    uint8_t cell[GUARD_MOST_ARGUMENTS];
    uint32_t nano[GUARD_MOST_ARGUMENTS];
};

static SEPARATE uint32_t nano_of(const uint8_t *key) {
    uint8_t inverted = key[0] & 0x80 ? 0 : 0xFF;
    int8_t digits = (int8_t)(((*key++ ^ inverted) & 0x7F) - POWER_ZERO + 9);
    uint32_t value = 0;

    for (uint8_t left = DIGITS; digits > 0; digits = (int8_t)(digits - 2)) {
        uint8_t pair = 0;
        if (left) {
            pair = *key++ ^ inverted;
            left = (uint8_t)(left - 2);
        }
        uint8_t tens = pair >> 4;
        value = digits == 1 ? 10 * value + tens : 100 * value + (uint8_t)(10 * tens + (pair & 0x0F));
    }
    return inverted ? 0 - value : value;
}

/* The square of a distance, where it is below 2^31. */
static SEPARATE uint64_t apart(uint32_t value, const uint8_t *place) {
    uint32_t away = value - word32(place);
    away = away >> 31 ? 0 - away : away;
    return (uint64_t)away * away;
}

static SEPARATE uint8_t in_disc(const uint8_t *disc, const uint32_t *nano) {
    uint32_t radius = word32(disc + 9);
    uint64_t squares = apart(nano[disc[0] >> 4], disc + 1);

    squares += apart(nano[disc[0] & 0x0F], disc + 5);
    return squares <= (uint64_t)radius * radius;
}

/* The place of a word among those that come next; CELL_OTHER where it is none of them. */
static SEPARATE uint8_t word_cell(const uint8_t *at, uint8_t many, const struct guard_value *value) {
    uint8_t length = value->length, size;

    for (uint8_t cell = CELL_FIRST; many; many--, cell++, at += size) {
        size = *at++;
        if (size == length && memcmp(at, value->text, size) == 0) {
            return cell;
        }
    }
    return CELL_OTHER;
}

/* The cell of an argument, whose part of the table is here; and the value of a number, where it is asked for. */
static SEPARATE uint8_t cell_of(const uint8_t *at, const struct guard_value *value, uint32_t *nano) {
    uint8_t words = at[0] & 1, key[KEY_BYTES];

    if (nano) {
        *nano = 0;
    }
    if (value->kind == GUARD_TEXT && words) {
        return word_cell(at + 2, at[1], value);
    }
    if (value->kind == GUARD_NUMBER && !words) {
        write_key(value, key);
        if (nano) {
            *nano = nano_of(key);
        }
        return (uint8_t)(CELL_FIRST + cuts_below(key, at + 2));
    }
    return value->kind == GUARD_MISSING ? CELL_MISSING : CELL_OTHER;
}

/* The number of the first symbol that the cells fit, counted from here; the entries are here. */
static SEPARATE uint8_t fitting(const uint8_t *at, const uint8_t *tool, const struct cells *cells) {
    uint8_t symbol = tool[0], arguments = tool[1];

    for (uint8_t entries = tool[3]; entries; entries--) {
        uint8_t head = *at++, left = arguments;
        const uint8_t *cell = cells->cell, *after = at + 2 * arguments;
        for (; left && *cell >= at[0] && *cell <= at[1]; left--) {
            cell++;
            at += 2;
        }
        at = after;
        if (left == 0 && (head <= EACH || in_disc(tool + 4 + ((head >> 1) - 1) * DISC_BYTES, cells->nano))) {
            return (uint8_t)(symbol + (head & EACH ? cell[-1] - at[-2] : 0));
        }
        symbol++;
        if (head & EACH) {
            symbol = (uint8_t)(symbol + at[-1] - at[-2]);
        }
    }
    return NO_SYMBOL;
}

/* The number of the first symbol of a tool that a call fits; the tool's part of the table is here: its discs, its
 * arguments, each with its length, and its symbols. */
static uint8_t symbol_of(const uint8_t *tool, const struct guard_value *values, uint8_t count) {
    static const struct guard_value missing = {GUARD_MISSING, 0, 0};
    const uint8_t *at = tool + 4 + tool[2] * DISC_BYTES;
    struct cells cells;

    for (uint8_t i = 0; i < tool[1]; i++) {
        uint8_t place = at[2] >> 1;
        uint32_t *nano = tool[2] ? cells.nano + i : NULL;
        cells.cell[i] = cell_of(at + 2, place < count ? values + place : &missing, nano);
        at += word(at);
    }
    return fitting(at, tool, &cells);
}

/* Where the edge of a symbol leads, if there is one in the state whose edges are here. */
static void follow(const uint8_t *at, uint8_t symbol) {
    uint8_t runs = *at++;

    for (; runs; runs--, at += 3) {
        uint8_t beyond = (uint8_t)(symbol - at[0]), head = at[1], target = at[2];
        if (beyond < (head & ~STEPS)) {
            call.kind = GUARD_LOOP;
            if (target != STAYS) {
                call.kind = GUARD_PROGRESS;
                call.next = (uint8_t)(target + (head & STEPS ? beyond : 0));
            }
            return;
        }
    }
}

void guard_use(const uint8_t *bytes) { table = bytes; }

void guard_begin(void) { memset(&guard_run, 0, sizeof guard_run); }

enum guard_kind guard_judge(uint8_t tool, const struct guard_value *values, uint8_t count) {
    uint8_t states = table[2];
    const uint8_t *flags = table + 4 + (states + 7) / 8, *rows = flags + table[3];

    call.next = guard_run.state;
    call.flags = tool < table[3] ? flags[tool] : 0;
    call.kind = call.flags & READS ? GUARD_LOOP : GUARD_HARMFUL;
    uint8_t part = call.flags >> TOOL_SHIFT;
    if (part) {
        uint8_t symbol = symbol_of(table + word(rows + 2 * (states + part - 1)), values, count);
        if (symbol != NO_SYMBOL) {
            follow(table + word(rows + 2 * guard_run.state), symbol);
        }
    }
    return (enum guard_kind)call.kind;
}

uint8_t guard_forbids(void) { return call.kind == GUARD_HARMFUL && !(call.flags & PASSES) && table[1] & BLOCKS; }

static void count_up(enum guard_count which) {
    if (guard_run.counts[which] < UINT16_MAX) {
        guard_run.counts[which]++;
    }
}

enum guard_kind guard_ended(enum guard_end end) {
    static const uint8_t harmful[] = {GUARD_OFF_PATH, GUARD_REFUSALS, GUARD_PREVENTIONS, GUARD_INVALIDS};

    if (end == GUARD_FAULT) {
        count_up(GUARD_FAULTS);
        return GUARD_HARMFUL;
    }
    if (end != GUARD_OK) {
        call.kind = end != GUARD_INVALID && call.flags & READS ? GUARD_LOOP : GUARD_HARMFUL;
    }
    count_up(GUARD_CALLS);
    if (call.kind == GUARD_LOOP) {
        count_up(GUARD_LOOPS);
        return GUARD_LOOP;
    }
    uint16_t place = guard_run.counts[GUARD_CONDENSED];
    if (call.kind == GUARD_PROGRESS) {
        count_up(GUARD_PROGRESSES);
        guard_run.state = call.next;
    } else {
        count_up((enum guard_count)harmful[end]);
        if (place < GUARD_MASK_BITS) {
            guard_run.harm[place / 8] |= (uint8_t)(0x80 >> place % 8);
        }
    }
    count_up(GUARD_CONDENSED);
    return (enum guard_kind)call.kind;
}

uint8_t guard_accepted(void) { return table[4 + guard_run.state / 8] >> guard_run.state % 8 & 1; }
