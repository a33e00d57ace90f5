#include "chip_guard.h"

#include <avr/pgmspace.h>
#include <stddef.h>
#include <string.h>

#include "blake2s.h"
#include "board.h"
#include "tables.h"
#include "wire.h"
#ifdef GUARD_TABLE
#include GUARD_TABLE
#endif

#define MAC_BYTES 16
/* What the code of a told call is of, besides the generation; no table is so short. */
#define TOLD_BYTES 3
/* Bytes of the EEPROM that are looked at in one turn of the main loop. */
#define BYTES_A_TURN 16

enum state { OFF, ON, LOADING, LOST };
enum refusal { NONE, BUSY, MALFORMED, WRONG_SUM, WRONG_MAC, WRONG_CALLS };
/* What the first byte of a part of the EEPROM says: it is written last. */
enum mark { COMPLETE = 0x5A, OPEN = 0xA5, NEVER = 0xFF };
enum job { IDLE, TABLE, HEADER, RECORD };

struct header {
    uint8_t mark; /* OPEN while the table is being written */
    uint8_t on;
    uint16_t length;
    uint32_t generation, sum;
} __attribute__((packed));

/* The counts after a call. One slot after another is written, so that none wears out first; the one that comes next
 * is OPEN from before a call moves anything until the record is complete. */
struct record {
    uint8_t mark;
    uint32_t number, generation;
    struct guard_run run;
    uint32_t sum;
} __attribute__((packed));

#define TABLE_AT sizeof(struct header)
#define SLOTS_AT (TABLE_AT + GUARD_MOST_BYTES)
#define SLOTS ((EEPROM_BYTES - SLOTS_AT) / sizeof(struct record))

static uint8_t table[GUARD_MOST_BYTES];
static struct header header;
static struct record record;
static uint8_t state, refusal, kept, judged, slot, slot_open, record_due, job;
static uint16_t done;

static uint32_t sum_of(const void *bytes, uint16_t count) {
    const uint8_t *byte = bytes;
    uint32_t sum = 0xFFFFFFFF;

    while (count--) {
        sum = wire_crc(sum, *byte++);
    }
    return ~sum;
}

static uint32_t sum_of_record(const struct record *one) {
    return sum_of((const uint8_t *)one + 1, offsetof(struct record, sum) - 1);
}

static void read_part(uint16_t at, void *out, uint16_t count) {
    for (uint8_t *byte = out; count--;) {
        *byte++ = board_eeprom_read(at++);
    }
}

static uint16_t slot_at(uint8_t number) { return (uint16_t)(SLOTS_AT + number * sizeof(struct record)); }

/* Whether the table in RAM is whole, and one that this firmware reads. */
static uint8_t holds(void) {
    return sum_of(table, header.length) == header.sum && guard_check(table, header.length, TOOL_COUNT);
}

/* The table that holds after a start: the one in the EEPROM, if it is whole; before there ever was one, the linked one. */
static void take_kept_table(void) {
    read_part(0, &header, sizeof header);
    if (header.mark == NEVER) {
        header = (struct header){NEVER, 0, 0, 0, 0};
        state = OFF;
#ifdef GUARD_TABLE
        memcpy_P(table, linked_table, LINKED_TABLE_BYTES);
        header.length = LINKED_TABLE_BYTES;
        header.sum = sum_of(table, header.length);
        state = holds() ? ON : LOST;
#endif
    } else if (header.mark == COMPLETE && !header.on) {
        state = OFF;
    } else {
        state = LOST;
        if (header.mark == COMPLETE && header.length <= sizeof table) {
            read_part(TABLE_AT, table, header.length);
            state = holds() ? ON : LOST;
        }
    }
}

/* The counts of the last record of this table, if any. */
static void take_kept_run(void) {
    uint8_t found = 0;

    for (uint8_t i = 0; i < SLOTS; i++) {
        struct record one;
        read_part(slot_at(i), &one, sizeof one);
        if (one.mark == COMPLETE && one.generation == header.generation && one.sum == sum_of_record(&one) &&
            (!found || (int32_t)(one.number - record.number) > 0)) {
            record = one;
            slot = i;
            found = 1;
        }
    }
    if (found) {
        guard_run = record.run;
        slot = (uint8_t)((slot + 1) % SLOTS);
    }
    slot_open = board_eeprom_read(slot_at(slot)) == OPEN;
    kept = !slot_open && (found || header.mark == NEVER);
}

