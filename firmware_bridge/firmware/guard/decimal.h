/* Numbers as JSON tells them: decimals, compared and measured without floating point. */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdint.h>

/* Digits of a number that count, an even number; the shortest text of a double has up to 17. */
#define DECIMAL_DIGITS 18
/* The longest text that is read. */
#define DECIMAL_MOST_TEXT 32
#define DECIMAL_BYTES (1 + DECIMAL_DIGITS / 2)

/* A number, as bytes of which none is zero and that compare as numbers do. The first is the power of ten of 0.DIGITS,
 * from 0xC0 on, or 0x80 for zero. Two digits a byte follow, from DECIMAL_DIGIT on; behind the last one that is not zero
 * there is DECIMAL_END. All bits are inverted where it is negative. */
typedef uint8_t decimal[DECIMAL_BYTES];

enum { DECIMAL_ZERO = 0x80, DECIMAL_POWER = 0xC0, DECIMAL_END = 1, DECIMAL_DIGIT = 3 };

/* Reads a number of up to DECIMAL_MOST_TEXT bytes; behind it is a byte that no number has. */
void decimal_read(uint8_t *number, const char *text);

/* A number in 1e-9, cut off towards zero, modulo 2^32. */
uint32_t decimal_nano(const uint8_t *number);

/* Whether a place, in 1e-9, is in a disc: its centre, and 2^63 plus the square of its radius. */
uint8_t decimal_in_disc(const uint8_t *disc, const uint32_t *place);

#endif
