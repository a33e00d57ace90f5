/* Runs a firmware on an emulated ATmega2560 (libsimavr), paced to the wall clock.
 *
 *   emulator FIRMWARE.elf [bootloader]
 *
 * The EEPROM is erased but for its last four bytes, where the firmware counts its starts: two boards differ there.
 *
 * With `bootloader` MCUSR is cleared after every reset, as Arduino's bootloader does.
 *
 * UART0 is a pseudo terminal, whose path is the first line of standard output: `pty PATH`. From then on, every
 * STEP_MS of emulated time, one line goes out and one comes in, so that a process at the other end can be the
 * world at the pins:
 *
 *   out: `out MS LEFT RIGHT PORTA LAMP`   milliseconds since the start; duty of the wheels, -1023 to 1023; port A;
 *        whether the lamp is lit
 *   in:  `in LEFT RIGHT FLOW PORTC PORTL STOP ADC0 ... ADC6`   pulses of the two wheels and of the flow meter to give
 *        within the next step; input levels of ports C and L, and of the stop input; millivolts
 *
 * The emulation waits for each answer: what the world says never depends on who is scheduled when. It ends when
 * standard input closes, with a last line `stack BYTES`: how deep the stack has ever been.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "avr_adc.h"
#include "avr_eeprom.h"
#include "avr_extint.h"
#include "avr_ioport.h"
#include "avr_timer.h"
#include "avr_uart.h"
#include "sim_avr.h"
#include "sim_elf.h"

#define FREQUENCY 16000000
#define STEP_MS 5
#define STEP_CYCLES (FREQUENCY / 1000 * STEP_MS)
#define POLL_CYCLES (FREQUENCY / 2000)
/* A board that lags further behind the wall clock than this does not try to catch up. */
#define MAX_LAG_NS 100000000L
#define WORLD_INPUTS 13
#define STOP_PIN 3
#define STOP_INTERRUPT 3
#define LAMP_PIN 7
#define ADC_INPUTS 7
#define RAM_START 0x200
#define MCUSR 0x54
#define STARTS_AT 4092

static avr_t *avr;
static int master;
static int uart_full;
static uint16_t duty[2];
static void (*reset_core)(avr_t *);
static int bootloader, has_reset = 1;
static uint32_t variables_end;

/* Pulses of one input in this step, spread evenly over it. */
struct pulses {
    avr_irq_t *pin;
    uint32_t left;
    avr_cycle_count_t period;
};
static struct pulses trains[3];

static void die(const char *what) {
    fprintf(stderr, "emulator: %s: %s\n", what, strerror(errno));
    exit(3);
}

static int64_t wall_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_uart_byte(struct avr_irq_t *irq, uint32_t value, void *param) {
    uint8_t byte = (uint8_t)value;
    (void)irq;
    (void)param;
    /* Nobody reads: the byte is lost, as on a real line. */
    if (write(master, &byte, 1) < 0 && errno != EAGAIN && errno != EIO) {
        die("cannot write to the pty");
    }
}

static void on_xon(struct avr_irq_t *irq, uint32_t value, void *param) {
    (void)irq;
    (void)value;
    (void)param;
    uart_full = 0;
}

static void on_xoff(struct avr_irq_t *irq, uint32_t value, void *param) {
    (void)irq;
    (void)value;
    (void)param;
    uart_full = 1;
}

static void on_duty(struct avr_irq_t *irq, uint32_t value, void *param) {
    (void)irq;
    *(uint16_t *)param = (uint16_t)value;
}

/* A reset by the firmware's own watchdog: no PWM goes out any more, and the UART's input is empty. */
static void on_reset(avr_t *board) {
    if (reset_core) {
        reset_core(board);
    }
    duty[0] = duty[1] = 0;
    uart_full = 0;
    has_reset = 1;
}

/* The pacing is done between runs, so sleeping costs no time of the host's. */
static void no_sleep(avr_t *board, avr_cycle_count_t cycles) {
    (void)board;
    (void)cycles;
}

