#include "calls.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "board.h"
#include "chip_guard.h"
#include "decimal.h"
#include "drive.h"
#include "outcome.h"
#include "route.h"
#include "sensors.h"
#include "tables.h"
#include "wire.h"

#define NO_PLACE 0xFF
#define ARGUMENTS_MAX 3
#define NAME_SIZE 24
#define ACK_EVERY_MS 1000
/* A tank, a battery or a distance may miss its limit by this much: single precision. */
#define ROUNDING 1e-4f
#define FULL_CHARGE 0.995f
/* Without one pulse for so long, nothing flows. A flow counts as too low once it falls behind half of WATER_FLOW by
 * so much time; so a pump runs for twice its time and this at most. */
#define FLOW_GRACE_MS 3000
/* A meter that counts more than twice what the pump can give, and this, counts something else. */
#define FLOW_EXCESS_L 0.1f

enum phase { WAITING, PLANNING, DRIVING, PUMPING, SWITCHED_ON, CHARGING };

struct id {
    char text[ID_SIZE]; /* its JSON */
    uint8_t length;
};

static struct {
    struct id id;
    struct outcome outcome;
} kept[RESULTS_KEPT];
static uint8_t kept_next;

static struct {
    uint8_t active, tool, place, phase, pin, next_check, corners;
    struct id id;
    float numbers[3];
    uint32_t started_ms, phase_ms, expected_ms, flowed_ms; /* device time; the phase began at phase_ms */
    uint32_t next_ack_ms;                                  /* link clock */
    float pumped, drive_m, drive_s;
} call;

static struct point route[ROUTE_MAX];
static float water = WATER_CAPACITY, pesticide = PESTICIDE_CAPACITY;
static uint8_t fruit;

