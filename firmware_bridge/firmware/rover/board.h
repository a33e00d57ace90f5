/* The pins of the board, its clock, and the one way to its safe state.
 *
 *   PE0, PE1   UART0: the wire
 *   PA0 pump   PA1 sprayer   PA2 picker   PA3 hopper gate
 *   PA4 water station's valve   PA5 pesticide station's valve   PA6 charger   PA7 enable of the motor drivers
 *   PB7        the lamp: lit while a call may move the rover, blinking while it is stopped
 *   PB5, PB6   PWM of the left and right wheel (OC1A, OC1B), 10 bits   PC0, PC1 their directions, 1 is back
 *   PD0, PD1   one pulse for each WHEEL_TICK of the left and right wheel (INT0, INT1)
 *   PD2        pulses of the pump's flow meter (INT2)
 *   PD3        the stop input (INT3): a contact to ground that is closed until it is pressed
 *   PC4, PC5   float switches, 1 when the water or the pesticide tank is low   PC6 switch, 1 when the hopper is full
 *   PF0..PF3   moisture probes of the plants in their order, 0 to 5 V for 0 to 0.5 m3/m3
 *   PF4        battery, 0 to 5 V for 0 to 1
 *   PC7        the scanner for people, 1 while it sees one; of the nearest PF5 the distance, 0 to 5 V for 0 to 20 m,
 *              and PF6 the bearing, 0 to 5 V for a turn to the left, from straight back
 *   PL0..PL3, PL4..PL7   the camera module's verdict on each plant: ripe, pests
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

enum {
    PIN_PUMP = 0x01,
    PIN_SPRAYER = 0x02,
    PIN_PICKER = 0x04,
    PIN_GATE = 0x08,
    PIN_WATER_VALVE = 0x10,
    PIN_PESTICIDE_VALVE = 0x20,
    PIN_CHARGER = 0x40,
    PIN_ENABLE = 0x80
};

#define DUTY_MAX 1023
#define WHEEL_FULL_SPEED 1.5f /* m/s at full duty */
#define TICKS_PER_M 500.0f
#define TRACK 0.5f /* m between the wheels */
#define PULSES_PER_L 450.0f /* YF-S201: f/Hz = 7.5 * flow/(L/min) */

/* Device seconds that pass in a second of the link clock: above 1 in builds for tests, where wheels, pumps and
 * field are that much faster, while the wire, its watchdog and its deadlines run as ever. */
#ifndef WORLD_SPEED
#define WORLD_SPEED 1
#endif

/* The contact at the stop input: closed until it is pressed, so that a cut cable stops; open until then; or none. */
#define STOP_CLOSED 1
#define STOP_OPEN 2
#define STOP_NONE 0
#ifndef STOP_INPUT
#define STOP_INPUT STOP_CLOSED
#endif

/* So long must the stop input have been released, without a bounce, before its press may be forgotten. */
#define RELEASED_MS 50

/* Milliseconds between two steps of the control loop. */
#define STEP_MS 5

/* A host that was heard and has been silent for so long has lost the board. */
#define WATCHDOG_MS 2000

/* A main loop that has not come round for so long hangs. The longest answers keep it for 150 ms. */
#define HANG_MS 250

/* What started the chip. Where a bootloader has cleared the flags it is UNKNOWN, or the WATCHDOG after a loop that hung
 * with its interrupts on. */
enum reset_cause { RESET_UNKNOWN, RESET_POWER, RESET_BROWNOUT, RESET_WATCHDOG, RESET_EXTERNAL };

void board_init(void);

enum reset_cause board_reset_cause(void);

/* The number of this start, counted in the EEPROM: the host tells a restart by it. */
uint32_t board_boot(void);

/* Once a main loop. Without it the timer's interrupt stops the board after HANG_MS, and the hardware watchdog
 * resets it after 500 ms. */
void board_alive(void);

/* A host was heard. From the first time on, WATCHDOG_MS without it stop the board, in the timer's interrupt. */
void board_heard(void);

/* Everything off and the motors' drivers disabled. May be called from an interrupt. */
void board_safe(void);

/* Enable or disable the drivers of the motors. Stays off while the board is stopped. */
void board_enable(uint8_t on);
uint8_t board_enabled(void);

/* One of the actuators of port A. Stays off while the board is stopped. */
void board_switch(uint8_t pin, uint8_t on);

/* Duty of the wheels, -DUTY_MAX to DUTY_MAX. Stays 0 while the board is stopped. */
void board_wheels(int16_t left, int16_t right);

/* Signed ticks since the last call. */
void board_ticks(int16_t *left, int16_t *right);

/* Pulses of the flow meter since the last call. */
uint16_t board_flow_pulses(void);

uint8_t board_water_low(void);
uint8_t board_pesticide_low(void);
uint8_t board_hopper_full(void);
uint8_t board_ripe(uint8_t plant);
uint8_t board_pests(uint8_t plant);
uint8_t board_person(void);

float board_moisture(uint8_t plant);
float board_battery(void);

/* Of the nearest person that the scanner sees: m, and rad from the rover's heading. */
float board_person_distance(void);
float board_person_bearing(void);

/* The EEPROM, a byte at a time: nothing may be read or written until the byte before is written. */
#define EEPROM_BYTES (4096 - sizeof(uint32_t)) /* what follows counts the starts */
uint8_t board_eeprom_ready(void);
uint8_t board_eeprom_read(uint16_t at);
void board_eeprom_write(uint16_t at, uint8_t byte);

/* Milliseconds since the start: the link clock. */
uint32_t board_ms(void);

/* How many times STEP_MS has passed since the last call. */
uint8_t board_steps_due(void);

/* Sleep until the next interrupt, unless bytes wait or a stop has come. */
void board_idle(void);

/* The latched stop. It is set in interrupts; only board_leave_stop clears it. */
uint8_t board_stopped(void);
void board_leave_stop(void);

/* PRESSED until the input has been released for RELEASED_MS, then LATCHED: the board stays stopped, also over resets
 * but one of the supply, until the press is forgotten, which only works while it is LATCHED. */
enum stop_input { INPUT_NONE, INPUT_RELEASED, INPUT_PRESSED, INPUT_LATCHED };
uint8_t board_stop_input(void);
void board_forget_press(void);

#endif
