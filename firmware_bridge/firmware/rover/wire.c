#include "wire.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <util/atomic.h>
#ifdef TEST_HOOKS
#include <avr/interrupt.h>
#endif

#include "board.h"
#include "calls.h"
#include "chip_guard.h"
#include "json.h"
#include "sensors.h"
#include "tables.h"
#include "uart.h"

#define CRC_TAIL 9 /* `*` and eight digits */
/* Bytes that are taken in one turn of the main loop. */
#define POLL_BYTES 64

/* One byte more than a frame: the JSON reader stops at the `*`. */
static char line[MAX_FRAME + 1];
static uint16_t line_length;
static uint8_t line_too_long, line_before_stop, attached, stop_told, input_told;
static uint32_t crc;
static uint16_t dropped;

/* A nibble at a time. */
uint32_t wire_crc(uint32_t sum, uint8_t byte) {
    static const uint32_t nibbles[16] PROGMEM = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
        0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
    sum ^= byte;
    sum = pgm_read_dword(&nibbles[sum & 0x0F]) ^ (sum >> 4);
    return pgm_read_dword(&nibbles[sum & 0x0F]) ^ (sum >> 4);
}

static char hex(uint8_t nibble) { return (char)(nibble < 10 ? '0' + nibble : 'A' + nibble - 10); }

static void put(char byte) {
    crc = wire_crc(crc, (uint8_t)byte);
    uart_put(byte);
}

void wire_flash(PGM_P text) {
    for (char c; (c = (char)pgm_read_byte(text)); text++) {
        put(c);
    }
}

void wire_text(const char *text, uint8_t length) {
    while (length--) {
        put(*text++);
    }
}

void wire_begin(PGM_P op) {
    crc = 0xFFFFFFFF;
    wire_flash(PSTR("{\"v\":1,\"op\":\""));
    wire_flash(op);
    put('"');
}

void wire_end(void) {
    put('}');
    uint32_t sum = ~crc;
    uart_put('*');
    for (int8_t shift = 28; shift >= 0; shift -= 4) {
        uart_put(hex((uint8_t)(sum >> shift) & 0x0F));
    }
    uart_put('\n');
}

static void put_digits(uint32_t value, uint8_t least) {
    char digits[10];
    uint8_t count = 0;
    while (value || count < least) {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    }
    while (count) {
        put(digits[--count]);
    }
}

void wire_uint32(uint32_t value) { put_digits(value, 1); }

/* A whole number of 10^-decimals, without trailing zeros. */
static void put_scaled(uint32_t scaled, uint8_t decimals) {
    uint32_t one = 1;
    for (uint8_t i = 0; i < decimals; i++) {
        one *= 10;
    }
    put_digits(scaled / one, 1);
    scaled %= one;
    if (scaled) {
        while (scaled % 10 == 0) {
            scaled /= 10;
            decimals--;
        }
        put('.');
        put_digits(scaled, decimals);
    }
}

void wire_number(float value, uint8_t decimals) {
    float one = 1;
    for (uint8_t i = 0; i < decimals; i++) {
        one *= 10;
    }
    uint32_t scaled = (uint32_t)lround(fabs(value) * one);
    if (value < 0 && scaled) {
        put('-');
    }
    put_scaled(scaled, decimals);
}

void wire_seconds(uint32_t milliseconds) { put_scaled(milliseconds, 3); }

/* The link clock, and the boot that it is of. */
static void tell_clock(void) {
    wire_flash(PSTR(",\"m\":"));
    wire_uint32(board_ms());
    wire_flash(PSTR(",\"boot\":\""));
    wire_uint32(board_boot());
    put('"');
}

void wire_status(void) {
    wire_begin(PSTR("status"));
    wire_flash(board_stopped() ? PSTR(",\"state\":\"estop\"") : PSTR(",\"state\":\"online\""));
    tell_clock();
    wire_flash(PSTR(",\"device\":\"" DEVICE_NAME "\",\"fw\":\"pathrig rover 1\",\"watchdog_ms\":"));
    wire_uint32(WATCHDOG_MS);
    wire_flash(PSTR(",\"max_frame\":"));
    wire_uint32(MAX_FRAME);
    wire_flash(PSTR(",\"dropped\":"));
    wire_uint32(dropped);
    input_told = board_stop_input();
    if (input_told != INPUT_NONE) {
        static const char inputs[][9] PROGMEM = {"released", "pressed", "latched"};
        wire_flash(PSTR(",\"stop_input\":\""));
        wire_flash(inputs[input_told - INPUT_RELEASED]);
        wire_flash(PSTR("\""));
    }
    if (board_reset_cause() != RESET_UNKNOWN) {
        static const char causes[][9] PROGMEM = {"power", "brownout", "watchdog", "external"};
        wire_flash(PSTR(",\"reset\":\""));
        wire_flash(causes[board_reset_cause() - RESET_POWER]);
        wire_flash(PSTR("\""));
    }
    chip_guard_status();
    wire_end();
}

