/* BLAKE2s (RFC 7693), keyed: the code that shows who made a message. */
#ifndef BLAKE2S_H
#define BLAKE2S_H

#include <stdint.h>

#define BLAKE2S_MOST_KEY 32

struct blake2s {
    uint32_t state[8];
    uint8_t block[64];
    uint8_t filled, size;
    uint32_t taken; /* bytes; 4 GB at most */
};

/* A code of `size` bytes, 32 at most, under a key of up to 32 bytes. */
void blake2s_begin(struct blake2s *hash, uint8_t size, const uint8_t *key, uint8_t key_length);
void blake2s_take(struct blake2s *hash, const uint8_t *bytes, uint16_t count);
void blake2s_end(struct blake2s *hash, uint8_t *code);

#endif
