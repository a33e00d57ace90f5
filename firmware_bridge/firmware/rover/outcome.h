/* How a call ended, in the few bytes from which its result is written, any number of times alike. */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <stdint.h>

/* Bytes of the longest id that is kept, as JSON. */
#define ID_SIZE 48

enum status { STATUS_OK, STATUS_REJECTED, STATUS_INVALID, STATUS_FAULT };

/* The code of a result that is not ok. */
enum code {
    CODE_NONE,
    CODE_BUSY,
    CODE_ESTOP,
    CODE_STOP_INPUT,
    CODE_LATE,
    CODE_ANOTHER_BOOT,
    CODE_MALFORMED,
    CODE_ID_TOO_LONG,
    CODE_NO_SIMULATOR,
    CODE_UNKNOWN_TOOL,
    CODE_BAD_ARGUMENTS,
    CODE_SAFETY_LOCKED,
    CODE_UNKNOWN_PLANT,
    CODE_UNKNOWN_STATION,
    CODE_TOO_FAR,
    CODE_OUTSIDE_FIELD,
    CODE_NO_ROUTE,
    CODE_WATER_SHORT,
    CODE_PESTICIDE_SHORT,
    CODE_BATTERY_LOW,
    CODE_NOT_RIPE,
    CODE_HOPPER_FULL,
    CODE_STOPPED,
    CODE_STALLED,
    CODE_OFF_COURSE,
    CODE_OVERDUE,
    CODE_NO_FLOW,
    CODE_FLOW_LOW,
    CODE_FLOW_HIGH,
    CODE_NOT_FILLED,
    CODE_NOT_CHARGING,
    CODE_GUARD
};

enum argument_fault { ARGUMENT_MISSING, ARGUMENT_UNKNOWN, ARGUMENT_OF_WRONG_TYPE, ARGUMENT_OUT_OF_RANGE };

/* `guard` is what the guard on the chip judged; `place` counts the plants and then the stations; the numbers mean what the tool or the code makes of them. */
struct outcome {
    uint8_t status, code, tool, place, guard;
    float a, b, c, d;
    uint32_t ended_ms, took_ms; /* device time */
};

/* Writes the result; `id` is the id's JSON. */
void outcome_send(const struct outcome *outcome, const char *id, uint8_t id_length);

#endif
