#include "board.h"

#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>
#include <math.h>
#include <util/atomic.h>

#include "uart.h"

#define PWM_CONNECTED (_BV(COM1A1) | _BV(COM1B1) | _BV(WGM11) | _BV(WGM10))
#define PWM_DISCONNECTED (_BV(WGM11) | _BV(WGM10))
#define ADC_STEPS 1023.0f
/* Half of a period of the lamp that blinks. */
#define BLINK_MS 250
#define MOISTURE_FULL_SCALE 0.5f
#define SCANNER_FULL_SCALE 20.0f

static volatile uint8_t stopped;
static volatile uint32_t milliseconds;
static volatile uint8_t steps_due;
static volatile uint8_t loop_ms;
static volatile uint8_t listening;
static volatile uint16_t silent_ms;
static volatile int16_t ticks_left, ticks_right;
static volatile uint16_t flow_pulses;

/* What MCUSR said at the start: in a register, since variables are zeroed after it is read. */
#define RESET_FLAGS GPIOR0

/* HUNG while the main loop hangs. A reset by the watchdog leaves it, so that it tells of one where a bootloader has
 * cleared MCUSR. */
#define HUNG 0x48554E47UL
static volatile uint32_t hung __attribute__((section(".noinit")));
static uint8_t was_hung;

#define BOOT_AT ((uint32_t *)EEPROM_BYTES)
static uint32_t boot;

/* PRESSED from a press of the stop input until it is forgotten. */
#define PRESSED 0x53544F50UL
static volatile uint32_t press __attribute__((section(".noinit")));
static volatile uint8_t released_ms;

/* After a reset by the watchdog it runs on with its shortest time: off, before anything else. */
void take_reset_flags(void) __attribute__((naked, used, section(".init3")));
void take_reset_flags(void) {
    RESET_FLAGS = MCUSR;
    MCUSR = 0;
    wdt_disable();
}

#if STOP_INPUT == STOP_CLOSED
#define STOP_EDGE (_BV(ISC31) | _BV(ISC30))
static uint8_t input_pressed(void) { return (PIND & _BV(PD3)) != 0; }
#elif STOP_INPUT == STOP_OPEN
#define STOP_EDGE _BV(ISC31)
static uint8_t input_pressed(void) { return (PIND & _BV(PD3)) == 0; }
#else
#define STOP_EDGE 0
static uint8_t input_pressed(void) { return 0; }
#endif

static void take_press(void) {
    press = PRESSED;
    released_ms = 0;
    board_safe();
}

/* Whatever the contact says by now: it has moved. */
ISR(INT3_vect) { take_press(); }

/* Once a millisecond: a contact that was pressed from the start on, or whose edge was lost. */
static void watch_input(void) {
    if (input_pressed()) {
        take_press();
    } else if (released_ms < RELEASED_MS) {
        released_ms++;
    }
}

static void light_lamp(void) {
    static uint8_t blink_ms;

    if (!stopped) {
        PORTB |= _BV(PB7);
    } else if (++blink_ms >= BLINK_MS) {
        blink_ms = 0;
        PINB = _BV(PB7);
    }
}

ISR(TIMER0_COMPA_vect) {
    static uint8_t until_step;

    milliseconds++;
    if (++until_step >= STEP_MS) {
        until_step = 0;
        steps_due++;
    }
    /* Judged here, so that they hold whatever the main loop does. */
    if (loop_ms < HANG_MS) {
        loop_ms++;
    } else {
        board_safe();
        hung = HUNG;
    }
    if (listening && silent_ms < WATCHDOG_MS && ++silent_ms == WATCHDOG_MS) {
        board_safe();
    }
    watch_input();
    light_lamp();
}

/* One channel a wheel: the direction is the one that the wheel is driven in. */
ISR(INT0_vect) { ticks_left += (PORTC & _BV(PC0)) ? -1 : 1; }
ISR(INT1_vect) { ticks_right += (PORTC & _BV(PC1)) ? -1 : 1; }
ISR(INT2_vect) { flow_pulses++; }

void board_init(void) {
    PORTA = 0;
    DDRA = 0xFF;
    DDRB = _BV(DDB5) | _BV(DDB6) | _BV(DDB7);
    DDRC = _BV(DDC0) | _BV(DDC1);

    TCCR0A = _BV(WGM01);
    TCCR0B = _BV(CS01) | _BV(CS00);
    OCR0A = F_CPU / 64 / 1000 - 1;
    TIMSK0 = _BV(OCIE0A);

    TCCR1A = PWM_DISCONNECTED;
    TCCR1B = _BV(WGM12) | _BV(CS10);

    PORTD = STOP_INPUT == STOP_NONE ? 0 : _BV(PD3);
    EICRA = _BV(ISC01) | _BV(ISC00) | _BV(ISC11) | _BV(ISC10) | _BV(ISC21) | _BV(ISC20) | STOP_EDGE;
    EIFR = _BV(INTF3);
    EIMSK = _BV(INT0) | _BV(INT1) | _BV(INT2) | (STOP_INPUT == STOP_NONE ? 0 : _BV(INT3));
    if (board_reset_cause() == RESET_POWER) {
        press = 0;
    }
    if (STOP_INPUT != STOP_NONE && press == PRESSED) {
        board_safe();
    }

    ADMUX = _BV(REFS0);
    ADCSRA = _BV(ADEN) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0);
    set_sleep_mode(SLEEP_MODE_IDLE);
    boot = eeprom_read_dword(BOOT_AT) + 1;
    eeprom_update_dword(BOOT_AT, boot);
    was_hung = hung == HUNG;
    wdt_enable(WDTO_500MS);
}

