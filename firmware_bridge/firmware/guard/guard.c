#include "guard.h"

#include <stddef.h>
#include <string.h>

enum { VERSION = 1, BLOCKS = 0x01 };
enum { READS = 0x01, PASSES = 0x02, HAS_SYMBOLS = 0x04 };
enum { CELL_MISSING, CELL_OTHER, CELL_FIRST };
enum { STAYS = 0xFF, STEPS = 0x80, NO_DISC = 0xFF, NO_SYMBOL = 0xFF, DISC_BYTES = 13 };
enum { DIGITS = 18, KEY_BYTES = 1 + DIGITS / 2, POWER_ZERO = 0x40, MOST_POWER = 62 };

struct guard_run guard_run;

static const uint8_t *table;
static uint16_t length, at; /* `at`: the next byte of the table to be read */
static struct {
    uint8_t kind, next, flags;
} call;

static uint8_t next(void) {
    uint16_t here = at++;
    return here < length ? table[here] : 0;
}

static uint16_t next_word(void) {
    uint8_t low = next();
    return (uint16_t)(low | next() << 8);
}

static uint32_t next_long(void) {
    uint16_t low = next_word();
    return low | (uint32_t)next_word() << 16;
}

/* Writes a number, given as its JSON, as bytes that compare as numbers do: the power of ten of 0.DIGITS with the sign,
 * and the digits, two a byte; all bits inverted where it is negative. */
static void write_key(const struct guard_value *number, uint8_t *key) {
    const char *text = number->text, *end = text + number->length;
    uint8_t digits = 0, fraction = 0, negative = 0;
    int16_t power = 0, exponent = 0;

    memset(key, 0, KEY_BYTES);
    for (; text < end && (*text | 0x20) != 'e'; text++) {
        uint8_t digit = (uint8_t)(*text - '0');
        if (*text == '-') {
            negative = 0xFF;
        } else if (*text == '.') {
            fraction = 1;
        } else if (digits || digit) {
            if (digits < DIGITS) {
                key[1 + digits / 2] |= digits & 1 ? digit : (uint8_t)(digit << 4);
                digits++;
            }
            power = (int16_t)(power + !fraction);
        } else {
            power = (int16_t)(power - fraction);
        }
    }
    for (; text < end; text++) {
        uint8_t digit = (uint8_t)(*text - '0');
        if (digit <= 9 && exponent < 1000) {
            exponent = (int16_t)(10 * exponent + digit);
        } else if (*text == '-') {
            fraction = 2;
        }
    }
    power = (int16_t)(fraction & 2 ? power - exponent : power + exponent);
    power = power > MOST_POWER ? MOST_POWER : power < -MOST_POWER ? -MOST_POWER : power;
    key[0] = 0x80;
    if (digits) {
        key[0] = (uint8_t)(0x80 + POWER_ZERO + power);
        for (uint8_t i = 0; i < KEY_BYTES; i++) {
            key[i] ^= negative;
        }
    }
}

/* The sign of a value less an entry of the table, of which this many bytes come next. Behind its end an entry goes on
 * as its first bit does not. */
static int8_t compare(const uint8_t *value, uint8_t size, uint8_t entry) {
    uint8_t rest = 0;
    int8_t order = 0;

    for (uint8_t i = 0; i < entry || i < size; i++) {
        uint8_t theirs = i < entry ? next() : rest, ours = i < size ? value[i] : rest;
        if (i == 0) {
            rest = theirs & 0x80 ? 0 : 0xFF;
        }
        if (order == 0 && ours != theirs) {
            order = ours > theirs ? 1 : -1;
        }
    }
    return order;
}

/* The cell of an argument; its part of the table comes next. */
static uint8_t cell_of(const struct guard_value *value, uint8_t words) {
    const uint8_t *bytes = (const uint8_t *)value->text;
    uint8_t key[KEY_BYTES], size = value->length, cell = value->kind == GUARD_MISSING ? CELL_MISSING : CELL_OTHER;
    uint8_t fits = value->kind == (words ? GUARD_TEXT : GUARD_NUMBER);

    if (!fits) {
        size = 0;
    } else if (!words) {
        write_key(value, key);
        bytes = key;
        size = KEY_BYTES;
        cell = CELL_FIRST;
    }
    uint8_t count = next();
    for (uint8_t i = 0; i < count; i++) {
        uint8_t head = next();
        int8_t order = compare(bytes, size, words ? head : head & 0x1F);
        if (fits && words && order == 0) {
            cell = (uint8_t)(CELL_FIRST + i);
        }
        if (fits && !words && (order > 0 || (order == 0 && !(head & 0x80)))) {
            cell++;
        }
    }
    return cell;
}

