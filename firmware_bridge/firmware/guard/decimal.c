#include "decimal.h"

#include <string.h>

#include "machine.h"

enum { MOST_POWER = 60, MOST_EXPONENT = 90, NANO = 9 };
enum { POINT = (uint8_t)('.' - '0'), SMALL_E = 'e' - '0', LARGE_E = 'E' - '0' };
/* What a byte has besides its digits: two, one and the end, or only the end. */
enum {
    TWO_DIGITS = DECIMAL_DIGIT << 4 | DECIMAL_DIGIT,
    ONE_DIGIT = DECIMAL_DIGIT << 4 | DECIMAL_END,
    NO_DIGITS = DECIMAL_END << 4 | DECIMAL_END
};

/* More than 9 where the next byte is no digit. */
#define NEXT_DIGIT(text) ((uint8_t)(TAKE_BY_X(text) - '0'))
#define PLACE(pointer) ((uint8_t)(uintptr_t)(pointer))

static __attribute__((noinline)) uint8_t read_exponent(const char *given) {
    register const char *text IN_X = given;
    uint8_t minus = *text == '-', exponent = 0, digit;

    if (minus || *text == '+') {
        text++;
    }
    while ((digit = NEXT_DIGIT(text)) <= 9) {
        exponent = exponent >= MOST_EXPONENT / 10 ? MOST_EXPONENT : (uint8_t)(10 * exponent + digit);
    }
    return minus ? (uint8_t)-exponent : exponent;
}

void decimal_read(uint8_t *number, const char *given) {
    register const char *text IN_X = given;
    register uint8_t *at IN_Z = number + 1;
    uint8_t *const end = number + DECIMAL_BYTES;
    uint8_t negative = 0, has_point = 0, high, low;
    /* Where the point is, less where the first digit is. */
    uint8_t power = 0;

    if (*text == '-') {
        negative = 0xFF;
        text++;
    }
    while ((high = NEXT_DIGIT(text)) == 0) {
    }
    if (high == POINT) {
        power = (uint8_t)(PLACE(text) + 1);
        has_point = 1;
        while ((high = NEXT_DIGIT(text)) == 0) {
        }
    }
    power = (uint8_t)(power - PLACE(text));
    if (high > 9) {
        memset(number, NO_DIGITS, DECIMAL_BYTES);
        *number = DECIMAL_ZERO;
        return;
    }
    do {
        high = SWAPPED(high);
        low = NEXT_DIGIT(text);
        if (low > 9) {
            if (low == POINT) {
                power = (uint8_t)(power + PLACE(text));
                has_point = 1;
                low = NEXT_DIGIT(text);
            }
            if (low > 9) {
                PUT_BY_Z(at, (high + ONE_DIGIT) ^ negative);
                high = low;
                break;
            }
        }
        PUT_BY_Z(at, ((high | low) + TWO_DIGITS) ^ negative);
        do {
            high = NEXT_DIGIT(text);
            if (high > 9) {
                if (high != POINT) {
                    break;
                }
                power = (uint8_t)(power + PLACE(text));
                has_point = 1;
                high = NEXT_DIGIT(text);
            }
        } while (at == end && high <= 9);
    } while (high <= 9);
    if (!has_point) {
        power = (uint8_t)(power + PLACE(text));
    }
    /* Zeros at its end do not count. */
    for (;;) {
        uint8_t pair = *--at ^ negative;
        if ((pair & 0x0F) <= DECIMAL_DIGIT) {
            pair = (uint8_t)((pair & 0xF0) | DECIMAL_END);
        }
        if (pair != ONE_DIGIT) {
            PUT_BY_Z(at, pair ^ negative);
            break;
        }
    }
    for (uint8_t none = NO_DIGITS ^ negative; at != end;) {
        PUT_BY_Z(at, none);
    }
    if (high == SMALL_E || high == LARGE_E) {
        power = (uint8_t)(power + read_exponent(text));
        if ((int8_t)power > MOST_POWER) {
            power = MOST_POWER;
        }
        if ((int8_t)power < -MOST_POWER) {
            power = (uint8_t)-MOST_POWER;
        }
    }
    *number = (uint8_t)(DECIMAL_POWER + power) ^ negative;
}

/* The value of two digits. */
static inline uint8_t value_of(uint8_t pair) {
    if (pair < ONE_DIGIT) {
        return 0;
    }
    pair = (uint8_t)(pair - TWO_DIGITS);
    if ((pair & 0x0F) > 9) {
        pair = (uint8_t)(pair + TWO_DIGITS - ONE_DIGIT);
    }
    return (uint8_t)(pair - 6 * (pair >> 4));
}

uint32_t decimal_nano(const uint8_t *number) {
    uint8_t negative = *number & DECIMAL_ZERO ? 0 : 0xFF;
    int8_t digits = (int8_t)((*number ^ negative) - DECIMAL_POWER + NANO);
    uint32_t nano = 0;

    if (digits > DECIMAL_DIGITS) {
        digits = DECIMAL_DIGITS;
    }
    for (; digits > 0; digits = (int8_t)(digits - 2)) {
        uint8_t value = value_of(*++number ^ negative), factor = 100;
        if (digits == 1) {
            /* A tenth: this small, the product is exact. */
            value = (uint8_t)(value * 205U >> 11);
            factor = 10;
        }
        MULTIPLY_AND_ADD(nano, factor, value);
    }
    return negative ? 0 - nano : nano;
}

uint8_t decimal_in_disc(const uint8_t *disc, const uint32_t *place) {
    uint32_t left_low, left_high;

    memcpy(&left_low, disc + 8, sizeof left_low);
    memcpy(&left_high, disc + 12, sizeof left_high);
    for (uint8_t axis = 2; axis; axis--) {
        uint32_t centre, away = *place++;

        memcpy(&centre, disc, sizeof centre);
        disc += sizeof centre;
        away -= centre;
        if (away >> 31) {
            away = 0 - away;
        }
        SUBTRACT_SQUARE(left_high, left_low, away);
    }
    return (uint8_t)(left_high >> 31);
}
