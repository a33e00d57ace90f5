/* The guard's core on a chip, without a rover: makes the calls of `batch.h`, and tells over UART0 (AVR) or by
 * semihosting (ARM) what it judged. Per call a letter and the cycles of the judgement, at the end of each sequence
 * what was counted. */
#include <stdint.h>
#include <string.h>

#include "batch.h"
#include "guard.h"

#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>

static uint8_t table[TABLE_BYTES];

static void put(char byte) {
    while (!(UCSR0A & _BV(UDRE0))) {
    }
    UDR0 = byte;
}

static void begin(void) {
    UBRR0 = 0;
    UCSR0B = _BV(TXEN0);
    TCCR1B = _BV(CS10);
    memcpy_P(table, batch_table, sizeof table);
}

static void start_clock(void) { TCNT1 = 0; }
static uint16_t cycles(void) { return TCNT1; }

static void end(void) {
    cli();
    sleep_enable();
    sleep_cpu();
}
#else
#define pgm_read_byte(at) (*(at))
#define table batch_table

void *memset(void *to, int byte, size_t count) {
    for (uint8_t *at = to; count--;) {
        *at++ = (uint8_t)byte;
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t count) {
    for (uint8_t *at = to; count--;) {
        *at++ = *(const uint8_t *)from;
        from = (const uint8_t *)from + 1;
    }
    return to;
}

static uint32_t semihosting(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void put(char byte) { semihosting(0x03, &byte); }
static void begin(void) {}
static void start_clock(void) {}
static uint16_t cycles(void) { return 0; }
static void end(void) { semihosting(0x18, (const void *)0x20026); }

int main(void);
extern uint32_t stack_end;
__attribute__((section(".vectors"), used)) static const void *const vectors[] = {&stack_end, (const void *)main};
#endif

static void put_hex(uint8_t byte) {
    put("0123456789ABCDEF"[byte >> 4]);
    put("0123456789ABCDEF"[byte & 15]);
}

static uint16_t place;

static uint8_t take(void) { return pgm_read_byte(&batch_calls[place++]); }

int main(void) {
    uint8_t tool, bytes[8][64];

    begin();
    guard_use(table);
    guard_begin();
    while ((tool = take()) != END_OF_BATCH) {
        struct guard_value values[GUARD_MOST_ARGUMENTS] = {{0}};
        if (tool == END_OF_SEQUENCE) {
            put_hex(guard_run.state);
            put_hex(guard_accepted());
            for (uint8_t i = 0; i < GUARD_COUNTS; i++) {
                put_hex((uint8_t)guard_run.counts[i]);
            }
            for (uint8_t i = 0; i < 4; i++) {
                put_hex(guard_run.harm[i]);
            }
            put('\n');
            guard_begin();
            continue;
        }
        if (tool == TOLD) {
            put("PLH"[guard_told(take())]);
            put('.');
            put_hex(0);
            put_hex(0);
            continue;
        }
        uint8_t count = take();
        for (uint8_t i = 0; i < count; i++) {
            values[i].kind = take();
            values[i].text = (const char *)bytes[i];
            uint8_t length = take();
            for (uint8_t j = 0; j < length; j++) {
                bytes[i][j] = take();
            }
            bytes[i][length] = 0;
        }
        start_clock();
        enum guard_kind kind = guard_judge(tool, values);
        uint8_t forbids = guard_forbids();
        uint16_t took = cycles();
        guard_ended((enum guard_end)take());
        put("PLH"[kind]);
        put(forbids ? '!' : '.');
        put_hex((uint8_t)(took >> 8));
        put_hex((uint8_t)took);
    }
    end();
    return 0;
}
