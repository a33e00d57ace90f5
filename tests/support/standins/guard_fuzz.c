/* Random tables and calls for the guard's core, under the sanitisers: `guard_fuzz SEED TABLES < TABLE`. Each table is
 * a valid one with some bytes changed, in memory of just its size, or all random bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

static uint64_t chance;

static uint32_t draw(uint32_t below) {
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance >> 33) % below;
}

static struct guard_value value(void) {
    static const char numbers[] = "0123456789.-eE+", letters[] = "plant_AB\xC3\xA9";
    struct guard_value drawn = {(uint8_t)draw(4), NULL};
    uint32_t length = draw(33);
    char *text = calloc(length + 1, 1);

    for (uint32_t i = 0; i < length; i++) {
        text[i] = drawn.kind == GUARD_NUMBER ? numbers[draw(15)] : letters[draw(10)];
    }
    drawn.text = text;
    return drawn;
}

int main(int count, char **arguments) {
    static uint8_t valid[GUARD_MOST_BYTES];
    size_t size = fread(valid, 1, sizeof valid, stdin);
    long judged = 0, tables = count == 3 ? atol(arguments[2]) : 0;

    chance = (uint64_t)atol(arguments[1]);
    for (long number = 0; number < tables; number++) {
        uint16_t length = (uint16_t)(draw(4) ? (draw(2) ? size : draw((uint32_t)size + 1)) : draw(40));
        uint8_t *table = malloc(length ? length : 1);
        memcpy(table, valid, length);
        for (uint32_t changes = draw(8) ? draw(9) : length; changes && length; changes--) {
            table[draw(length)] = (uint8_t)draw(256);
        }
        if (length) {
            table[0] = 3;
        }
        uint8_t tools = length > 3 ? table[3] : 0, sound = guard_check(table, length, tools);
        judged += sound;
        if (sound) {
            guard_use(table);
            guard_begin();
        }
        for (int call = 0; sound && tools && call < 40; call++) {
            struct guard_value values[GUARD_MOST_ARGUMENTS] = {value(), value(), value()};
            if (draw(8) == 0) {
                guard_told((uint8_t)draw(GUARD_NO_SYMBOL + 1));
            }
            guard_judge((uint8_t)draw(tools), values);
            guard_forbids();
            guard_ended((enum guard_end)draw(5));
            guard_accepted();
            for (int i = 0; i < 3; i++) {
                free((void *)values[i].text);
            }
        }
        free(table);
    }
    printf("%ld tables, %ld sound\n", tables, judged);
    return 0;
}