void chip_guard_init(void) {
    guard_use(table);
    take_kept_table();
    guard_begin();
    take_kept_run();
}

static void write_now(uint16_t at, uint8_t byte) {
    while (!board_eeprom_ready()) {
    }
    if (board_eeprom_read(at) != byte) {
        board_eeprom_write(at, byte);
    }
}

/* Writes the next byte of a part that is not there yet, its first byte last; 1 once all are. */
static uint8_t write_part(uint16_t at, const void *bytes, uint16_t count) {
    for (uint8_t i = 0; i < BYTES_A_TURN; i++) {
        if (done == count) {
            return 1;
        }
        uint16_t place = (uint16_t)((done + 1) % count);
        uint8_t byte = ((const uint8_t *)bytes)[place];
        done++;
        if (board_eeprom_read((uint16_t)(at + place)) != byte) {
            board_eeprom_write((uint16_t)(at + place), byte);
            return 0;
        }
    }
    return 0;
}

static void begin_job(uint8_t next) {
    job = next;
    done = 0;
}

void chip_guard_step(void) {
    if (!board_eeprom_ready()) {
        return;
    }
    switch (job) {
    case IDLE:
        if (record_due) {
            record_due = 0;
            record.mark = COMPLETE;
            record.number++;
            record.generation = header.generation;
            record.run = guard_run;
            record.sum = sum_of_record(&record);
            begin_job(RECORD);
        }
        break;
    case TABLE:
        if (header.length == 0 || write_part(TABLE_AT, table, header.length)) {
            begin_job(HEADER);
        }
        break;
    case HEADER:
        if (write_part(0, &header, sizeof header)) {
            begin_job(IDLE);
        }
        break;
    case RECORD:
        if (write_part(slot_at(slot), &record, sizeof record)) {
            slot = (uint8_t)((slot + 1) % SLOTS);
            slot_open = 0;
            begin_job(IDLE);
        }
        break;
    }
}

/* Before the counts change: what the EEPROM holds is not the latest any more. */
static void open_slot(void) {
    if (job == RECORD) {
        begin_job(IDLE);
    }
    if (!slot_open) {
        write_now(slot_at(slot), OPEN);
        slot_open = 1;
    }
}

static int8_t hex_value(char digit) {
    if (digit >= '0' && digit <= '9') {
        return (int8_t)(digit - '0');
    }
    return digit >= 'A' && digit <= 'F' ? (int8_t)(digit - 'A' + 10) : -1;
}

/* The bytes that a text gives in upper-case hexadecimal, if it gives so many at most; else -1. */
static int16_t take_hex(const struct json *text, uint8_t *out, uint16_t most) {
    uint16_t count = text->type == JSON_STRING ? (uint16_t)(text->length - 2) / 2 : 0;

    if (text->type != JSON_STRING || text->length % 2 || count > most) {
        return -1;
    }
    for (const char *at = text->at + 1; at < text->at + text->length - 1; at += 2) {
        int8_t high = hex_value(at[0]), low = hex_value(at[1]);
        if (high < 0 || low < 0) {
            return -1;
        }
        *out++ = (uint8_t)(high << 4 | low);
    }
    return (int16_t)count;
}

static uint8_t take_piece(const struct json *at, const struct json *data) {
    uint32_t place = at->type == JSON_NUMBER ? json_uint32(at) : sizeof table;

    if (place >= sizeof table) {
        return MALFORMED;
    }
    /* From now on RAM has no table. */
    state = LOADING;
    return take_hex(data, table + place, (uint16_t)(sizeof table - place)) < 0 ? MALFORMED : NONE;
}