uint8_t wire_attached(void) { return attached; }

/* A host's message that is understood: no other frame puts the watchdog off. */
static void heard(void) {
    attached = 1;
    board_heard();
}

static void reset(uint8_t of_input) {
    if (!line_before_stop && !uart_stop_ahead()) {
        if (of_input) {
            board_forget_press();
        }
        if (board_stopped()) {
            calls_abort();
            /* A stop that comes in just now must not be lost. */
            ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
                if (!uart_stop_ahead()) {
                    board_leave_stop();
                }
            }
        }
        stop_told = board_stopped();
        sensors_tell_all();
    }
    wire_status();
}

static uint8_t of_version_1(const struct json *message) {
    struct json version = json_member(message, PSTR("v"));
    return version.type == JSON_NONE || (version.type == JSON_NUMBER && json_float(&version) == 1);
}

static void handle(const struct json *message) {
    struct json op = json_member(message, PSTR("op"));
    uint8_t ours = of_version_1(message);

    /* Whatever version they are of, calls are answered, and a stop stops. */
    if (!ours && !json_is(&op, PSTR("call")) && !json_is(&op, PSTR("init")) && !json_is(&op, PSTR("estop"))) {
        return;
    }
    if (json_is(&op, PSTR("ping"))) {
        heard();
        wire_begin(PSTR("pong"));
        tell_clock();
        wire_end();
    } else if (json_is(&op, PSTR("call"))) {
        if (calls_take(message, ours)) {
            heard();
        }
    } else if (json_is(&op, PSTR("hello"))) {
        heard();
        wire_status();
    } else if (json_is(&op, PSTR("estop"))) {
        heard();
        board_safe();
        stop_told = 0;
    } else if (json_is(&op, PSTR("reset"))) {
        heard();
        reset(json_member(message, PSTR("stop_input")).type == JSON_TRUE);
    } else if (json_is(&op, PSTR("guard"))) {
        heard();
        chip_guard_take(message, calls_running());
        wire_status();
    } else if (json_is(&op, PSTR("init"))) {
        if (calls_refuse_init(message)) {
            heard();
        }
#ifdef TEST_HOOKS
    } else if (json_is(&op, PSTR("hang"))) {
        for (;;) {
        }
    } else if (json_is(&op, PSTR("hang deaf"))) {
        cli();
        for (;;) {
        }
#endif
    }
}

static uint8_t checks(uint16_t payload) {
    uint32_t sum = 0xFFFFFFFF;
    for (uint16_t i = 0; i < payload; i++) {
        sum = wire_crc(sum, (uint8_t)line[i]);
    }
    sum = ~sum;
    for (uint8_t i = 0; i < 8; i++) {
        if (line[payload + 1 + i] != hex((uint8_t)(sum >> (28 - 4 * i)) & 0x0F)) {
            return 0;
        }
    }
    return line[payload] == '*';
}

static void take_line(void) {
    struct json message = {JSON_NONE, NULL, 0};

    if (line_length && line[line_length - 1] == '\r') {
        line_length--;
    }
    if (line_length == 0 && !line_too_long) {
        return;
    }
    if (!line_too_long && line_length > CRC_TAIL && checks(line_length - CRC_TAIL)) {
        message = json_parse(line, line_length - CRC_TAIL);
    }
    if (message.type == JSON_OBJECT) {
        handle(&message);
    } else {
        dropped++;
    }
}

void wire_poll(void) {
    int16_t byte;

    for (uint8_t taken = 0; taken < POLL_BYTES && (byte = uart_take()) >= 0; taken++) {
        if (byte == STOP_BYTE) {
            /* It has acted in the interrupt; what stands before it on its line was sent before it. */
            line_before_stop = line_length || line_too_long;
            heard();
        } else if (byte == '\n') {
            take_line();
            line_length = 0;
            line_too_long = line_before_stop = 0;
            return;
        } else if (line_length >= MAX_FRAME - 1) {
            line_too_long = 1;
        } else {
            line[line_length++] = (char)byte;
        }
    }
}

void wire_watch(void) {
    if (board_stopped() && !stop_told) {
        stop_told = 1;
        calls_abort();
        wire_status();
    } else if (board_stop_input() != input_told) {
        wire_status();
    }
}
