/* Odometry, and driving a route: turn towards each point, drive straight to it, turn to the last heading. */
#ifndef DRIVE_H
#define DRIVE_H

#include <stdint.h>

#include "route.h"

struct pose {
    float x, y, yaw;
};

/* STALLED: a wheel is driven and its encoder is silent. OFF_COURSE: the rover left its way, or missed its goal. */
enum drive_state { DRIVE_IDLE, DRIVE_GOING, DRIVE_DONE, DRIVE_STALLED, DRIVE_OFF_COURSE };

/* Where the rover believes to be. */
extern struct pose drive_pose;

/* Start along `count` points of `route`, which must stay where they are. */
void drive_begin(const struct point *route, uint8_t count, float yaw);

/* The same angle in (-pi, pi]. */
float drive_wrapped(float angle);

/* Wheels to rest. */
void drive_halt(void);

/* Odometry and, while a drive goes on, control, after so many steps of STEP_MS. The wheels rest after any answer
 * but DRIVE_GOING. */
enum drive_state drive_step(uint8_t steps);

/* Device seconds that a route will take, from the pose of now, and its length in metres. */
float drive_seconds(const struct point *route, uint8_t count, float *length);

#endif
