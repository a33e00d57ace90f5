/* What a small chip does in few instructions where its compiler takes many: in its own words for AVR, else in C.
 *
 * Most of a judgement's time goes to these; a pointer must be in the register that its macro's name tells. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#ifdef __AVR__

#define IN_X __asm__("r26")
#define IN_Z __asm__("r30")

#define TAKE_BY_X(pointer) \
    ({ \
        uint8_t byte_; \
        __asm__("ld %0,%a1+" : "=r"(byte_), "+x"(pointer) : "m"(*pointer)); \
        byte_; \
    })

#define PUT_BY_Z(pointer, byte) __asm__ volatile("st %a0+,%1" : "+z"(pointer) : "r"((uint8_t)(byte)) : "memory")

#define SWAPPED(byte) __builtin_avr_swap(byte)

/* Compared by itself, not as 16 bits. */
#define AS_BYTE(byte) \
    ({ \
        uint8_t byte_ = (uint8_t)(byte); \
        __asm__("" : "+r"(byte_)); \
        byte_; \
    })

#define MULTIPLY_AND_ADD(value, factor, more) \
    __asm__("mul %D0,%1\n mov %D0,r0\n" \
            "mul %C0,%1\n mov %C0,r0\n add %D0,r1\n" \
            "mul %B0,%1\n mov %B0,r0\n add %C0,r1\n adc %D0,%3\n" \
            "mul %A0,%1\n mov %A0,r0\n add %B0,r1\n adc %C0,%3\n adc %D0,%3\n" \
            "clr r1\n" \
            "add %A0,%2\n adc %B0,r1\n adc %C0,r1\n adc %D0,r1" \
            : "+&r"(value) \
            : "r"(factor), "r"(more), "r"((uint8_t)0))

/* Twice the sum of the products of two different bytes, and the squares of the bytes, side by side. */
#define SUBTRACT_SQUARE(left_high, left_low, number) \
    do { \
        uint32_t low_; \
        uint16_t high_; \
        __asm__("mul %A4,%B4\n movw %A2,r0\n" \
                "mul %A4,%D4\n movw %C2,r0\n" \
                "mul %C4,%D4\n movw %A3,r0\n" \
                "mul %A4,%C4\n add %B2,r0\n adc %C2,r1\n adc %D2,%5\n adc %A3,%5\n adc %B3,%5\n" \
                "mul %B4,%C4\n add %C2,r0\n adc %D2,r1\n adc %A3,%5\n adc %B3,%5\n" \
                "mul %B4,%D4\n add %D2,r0\n adc %A3,r1\n adc %B3,%5\n" \
                "sub %B0,%A2\n sbc %C0,%B2\n sbc %D0,%C2\n" \
                "sbc %A1,%D2\n sbc %B1,%A3\n sbc %C1,%B3\n sbc %D1,%5\n" \
                "sub %B0,%A2\n sbc %C0,%B2\n sbc %D0,%C2\n" \
                "sbc %A1,%D2\n sbc %B1,%A3\n sbc %C1,%B3\n sbc %D1,%5\n" \
                "mul %A4,%A4\n movw %A2,r0\n" \
                "mul %B4,%B4\n movw %C2,r0\n" \
                "mul %C4,%C4\n movw %A3,r0\n" \
                "mul %D4,%D4\n" \
                "sub %A0,%A2\n sbc %B0,%B2\n sbc %C0,%C2\n sbc %D0,%D2\n" \
                "sbc %A1,%A3\n sbc %B1,%B3\n sbc %C1,r0\n sbc %D1,r1\n" \
                "clr r1" \
                : "+&r"(left_low), "+&r"(left_high), "=&r"(low_), "=&r"(high_) \
                : "r"(number), "r"((uint8_t)0)); \
    } while (0)

#else

#define IN_X
#define IN_Z

/* The next byte, and a byte put behind others. */
#define TAKE_BY_X(pointer) ((uint8_t)*pointer++)
#define PUT_BY_Z(pointer, byte) (*pointer++ = (uint8_t)(byte))

/* A byte with its halves in the other order. */
#define AS_BYTE(byte) ((uint8_t)(byte))

#define SWAPPED(byte) ((uint8_t)((byte) << 4 | (byte) >> 4))

/* A value of 32 bits times a factor, and more, of 8 bits each. */
#define MULTIPLY_AND_ADD(value, factor, more) (value = value * factor + more)

/* 64 bits in two halves, less the square of a number of 32. */
#define SUBTRACT_SQUARE(left_high, left_low, number) \
    do { \
        uint64_t left = ((uint64_t)left_high << 32 | left_low) - (uint64_t)number * number; \
        left_high = (uint32_t)(left >> 32); \
        left_low = (uint32_t)left; \
    } while (0)

#endif

#endif