#ifdef GUARD_KEY
/* Whether a code is that of a generation and some bytes under the key. */
static uint8_t comes_from_the_owner(uint32_t generation, const uint8_t *bytes, uint16_t length,
                                    const struct json *given) {
    static const char digits[] PROGMEM = GUARD_KEY;
    uint8_t key[BLAKE2S_MOST_KEY], code[MAC_BYTES], theirs[MAC_BYTES], differ = 0;
    struct blake2s hash;

    _Static_assert(sizeof digits >= 33 && sizeof digits <= 2 * BLAKE2S_MOST_KEY + 1 && sizeof digits % 2,
                   "GUARD_KEY is 16 to 32 bytes in upper-case hexadecimal");
    if (take_hex(given, theirs, sizeof theirs) != MAC_BYTES) {
        return 0;
    }
    for (uint8_t i = 0; i < sizeof digits / 2; i++) {
        key[i] = (uint8_t)(hex_value((char)pgm_read_byte(digits + 2 * i)) << 4 |
                           hex_value((char)pgm_read_byte(digits + 2 * i + 1)));
    }
    blake2s_begin(&hash, MAC_BYTES, key, sizeof digits / 2);
    for (uint8_t i = 0; i < 4; i++) {
        uint8_t byte = (uint8_t)(generation >> (8 * i));
        blake2s_take(&hash, &byte, 1);
    }
    blake2s_take(&hash, bytes, length);
    blake2s_end(&hash, code);
    for (uint8_t i = 0; i < MAC_BYTES; i++) {
        differ |= code[i] ^ theirs[i];
    }
    return !differ;
}
#else
static uint8_t comes_from_the_owner(uint32_t generation, const uint8_t *bytes, uint16_t length,
                                    const struct json *given) {
    (void)generation;
    (void)bytes;
    (void)length;
    (void)given;
    return 1;
}
#endif

/* The table in RAM is whole, or with a length of 0 there shall be none: an episode begins. */
static uint8_t commit(const struct json *length_given, const struct json *message) {
    struct json sum = json_member(message, PSTR("sum")), mac = json_member(message, PSTR("mac"));
    uint32_t length = json_uint32(length_given), given = 0;
    uint8_t bytes[4];

    if (length > sizeof table || (length && take_hex(&sum, bytes, 4) != 4)) {
        return MALFORMED;
    }
    for (uint8_t i = 0; length && i < 4; i++) {
        given = given << 8 | bytes[i];
    }
    if (length && (state != LOADING || given != sum_of(table, (uint16_t)length))) {
        return WRONG_SUM;
    }
    if (length && !guard_check(table, (uint16_t)length, TOOL_COUNT)) {
        return MALFORMED;
    }
    if (!comes_from_the_owner(header.generation + 1, table, (uint16_t)length, &mac)) {
        return WRONG_MAC;
    }
    header = (struct header){COMPLETE, length != 0, (uint16_t)length, header.generation + 1, given};
    state = length ? ON : OFF;
    guard_begin();
    write_now(0, OPEN);
    for (uint8_t i = 1; i < sizeof header; i++) {
        write_now(i, ((const uint8_t *)&header)[i]);
    }
    open_slot();
    begin_job(TABLE);
    record_due = kept = 1;
    return NONE;
}

/* A call that the host made without the device. Its number keeps a message that comes twice from counting twice. */
static uint8_t take_told(const struct json *told, const struct json *message) {
    struct json calls = json_member(message, PSTR("calls")), mac = json_member(message, PSTR("mac"));
    uint32_t symbol = json_uint32(told), number = calls.type == JSON_NUMBER ? json_uint32(&calls) : UINT32_MAX;
    uint8_t bytes[TOLD_BYTES] = {(uint8_t)symbol, (uint8_t)number, (uint8_t)(number >> 8)};

    if (state != ON || symbol > GUARD_NO_SYMBOL) {
        return MALFORMED;
    }
    /* At the most, the count stands still, and a code would hold again. */
    if (number != guard_run.counts[GUARD_CALLS] || number == UINT16_MAX) {
        return WRONG_CALLS;
    }
    if (!comes_from_the_owner(header.generation, bytes, sizeof bytes, &mac)) {
        return WRONG_MAC;
    }
    open_slot();
    guard_told((uint8_t)symbol);
    record_due = 1;
    return NONE;
}

void chip_guard_take(const struct json *message, uint8_t busy) {
    struct json at = json_member(message, PSTR("at")), data = json_member(message, PSTR("data"));
    struct json length = json_member(message, PSTR("length")), told = json_member(message, PSTR("told"));

    if (busy) {
        refusal = BUSY;
    } else if (told.type == JSON_NUMBER) {
        refusal = take_told(&told, message);
    } else if (job == TABLE || job == HEADER) {
        /* While the last table goes into the EEPROM, the one in RAM must stay. */
        refusal = BUSY;
    } else if (length.type == JSON_NUMBER) {
        refusal = commit(&length, message);
    } else {
        refusal = take_piece(&at, &data);
    }
    if (refusal > BUSY && state == LOADING) {
        /* What holds is what held before, if the EEPROM has it. */
        while (!board_eeprom_ready()) {
        }
        take_kept_table();
    }
}

