/* Frames in and out: JSON, `*`, CRC-32, newline; and the ops that are no calls. */
#ifndef WIRE_H
#define WIRE_H

#include <avr/pgmspace.h>
#include <stdint.h>

#define MAX_FRAME 512

/* Take some of what has come in, and answer one frame at most: whatever a host sends, the loop comes round. */
void wire_poll(void);

/* The news of a stop. */
void wire_watch(void);

/* Whether a host has spoken since the start. */
uint8_t wire_attached(void);

/* CRC-32 (IEEE 802.3) of one byte more; it begins with all ones, and ends inverted. */
uint32_t wire_crc(uint32_t sum, uint8_t byte);

/* State, device and limits. */
void wire_status(void);

/* A frame is begun, filled and ended; no two at a time. */
void wire_begin(PGM_P op);
void wire_flash(PGM_P text);
void wire_text(const char *text, uint8_t length);
void wire_number(float value, uint8_t decimals);
void wire_seconds(uint32_t milliseconds);
void wire_uint32(uint32_t value);
void wire_end(void);

#endif
