#include "json.h"

#include <avr/pgmspace.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 8

static const char *value_end(const char *at, const char *end, uint8_t depth, uint8_t *type);

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
        at++;
    }
    return at;
}

static uint8_t is_digit(char c) { return c >= '0' && c <= '9'; }

static int8_t hex_digit(char c) {
    if (is_digit(c)) {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *literal_end(const char *at, const char *end, const char *word, uint8_t length) {
    return end - at >= length && strncmp_P(at, word, length) == 0 ? at + length : NULL;
}

/* The last byte of a character of UTF-8 beyond ASCII (RFC 3629); NULL where it is none. */
static const char *utf8_last(const char *at, const char *end) {
    uint8_t lead = (uint8_t)at[0], more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;

    if (lead < 0xC2 || lead > 0xF4 || end - at <= more) {
        return NULL;
    }
    /* Neither longer than it need be, nor a surrogate, nor above U+10FFFF. */
    uint8_t second = (uint8_t)at[1];
    if (second < (lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80) ||
        second > (lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF)) {
        return NULL;
    }
    for (uint8_t i = 2; i <= more; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return NULL;
        }
    }
    return at + more;
}

static const char *string_end(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '"') {
            return at + 1;
        }
        if ((uint8_t)*at < 0x20) {
            return NULL;
        }
        if ((uint8_t)*at >= 0x80 && !(at = utf8_last(at, end))) {
            return NULL;
        }
        if (*at == '\\') {
            if (++at >= end) {
                return NULL;
            }
            if (*at == 'u') {
                for (uint8_t i = 0; i < 4; i++) {
                    if (++at >= end || hex_digit(*at) < 0) {
                        return NULL;
                    }
                }
            } else if (!*at || !strchr_P(PSTR("\"\\/bfnrt"), *at)) {
                return NULL;
            }
        }
    }
    return NULL;
}

static const char *digits_end(const char *at, const char *end) {
    if (at >= end || !is_digit(*at)) {
        return NULL;
    }
    while (at < end && is_digit(*at)) {
        at++;
    }
    return at;
}

static const char *number_end(const char *at, const char *end) {
    if (*at == '-') {
        at++;
    }
    if (at < end && *at == '0') {
        at++;
    } else {
        at = digits_end(at, end);
    }
    if (at && at < end && *at == '.') {
        at = digits_end(at + 1, end);
    }
    if (at && at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) {
            at++;
        }
        at = digits_end(at, end);
    }
    return at;
}

/* After the opening bracket of an array or an object. */
static const char *members_end(const char *at, const char *end, uint8_t depth, uint8_t keyed) {
    char close = keyed ? '}' : ']';
    uint8_t type;

    if (depth == 0) {
        return NULL;
    }
    at = skip_space(at, end);
    if (at < end && *at == close) {
        return at + 1;
    }
    for (;;) {
        at = skip_space(at, end);
        if (keyed) {
            at = at < end && *at == '"' ? string_end(at, end) : NULL;
            at = at ? skip_space(at, end) : NULL;
            if (!at || at >= end || *at++ != ':') {
                return NULL;
            }
        }
        at = value_end(skip_space(at, end), end, depth - 1, &type);
        at = at ? skip_space(at, end) : NULL;
        if (!at || at >= end) {
            return NULL;
        }
        if (*at == close) {
            return at + 1;
        }
        if (*at++ != ',') {
            return NULL;
        }
    }
}

static const char *value_end(const char *at, const char *end, uint8_t depth, uint8_t *type) {
    if (at >= end) {
        return NULL;
    }
    switch (*at) {
    case 'n':
        *type = JSON_NULL;
        return literal_end(at, end, PSTR("null"), 4);
    case 't':
        *type = JSON_TRUE;
        return literal_end(at, end, PSTR("true"), 4);
    case 'f':
        *type = JSON_FALSE;
        return literal_end(at, end, PSTR("false"), 5);
    case '"':
        *type = JSON_STRING;
        return string_end(at, end);
    case '[':
        *type = JSON_ARRAY;
        return members_end(at + 1, end, depth, 0);
    case '{':
        *type = JSON_OBJECT;
        return members_end(at + 1, end, depth, 1);
    default:
        *type = JSON_NUMBER;
        return number_end(at, end);
    }
}

