/* The rover's firmware without its board, as a library: the board's pins and UART are variables, and wheels and pump
 * at its pins follow them. `native_run` lets time pass; all else is read and set from outside.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define main rover_main
#include "main.c"
#undef main
#include "tables.h"

#define BYTES 65536

/* The world. Shares say how far a wheel turns of what it is driven, and how many of its pulses the meter gives. */
double wheel_share[2] = {1, 1}, meter_share = 1;
/* Milliseconds from one turn of the main loop to the next. */
uint32_t turn_ms = 1;
double true_x = 5, true_y = 5, true_yaw, pumped_liters, pump_seconds;
int16_t duty[2];
uint8_t port_a;

char said[BYTES];
uint32_t said_count;
static char heard[BYTES];
static uint32_t heard_count, heard_taken, stops_ahead;

static uint8_t stopped, steps;
static uint32_t milliseconds, ticks_given[2], pulses_given;
static int16_t ticks[2];
static uint16_t pulses;
static double way[2], metered;

void board_init(void) {}
enum reset_cause board_reset_cause(void) { return RESET_POWER; }
uint32_t native_boot = 1;
uint32_t board_boot(void) { return native_boot; }
uint8_t board_stop_input(void) { return INPUT_RELEASED; }
void board_forget_press(void) {}
void board_alive(void) {}
void board_heard(void) {}
void board_idle(void) {}
void uart_init(void) {}

/* Written at once: a host sees no more of the EEPROM than that it keeps. */
#define WRITES_KEPT 65536
uint8_t eeprom[EEPROM_BYTES];
uint32_t eeprom_writes[WRITES_KEPT], eeprom_write_count;
static void __attribute__((constructor)) blank_eeprom(void) { memset(eeprom, 0xFF, sizeof eeprom); }
uint8_t board_eeprom_ready(void) { return 1; }
uint8_t board_eeprom_read(uint16_t at) { return eeprom[at]; }
void board_eeprom_write(uint16_t at, uint8_t byte) {
    eeprom[at] = byte;
    eeprom_writes[eeprom_write_count++ % WRITES_KEPT] = (uint32_t)at << 8 | byte;
}

void board_safe(void) {
    stopped = 1;
    port_a = 0;
    duty[0] = duty[1] = 0;
}
uint8_t board_stopped(void) { return stopped; }
void board_leave_stop(void) { stopped = 0; }
void board_switch(uint8_t pin, uint8_t on) { port_a = on ? port_a | pin : port_a & ~pin; }
void board_enable(uint8_t on) { board_switch(PIN_ENABLE, on); }
uint8_t board_enabled(void) { return (port_a & PIN_ENABLE) != 0; }

void board_wheels(int16_t left, int16_t right) {
    duty[0] = left;
    duty[1] = right;
}

void board_ticks(int16_t *left, int16_t *right) {
    *left = ticks[0];
    *right = ticks[1];
    ticks[0] = ticks[1] = 0;
}

uint16_t board_flow_pulses(void) {
    uint16_t count = pulses;
    pulses = 0;
    return count;
}

uint8_t board_water_low(void) { return 0; }
uint8_t board_pesticide_low(void) { return 0; }
uint8_t board_hopper_full(void) { return 0; }
uint8_t board_ripe(uint8_t plant) { return plant == 0; }
uint8_t board_pests(uint8_t plant) { return plant == 0; }
float board_moisture(uint8_t plant) { return plant * 0.0f; }
float board_battery(void) { return 1; }
uint8_t board_person(void) { return 0; }
float board_person_distance(void) { return 0; }
float board_person_bearing(void) { return 0; }
uint32_t board_ms(void) { return milliseconds; }

uint8_t board_steps_due(void) {
    uint8_t due = steps;
    steps = 0;
    return due;
}

uint8_t uart_waiting(void) { return heard_taken < heard_count; }
int16_t uart_take(void) {
    int16_t byte = uart_waiting() ? (uint8_t)heard[heard_taken++] : -1;
    stops_ahead -= byte == STOP_BYTE;
    return byte;
}
uint8_t uart_stop_ahead(void) { return stops_ahead != 0; }
void uart_put(char byte) { said[said_count++ % BYTES] = byte; }

static void move(double seconds) {
    double gone[2];
    for (int i = 0; i < 2; i++) {
        gone[i] = port_a & PIN_ENABLE ? (double)duty[i] / DUTY_MAX * WHEEL_FULL_SPEED * wheel_share[i] * seconds : 0;
        way[i] += fabs(gone[i]);
        uint32_t count = (uint32_t)(way[i] * TICKS_PER_M);
        ticks[i] += (int16_t)(count - ticks_given[i]) * (gone[i] < 0 ? -1 : 1);
        ticks_given[i] = count;
    }
    double turned = (gone[1] - gone[0]) / TRACK, middle = true_yaw + turned / 2;
    true_x += (gone[0] + gone[1]) / 2 * cos(middle);
    true_y += (gone[0] + gone[1]) / 2 * sin(middle);
    true_yaw += turned;
}

static void pump(double seconds) {
    if (port_a & PIN_PUMP) {
        pump_seconds += seconds;
        pumped_liters += WATER_FLOW * seconds;
        metered += WATER_FLOW * seconds * meter_share;
        uint32_t count = (uint32_t)(metered * PULSES_PER_L);
        pulses += (uint16_t)(count - pulses_given);
        pulses_given = count;
    }
}

/* The line brings bytes, faster than the main loop takes them. */
void native_hear(const char *bytes, uint32_t count) {
    if (!uart_waiting()) {
        heard_count = heard_taken = 0;
    }
    for (uint32_t i = 0; i < count && heard_count < BYTES; i++) {
        if (bytes[i] == STOP_BYTE) {
            board_safe();
            stops_ahead++;
        }
        heard[heard_count++] = bytes[i];
    }
}

/* Lets so many milliseconds pass, or fewer once the board says something. */
void native_run(uint32_t most_ms) {
    static uint8_t is_up;
    uint32_t before = said_count;

    if (!is_up) {
        is_up = 1;
        chip_guard_init();
    }
    for (; most_ms && said_count == before; most_ms--) {
        move(0.001);
        pump(0.001);
        milliseconds++;
        steps += milliseconds % STEP_MS == 0;
        if (milliseconds % turn_ms == 0) {
            do {
                turn();
            } while (calls_compute());
        }
    }
}
