#include "drive.h"

#include <math.h>

#include "board.h"

/* Device seconds of a step. */
#define STEP_S (STEP_MS * 0.001f * WORLD_SPEED)
/* Proportional gain near the goal, 1/s: low enough for two steps of lag at the highest WORLD_SPEED of the tests. */
#define GAIN 2.5f
#define HEADING_GAIN 2.0f
#define SLOWEST 0.02f
#define SLOWEST_TURN 0.04f
#define NEAR_M 0.01f
#define NEAR_RAD 0.01f
#define STALL_S 3.0f

struct pose drive_pose = {START_X, START_Y, START_YAW};

static enum { RESTING, TURNING, GOING, LAST_TURN } phase;
static const struct point *points;
static uint8_t points_left;
static float last_yaw, speed, turn_rate, still_s;

static float wrapped(float angle) {
    while (angle > (float)M_PI) {
        angle -= 2 * (float)M_PI;
    }
    while (angle <= -(float)M_PI) {
        angle += 2 * (float)M_PI;
    }
    return angle;
}

static float limited(float value, float limit) { return value > limit ? limit : value < -limit ? -limit : value; }

void drive_begin(const struct point *route, uint8_t count, float yaw) {
    points = route;
    points_left = count;
    last_yaw = yaw;
    speed = turn_rate = still_s = 0;
    phase = TURNING;
}

void drive_halt(void) {
    phase = RESTING;
    board_wheels(0, 0);
}

static int16_t duty(float wheel_speed) {
    return (int16_t)lround(limited(wheel_speed / WHEEL_FULL_SPEED, 1) * DUTY_MAX);
}

static void wheels(float forward, float turning) {
    board_wheels(duty(forward - turning * TRACK / 2), duty(forward + turning * TRACK / 2));
}

static uint8_t odometry(void) {
    int16_t left, right;
    board_ticks(&left, &right);
    if (!left && !right) {
        return 0;
    }
    float way = (float)(left + right) / (2 * TICKS_PER_M);
    float turn = (float)(right - left) / (TICKS_PER_M * TRACK);
    drive_pose.x += way * cos(drive_pose.yaw + turn / 2);
    drive_pose.y += way * sin(drive_pose.yaw + turn / 2);
    drive_pose.yaw = wrapped(drive_pose.yaw + turn);
    return 1;
}

/* The speed now: speeding up within the acceleration, slowing down so as to rest after `left`. */
static float ramp(float now, float top, float acceleration, float left, float slowest) {
    float next = fmin(fmin(now + acceleration * STEP_S, top), fmin(sqrt(2 * acceleration * left), GAIN * left));
    return next < slowest ? slowest : next;
}

/* Turns; 1 once the heading is there. */
static uint8_t turn_to(float heading) {
    float left = wrapped(heading - drive_pose.yaw);
    if (fabs(left) < NEAR_RAD) {
        turn_rate = 0;
        wheels(0, 0);
        return 1;
    }
    turn_rate = ramp(turn_rate, TURN_RATE, TURN_ACCELERATION, fabs(left), SLOWEST_TURN);
    wheels(0, left < 0 ? -turn_rate : turn_rate);
    return 0;
}

static void next_point(void) {
    points++;
    points_left--;
    speed = 0;
    wheels(0, 0);
    phase = points_left ? TURNING : LAST_TURN;
}

static void control(void) {
    float dx = points->x - drive_pose.x, dy = points->y - drive_pose.y;

    switch (phase) {
    case TURNING:
        if (hypot(dx, dy) < NEAR_M) {
            next_point();
        } else if (turn_to(atan2(dy, dx))) {
            phase = GOING;
        }
        break;
    case GOING: {
        float ahead = dx * cos(drive_pose.yaw) + dy * sin(drive_pose.yaw);
        if (ahead < NEAR_M) {
            next_point();
        } else {
            speed = ramp(speed, SPEED, ACCELERATION, ahead, SLOWEST);
            /* Near the point its bearing swings round: keep the heading there. */
            float off = ahead < 0.1f ? 0 : wrapped(atan2(dy, dx) - drive_pose.yaw);
            wheels(speed, limited(HEADING_GAIN * off, TURN_RATE / 2));
        }
        break;
    }
    case LAST_TURN:
        if (turn_to(last_yaw)) {
            phase = RESTING;
        }
        break;
    case RESTING:
        break;
    }
}

enum drive_state drive_step(void) {
    uint8_t moved = odometry();

    if (phase == RESTING) {
        return DRIVE_IDLE;
    }
    still_s = moved ? 0 : still_s + STEP_S;
    if (still_s > STALL_S) {
        drive_halt();
        return DRIVE_STALLED;
    }
    control();
    return phase == RESTING ? DRIVE_DONE : DRIVE_GOING;
}

float drive_seconds(const struct point *route, uint8_t count, float *length) {
    struct point from = {drive_pose.x, drive_pose.y};
    float seconds = 3;

    *length = 0;
    for (; count; count--, route++) {
        float leg = hypot(route->x - from.x, route->y - from.y);
        *length += leg;
        seconds += leg / SPEED + SPEED / ACCELERATION + 3;
        from = *route;
    }
    return seconds;
}
