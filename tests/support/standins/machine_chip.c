/* What `machine.h` says in a small chip's own words against the same in C, on an emulated chip: tells over UART0 how
 * many of its tries differ, as four hexadecimal digits. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

#include "machine.h"

static uint32_t drawn = 28;

/* A number with some bytes that are 0 or 255: that is where carries go far. */
static uint32_t draw(void) {
    uint32_t number = 0;

    for (uint8_t i = 0; i < 4; i++) {
        drawn = drawn * 1664525 + 1013904223;
        uint8_t kind = (drawn >> 28) & 3;
        number = number << 8 | (kind == 0 ? 0 : kind == 1 ? 0xFF : (uint8_t)(drawn >> 16));
    }
    return number;
}

static uint16_t differing(uint16_t tries) {
    uint16_t count = 0;

    while (tries--) {
        uint32_t number = draw() >> 1, low = draw(), high = draw(), value = draw();
        uint8_t factor = (uint8_t)draw(), more = (uint8_t)draw();
        uint64_t left = ((uint64_t)high << 32 | low) - (uint64_t)number * number;
        uint32_t product = value * factor + more;

        MULTIPLY_AND_ADD(value, factor, more);
        SUBTRACT_SQUARE(high, low, number);
        count += value != product || left != ((uint64_t)high << 32 | low);
    }
    return count;
}

int main(void) {
    /* The largest number, beside those of 31 bits. */
    uint32_t number = 0x80000000, low = 0, high = 0;
    SUBTRACT_SQUARE(high, low, number);
    uint16_t count = differing(5000) + (high != 0xC0000000 || low != 0);

    UBRR0 = 0;
    UCSR0B = _BV(TXEN0);
    for (int8_t shift = 12; shift >= -4; shift -= 4) {
        while (!(UCSR0A & _BV(UDRE0))) {
        }
        UDR0 = shift < 0 ? '\n' : "0123456789ABCDEF"[count >> shift & 15];
    }
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
