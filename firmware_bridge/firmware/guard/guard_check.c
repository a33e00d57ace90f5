#include "guard.h"

enum { VERSION = 2, STAYS = 0xFF, STEPS = 0x80, EACH = 0x01, TOOL_SHIFT = 3, DISC_BYTES = 13, MOST_KEY = 10 };

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

static void go_to(uint16_t directory, uint8_t place) {
    at = directory;
    skip((uint16_t)(2 * place));
    uint8_t low = next();
    uint16_t there = (uint16_t)(low | next() << 8);
    sound &= there <= length;
    at = sound ? there : 0;
}

/* The part of a tool that comes next. */
static void check_tool(void) {
    next();
    uint8_t arguments = next(), discs = next(), entries = next(), numbers = 0;

    sound &= arguments <= GUARD_MOST_ARGUMENTS;
    uint16_t disc = at;
    skip((uint16_t)(discs * DISC_BYTES));
    for (uint8_t i = 0; sound && i < arguments; i++) {
        uint16_t begin = at, size = next();
        size = (uint16_t)(size | next() << 8);
        uint8_t head = next(), many = next();
        if (head & 1) {
            for (uint8_t one = 0; sound && one < many; one++) {
                skip(next());
            }
        } else {
            uint8_t bytes = next();
            sound &= bytes <= MOST_KEY && (bytes || !many);
            numbers |= (uint8_t)(1 << i);
            skip((uint16_t)(many * bytes + (many + 7) / 8));
        }
        sound &= at - begin == size;
    }
    for (uint8_t i = 0; sound && i < discs; i++, disc = (uint16_t)(disc + DISC_BYTES)) {
        sound &= numbers >> (table[disc] >> 4) & numbers >> (table[disc] & 0x0F) & 1;
    }
    for (; sound && entries; entries--) {
        uint8_t head = next();
        sound &= head >> 1 <= discs && (arguments || !(head & EACH));
        skip((uint16_t)(2 * arguments));
    }
}

static void check_row(uint8_t states) {
    for (uint8_t runs = next(); sound && runs; runs--) {
        next();
        uint8_t head = next(), target = next(), most = head & STEPS ? head & 0x7F : 1;
        sound &= target == STAYS ? head < STEPS : target + (most ? most - 1 : 0) < states;
    }
}

uint8_t guard_check(const uint8_t *bytes, uint16_t count) {
    uint8_t tools = 0, parts = 0, states = 0;

    table = bytes;
    length = count;
    at = 0;
    sound = 1;
    sound &= next() == VERSION;
    next();
    states = next();
    tools = next();
    sound &= states > 0;
    skip((uint16_t)((states + 7) / 8));
    while (sound && tools--) {
        uint8_t part = next() >> TOOL_SHIFT;
        parts = part > parts ? part : parts;
    }
    uint16_t rows = at;
    for (uint8_t i = 0; sound && i < states; i++) {
        go_to(rows, i);
        check_row(states);
    }
    for (uint8_t i = 0; sound && i < parts; i++) {
        go_to((uint16_t)(rows + 2 * states), i);
        check_tool();
    }
    return sound;
}
