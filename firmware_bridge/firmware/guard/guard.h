/* The guard: judges calls by a task's automaton, before anything moves, and counts them as CORE does.
 *
 * It knows no board and allocates nothing. The table is what firmware_bridge/firmware/guard_table.py writes. */
#ifndef GUARD_H
#define GUARD_H

#include <stdint.h>

#define GUARD_MOST_BYTES 1056
#define GUARD_MOST_ARGUMENTS 8
/* Bits of the harm mask: that many calls of the condensed path are weighed exactly. */
#define GUARD_MASK_BITS 256
#define GUARD_NO_SYMBOL 254

enum guard_value_kind { GUARD_MISSING, GUARD_NUMBER, GUARD_TEXT, GUARD_OTHER };

/* An argument: a number as its JSON, of up to DECIMAL_MOST_TEXT bytes, and behind it a byte that no number has; a text
 * as its plain bytes with a zero behind them. */
struct guard_value {
    uint8_t kind;
    const char *text;
};

enum guard_kind { GUARD_PROGRESS, GUARD_LOOP, GUARD_HARMFUL };

/* How a call ended. `PREVENTED`: the guard rejected it; `REFUSED`: something else on the device did. */
enum guard_end { GUARD_OK, GUARD_REFUSED, GUARD_PREVENTED, GUARD_INVALID, GUARD_FAULT };

enum guard_count {
    GUARD_CALLS, /* all but faults */
    GUARD_PROGRESSES,
    GUARD_LOOPS,
    GUARD_OFF_PATH,
    GUARD_REFUSALS,
    GUARD_PREVENTIONS,
    GUARD_INVALIDS,
    GUARD_FAULTS,
    GUARD_CONDENSED, /* progress and harmful calls */
    GUARD_COUNTS
};

/* The episode so far. Bit k of `harm`, from the top of byte 0, tells whether call k of the condensed path was harmful:
 * with N calls and H the first N bits as a number, prefix criticality (beta 0.5) is 1 - H/(2^N - 1), and the rate of
 * harmful calls is the share of ones. */
struct guard_run {
    uint8_t state;
    uint16_t counts[GUARD_COUNTS];
    uint8_t harm[GUARD_MASK_BITS / 8];
};

extern struct guard_run guard_run;

/* Whether a table is sound for a device of so many tools: whatever the call and its state, no byte outside of it is
 * read. */
uint8_t guard_check(const uint8_t *table, uint16_t length, uint8_t tools);

/* Judge by this table from now on; it must be sound and stay where it is. */
void guard_use(const uint8_t *table);

/* An episode begins: at the start state, with nothing counted. */
void guard_begin(void);

/* A call of a tool, by its place in the device's table, with its arguments in their order, GUARD_MISSING where it has
 * none, GUARD_MOST_ARGUMENTS of them: what it would be. */
enum guard_kind guard_judge(uint8_t tool, const struct guard_value *values);

/* Whether the call just judged must not run. */
uint8_t guard_forbids(void);

/* The call just judged, or one that could not be (`INVALID`), has ended. Returns what it was. */
enum guard_kind guard_ended(enum guard_end end);

/* A call that the host made without the device, a read that ended well: by its symbol, or GUARD_NO_SYMBOL. Returns what
 * it was. */
enum guard_kind guard_told(uint8_t symbol);

/* Whether the episode is in an accepting state. */
uint8_t guard_accepted(void);

#endif
