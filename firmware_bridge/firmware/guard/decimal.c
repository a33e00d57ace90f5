#include "decimal.h"

enum { MOST_POWER = 60, MOST_EXPONENT = 90, NANO = 9 };

void decimal_read(uint8_t *number, const char *text, uint8_t length) {
    uint8_t digits[1 + DECIMAL_MOST_TEXT], *at = digits, *last = digits;
    uint8_t whole = 1, exponent = 0, minus = 0, negative = *text == '-' ? 0xFF : 0, c;
    int8_t power = 0;

    if (length > DECIMAL_MOST_TEXT) {
        length = DECIMAL_MOST_TEXT;
    }
    for (; length; length--) {
        c = (uint8_t)(*text++ - '0');
        if (c <= 9) {
            if (c) {
                *++at = (uint8_t)(c + DECIMAL_DIGIT);
                last = at;
                power = (int8_t)(power + whole);
            } else if (at != digits) {
                *++at = DECIMAL_DIGIT;
                power = (int8_t)(power + whole);
            } else if (!whole) {
                power--;
            }
        } else if (c == (uint8_t)('.' - '0')) {
            whole = 0;
        } else if (c != (uint8_t)('-' - '0')) {
            break;
        }
    }
    /* The exponent, if there is one. */
    for (; length; length--) {
        c = (uint8_t)(*text++ - '0');
        if (c <= 9) {
            exponent = exponent >= MOST_EXPONENT / 10 ? MOST_EXPONENT : (uint8_t)(10 * exponent + c);
        } else if (c == (uint8_t)('-' - '0')) {
            minus = 1;
        }
    }
    power = (int8_t)(minus ? power - exponent : power + exponent);
    power = power > MOST_POWER ? MOST_POWER : power < -MOST_POWER ? -MOST_POWER : power;
    if (last == digits) {
        power = DECIMAL_ZERO - DECIMAL_POWER;
        negative = 0;
    }
    *number = (uint8_t)(DECIMAL_POWER + power) ^ negative;
    while (last < digits + DECIMAL_DIGITS) {
        *++last = DECIMAL_END;
    }
    at = digits;
    for (uint8_t left = DECIMAL_BYTES - 1; left; left--) {
        uint8_t high = *++at;
        *++number = (uint8_t)(high << 4 | *++at) ^ negative;
    }
}

static uint8_t digit_of(uint8_t code) { return code < DECIMAL_DIGIT ? 0 : (uint8_t)(code - DECIMAL_DIGIT); }

uint32_t decimal_nano(const uint8_t *number) {
    uint8_t negative = *number & DECIMAL_ZERO ? 0 : 0xFF;
    int8_t digits = (int8_t)((*number ^ negative) - DECIMAL_POWER + NANO);
    uint32_t value = 0;

    if (digits > DECIMAL_DIGITS) {
        digits = DECIMAL_DIGITS;
    }
    for (; digits > 0; digits = (int8_t)(digits - 2)) {
        uint8_t pair = *++number ^ negative, tens = digit_of(pair >> 4);

        if (digits == 1) {
            value = 10 * value + tens;
        } else {
            value = 100 * value + (uint8_t)(10 * tens + digit_of(pair & 0x0F));
        }
    }
    return negative ? 0 - value : value;
}