/* The square of a number's distance from the place that comes next, in 1e-9, where it is below 2^31. */
static uint64_t apart(const struct guard_value *number) {
    uint8_t key[KEY_BYTES];
    uint32_t away = 0;

    write_key(number, key);
    uint8_t inverted = key[0] & 0x80 ? 0 : 0xFF;
    int8_t digits = (int8_t)(((key[0] ^ inverted) & 0x7F) - POWER_ZERO + 9);
    for (int8_t i = 0; i < digits; i++) {
        uint8_t pair = i < DIGITS ? key[1 + i / 2] ^ inverted : 0;
        away = 10 * away + (i & 1 ? pair & 0x0F : pair >> 4);
    }
    away = (inverted ? 0 - away : away) - next_long();
    away = away >> 31 ? 0 - away : away;
    return (uint64_t)away * away;
}

static uint8_t in_disc(const struct guard_value *values, uint8_t count) {
    uint8_t axes = next(), x = axes >> 4, y = axes & 0x0F;

    if (x >= count || y >= count || values[x].kind != GUARD_NUMBER || values[y].kind != GUARD_NUMBER) {
        return 0;
    }
    uint64_t squared = apart(&values[x]);
    squared += apart(&values[y]);
    uint32_t radius = next_long();
    return squared <= (uint64_t)radius * radius;
}

/* The number of the first symbol of a tool that a call fits; the tool's part of the table comes next. */
static uint8_t symbol_of(const struct guard_value *values, uint8_t count) {
    static const struct guard_value missing = {GUARD_MISSING, 0, NULL};
    uint8_t symbol = next(), arguments = next(), discs = next(), symbols = next(), cells[GUARD_MOST_ARGUMENTS];

    if (arguments > GUARD_MOST_ARGUMENTS) {
        return NO_SYMBOL;
    }
    for (uint8_t i = 0; i < arguments; i++) {
        uint8_t head = next(), place = head >> 1;
        cells[i] = cell_of(place < count ? &values[place] : &missing, head & 1);
    }
    uint16_t first_disc = at;
    at = (uint16_t)(at + discs * DISC_BYTES);
    for (; symbols; symbols--, symbol++) {
        uint8_t fits = 1;
        for (uint8_t i = 0; i < arguments; i++) {
            fits &= cells[i] >= next();
            fits &= cells[i] <= next();
        }
        uint8_t disc = discs ? next() : NO_DISC;
        if (fits && disc != NO_DISC) {
            uint16_t here = at;
            at = (uint16_t)(first_disc + disc * DISC_BYTES);
            fits = in_disc(values, count);
            at = here;
        }
        if (fits) {
            return symbol;
        }
    }
    return NO_SYMBOL;
}

/* Where the edge of a symbol leads, if there is one in the state whose edges come next. */
static void follow(uint8_t symbol) {
    for (uint8_t runs = next(); runs; runs--) {
        uint8_t beyond = (uint8_t)(symbol - next()), head = next(), target = next();
        if (beyond < (head & ~STEPS)) {
            call.kind = target == STAYS ? GUARD_LOOP : GUARD_PROGRESS;
            if (target != STAYS) {
                call.next = (uint8_t)(target + (head & STEPS ? beyond : 0));
            }
            return;
        }
    }
}

void guard_use(const uint8_t *bytes, uint16_t count) {
    table = bytes;
    length = count && bytes[0] == VERSION ? count : 0;
}

void guard_begin(void) { memset(&guard_run, 0, sizeof guard_run); }

enum guard_kind guard_judge(uint8_t tool, const struct guard_value *values, uint8_t count) {
    at = 2;
    uint8_t states = next(), tools = next();
    uint16_t flags = (uint16_t)(4 + (states + 7) / 8), rows = (uint16_t)(flags + tools);
    uint16_t body = (uint16_t)(rows + 2 * states);

    call.next = guard_run.state;
    call.flags = 0;
    if (tool < tools) {
        for (at = flags;; tool--) {
            call.flags = next();
            if (tool == 0) {
                break;
            }
            if (call.flags & HAS_SYMBOLS) {
                uint16_t here = at;
                at = body;
                uint16_t size = next_word();
                body = (uint16_t)(at + size);
                at = here;
            }
        }
    }
    call.kind = call.flags & READS ? GUARD_LOOP : GUARD_HARMFUL;
    if (call.flags & HAS_SYMBOLS) {
        at = (uint16_t)(body + 2);
        uint8_t symbol = symbol_of(values, count);
        if (symbol != NO_SYMBOL) {
            at = (uint16_t)(rows + 2 * guard_run.state);
            at = next_word();
            follow(symbol);
        }
    }
    return (enum guard_kind)call.kind;
}

uint8_t guard_forbids(void) {
    at = 1;
    return call.kind == GUARD_HARMFUL && !(call.flags & PASSES) && (length == 0 || next() & BLOCKS);
}

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

uint8_t guard_accepted(void) {
    at = (uint16_t)(4 + guard_run.state / 8);
    return next() >> guard_run.state % 8 & 1;
}
