#include "sensors.h"

#include "board.h"
#include "tables.h"
#include "wire.h"

enum { SWITCH_WATER_LOW, SWITCH_PESTICIDE_LOW, SWITCH_HOPPER_FULL, SWITCH_COUNT };

static uint8_t wet[PLANT_COUNT], switches[SWITCH_COUNT];
static uint32_t next_moisture_ms;

uint32_t device_ms(void) { return board_ms() * WORLD_SPEED; }

static void sample(PGM_P sensor, PGM_P entity, PGM_P value) {
    wire_begin(PSTR("sample"));
    wire_flash(PSTR(",\"sensor\":\""));
    wire_flash(sensor);
    wire_flash(entity);
    wire_flash(PSTR("\",\"value\":"));
    wire_flash(value);
    wire_flash(PSTR(",\"t\":"));
    wire_seconds(device_ms());
    wire_end();
}

static void tell_moisture(void) {
    for (uint8_t i = 0; i < PLANT_COUNT; i++) {
        wet[i] = board_moisture(i) >= MOISTURE_WET - (wet[i] ? MOISTURE_HYSTERESIS : 0);
        sample(PSTR("moisture."), plants[i].name, wet[i] ? PSTR("\"wet\"") : PSTR("\"dry\""));
    }
    next_moisture_ms = device_ms() + (uint32_t)(1000 * MOISTURE_PERIOD_S);
}

static void tell_switches(uint8_t all) {
    static const char names[SWITCH_COUNT][20] PROGMEM = {"water_tank_low", "pesticide_tank_low", "hopper_full"};
    uint8_t now[SWITCH_COUNT] = {board_water_low(), board_pesticide_low(), board_hopper_full()};

    for (uint8_t i = 0; i < SWITCH_COUNT; i++) {
        if (all || now[i] != switches[i]) {
            switches[i] = now[i];
            sample(names[i], PSTR(""), now[i] ? PSTR("true") : PSTR("false"));
        }
    }
}

void sensors_tell_all(void) {
    tell_moisture();
    tell_switches(1);
}

void sensors_step(void) {
    if (!wire_attached()) {
        return;
    }
    tell_switches(0);
    if ((int32_t)(device_ms() - next_moisture_ms) >= 0) {
        tell_moisture();
    }
}
