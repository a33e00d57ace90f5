/* UART0 with rings. Ctrl-X acts in the receive interrupt. */
#ifndef UART_H
#define UART_H

#include <stdint.h>

#define BAUD_RATE 115200UL
#define STOP_BYTE 0x18

void uart_init(void);

/* Whether bytes wait to be taken. */
uint8_t uart_waiting(void);

/* The next byte, or -1. A STOP_BYTE that is taken has acted long ago: it only marks its place in the line. */
int16_t uart_take(void);

/* Whether a STOP_BYTE waits behind the bytes that were taken so far: those were sent before a stop. */
uint8_t uart_stop_ahead(void);

/* Queue a byte; sleeps while the ring is full. */
void uart_put(char byte);

#endif
