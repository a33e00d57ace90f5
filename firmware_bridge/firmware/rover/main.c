/* The farm rover's controller. */
#include <avr/interrupt.h>

#include "board.h"
#include "calls.h"
#include "chip_guard.h"
#include "sensors.h"
#include "uart.h"
#include "wire.h"

static void turn(void) {
    uint8_t steps = board_steps_due();

    board_alive();
    wire_poll();
    wire_watch();
    calls_step(steps);
    chip_guard_step();
    if (steps) {
        sensors_step();
    }
}

int main(void) {
    board_init();
    uart_init();
    /* Reading the guard's table takes 4 ms, in which a stop is heard. */
    sei();
    chip_guard_init();
    wire_status();
    for (;;) {
        turn();
        if (!calls_compute()) {
            board_idle();
        }
    }
}
