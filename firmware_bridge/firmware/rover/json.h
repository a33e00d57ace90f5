/* A strict JSON reader (RFC 8259) over text that stays where it is: no copies, no heap. */
#ifndef JSON_H
#define JSON_H

#include <stdint.h>

enum json_type { JSON_NONE, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value as it stands in the text; a string with its quotes. `type` is JSON_NONE where there is none. */
struct json {
    uint8_t type;
    const char *at;
    uint16_t length;
};

/* The one value that the whole text is; JSON_NONE where it is no JSON or nests deeper than 8. The byte after
 * the text must be readable and belong to no value: the reader stops at it. */
struct json json_parse(const char *text, uint16_t length);

/* Walks an object's members. `*place` starts as NULL; JSON_NONE after the last. */
struct json json_next_member(const struct json *object, const char **place, struct json *key);

/* The member of that name (in flash), the last one where there are several; JSON_NONE where there is none. */
struct json json_member(const struct json *object, const char *name);

/* Writes a string's text, escapes resolved, as UTF-8 with a zero at its end; 0 where it does not fit. */
uint8_t json_text(const struct json *string, char *out, uint8_t size);

/* Whether a string is that text (in flash). */
uint8_t json_is(const struct json *string, const char *text);

float json_float(const struct json *number);

/* A number cut down to whole milliseconds, within 0 and UINT32_MAX; with an exponent, to single precision. */
uint32_t json_uint32(const struct json *number);

#endif
