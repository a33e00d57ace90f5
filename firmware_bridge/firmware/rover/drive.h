/* Odometry, and driving a route: turn towards each point, drive straight to it, turn to the last heading. */
#ifndef DRIVE_H
#define DRIVE_H

#include <stdint.h>

#include "route.h"

struct pose {
    float x, y, yaw;
};

enum drive_state { DRIVE_IDLE, DRIVE_GOING, DRIVE_DONE, DRIVE_STALLED };

/* Where the rover believes to be. */
extern struct pose drive_pose;

/* Start along `count` points of `route`, which must stay where they are. */
void drive_begin(const struct point *route, uint8_t count, float yaw);

/* Wheels to rest. */
void drive_halt(void);

/* One step of odometry and, while a drive goes on, of control. */
enum drive_state drive_step(void);

/* Device seconds that a route will take, from the pose of now, and its length in metres. */
float drive_seconds(const struct point *route, uint8_t count, float *length);

#endif
