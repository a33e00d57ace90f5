#include "outcome.h"

#include <stddef.h>

#include "chip_guard.h"
#include "tables.h"
#include "wire.h"

static const struct place *place_at(uint8_t place) {
    return place < PLANT_COUNT ? &plants[place] : &stations[place - PLANT_COUNT];
}

static void named_number(PGM_P name, float value) {
    wire_flash(name);
    wire_number(value, 3);
}

static void pose(const struct outcome *o) {
    named_number(PSTR("\"x\":"), o->a);
    named_number(PSTR(",\"y\":"), o->b);
    named_number(PSTR(",\"yaw\":"), o->c);
}

static void plant_member(const struct outcome *o) {
    wire_flash(PSTR("\"plant_id\":\""));
    wire_flash(plants[o->place].name);
    wire_flash(PSTR("\","));
}

static void hopper(const struct outcome *o) {
    named_number(PSTR("\"fruit\":"), o->a);
    named_number(PSTR(",\"capacity\":"), HOPPER_CAPACITY);
}

/* Its distance is below 0 where there is none. */
static void person(const struct outcome *o) {
    if (o->a < 0) {
        wire_flash(PSTR("\"people\":0,\"distance\":null,\"bearing\":null,\"x\":null,\"y\":null"));
        return;
    }
    wire_flash(PSTR("\"people\":1,\"distance\":"));
    wire_number(o->a, 1);
    wire_flash(PSTR(",\"bearing\":"));
    wire_number(o->b, 2);
    wire_flash(PSTR(",\"x\":"));
    wire_number(o->c, 1);
    wire_flash(PSTR(",\"y\":"));
    wire_number(o->d, 1);
}

static void value(const struct outcome *o) {
    switch (o->tool) {
    case TOOL_UNLOCK_SAFETY_MODE:
        wire_flash(PSTR("\"safety\":\"unlocked\""));
        break;
    case TOOL_LOCK_SAFETY_MODE:
        wire_flash(PSTR("\"safety\":\"locked\""));
        break;
    case TOOL_MOVE_TO:
    case TOOL_MOVE_HOME:
    case TOOL_SENSE_POSE:
        pose(o);
        break;
    case TOOL_WATER_PLANT:
        plant_member(o);
        named_number(PSTR("\"liters\":"), o->a);
        named_number(PSTR(",\"tank_liters\":"), o->b);
        break;
    case TOOL_SPRAY_PESTICIDE:
        plant_member(o);
        named_number(PSTR("\"ml\":"), o->a);
        named_number(PSTR(",\"tank_ml\":"), o->b);
        break;
    case TOOL_HARVEST_FRUIT:
        plant_member(o);
        hopper(o);
        break;
    case TOOL_DUMP_HOPPER:
    case TOOL_SENSE_HOPPER:
        hopper(o);
        break;
    case TOOL_REFILL_WATER_TANK:
        named_number(PSTR("\"tank_liters\":"), o->a);
        break;
    case TOOL_REFILL_PESTICIDE:
        named_number(PSTR("\"tank_ml\":"), o->a);
        break;
    case TOOL_RECHARGE:
    case TOOL_SENSE_BATTERY:
        wire_flash(PSTR("\"battery\":"));
        wire_number(o->a, 1);
        break;
    case TOOL_LIST_PLANTS:
        wire_flash(PSTR("\"plants\":["));
        for (uint8_t i = 0; i < PLANT_COUNT; i++) {
            wire_flash(i ? PSTR(",\"") : PSTR("\""));
            wire_flash(plants[i].name);
            wire_flash(PSTR("\""));
        }
        wire_flash(PSTR("]"));
        break;
    case TOOL_SCAN_PLANT:
        plant_member(o);
        wire_flash(o->a ? PSTR("\"soil\":\"wet\",\"ripe\":") : PSTR("\"soil\":\"dry\",\"ripe\":"));
        wire_flash(o->b ? PSTR("true,\"pests\":") : PSTR("false,\"pests\":"));
        wire_flash(o->c ? PSTR("true") : PSTR("false"));
        break;
    case TOOL_SCAN_PEOPLE:
        person(o);
        break;
    case TOOL_WAIT:
        named_number(PSTR("\"seconds\":"), o->a);
        break;
    case TOOL_GET_PLANT_POSE:
    case TOOL_GET_STATION_POSE:
        wire_flash(PSTR("\"name\":\""));
        wire_flash(place_at(o->place)->name);
        wire_flash(PSTR("\","));
        pose(o);
        break;
    }
}

/* Code and message, which tells a model what to do. */
static void say(PGM_P code, PGM_P message) {
    wire_flash(code);
    wire_flash(PSTR("\",\"message\":\""));
    wire_flash(message);
}