enum reset_cause board_reset_cause(void) {
    uint8_t flags = RESET_FLAGS;

    if (flags & _BV(PORF)) {
        return RESET_POWER;
    }
    if (flags & _BV(WDRF)) {
        return RESET_WATCHDOG;
    }
    if (flags & _BV(BORF)) {
        return RESET_BROWNOUT;
    }
    if (flags & (_BV(EXTRF) | _BV(JTRF))) {
        return RESET_EXTERNAL;
    }
    return was_hung ? RESET_WATCHDOG : RESET_UNKNOWN;
}

uint32_t board_boot(void) { return boot; }

void board_alive(void) {
    wdt_reset();
    loop_ms = 0;
    hung = 0;
}

void board_heard(void) {
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        silent_ms = 0;
        listening = 1;
    }
}

void board_safe(void) {
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        stopped = 1;
        PORTA = 0;
        TCCR1A = PWM_DISCONNECTED;
        OCR1A = 0;
        OCR1B = 0;
    }
}

uint8_t board_stopped(void) { return stopped; }

void board_leave_stop(void) { stopped = board_stop_input() >= INPUT_PRESSED; }

uint8_t board_stop_input(void) {
    uint8_t state = STOP_INPUT == STOP_NONE ? INPUT_NONE : INPUT_RELEASED;

    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        if (state && press == PRESSED) {
            state = released_ms < RELEASED_MS ? INPUT_PRESSED : INPUT_LATCHED;
        }
    }
    return state;
}

void board_forget_press(void) {
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        if (released_ms >= RELEASED_MS) {
            press = 0;
        }
    }
}

void board_switch(uint8_t pin, uint8_t on) {
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        if (!on) {
            PORTA &= (uint8_t)~pin;
        } else if (!stopped) {
            PORTA |= pin;
        }
    }
}

void board_enable(uint8_t on) { board_switch(PIN_ENABLE, on); }

uint8_t board_enabled(void) { return (PORTA & PIN_ENABLE) != 0; }

static int16_t magnitude(int16_t duty) { return duty < 0 ? -duty : duty; }

void board_wheels(int16_t left, int16_t right) {
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        if (stopped || (left == 0 && right == 0)) {
            TCCR1A = PWM_DISCONNECTED;
            OCR1A = 0;
            OCR1B = 0;
        } else {
            PORTC = (uint8_t)((PORTC & (uint8_t) ~(_BV(PC0) | _BV(PC1))) | (left < 0 ? _BV(PC0) : 0) |
                              (right < 0 ? _BV(PC1) : 0));
            OCR1A = (uint16_t)magnitude(left);
            OCR1B = (uint16_t)magnitude(right);
            TCCR1A = PWM_CONNECTED;
        }
    }
}

void board_ticks(int16_t *left, int16_t *right) {
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        *left = ticks_left;
        *right = ticks_right;
        ticks_left = ticks_right = 0;
    }
}

uint16_t board_flow_pulses(void) {
    uint16_t pulses;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        pulses = flow_pulses;
        flow_pulses = 0;
    }
    return pulses;
}

uint8_t board_water_low(void) { return (PINC & _BV(PC4)) != 0; }
uint8_t board_pesticide_low(void) { return (PINC & _BV(PC5)) != 0; }
uint8_t board_hopper_full(void) { return (PINC & _BV(PC6)) != 0; }
uint8_t board_ripe(uint8_t plant) { return (PINL >> plant) & 1; }
uint8_t board_pests(uint8_t plant) { return (PINL >> (4 + plant)) & 1; }
uint8_t board_person(void) { return (PINC & _BV(PC7)) != 0; }

static float converted(uint8_t channel) {
    ADMUX = _BV(REFS0) | channel;
    ADCSRA |= _BV(ADSC);
    while (ADCSRA & _BV(ADSC)) {
    }
    return (float)ADC / ADC_STEPS;
}

float board_moisture(uint8_t plant) { return converted(plant) * MOISTURE_FULL_SCALE; }

float board_battery(void) { return converted(4); }

float board_person_distance(void) { return converted(5) * SCANNER_FULL_SCALE; }

float board_person_bearing(void) { return (converted(6) - 0.5f) * 2 * (float)M_PI; }

uint8_t board_eeprom_ready(void) { return eeprom_is_ready(); }
uint8_t board_eeprom_read(uint16_t at) { return eeprom_read_byte((const uint8_t *)at); }
void board_eeprom_write(uint16_t at, uint8_t byte) { eeprom_write_byte((uint8_t *)at, byte); }

uint32_t board_ms(void) {
    uint32_t now;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) { now = milliseconds; }
    return now;
}

uint8_t board_steps_due(void) {
    uint8_t due;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        due = steps_due;
        steps_due = 0;
    }
    return due;
}

void board_idle(void) {
    cli();
    if (!steps_due && !uart_waiting()) {
        sleep_enable();
        sei();
        sleep_cpu();
        sleep_disable();
    }
    sei();
}
