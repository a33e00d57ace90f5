#include "uart.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <util/atomic.h>

#include "board.h"

#define RX_SIZE 1024
#define TX_SIZE 256

static volatile uint8_t rx[RX_SIZE];
static volatile uint16_t rx_head, rx_tail;
static volatile uint8_t stops_in_rx;
static volatile uint8_t tx[TX_SIZE];
static volatile uint8_t tx_head, tx_tail;

void uart_init(void) {
    UBRR0 = (F_CPU / 4 / BAUD_RATE - 1) / 2;
    UCSR0A = _BV(U2X0);
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

ISR(USART0_RX_vect) {
    uint8_t byte = UDR0;
    uint16_t next = (uint16_t)(rx_head + 1) % RX_SIZE;

    if (byte == STOP_BYTE) {
        board_safe();
    }
    if (next != rx_tail) {
        rx[rx_head] = byte;
        rx_head = next;
        stops_in_rx += byte == STOP_BYTE;
    } else {
        /* The line is cut: its last byte gives way, and its CRC will tell. */
        uint16_t last = (uint16_t)(rx_head + RX_SIZE - 1) % RX_SIZE;
        if (rx[last] != STOP_BYTE) {
            rx[last] = byte == STOP_BYTE || byte == '\n' ? byte : 0;
            stops_in_rx += byte == STOP_BYTE;
        }
    }
}

ISR(USART0_UDRE_vect) {
    if (tx_head == tx_tail) {
        UCSR0B &= (uint8_t)~_BV(UDRIE0);
    } else {
        UDR0 = tx[tx_tail++];
    }
}

uint8_t uart_waiting(void) {
    uint8_t waiting;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) { waiting = rx_head != rx_tail; }
    return waiting;
}

int16_t uart_take(void) {
    int16_t byte = -1;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        if (rx_head != rx_tail) {
            byte = rx[rx_tail];
            rx_tail = (uint16_t)(rx_tail + 1) % RX_SIZE;
            stops_in_rx -= byte == STOP_BYTE;
        }
    }
    return byte;
}

uint8_t uart_stop_ahead(void) { return stops_in_rx != 0; }

void uart_put(char byte) {
    for (;;) {
        cli();
        if ((uint8_t)(tx_head + 1) != tx_tail) {
            break;
        }
        sleep_enable();
        sei();
        sleep_cpu();
        sleep_disable();
    }
    tx[tx_head++] = (uint8_t)byte;
    UCSR0B |= _BV(UDRIE0);
    sei();
}