static void say_names(const struct place *places, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        wire_flash(i ? PSTR(", ") : PSTR(" "));
        wire_flash(places[i].name);
    }
    wire_flash(PSTR("."));
}

static void bad_arguments(const struct outcome *o) {
    const struct tool *tool = &tools[o->tool];
    const struct argument *argument = &tool->arguments[(uint8_t)o->a];

    say(PSTR("bad_arguments"), tool->name);
    wire_flash(PSTR(": "));
    if (o->b == ARGUMENT_UNKNOWN) {
        uint8_t count = pgm_read_byte(&tool->argument_count);
        wire_flash(count ? PSTR("an argument that it does not have; it takes") : PSTR("it takes no arguments"));
        for (uint8_t i = 0; i < count; i++) {
            wire_flash(i ? PSTR(", ") : PSTR(" "));
            wire_flash(tool->arguments[i].name);
        }
        wire_flash(PSTR("."));
        return;
    }
    wire_flash(argument->name);
    if (o->b == ARGUMENT_MISSING) {
        wire_flash(PSTR(" is missing."));
    } else if (o->b == ARGUMENT_OF_WRONG_TYPE) {
        uint8_t is_number = pgm_read_byte(&argument->type) == ARGUMENT_NUMBER;
        wire_flash(is_number ? PSTR(" must be a number.") : PSTR(" must be text."));
    } else {
        uint8_t above = pgm_read_byte(&argument->flags) & ARGUMENT_ABOVE_MIN;
        wire_flash(above ? PSTR(" must be above ") : PSTR(" must be from "));
        wire_number(pgm_read_float(&argument->min), 3);
        wire_flash(above ? PSTR(" and at most ") : PSTR(" to "));
        wire_number(pgm_read_float(&argument->max), 3);
        wire_flash(PSTR("."));
    }
}

static void too_far(const struct outcome *o) {
    const struct place *place = place_at(o->place);

    say(PSTR("too_far"), place->name);
    wire_flash(PSTR(" is "));
    wire_number(o->a, 2);
    wire_flash(PSTR(" m away and must be within "));
    wire_number(REACH, 2);
    wire_flash(PSTR(" m. Call move_to with x "));
    wire_number(pgm_read_float(&place->x), 3);
    wire_flash(PSTR(" and y "));
    wire_number(pgm_read_float(&place->y), 3);
    wire_flash(PSTR(" first."));
}

static void tank_short(const struct outcome *o, PGM_P what, PGM_P unit, PGM_P remedy) {
    say(o->a < 0.001f ? PSTR("tank_empty") : PSTR("not_enough_in_tank"), what);
    wire_number(o->a, 2);
    wire_flash(unit);
    wire_flash(PSTR(", less than "));
    wire_number(o->b, 2);
    wire_flash(unit);
    wire_flash(PSTR(". Nothing was pumped. "));
    wire_flash(remedy);
}

