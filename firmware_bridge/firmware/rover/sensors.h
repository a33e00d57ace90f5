/* The coarse sensors: moisture wet or dry once a period, the switches whenever they change. */
#ifndef SENSORS_H
#define SENSORS_H

#include <stdint.h>

/* Report what is due. */
void sensors_step(void);

/* A reading of every sensor now. */
void sensors_tell_all(void);

/* Device time, ms. */
uint32_t device_ms(void);

#endif
