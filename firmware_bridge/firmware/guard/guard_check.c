#include "decimal.h"
#include "guard.h"

enum { VERSION = 3, HEAD = 6, SPAN = 0x7F, EACH = 0x80, STAYS = 0xFF, PART_SHIFT = 2, FIRST_CELL = 2, DISC_BYTES = 16 };

static const uint8_t *table;
static uint16_t length, at;
static uint8_t sound;

static void skip(uint16_t count) {
    sound &= count <= length - at;
    at = (uint16_t)(at + (sound ? count : 0));
}

static uint8_t next(void) {
    uint16_t here = at;
    skip(1);
    return sound ? table[here] : 0;
}

static void go_to(uint16_t block) {
    at = (uint16_t)(HEAD + 2 * block);
    uint8_t low = next();
    uint16_t there = (uint16_t)(low | next() << 8);
    sound &= there <= length;
    at = sound ? there : 0;
}

/* The part of a tool that comes next. */
static void check_tool(void) {
    uint8_t arguments = next(), size = next(), numbers = 0;
    uint8_t has_disc = size > DISC_BYTES + 1, plain = (uint8_t)(1 + 2 * arguments);

    sound &= arguments <= GUARD_MOST_ARGUMENTS && size == plain + (has_disc ? DISC_BYTES : 0);
    for (uint8_t i = 0; sound && i < arguments; i++) {
        uint8_t place = next(), kind = next(), count = next(), bytes = next();
        sound &= place < GUARD_MOST_ARGUMENTS && count >= FIRST_CELL && count <= SPAN;
        if (kind == GUARD_NUMBER) {
            sound &= bytes <= DECIMAL_BYTES;
            numbers |= (uint8_t)(1 << i);
        } else {
            sound &= kind == GUARD_TEXT;
        }
        /* A cut without bytes would end no comparison. */
        sound &= bytes > 0 || count == FIRST_CELL;
        skip((uint16_t)((uint8_t)(count - FIRST_CELL) * bytes));
    }
    sound &= !has_disc || (numbers & 3) == 3;
    skip((uint16_t)(next() * size));
}

static void check_row(uint8_t states) {
    for (uint8_t count = next(); sound && count; count--) {
        uint8_t target = next();
        next();
        uint8_t more = next();
        more = more & EACH ? more & SPAN : 0;
        sound &= (target == STAYS && !more) || target + more < states;
    }
}

uint8_t guard_check(const uint8_t *bytes, uint16_t count, uint8_t tools) {
    uint8_t rows, start;

    table = bytes;
    length = count;
    at = 0;
    sound = 1;
    sound &= next() == VERSION;
    skip(2);
    sound &= next() == tools;
    rows = next();
    start = next();
    /* The blocks of the tools, of their parts and of the states: the first one is where the directory ends. */
    go_to(0);
    uint16_t states = (uint16_t)((at - HEAD) / 2 - rows);
    sound &= rows > 0 && at >= HEAD && start < states && states + rows <= 256;
    for (; sound && tools; tools--) {
        uint8_t part = next() >> PART_SHIFT;
        sound &= part > 0 && part < rows;
    }
    for (uint8_t i = 1; sound && i < rows; i++) {
        go_to(i);
        check_tool();
    }
    for (uint8_t i = 0; sound && i < states; i++) {
        go_to((uint16_t)(rows + i));
        check_row((uint8_t)states);
    }
    return sound;
}