static uint8_t same(const struct id *a, const struct id *b) {
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void keep(const struct id *id, const struct outcome *outcome) {
    kept[kept_next].id = *id;
    kept[kept_next].outcome = *outcome;
    kept_next = (kept_next + 1) % RESULTS_KEPT;
    outcome_send(outcome, id->text, id->length);
}

/* An answer to a call that was not started. */
static void refuse(const struct id *id, uint8_t status, uint8_t code) {
    struct outcome outcome = {.status = status, .code = code, .ended_ms = device_ms()};
    keep(id, &outcome);
}

static void finish(struct outcome outcome) {
    static const uint8_t ends[] = {GUARD_OK, GUARD_REFUSED, GUARD_INVALID, GUARD_FAULT};

    outcome.guard = chip_guard_ended(outcome.code == CODE_GUARD ? GUARD_PREVENTED : ends[outcome.status]);
    outcome.tool = call.tool;
    outcome.place = call.place;
    outcome.ended_ms = device_ms();
    outcome.took_ms = outcome.ended_ms - call.started_ms;
    call.active = 0;
    keep(&call.id, &outcome);
}

static void finish_ok(float a, float b, float c) {
    finish((struct outcome){.status = STATUS_OK, .a = a, .b = b, .c = c});
}

static void reject(uint8_t code, float a, float b) {
    finish((struct outcome){.status = STATUS_REJECTED, .code = code, .a = a, .b = b});
}

static void fail(uint8_t code) { finish((struct outcome){.status = STATUS_FAULT, .code = code}); }

static void ack(float device_seconds) {
    wire_begin(PSTR("ack"));
    wire_flash(PSTR(",\"id\":"));
    wire_text(call.id.text, call.id.length);
    wire_flash(PSTR(",\"eta\":"));
    wire_number(device_seconds / WORLD_SPEED + 1, 1);
    wire_end();
    call.next_ack_ms = board_ms() + ACK_EVERY_MS;
}

/* From now on, in this phase, for so many device seconds. */
static void run(uint8_t phase, float seconds) {
    call.phase = phase;
    call.phase_ms = device_ms();
    call.expected_ms = (uint32_t)(1000 * seconds);
    if (seconds > WORLD_SPEED * 0.1f) {
        ack(seconds);
    }
}

/* Device time since the phase began. */
static uint32_t passed_ms(void) { return device_ms() - call.phase_ms; }

static float seconds_left(void) {
    uint32_t passed = passed_ms();
    return passed < call.expected_ms ? (float)(call.expected_ms - passed) / 1000 : 0;
}

/* Interlocks, in the order of the tables. Each answers the call itself, and says whether it may go on. */

static uint8_t unlocked(void) {
    if (!board_enabled()) {
        reject(CODE_SAFETY_LOCKED, 0, 0);
        return 0;
    }
    return 1;
}

static uint8_t known(uint8_t code) {
    if (call.place == NO_PLACE) {
        call.place = 0;
        reject(code, 0, 0);
        return 0;
    }
    return 1;
}

static uint8_t within_reach(void) {
    const struct place *there = call.place < PLANT_COUNT ? &plants[call.place] : &stations[call.place - PLANT_COUNT];
    float apart = hypot(drive_pose.x - pgm_read_float(&there->x), drive_pose.y - pgm_read_float(&there->y));

    if (apart > REACH + ROUNDING) {
        reject(CODE_TOO_FAR, apart, 0);
        return 0;
    }
    return 1;
}

static uint8_t inside_field(void) {
    float x = call.numbers[0], y = call.numbers[1];

    if (x < 0 || x > FIELD_WIDTH || y < 0 || y > FIELD_HEIGHT) {
        reject(CODE_OUTSIDE_FIELD, 0, 0);
        return 0;
    }
    return 1;
}

static uint8_t charged(float needed) {
    float battery = board_battery();
    if (needed > battery + ROUNDING) {
        reject(CODE_BATTERY_LOW, battery, needed);
        return 0;
    }
    return 1;
}

static uint8_t in_tank(float content, float wanted, uint8_t code) {
    if (wanted > content + ROUNDING) {
        reject(code, content, wanted);
        return 0;
    }
    return 1;
}

static uint8_t ripe_fruit(void) {
    if (!board_ripe(call.place)) {
        reject(CODE_NOT_RIPE, 0, 0);
        return 0;
    }
    return 1;
}

static uint8_t room_in_hopper(void) {
    if (fruit >= HOPPER_CAPACITY || board_hopper_full()) {
        reject(CODE_HOPPER_FULL, 0, 0);
        return 0;
    }
    return 1;
}

static uint8_t passes(enum check check) {
    switch (check) {
    case CHECK_UNLOCKED:
        return unlocked();
    case CHECK_KNOWN_PLANT:
        return known(CODE_UNKNOWN_PLANT);
    case CHECK_KNOWN_STATION:
        return known(CODE_UNKNOWN_STATION);
    case CHECK_WITHIN_REACH:
        return within_reach();
    case CHECK_INSIDE_FIELD:
        return inside_field();
    case CHECK_CHARGE_FOR_DRIVE:
        return charged(call.drive_m * DRIVE_CHARGE_PER_M);
    case CHECK_ENOUGH_WATER:
        if (board_water_low() && water > WATER_LOW) {
            water = WATER_LOW;
        }
        return in_tank(water, call.numbers[1], CODE_WATER_SHORT);
    case CHECK_CHARGE_FOR_WATER:
        return charged(call.numbers[1] / WATER_FLOW * PUMP_CHARGE_PER_S);
    case CHECK_ENOUGH_PESTICIDE:
        if (board_pesticide_low() && pesticide > PESTICIDE_LOW) {
            pesticide = PESTICIDE_LOW;
        }
        return in_tank(pesticide, call.numbers[1], CODE_PESTICIDE_SHORT);
    case CHECK_CHARGE_FOR_PESTICIDE:
        return charged(call.numbers[1] / PESTICIDE_FLOW * PUMP_CHARGE_PER_S);
    case CHECK_RIPE_FRUIT:
        return ripe_fruit();
    case CHECK_ROOM_IN_HOPPER:
        return room_in_hopper();
    case CHECK_HAS_ROUTE: /* answered by `step_plan` */
    case CHECK_COUNT:
        break;
    }
    return 1;
}

/* Starting a tool. */

static void switch_on(uint8_t pin, uint8_t phase, float seconds) {
    call.pin = pin;
    board_switch(pin, 1);
    run(phase, seconds);
}

static void start(void) {
    switch (call.tool) {
    case TOOL_UNLOCK_SAFETY_MODE:
    case TOOL_LOCK_SAFETY_MODE:
        run(WAITING, SWITCH_S);
        break;
    case TOOL_MOVE_TO:
    case TOOL_MOVE_HOME:
        drive_begin(route, call.corners, call.numbers[2]);
        run(DRIVING, call.drive_s);
        break;
    case TOOL_WATER_PLANT:
        call.pumped = 0;
        board_flow_pulses();
        call.flowed_ms = device_ms();
        switch_on(PIN_PUMP, PUMPING, call.numbers[1] / WATER_FLOW);
        break;
    case TOOL_SPRAY_PESTICIDE:
        switch_on(PIN_SPRAYER, SWITCHED_ON, call.numbers[1] / PESTICIDE_FLOW);
        break;
    case TOOL_HARVEST_FRUIT:
        switch_on(PIN_PICKER, SWITCHED_ON, HARVEST_S);
        break;
    case TOOL_DUMP_HOPPER:
        switch_on(PIN_GATE, SWITCHED_ON, DUMP_S);
        break;
    case TOOL_REFILL_WATER_TANK: {
        float missing = WATER_CAPACITY - (board_water_low() ? 0 : water);
        switch_on(PIN_WATER_VALVE, SWITCHED_ON, missing / WATER_REFILL_PER_S);
        break;
    }
    case TOOL_REFILL_PESTICIDE: {
        float missing = PESTICIDE_CAPACITY - (board_pesticide_low() ? 0 : pesticide);
        switch_on(PIN_PESTICIDE_VALVE, SWITCHED_ON, missing / PESTICIDE_REFILL_PER_S);
        break;
    }
    case TOOL_RECHARGE:
        switch_on(PIN_CHARGER, CHARGING, 1.2f * (1 - board_battery()) / CHARGING_PER_S + 10);
        break;
    case TOOL_SCAN_PEOPLE:
        run(WAITING, PEOPLE_SCAN_S);
        break;
    case TOOL_WAIT:
        run(WAITING, call.numbers[0]);
        break;
    default:
        run(WAITING, READ_S);
    }
}

/* The tool's checks from this one on, then the tool. The way of a drive is planned in turns: then `step_plan` goes on. */
static void check_from(uint8_t next) {
    for (;; next++) {
        enum check check = pgm_read_byte(&interlocks[call.tool][next]);
        if (check == CHECK_COUNT) {
            start();
            return;
        }
        if (check == CHECK_HAS_ROUTE) {
            call.next_check = next + 1;
            route_begin((struct point){drive_pose.x, drive_pose.y}, (struct point){call.numbers[0], call.numbers[1]});
            run(PLANNING, 2 * WORLD_SPEED);
            return;
        }
        if (!passes(check)) {
            return;
        }
    }
}

/* Going on with a tool. */

static void finish_people(void) {
    struct outcome outcome = {.status = STATUS_OK, .a = -1};

    if (board_person()) {
        outcome.a = board_person_distance();
        outcome.b = drive_wrapped(drive_pose.yaw + board_person_bearing());
        outcome.c = drive_pose.x + outcome.a * cos(outcome.b);
        outcome.d = drive_pose.y + outcome.a * sin(outcome.b);
    }
    finish(outcome);
}

static void finish_waiting(void) {
    const struct place *place = call.place < PLANT_COUNT ? &plants[call.place] : &stations[call.place - PLANT_COUNT];

    switch (call.tool) {
    case TOOL_UNLOCK_SAFETY_MODE:
        board_enable(1);
        finish_ok(0, 0, 0);
        break;
    case TOOL_LOCK_SAFETY_MODE:
        board_enable(0);
        finish_ok(0, 0, 0);
        break;
    case TOOL_SENSE_POSE:
        finish_ok(drive_pose.x, drive_pose.y, drive_pose.yaw);
        break;
    case TOOL_SENSE_BATTERY:
        finish_ok(board_battery(), 0, 0);
        break;
    case TOOL_SENSE_HOPPER:
        finish_ok(fruit, 0, 0);
        break;
    case TOOL_SCAN_PLANT:
        finish_ok(board_moisture(call.place) >= MOISTURE_WET, board_ripe(call.place), board_pests(call.place));
        break;
    case TOOL_SCAN_PEOPLE:
        finish_people();
        break;
    case TOOL_WAIT:
        finish_ok(call.numbers[0], 0, 0);
        break;
    case TOOL_GET_PLANT_POSE:
    case TOOL_GET_STATION_POSE:
        finish_ok(pgm_read_float(&place->x), pgm_read_float(&place->y), pgm_read_float(&place->yaw));
        break;
    default:
        finish_ok(0, 0, 0);
    }
}

/* After a time-metered actuator has had its time. */
static void finish_switched(void) {
    board_switch(call.pin, 0);
    switch (call.tool) {
    case TOOL_SPRAY_PESTICIDE:
        pesticide = fmax(0, pesticide - call.numbers[1]);
        finish_ok(call.numbers[1], pesticide, 0);
        break;
    case TOOL_HARVEST_FRUIT:
        finish_ok(++fruit, 0, 0);
        break;
    case TOOL_DUMP_HOPPER:
        fruit = 0;
        finish_ok(0, 0, 0);
        break;
    case TOOL_REFILL_WATER_TANK:
        if (board_water_low()) {
            fail(CODE_NOT_FILLED);
        } else {
            finish_ok(water = WATER_CAPACITY, 0, 0);
        }
        break;
    case TOOL_REFILL_PESTICIDE:
        if (board_pesticide_low()) {
            fail(CODE_NOT_FILLED);
        } else {
            finish_ok(pesticide = PESTICIDE_CAPACITY, 0, 0);
        }
        break;
    }
}

/* The pump stops with a fault. What it has moved is not known: its tank is taken to have lost what the meter did not
 * count too, at the pump's full flow. */
static void fail_pump(uint8_t code) {
    board_switch(PIN_PUMP, 0);
    water = code == CODE_NO_FLOW ? 0 : fmax(0, water - fmax(0, passed_ms() * 0.001f * WATER_FLOW - call.pumped));
    fail(code);
}

static void step_pump(void) {
    uint16_t pulses = board_flow_pulses();
    float liters = pulses / PULSES_PER_L;
    uint32_t passed = passed_ms(), graced = passed > FLOW_GRACE_MS ? passed - FLOW_GRACE_MS : 0;

    call.pumped += liters;
    water = fmax(0, water - liters);
    if (pulses) {
        call.flowed_ms = device_ms();
    }
    if (call.pumped > passed * 0.002f * WATER_FLOW + FLOW_EXCESS_L) {
        fail_pump(CODE_FLOW_HIGH);
    } else if (call.pumped >= call.numbers[1]) {
        board_switch(PIN_PUMP, 0);
        finish_ok(call.pumped, water, 0);
    } else if (device_ms() - call.flowed_ms > FLOW_GRACE_MS) {
        fail_pump(CODE_NO_FLOW);
    } else if (call.pumped < graced * 0.0005f * WATER_FLOW) {
        fail_pump(CODE_FLOW_LOW);
    }
}

static void step_charge(void) {
    if (board_battery() >= FULL_CHARGE) {
        board_switch(PIN_CHARGER, 0);
        finish_ok(1, 0, 0);
    } else if (seconds_left() == 0) {
        board_switch(PIN_CHARGER, 0);
        fail(CODE_NOT_CHARGING);
    }
}

static void step_plan(void) {
    call.corners = route_step(route);
    if (call.corners == ROUTE_PENDING) {
        return;
    }
    if (call.corners == 0) {
        reject(CODE_NO_ROUTE, 0, 0);
        return;
    }
    call.drive_s = drive_seconds(route, call.corners, &call.drive_m);
    check_from(call.next_check);
}

static void step_drive(enum drive_state driven) {
    switch (driven) {
    case DRIVE_DONE:
        finish_ok(drive_pose.x, drive_pose.y, drive_pose.yaw);
        break;
    case DRIVE_STALLED:
        fail(CODE_STALLED);
        break;
    case DRIVE_OFF_COURSE:
        fail(CODE_OFF_COURSE);
        break;
    default:
        if (passed_ms() > 2 * call.expected_ms) {
            drive_halt();
            fail(CODE_OVERDUE);
        }
    }
}

uint8_t calls_running(void) { return call.active; }

uint8_t calls_compute(void) { return call.active && call.phase == PLANNING && !board_stopped(); }

void calls_step(uint8_t steps) {
    enum drive_state driven = steps ? drive_step(steps) : DRIVE_GOING;

    if (!call.active || board_stopped()) {
        return;
    }
    switch (call.phase) {
    case PLANNING:
        step_plan();
        break;
    case DRIVING:
        step_drive(driven);
        break;
    case PUMPING:
        if (steps) {
            step_pump();
        }
        break;
    case CHARGING:
        if (steps) {
            step_charge();
        }
        break;
    case WAITING:
        if (seconds_left() == 0) {
            finish_waiting();
        }
        break;
    case SWITCHED_ON:
        if (seconds_left() == 0) {
            finish_switched();
        }
        break;
    }
    if (call.active && (call.phase != WAITING || call.tool == TOOL_WAIT) && (int32_t)(board_ms() - call.next_ack_ms) >= 0) {
        ack(seconds_left());
    }
}

/* What a stopped actuator has moved by then is no longer in its tank. */
static void book_stopped(void) {
    if (call.phase == PUMPING) {
        water = fmax(0, water - board_flow_pulses() / PULSES_PER_L);
    } else if (call.phase == SWITCHED_ON && call.tool == TOOL_SPRAY_PESTICIDE) {
        float ran = call.numbers[1] / PESTICIDE_FLOW - seconds_left();
        pesticide = fmax(0, pesticide - ran * PESTICIDE_FLOW);
    }
}

void calls_abort(void) {
    drive_halt();
    if (call.active) {
        book_stopped();
        fail(CODE_STOPPED);
    }
}

/* Taking a call. */

/* Text or a whole number. */
static uint8_t is_name(const struct json *value) {
    if (value->type != JSON_NUMBER) {
        return value->type == JSON_STRING;
    }
    for (uint16_t i = 0; i < value->length; i++) {
        char c = value->at[i];
        if (c == '.' || c == 'e' || c == 'E') {
            return 0;
        }
    }
    return 1;
}

/* The id of a message, text or a whole number. Without a fit one it cannot run: a repeat of it could not be known. */
static uint8_t take_id(const struct json *message, struct id *id) {
    struct json value = json_member(message, PSTR("id"));

    if (!is_name(&value) || value.length > UINT8_MAX) {
        return 0;
    }
    if (value.length > ID_SIZE) {
        struct outcome outcome = {.status = STATUS_INVALID, .code = CODE_ID_TOO_LONG, .ended_ms = device_ms()};
        outcome_send(&outcome, value.at, (uint8_t)value.length);
        return 0;
    }
    memcpy(id->text, value.at, value.length);
    id->length = (uint8_t)value.length;
    return 1;
}

/* Whether a boot, as text or a whole number, is that of the board; one that is left out is any. */
static uint8_t is_own_boot(const struct json *given) {
    char digits[11];
    uint32_t left = board_boot();
    uint8_t length;

    if (given->type <= JSON_NULL) {
        return 1;
    }
    if (given->type == JSON_STRING) {
        if (!json_text(given, digits, sizeof digits)) {
            return 0;
        }
        length = (uint8_t)strlen(digits);
    } else {
        if (given->length >= sizeof digits) {
            return 0;
        }
        length = (uint8_t)given->length;
        memcpy(digits, given->at, length);
    }
    do {
        if (!length || digits[--length] != (char)('0' + left % 10)) {
            return 0;
        }
        left /= 10;
    } while (left);
    return !length;
}

static uint8_t tool_named(const struct json *name) {
    for (uint8_t i = 0; i < TOOL_COUNT; i++) {
        if (json_is(name, tools[i].name)) {
            return i;
        }
    }
    return TOOL_COUNT;
}

static uint8_t place_named(const struct json *name) {
    const struct place *places = call.tool == TOOL_GET_STATION_POSE ? stations : plants;
    uint8_t count = call.tool == TOOL_GET_STATION_POSE ? STATION_COUNT : PLANT_COUNT;

    for (uint8_t i = 0; i < count; i++) {
        if (json_is(name, places[i].name)) {
            return call.tool == TOOL_GET_STATION_POSE ? PLANT_COUNT + i : i;
        }
    }
    return NO_PLACE;
}

static void bad_argument(uint8_t index, uint8_t fault) {
    finish((struct outcome){.status = STATUS_INVALID, .code = CODE_BAD_ARGUMENTS, .a = index, .b = fault});
}

/* One argument into the call, and as the guard has it; 0 once the call is answered because it does not fit. */
static uint8_t take_argument(uint8_t index, const struct json *args, struct guard_value *given, char *plain) {
    struct argument argument;
    struct json value = {JSON_NONE, NULL, 0};

    memcpy_P(&argument, &tools[call.tool].arguments[index], sizeof argument);
    if (args->type == JSON_OBJECT) {
        value = json_member(args, tools[call.tool].arguments[index].name);
    }
    call.numbers[index] = argument.preset;
    if (value.type == JSON_NONE) {
        if (argument.flags & ARGUMENT_REQUIRED) {
            bad_argument(index, ARGUMENT_MISSING);
            return 0;
        }
        return 1;
    }
    if (value.type != (argument.type == ARGUMENT_NUMBER ? JSON_NUMBER : JSON_STRING)) {
        bad_argument(index, ARGUMENT_OF_WRONG_TYPE);
        return 0;
    }
    if (argument.type == ARGUMENT_TEXT) {
        call.place = place_named(&value);
        given->kind = json_text(&value, plain, NAME_SIZE) ? GUARD_TEXT : GUARD_OTHER;
        given->text = plain;
        return 1;
    }
    given->kind = value.length > DECIMAL_MOST_TEXT ? GUARD_OTHER : GUARD_NUMBER;
    given->text = value.at;
    float number = json_float(&value);
    call.numbers[index] = number;
    if (!(argument.flags & ARGUMENT_ABOVE_MIN ? number > argument.min : number >= argument.min) ||
        !(number <= argument.max)) {
        bad_argument(index, ARGUMENT_OUT_OF_RANGE);
        return 0;
    }
    return 1;
}

static uint8_t known_arguments_only(const struct json *args, uint8_t count) {
    const char *at = NULL;
    struct json key;

    while (args->type == JSON_OBJECT && json_next_member(args, &at, &key).type != JSON_NONE) {
        uint8_t known = 0;
        for (uint8_t i = 0; i < count; i++) {
            known |= json_is(&key, tools[call.tool].arguments[i].name);
        }
        if (!known) {
            bad_argument(0, ARGUMENT_UNKNOWN);
            return 0;
        }
    }
    return 1;
}

static void begin(const struct id *id, uint8_t tool, const struct json *args) {
    uint8_t count = pgm_read_byte(&tools[tool].argument_count);
    struct guard_value given[GUARD_MOST_ARGUMENTS] = {{GUARD_MISSING, NULL}};
    char plain[ARGUMENTS_MAX][NAME_SIZE];

    call.active = 1;
    call.tool = tool;
    call.id = *id;
    call.place = 0;
    call.phase = WAITING;
    call.pin = 0;
    call.started_ms = device_ms();
    if (!known_arguments_only(args, count)) {
        return;
    }
    for (uint8_t i = 0; i < count; i++) {
        if (!take_argument(i, args, &given[i], plain[i])) {
            return;
        }
    }
    if (!chip_guard_allows(tool, given)) {
        reject(CODE_GUARD, 0, 0);
        return;
    }
    uint8_t station = pgm_read_byte(&station_of[tool]);
    if (station < STATION_COUNT) {
        call.place = PLANT_COUNT + station;
    }
    if (tool == TOOL_MOVE_HOME) {
        const struct place *base = &stations[STATION_BASE];
        call.numbers[0] = pgm_read_float(&base->x);
        call.numbers[1] = pgm_read_float(&base->y);
        call.numbers[2] = pgm_read_float(&base->yaw);
    }
    check_from(0);
}

uint8_t calls_take(const struct json *message, uint8_t ours) {
    struct json name = json_member(message, PSTR("tool")), args = json_member(message, PSTR("args"));
    struct json not_after = json_member(message, PSTR("not_after")), boot = json_member(message, PSTR("boot"));
    uint8_t valid = ours && name.type == JSON_STRING && (args.type <= JSON_NULL || args.type == JSON_OBJECT) &&
                    (not_after.type <= JSON_NULL || not_after.type == JSON_NUMBER) &&
                    (boot.type <= JSON_NULL || is_name(&boot));
    struct id id;

    if (!take_id(message, &id)) {
        return 0;
    }
    for (uint8_t i = 0; i < RESULTS_KEPT; i++) {
        if (kept[i].id.length && same(&kept[i].id, &id)) {
            outcome_send(&kept[i].outcome, id.text, id.length);
            return valid;
        }
    }
    if (call.active) {
        if (same(&call.id, &id)) {
            ack(seconds_left());
        } else {
            refuse(&id, STATUS_REJECTED, CODE_BUSY);
        }
        return valid;
    }
    if (!valid) {
        refuse(&id, STATUS_INVALID, CODE_MALFORMED);
        return 0;
    }
    if (board_stopped()) {
        refuse(&id, STATUS_REJECTED, board_stop_input() >= INPUT_PRESSED ? CODE_STOP_INPUT : CODE_ESTOP);
        return 1;
    }
    if (!is_own_boot(&boot)) {
        refuse(&id, STATUS_FAULT, CODE_ANOTHER_BOOT);
        return 1;
    }
    if (not_after.type == JSON_NUMBER && board_ms() > json_uint32(&not_after)) {
        refuse(&id, STATUS_FAULT, CODE_LATE);
        return 1;
    }
    uint8_t tool = tool_named(&name);
    if (tool == TOOL_COUNT) {
        chip_guard_ended(GUARD_INVALID);
        refuse(&id, STATUS_INVALID, CODE_UNKNOWN_TOOL);
        return 1;
    }
    begin(&id, tool, &args);
    return 1;
}

uint8_t calls_refuse_init(const struct json *message) {
    struct id id;
    uint8_t valid = take_id(message, &id);

    if (valid) {
        struct outcome outcome = {.status = STATUS_INVALID, .code = CODE_NO_SIMULATOR, .ended_ms = device_ms()};
        outcome_send(&outcome, id.text, id.length);
    }
    return valid;
}
