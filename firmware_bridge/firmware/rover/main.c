/* The farm rover's controller. */
#include <avr/interrupt.h>

#include "board.h"
#include "calls.h"
#include "sensors.h"
#include "uart.h"
#include "wire.h"

int main(void) {
    board_init();
    uart_init();
    sei();
    wire_status();
    for (;;) {
        uint8_t step = board_step_due();
        wire_poll();
        wire_watch();
        calls_step(step);
        if (step) {
            sensors_step();
        }
        board_idle();
    }
}
