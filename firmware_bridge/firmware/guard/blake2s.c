#include "blake2s.h"

#include <string.h>

/* An AVR has its constants in RAM, unless they are told to be in flash. */
#ifndef __FLASH
#define __flash
#endif

static const __flash uint32_t start[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                  0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
static const __flash uint8_t order[10][8] = {
    {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF}, {0xEA, 0x48, 0x9F, 0xD6, 0x1C, 0x02, 0xB7, 0x53},
    {0xB8, 0xC0, 0x52, 0xFD, 0xAE, 0x36, 0x71, 0x94}, {0x79, 0x31, 0xDC, 0xBE, 0x26, 0x5A, 0x40, 0xF8},
    {0x90, 0x57, 0x24, 0xAF, 0xE1, 0xBC, 0x68, 0x3D}, {0x2C, 0x6A, 0x0B, 0x83, 0x4D, 0x75, 0xFE, 0x19},
    {0xC5, 0x1F, 0xED, 0x4A, 0x07, 0x63, 0x92, 0x8B}, {0xDB, 0x7E, 0xC1, 0x39, 0x50, 0xF4, 0x86, 0x2A},
    {0x6F, 0xE9, 0xB3, 0x08, 0xC2, 0xD7, 0x14, 0xA5}, {0xA2, 0x84, 0x76, 0x15, 0xFB, 0x9E, 0x3C, 0xD0}};

static uint32_t turned(uint32_t value, uint8_t bits) { return value >> bits | value << (32 - bits); }

static uint32_t word(const struct blake2s *hash, uint8_t at) {
    const uint8_t *byte = hash->block + 4 * at;
    return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

static void compress(struct blake2s *hash, uint8_t last) {
    uint32_t v[16];

    memcpy(v, hash->state, sizeof hash->state);
    for (uint8_t i = 0; i < 8; i++) {
        v[i + 8] = start[i];
    }
    v[12] ^= hash->taken;
    if (last) {
        v[14] = ~v[14];
    }
    for (uint8_t round = 0; round < 10; round++) {
        for (uint8_t i = 0; i < 8; i++) {
            /* Four columns, then four diagonals. */
            uint8_t shift = i < 4 ? 0 : 1, pair = order[round][i];
            uint32_t *a = v + i % 4, *b = v + 4 + (i + shift) % 4, *c = v + 8 + (i + 2 * shift) % 4,
                     *d = v + 12 + (i + 3 * shift) % 4;
            *a += *b + word(hash, pair >> 4);
            *d = turned(*d ^ *a, 16);
            *c += *d;
            *b = turned(*b ^ *c, 12);
            *a += *b + word(hash, pair & 15);
            *d = turned(*d ^ *a, 8);
            *c += *d;
            *b = turned(*b ^ *c, 7);
        }
    }
    for (uint8_t i = 0; i < 8; i++) {
        hash->state[i] ^= v[i] ^ v[i + 8];
    }
}

void blake2s_begin(struct blake2s *hash, uint8_t size, const uint8_t *key, uint8_t key_length) {
    memset(hash, 0, sizeof *hash);
    for (uint8_t i = 0; i < 8; i++) {
        hash->state[i] = start[i];
    }
    hash->state[0] ^= 0x01010000 ^ (uint32_t)key_length << 8 ^ size;
    hash->size = size;
    if (key_length) {
        memcpy(hash->block, key, key_length);
        hash->filled = sizeof hash->block;
    }
}

void blake2s_take(struct blake2s *hash, const uint8_t *bytes, uint16_t count) {
    while (count--) {
        if (hash->filled == sizeof hash->block) {
            hash->taken += sizeof hash->block;
            compress(hash, 0);
            hash->filled = 0;
        }
        hash->block[hash->filled++] = *bytes++;
    }
}

void blake2s_end(struct blake2s *hash, uint8_t *code) {
    hash->taken += hash->filled;
    memset(hash->block + hash->filled, 0, sizeof hash->block - hash->filled);
    compress(hash, 1);
    for (uint8_t i = 0; i < hash->size; i++) {
        code[i] = (uint8_t)(hash->state[i / 4] >> (8 * (i % 4)));
    }
}
