/* A relay that cuts a machine's supply when its heartbeat is missing: for an ATmega328P (Arduino Uno or Nano).
 *
 * The host sends the byte 'H' at least once a second over the UART (115200 baud, 8N1). Two seconds after the last
 * one the relay opens, and stays open until a person presses the button while the heartbeat is there again: a
 * machine must not start by itself when a cable is put back. Each 'H' is answered with '1' (closed) or '0' (open).
 *
 * PD4  relay, high closes it; a pull-down of 10 kOhm keeps it open while the chip is in reset
 * PD2  button to ground, with the chip's own pull-up
 * PB5  lamp (the board's own LED): on while the relay is closed, blinking while the heartbeat is there and it is open
 *
 * The timer's interrupt opens the relay whatever the main loop does. Only the main loop hears a heartbeat, so a hung
 * main loop is none, and the hardware watchdog resets the chip after 250 ms: the relay is open after each reset.
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>
#include <stdint.h>

#ifndef LIMIT_MS
#define LIMIT_MS 2000
#endif
#define TICK_MS 10
#define LIMIT_TICKS (LIMIT_MS / TICK_MS)
#define DEBOUNCE_TICKS 5
#define BLINK_TICKS 25

#define RELAY _BV(PD4)
#define BUTTON _BV(PD2)
#define LAMP _BV(PB5)

/* Ticks until the relay opens; 0: there is no heartbeat. One byte, so that it is read and written at once. */
static volatile uint8_t left;
static volatile uint8_t pressed;

_Static_assert(LIMIT_TICKS > 0 && LIMIT_TICKS < 256, "the limit fits a byte of ticks");

ISR(TIMER1_COMPA_vect) {
    static uint8_t down, blink;

    if (left == 0 || --left == 0) {
        PORTD &= (uint8_t)~RELAY;
    }
    if (PIND & BUTTON) {
        down = 0;
    } else if (down < DEBOUNCE_TICKS && ++down == DEBOUNCE_TICKS) {
        /* The press counts, not the held button: a button that is stuck never closes the relay twice. */
        pressed = 1;
    }
    if (++blink == BLINK_TICKS) {
        blink = 0;
        if (!(PORTD & RELAY)) {
            PORTB = left ? PORTB ^ LAMP : PORTB & (uint8_t)~LAMP;
        }
    }
}

static void start(void) {
    wdt_enable(WDTO_250MS);
    PORTD = BUTTON;
    DDRD = RELAY;
    DDRB = LAMP;
    UCSR0A = _BV(U2X0);
    UBRR0 = F_CPU / 8 / 115200;
    UCSR0B = _BV(RXEN0) | _BV(TXEN0);
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    /* Clear on compare, clock / 64: a tick of 10 ms. */
    OCR1A = F_CPU / 64 / (1000 / TICK_MS) - 1;
    TCCR1B = _BV(WGM12) | _BV(CS11) | _BV(CS10);
    TIMSK1 = _BV(OCIE1A);
    sei();
}

static void close_relay(void) {
    cli();
    /* Only while the heartbeat is there: it may just have ended. */
    if (left) {
        PORTD |= RELAY;
        PORTB |= LAMP;
    }
    sei();
}

/* A byte of noise on an open line is no heartbeat: frame errors are dropped. */
static void hear(void) {
    uint8_t status = UCSR0A, byte = UDR0;

    if (byte == 'H' && !(status & (_BV(FE0) | _BV(DOR0)))) {
        left = LIMIT_TICKS;
        while (!(UCSR0A & _BV(UDRE0))) {
        }
        UDR0 = PORTD & RELAY ? '1' : '0';
    }
}

int main(void) {
    start();
    for (;;) {
        wdt_reset();
        if (UCSR0A & _BV(RXC0)) {
            hear();
        }
        if (pressed) {
            pressed = 0;
            close_relay();
        }
    }
}
