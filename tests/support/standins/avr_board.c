/* Runs any AVR firmware on libsimavr with its UART0 on a pseudo terminal, at the pace of the wall clock.
 *
 *   avr_board MCU FIRMWARE.elf
 *
 * The first line of standard output that begins with `pty` names the terminal. Lines on standard input: `B3=0` puts
 * pin 3 of port B low, `?H` asks for a port (answer: `H OUTPUTS DIRECTIONS`, in hex), `!H` for the number of changes
 * of its outputs since it was first asked (answer: `H COUNT LAST NOW`, the times in the board's own ms), and its end is
 * the program's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "avr_ioport.h"
#include "avr_uart.h"
#include "sim_avr.h"
#include "sim_elf.h"

#define FREQUENCY 16000000
#define POLL_CYCLES (FREQUENCY / 2000)
#define MAX_LAG_NS 100000000L
/* Timer 1 of the ATmega328P and of the ATmega2560. */
#define TIMSK1 0x6f
#define OCR1AL 0x88
#define OCR1AH 0x89

static avr_t *avr;
static int master, full;

static void on_byte(struct avr_irq_t *irq, uint32_t value, void *param) {
    uint8_t byte = (uint8_t)value;
    (void)irq;
    (void)param;
    if (write(master, &byte, 1) < 0) {
        return; /* Nobody reads: it is lost, as on a real line. */
    }
}

static void on_flow(struct avr_irq_t *irq, uint32_t value, void *param) {
    (void)irq;
    (void)value;
    full = param != NULL;
}

static void no_sleep(avr_t *board, avr_cycle_count_t cycles) {
    (void)board;
    (void)cycles;
}

static int64_t wall_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pace(void) {
    static int64_t origin;
    int64_t board = (int64_t)(avr->cycle * 1000 / (FREQUENCY / 1000000)), ahead;
    if (!origin) {
        origin = wall_ns() - board;
    }
    ahead = origin + board - wall_ns();
    if (ahead > 0) {
        struct timespec rest = {0, ahead};
        nanosleep(&rest, NULL);
    } else if (ahead < -MAX_LAG_NS) {
        origin -= ahead;
    }
}

static void poke(avr_io_addr_t address, uint8_t value) {
    avr_io_addr_t io = AVR_DATA_TO_IO(address);
    if (avr->io[io].w.c) {
        avr->io[io].w.c(avr, address, value, avr->io[io].w.param);
    }
}

/* A compare value of 0 matches in every cycle on the chip; libsimavr stops such a timer permanently. */
static void keep_timer_alive(void) {
    if ((avr->data[TIMSK1] & 2) && !avr->data[OCR1AL] && !avr->data[OCR1AH]) {
        poke(OCR1AH, 0);
        poke(OCR1AL, 80);
    }
}

struct watched {
    unsigned long changes, last;
    uint32_t value;
    int on;
};

static unsigned long board_ms(void) { return (unsigned long)(avr->cycle / (FREQUENCY / 1000)); }

static void on_change(struct avr_irq_t *irq, uint32_t value, void *param) {
    struct watched *port = param;
    (void)irq;
    if (value != port->value) {
        port->value = value;
        port->changes++;
        port->last = board_ms();
    }
}

static void obey(const char *line) {
    static struct watched ports[26];
    avr_ioport_state_t state;
    char port;
    int pin, level;
    if (sscanf(line, "?%c", &port) == 1) {
        avr_ioctl(avr, AVR_IOCTL_IOPORT_GETSTATE(port), &state);
        printf("%c %02x %02x\n", port, (unsigned)state.port, (unsigned)state.ddr);
        fflush(stdout);
    } else if (sscanf(line, "!%c", &port) == 1 && port >= 'A' && port <= 'Z') {
        struct watched *one = &ports[port - 'A'];
        if (!one->on++) {
            avr_ioctl(avr, AVR_IOCTL_IOPORT_GETSTATE(port), &state);
            one->value = state.port;
            avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(port), IOPORT_IRQ_REG_PORT), on_change,
                                    one);
        }
        printf("%c %lu %lu %lu\n", port, one->changes, one->last, board_ms());
        fflush(stdout);
    } else if (sscanf(line, "%c%d=%d", &port, &pin, &level) == 3) {
        avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(port), pin), level);
    }
}

static void read_orders(void) {
    static char line[32];
    static unsigned int used;
    char c;
    ssize_t got;
    while ((got = read(0, &c, 1)) == 1) {
        if (c == '\n') {
            line[used] = 0;
            used = 0;
            obey(line);
        } else if (used < sizeof line - 1) {
            line[used++] = c;
        }
    }
    if (got == 0) {
        exit(0);
    }
}

static void open_pty(void) {
    struct termios raw;
    int slave;
    master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master < 0 || grantpt(master) || unlockpt(master)) {
        exit(3);
    }
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    tcgetattr(slave, &raw);
    cfmakeraw(&raw);
    tcsetattr(slave, TCSANOW, &raw);
}

int main(int argc, char **argv) {
    elf_firmware_t firmware = {0};
    uint32_t flags = 0;
    avr_cycle_count_t next = 0;
    avr_irq_t *input;
    uint8_t byte;

    if (argc != 3 || elf_read_firmware(argv[2], &firmware)) {
        fprintf(stderr, "usage: avr_board MCU FIRMWARE.elf\n");
        return 2;
    }
    firmware.frequency = FREQUENCY;
    firmware.vcc = firmware.avcc = firmware.aref = 5000;
    avr = avr_make_mcu_by_name(argv[1]);
    if (!avr) {
        return 3;
    }
    avr_init(avr);
    avr->log = LOG_ERROR;
    avr_load_firmware(avr, &firmware);
    avr->sleep = no_sleep;
    open_pty();
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), on_byte, NULL);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XON), on_flow, NULL);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XOFF), on_flow, &full);
    input = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    fcntl(0, F_SETFL, O_NONBLOCK);
    printf("pty %s\n", ptsname(master));
    fflush(stdout);
    for (;;) {
        int state = avr_run(avr);
        if (state == cpu_Done || state == cpu_Crashed) {
            return 3;
        }
        if (avr->cycle >= next) {
            next = avr->cycle + POLL_CYCLES;
            while (!full && read(master, &byte, 1) == 1) {
                avr_raise_irq(input, byte);
            }
            keep_timer_alive();
            read_orders();
            pace();
        }
    }
}