static struct json value_at(const char *at, const char *end) {
    struct json value = {JSON_NONE, at, 0};
    const char *after = value_end(at, end, MAX_DEPTH, &value.type);

    if (!after) {
        value.type = JSON_NONE;
    } else {
        value.length = (uint16_t)(after - at);
    }
    return value;
}

struct json json_parse(const char *text, uint16_t length) {
    const char *end = text + length;
    struct json value = value_at(skip_space(text, end), end);

    if (value.type != JSON_NONE && skip_space(value.at + value.length, end) != end) {
        value.type = JSON_NONE;
    }
    return value;
}

struct json json_next_member(const struct json *object, const char **place, struct json *key) {
    const char *end = object->at + object->length;
    const char *at = skip_space(*place ? *place : object->at + 1, end);
    struct json value = {JSON_NONE, at, 0};

    if (*at == ',') {
        at = skip_space(at + 1, end);
    }
    if (*at == '}') {
        return value;
    }
    *key = value_at(at, end);
    at = skip_space(key->at + key->length, end);
    value = value_at(skip_space(at + 1, end), end);
    *place = value.at + value.length;
    return value;
}

struct json json_member(const struct json *object, const char *name) {
    struct json found = {JSON_NONE, NULL, 0}, key, value;
    const char *place = NULL;

    while ((value = json_next_member(object, &place, &key)).type != JSON_NONE) {
        if (json_is(&key, name)) {
            found = value;
        }
    }
    return found;
}

/* Appends a code point as UTF-8; NULL where there is no room. */
static char *put_utf8(char *out, const char *limit, uint32_t code) {
    uint8_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0x00, 0xC0, 0xE0, 0xF0};

    if (limit - out <= more) {
        return NULL;
    }
    *out++ = (char)(lead[more] | (uint8_t)(code >> (6 * more)));
    while (more--) {
        *out++ = (char)(0x80 | ((uint8_t)(code >> (6 * more)) & 0x3F));
    }
    return out;
}

static uint16_t four_hex(const char *at) {
    uint16_t code = 0;
    for (uint8_t i = 0; i < 4; i++) {
        code = (uint16_t)(code << 4) | (uint8_t)hex_digit(at[i]);
    }
    return code;
}

uint8_t json_text(const struct json *string, char *out, uint8_t size) {
    const char *at = string->at + 1, *end = string->at + string->length - 1;
    const char *limit = out + size - 1;
    static const char escapes[] PROGMEM = "b\bf\fn\nr\rt\t";

    while (at < end) {
        if (*at != '\\') {
            if (out >= limit) {
                return 0;
            }
            *out++ = *at++;
            continue;
        }
        at++;
        uint32_t code = (uint8_t)*at;
        if (*at++ == 'u') {
            code = four_hex(at);
            at += 4;
            if ((code & 0xFC00) == 0xD800) {
                uint16_t low = at[0] == '\\' && at[1] == 'u' ? four_hex(at + 2) : 0;
                if ((low & 0xFC00) != 0xDC00) {
                    return 0;
                }
                code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
                at += 6;
            }
        } else {
            for (uint8_t i = 0; i < sizeof escapes - 1; i += 2) {
                if ((uint8_t)pgm_read_byte(&escapes[i]) == code) {
                    code = pgm_read_byte(&escapes[i + 1]);
                    break;
                }
            }
        }
        out = code ? put_utf8(out, limit, code) : NULL;
        if (!out) {
            return 0;
        }
    }
    *out = 0;
    return 1;
}

uint8_t json_is(const struct json *string, const char *text) {
    char plain[24];
    return string->type == JSON_STRING && json_text(string, plain, sizeof plain) && strcmp_P(plain, text) == 0;
}

float json_float(const struct json *number) { return (float)strtod(number->at, NULL); }

uint32_t json_uint32(const struct json *number) {
    uint32_t whole = 0;

    if (*number->at == '-') {
        return 0;
    }
    for (const char *at = number->at; at < number->at + number->length; at++) {
        if ((*at | 0x20) == 'e') {
            float value = json_float(number);
            return value < 4294967040.0f ? (uint32_t)value : UINT32_MAX;
        }
    }
    for (const char *at = number->at; at < number->at + number->length && *at != '.'; at++) {
        if (whole > (UINT32_MAX - 9) / 10) {
            return UINT32_MAX;
        }
        whole = 10 * whole + (uint8_t)(*at - '0');
    }
    return whole;
}