static avr_irq_t *port_pin(char port, int pin) { return avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(port), pin); }

static uint8_t port_outputs(char port) {
    avr_ioport_state_t state;
    avr_ioctl(avr, AVR_IOCTL_IOPORT_GETSTATE(port), &state);
    return state.port & state.ddr;
}

static avr_cycle_count_t on_pulse(avr_t *board, avr_cycle_count_t when, void *param) {
    struct pulses *train = param;
    (void)board;
    avr_raise_irq(train->pin, 1);
    avr_raise_irq(train->pin, 0);
    return --train->left ? when + train->period : 0;
}

static void give_pulses(struct pulses *train, uint32_t count) {
    if (train->left) {
        avr_cycle_timer_cancel(avr, on_pulse, train);
        count += train->left;
    }
    train->left = count;
    if (count) {
        train->period = STEP_CYCLES / (count + 1);
        avr_cycle_timer_register(avr, train->period, on_pulse, train);
    }
}

/* The master side, and the slave kept open so that hosts may come and go. */
static void open_pty(void) {
    struct termios raw;
    int slave;

    master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master < 0 || grantpt(master) || unlockpt(master)) {
        die("cannot open a pty");
    }
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0 || tcgetattr(slave, &raw)) {
        die("cannot open the pty's other side");
    }
    cfmakeraw(&raw);
    tcsetattr(slave, TCSANOW, &raw);
}

static void count_starts(void) {
    uint32_t starts = (uint32_t)(wall_ns() / 1000000);
    avr_eeprom_desc_t counter = {.ee = (uint8_t *)&starts, .offset = STARTS_AT, .size = sizeof starts};

    avr_ioctl(avr, AVR_IOCTL_EEPROM_SET, &counter);
}

static void connect_uart(void) {
    uint32_t flags = 0;

    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), on_uart_byte, NULL);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XON), on_xon, NULL);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XOFF), on_xoff, NULL);
}

static void connect_pins(void) {
    for (int i = 0; i < 2; i++) {
        avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_TIMER_GETIRQ('1'), TIMER_IRQ_OUT_PWM0 + i), on_duty,
                                &duty[i]);
    }
    for (int i = 0; i < 3; i++) {
        trains[i].pin = port_pin('D', i);
    }
}

static void feed_uart(void) {
    avr_irq_t *input = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    uint8_t byte;

    while (!uart_full && read(master, &byte, 1) == 1) {
        avr_raise_irq(input, byte);
    }
}

static int signed_duty(int wheel, uint8_t directions) {
    return (directions >> wheel) & 1 ? -(int)duty[wheel] : duty[wheel];
}

/* RAM starts as zeros here, and the stack grows down from its end: what is not zero above the variables was used. */
static void tell_stack_and_exit(void) {
    uint32_t at = variables_end;
    while (at <= avr->ramend && avr->data[at] == 0) {
        at++;
    }
    printf("stack %u\n", avr->ramend + 1 - at);
    exit(0);
}

/* The contact decides the pin, whatever the firmware's pull-up: `level` is 0 while it is closed. */
static void drive_stop(int level) {
    avr_ioport_external_t contact = {.name = 'D', .mask = 1 << STOP_PIN, .value = level << STOP_PIN};

    avr_ioctl(avr, AVR_IOCTL_IOPORT_SET_EXTERNAL('D'), &contact);
    avr_raise_irq(port_pin('D', STOP_PIN), level);
}

