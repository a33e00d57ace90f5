/* The guard on this board: its table comes over the wire or is linked in, and is kept in the EEPROM with the counts.
 *
 * `make GUARD_KEY=HEX` links a key in (32 to 64 hex digits): then a table is taken only with its code. `make
 * GUARD_TABLE=FILE.h` links a table in, which holds until another one has come. */
#ifndef CHIP_GUARD_H
#define CHIP_GUARD_H

#include <stdint.h>

#include "guard.h"
#include "json.h"

/* After a start: what the EEPROM holds. */
void chip_guard_init(void);

/* A message with the op `guard`; `busy`: a call runs. It is answered by the status. */
void chip_guard_take(const struct json *message, uint8_t busy);

/* A call begins, with its arguments as `guard_judge` takes them: whether it may run. `tool` is the device's place of it. */
uint8_t chip_guard_allows(uint8_t tool, const struct guard_value *values);

/* The call that began, or one that could not (`GUARD_INVALID`), has ended: what it was, as a place in the names of
 * `chip_guard_name`; 0 for nothing. */
uint8_t chip_guard_ended(enum guard_end end);
const char *chip_guard_name(uint8_t verdict); /* in flash */

/* Write on what the EEPROM is to hold: a byte at most, as long as it takes 3.3 ms. */
void chip_guard_step(void);

/* The key `guard` of the status. */
void chip_guard_status(void);

#endif
