/* Calls: each id once, one at a time, and a result for every one. */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

#include "json.h"

#define RESULTS_KEPT 32

/* A message with the op `call`; `ours`: it is of this wire's version. Whether it is a valid one. */
uint8_t calls_take(const struct json *message, uint8_t ours);

/* A message with the op `init`: this is no simulator. Whether it has an id. */
uint8_t calls_refuse_init(const struct json *message);

/* End a running call, because of a stop. */
void calls_abort(void);

/* Move a running call on, after so many steps of STEP_MS. */
void calls_step(uint8_t steps);

/* Whether a call runs. */
uint8_t calls_running(void);

/* Whether a running call computes, and wants its next turn at once. */
uint8_t calls_compute(void);

#endif