static void exchange_with_world(void) {
    uint8_t directions = port_outputs('C');
    unsigned int in[WORLD_INPUTS];
    char line[200];

    printf("out %llu %d %d %d %d\n", (unsigned long long)(avr->cycle / (FREQUENCY / 1000)),
           signed_duty(0, directions), signed_duty(1, directions), port_outputs('A'),
           (port_outputs('B') >> LAMP_PIN) & 1);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) {
        tell_stack_and_exit();
    }
    if (sscanf(line, "in %u %u %u %u %u %u %u %u %u %u %u %u %u", &in[0], &in[1], &in[2], &in[3], &in[4], &in[5],
               &in[6], &in[7], &in[8], &in[9], &in[10], &in[11], &in[12]) != WORLD_INPUTS) {
        fprintf(stderr, "emulator: not an answer: %s", line);
        exit(3);
    }
    for (int i = 0; i < 3; i++) {
        give_pulses(&trains[i], in[i]);
    }
    for (int pin = 0; pin < 8; pin++) {
        if (pin >= 4) {
            avr_raise_irq(port_pin('C', pin), (in[3] >> pin) & 1);
        }
        avr_raise_irq(port_pin('L', pin), (in[4] >> pin) & 1);
    }
    drive_stop(in[5] != 0);
    for (int channel = 0; channel < ADC_INPUTS; channel++) {
        avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_ADC0 + channel), in[6 + channel]);
    }
}

/* Waits until the wall clock is where the board's clock is. */
static void pace(void) {
    static int64_t origin_ns;
    int64_t board_ns = (int64_t)(avr->cycle * 1000 / (FREQUENCY / 1000000)), ahead_ns;

    if (!origin_ns) {
        origin_ns = wall_ns() - board_ns;
    }
    ahead_ns = origin_ns + board_ns - wall_ns();
    if (ahead_ns > 0) {
        struct timespec rest = {0, ahead_ns};
        nanosleep(&rest, NULL);
    } else if (ahead_ns < -MAX_LAG_NS) {
        origin_ns -= ahead_ns;
    }
}

int main(int argc, char **argv) {
    elf_firmware_t firmware = {0};
    avr_cycle_count_t next_step = 0, next_poll = 0;

    bootloader = argc == 3 && strcmp(argv[2], "bootloader") == 0;
    if (argc != 2 + bootloader) {
        fprintf(stderr, "usage: emulator FIRMWARE.elf [bootloader]\n");
        return 2;
    }
    if (elf_read_firmware(argv[1], &firmware)) {
        fprintf(stderr, "emulator: %s is no firmware\n", argv[1]);
        return 2;
    }
    firmware.frequency = FREQUENCY;
    firmware.vcc = firmware.avcc = firmware.aref = 5000;
    avr = avr_make_mcu_by_name("atmega2560");
    if (!avr) {
        fprintf(stderr, "emulator: this libsimavr does not know the atmega2560\n");
        return 3;
    }
    avr_init(avr);
    avr->log = LOG_ERROR;
    avr_load_firmware(avr, &firmware);
    avr->sleep = no_sleep;
    reset_core = avr->reset;
    avr->reset = on_reset;
    variables_end = RAM_START + firmware.datasize + firmware.bsssize;
    open_pty();
    connect_uart();
    connect_pins();
    count_starts();
    /* The stop input is read by its edges. An input that is low before the firmware has said so counts as triggered by
     * its level, and libsimavr would look at it in every cycle from then on, which takes most of a core. */
    avr_extint_set_strict_lvl_trig(avr, STOP_INTERRUPT, 0);
    drive_stop(0);
    printf("pty %s\n", ptsname(master));
    for (;;) {
        if (has_reset && bootloader) {
            avr->data[MCUSR] = 0;
        }
        has_reset = 0;
        int state = avr_run(avr);
        if (state == cpu_Done || state == cpu_Crashed) {
            fprintf(stderr, "emulator: the CPU has stopped in state %d at %#x\n", state, avr->pc);
            return 3;
        }
        if (avr->cycle >= next_poll) {
            next_poll = avr->cycle + POLL_CYCLES;
            feed_uart();
            pace();
        }
        if (avr->cycle >= next_step) {
            next_step += STEP_CYCLES;
            exchange_with_world();
        }
    }
}