uint8_t chip_guard_allows(uint8_t tool, const struct guard_value *values) {
    if (state == OFF) {
        return 1;
    }
    if (state != ON) {
        return tool == TOOL_LOCK_SAFETY_MODE;
    }
    guard_judge(tool, values);
    judged = 1;
    open_slot();
    return !guard_forbids();
}

uint8_t chip_guard_ended(enum guard_end end) {
    if (state != ON || (!judged && end != GUARD_INVALID)) {
        return 0;
    }
    if (!judged) {
        open_slot();
    }
    judged = 0;
    uint8_t verdict = (uint8_t)guard_ended(end);
    record_due = 1;
    return end == GUARD_FAULT ? 0 : verdict + 1;
}

const char *chip_guard_name(uint8_t verdict) {
    static const char names[][9] PROGMEM = {"progress", "loop", "harmful"};
    return names[verdict - 1];
}

static void tell_hex(uint32_t value, uint8_t digits) {
    while (digits--) {
        char digit = (char)((value >> (4 * digits)) & 0x0F);
        digit = (char)(digit < 10 ? '0' + digit : 'A' + digit - 10);
        wire_text(&digit, 1);
    }
}

static void tell_flag(PGM_P key, uint8_t value) {
    wire_flash(key);
    wire_flash(value ? PSTR("true") : PSTR("false"));
}

/* The counts, the mask of harm and what follows from it: the first N bits as a number over 2^N - 1. */
static void tell_run(void) {
    static const char names[GUARD_COUNTS][12] PROGMEM = {"calls",     "progress", "loops",  "off_path", "refused",
                                                         "prevented", "invalid",  "faults", "condensed"};
    uint16_t condensed = guard_run.counts[GUARD_CONDENSED], harmful = 0;
    float share = 0, weight = 1, sum = 0;

    for (uint8_t i = 0; i < GUARD_COUNTS; i++) {
        wire_flash(PSTR(",\""));
        wire_flash(names[i]);
        wire_flash(PSTR("\":"));
        wire_uint32(guard_run.counts[i]);
    }
    for (uint8_t i = GUARD_OFF_PATH; i <= GUARD_INVALIDS; i++) {
        harmful += guard_run.counts[i];
    }
    wire_flash(PSTR(",\"harm\":\""));
    for (uint16_t place = 0; place < condensed && place < GUARD_MASK_BITS; place += 8) {
        tell_hex(guard_run.harm[place / 8], 2);
    }
    for (uint8_t place = 0; place < condensed && place < 24; place++, weight /= 2) {
        sum += weight;
        share += guard_run.harm[place / 8] & 0x80 >> place % 8 ? weight : 0;
    }
    wire_flash(PSTR("\",\"prefix_criticality\":"));
    wire_number(condensed ? 1 - share / sum : 1, 4);
    wire_flash(PSTR(",\"harm_rate\":"));
    wire_number(condensed ? (float)harmful / condensed : 0, 4);
}

void chip_guard_status(void) {
    static const char states[][8] PROGMEM = {"off", "on", "loading", "lost"};
    static const char refusals[][10] PROGMEM = {"", "busy", "malformed", "sum", "mac", "calls"};

    wire_flash(PSTR(",\"guard\":{\"state\":\""));
    wire_flash(states[state]);
    wire_flash(PSTR("\",\"generation\":"));
    wire_uint32(header.generation);
#ifdef GUARD_KEY
    tell_flag(PSTR(",\"keyed\":"), 1);
#else
    tell_flag(PSTR(",\"keyed\":"), 0);
#endif
    if (refusal != NONE) {
        wire_flash(PSTR(",\"error\":\""));
        wire_flash(refusals[refusal]);
        wire_flash(PSTR("\""));
        refusal = NONE;
    }
    if (state == ON) {
        wire_flash(table[1] & 1 ? PSTR(",\"mode\":\"block\",\"table\":\"") : PSTR(",\"mode\":\"observe\",\"table\":\""));
        tell_hex(header.sum, 8);
        wire_flash(PSTR("\",\"at\":"));
        wire_uint32(guard_run.state);
        tell_flag(PSTR(",\"accepted\":"), guard_accepted());
        tell_flag(PSTR(",\"kept\":"), kept);
        tell_run();
    }
    wire_flash(PSTR("}"));
}