static void error(const struct outcome *o) {
    switch (o->code) {
    case CODE_BUSY:
        say(PSTR("busy"), PSTR("Another call is running; wait for its result."));
        break;
    case CODE_ESTOP:
        say(PSTR("estop"), PSTR("The emergency stop is on. Reset the device before the next call."));
        break;
    case CODE_STOP_INPUT:
        say(PSTR("estop"), PSTR("The stop input was pressed. A person must release it and reset the device. Make no "
                                "more calls."));
        break;
    case CODE_LATE:
        say(PSTR("late"), PSTR("The call came after its latest time to start."));
        break;
    case CODE_ANOTHER_BOOT:
        say(PSTR("late"), PSTR("The call was sent before the device was reset."));
        break;
    case CODE_MALFORMED:
        say(PSTR("malformed"), PSTR("The call needs a tool's name, args as an object and not_after as a number."));
        break;
    case CODE_ID_TOO_LONG:
        say(PSTR("id_too_long"), PSTR("An id has at most "));
        wire_uint32(ID_SIZE);
        wire_flash(PSTR(" bytes, quotes included."));
        break;
    case CODE_NO_SIMULATOR:
        say(PSTR("no_simulator"), PSTR("This is a physical device; it takes no initial state."));
        break;
    case CODE_UNKNOWN_TOOL:
        say(PSTR("unknown_tool"), PSTR("There is no such tool; the tools are"));
        for (uint8_t i = 0; i < TOOL_COUNT; i++) {
            wire_flash(i ? PSTR(", ") : PSTR(" "));
            wire_flash(tools[i].name);
        }
        wire_flash(PSTR("."));
        break;
    case CODE_BAD_ARGUMENTS:
        bad_arguments(o);
        break;
    case CODE_SAFETY_LOCKED:
        say(PSTR("safety_locked"), PSTR("The safety is locked. Call unlock_safety_mode first."));
        break;
    case CODE_UNKNOWN_PLANT:
        say(PSTR("unknown_plant"), PSTR("There is no such plant. The plants are:"));
        say_names(plants, PLANT_COUNT);
        break;
    case CODE_UNKNOWN_STATION:
        say(PSTR("unknown_station"), PSTR("There is no such station. The stations are:"));
        say_names(stations, STATION_COUNT);
        break;
    case CODE_TOO_FAR:
        too_far(o);
        break;
    case CODE_OUTSIDE_FIELD:
        say(PSTR("outside_field"), PSTR("That is outside the field. x must be from 0 to "));
        wire_number(FIELD_WIDTH, 2);
        wire_flash(PSTR(" and y from 0 to "));
        wire_number(FIELD_HEIGHT, 2);
        wire_flash(PSTR("."));
        break;
    case CODE_NO_ROUTE:
        say(PSTR("no_route"), PSTR("There is no route to that place around the beds and obstacles."));
        break;
    case CODE_WATER_SHORT:
        tank_short(o, PSTR("The water tank holds "), PSTR(" L"),
                   PSTR("Move to the water_station and call refill_water_tank."));
        break;
    case CODE_PESTICIDE_SHORT:
        tank_short(o, PSTR("The pesticide tank holds "), PSTR(" ml"),
                   PSTR("Move to the pesticide_refill and call refill_pesticide."));
        break;
    case CODE_BATTERY_LOW:
        say(PSTR("battery_low"), PSTR("The battery is at "));
        wire_number(o->a, 3);
        wire_flash(PSTR(", and this needs "));
        wire_number(o->b, 3);
        wire_flash(PSTR(". Move to the charging_pad and call recharge."));
        break;
    case CODE_NOT_RIPE:
        say(PSTR("not_ripe"), plants[o->place].name);
        wire_flash(PSTR(" has no ripe fruit. Choose another plant."));
        break;
    case CODE_HOPPER_FULL:
        say(PSTR("hopper_full"), PSTR("The hopper is full. Move to the collection_bin and call dump_hopper first."));
        break;
    case CODE_STOPPED:
        say(PSTR("stopped"), PSTR("The call was stopped before its end."));
        break;
    case CODE_STALLED:
        say(PSTR("stalled"), PSTR("A wheel does not turn. Check whether the rover is stuck."));
        break;
    case CODE_OFF_COURSE:
        say(PSTR("off_course"), PSTR("The rover left its route and stopped short of the goal. Check its wheels."));
        break;
    case CODE_OVERDUE:
        say(PSTR("overdue"), PSTR("The drive took twice its expected time and was stopped short of the goal."));
        break;
    case CODE_NO_FLOW:
        say(PSTR("no_flow"), PSTR("The pump runs, but its flow meter counts nothing. Check the tank and the hose."));
        break;
    case CODE_FLOW_LOW:
        say(PSTR("flow_low"), PSTR("Less than half of the pump's flow was measured. Check the hose and the flow meter."));
        break;
    case CODE_FLOW_HIGH:
        say(PSTR("flow_high"), PSTR("More than twice the pump's flow was measured. Check the hose and the flow meter."));
        break;
    case CODE_NOT_FILLED:
        say(PSTR("not_filled"), PSTR("The tank's float switch still shows low after the refill."));
        break;
    case CODE_GUARD:
        say(PSTR("guard"), PSTR("The guard on the chip does not allow this call here."));
        break;
    case CODE_NOT_CHARGING:
        say(PSTR("not_charging"), PSTR("The battery's voltage does not rise to its full value."));
        break;
    }
}

void outcome_send(const struct outcome *o, const char *id, uint8_t id_length) {
    static const char status_names[][9] PROGMEM = {"ok", "rejected", "invalid", "fault"};

    wire_begin(PSTR("result"));
    wire_flash(PSTR(",\"id\":"));
    wire_text(id, id_length);
    wire_flash(PSTR(",\"status\":\""));
    wire_flash(status_names[o->status]);
    if (o->status == STATUS_OK) {
        wire_flash(PSTR("\",\"value\":{"));
        value(o);
        wire_flash(PSTR("}"));
    } else {
        wire_flash(PSTR("\",\"error\":{\"code\":\""));
        error(o);
        wire_flash(PSTR("\"}"));
    }
    if (o->guard) {
        wire_flash(PSTR(",\"guard\":\""));
        wire_flash(chip_guard_name(o->guard));
        wire_flash(PSTR("\""));
    }
    wire_flash(PSTR(",\"t\":"));
    wire_seconds(o->ended_ms);
    wire_flash(PSTR(",\"dur\":"));
    wire_seconds(o->took_ms);
    wire_end();
}
