#include "drive.h"

#include <math.h>

#include "board.h"

/* Device seconds of a step. */
#define STEP_S (STEP_MS * 0.001f * WORLD_SPEED)
/* Proportional gain near the goal, 1/s: low enough for two steps of lag at the highest WORLD_SPEED of the tests. */
#define GAIN 2.5f
#define HEADING_GAIN 2.0f
/* How fast unequal wheels are learned, rad/m each second and rad off, and the most that is made up for: one wheel
 * a quarter faster than the other. */
#define TRIM_GAIN 1.0f
#define TRIM_MOST 0.5f
#define SLOWEST 0.02f
#define SLOWEST_TURN 0.04f
#define NEAR_M 0.01f
#define NEAR_RAD 0.01f
/* A goal that is passed at a greater distance than this was not reached. */
#define ARRIVED_M 0.05f
/* The way is planned with a clearance of 0.15 m beyond the rover's own radius; no further from it does it go. */
#define OFF_COURSE_M 0.15f
/* A wheel that was driven so far without one pulse does not turn. */
#define STALL_M 0.15f

struct pose drive_pose = {START_X, START_Y, START_YAW};

static enum { RESTING, TURNING, GOING, LAST_TURN } phase;
static const struct point *points;
static uint8_t points_left;
/* Where this turn or leg began. */
static struct point began;
static float last_yaw, speed, turn_rate;
/* What the rover must turn by, rad/m, to go straight on its unequal wheels. */
static float trim;
/* The speed that each wheel is driven with, m/s, and how far it was driven since its last pulse, m. */
static struct {
    float driven, silent;
} left_wheel, right_wheel;

float drive_wrapped(float angle) {
    while (angle > (float)M_PI) {
        angle -= 2 * (float)M_PI;
    }
    while (angle <= -(float)M_PI) {
        angle += 2 * (float)M_PI;
    }
    return angle;
}

static float limited(float value, float limit) { return value > limit ? limit : value < -limit ? -limit : value; }

static void enter(uint8_t next) {
    phase = next;
    began = (struct point){drive_pose.x, drive_pose.y};
    speed = turn_rate = 0;
}

void drive_begin(const struct point *route, uint8_t count, float yaw) {
    points = route;
    points_left = count;
    last_yaw = yaw;
    left_wheel.silent = right_wheel.silent = 0;
    enter(TURNING);
}

void drive_halt(void) {
    phase = RESTING;
    left_wheel.driven = right_wheel.driven = 0;
    board_wheels(0, 0);
}

static int16_t duty(float wheel_speed) {
    return (int16_t)lround(limited(wheel_speed / WHEEL_FULL_SPEED, 1) * DUTY_MAX);
}

static void wheels(float forward, float turning) {
    left_wheel.driven = forward - turning * TRACK / 2;
    right_wheel.driven = forward + turning * TRACK / 2;
    board_wheels(duty(left_wheel.driven), duty(right_wheel.driven));
}

static void odometry(float seconds) {
    int16_t left, right;
    board_ticks(&left, &right);
    left_wheel.silent = left ? 0 : left_wheel.silent + fabs(left_wheel.driven) * seconds;
    right_wheel.silent = right ? 0 : right_wheel.silent + fabs(right_wheel.driven) * seconds;
    if (!left && !right) {
        return;
    }
    float way = (float)(left + right) / (2 * TICKS_PER_M);
    float turn = (float)(right - left) / (TICKS_PER_M * TRACK);
    drive_pose.x += way * cos(drive_pose.yaw + turn / 2);
    drive_pose.y += way * sin(drive_pose.yaw + turn / 2);
    drive_pose.yaw = drive_wrapped(drive_pose.yaw + turn);
}

/* The speed now: speeding up within the acceleration, slowing down so as to rest after `left`. */
static float ramp(float now, float top, float acceleration, float left, float slowest, float seconds) {
    float next = fmin(fmin(now + acceleration * seconds, top), fmin(sqrt(2 * acceleration * left), GAIN * left));
    return next < slowest ? slowest : next;
}

/* Turns; 1 once the heading is there. */
static uint8_t turn_to(float heading, float seconds) {
    float left = drive_wrapped(heading - drive_pose.yaw);
    if (fabs(left) < NEAR_RAD) {
        wheels(0, 0);
        return 1;
    }
    turn_rate = ramp(turn_rate, TURN_RATE, TURN_ACCELERATION, fabs(left), SLOWEST_TURN, seconds);
    wheels(0, left < 0 ? -turn_rate : turn_rate);
    return 0;
}

static float away_from(struct point point) { return hypot(point.x - drive_pose.x, point.y - drive_pose.y); }

static void next_point(void) {
    points++;
    points_left--;
    wheels(0, 0);
    enter(points_left ? TURNING : LAST_TURN);
}

/* Straight on to the point that lies at (dx, dy) from here. */
static enum drive_state go_on(float dx, float dy, float seconds) {
    float ahead = dx * cos(drive_pose.yaw) + dy * sin(drive_pose.yaw);
    float leg_x = points->x - began.x, leg_y = points->y - began.y;

    if (ahead < NEAR_M) {
        if (hypot(dx, dy) > ARRIVED_M) {
            return DRIVE_OFF_COURSE;
        }
        next_point();
        return DRIVE_GOING;
    }
    if (fabs(leg_x * dy - leg_y * dx) > OFF_COURSE_M * hypot(leg_x, leg_y)) {
        return DRIVE_OFF_COURSE;
    }
    speed = ramp(speed, SPEED, ACCELERATION, ahead, SLOWEST, seconds);
    /* Near the point its bearing swings round: keep the heading there. */
    float off = ahead < 0.1f ? 0 : drive_wrapped(atan2(dy, dx) - drive_pose.yaw);
    trim = limited(trim + TRIM_GAIN * off * speed * seconds, TRIM_MOST);
    wheels(speed, limited(HEADING_GAIN * off + trim * speed, TURN_RATE / 2));
    return DRIVE_GOING;
}

static enum drive_state control(float seconds) {
    float dx, dy;

    if (phase != GOING && away_from(began) > OFF_COURSE_M) {
        return DRIVE_OFF_COURSE;
    }
    if (phase == LAST_TURN) {
        if (!turn_to(last_yaw, seconds)) {
            return DRIVE_GOING;
        }
        return away_from(points[-1]) > ARRIVED_M ? DRIVE_OFF_COURSE : DRIVE_DONE;
    }
    dx = points->x - drive_pose.x;
    dy = points->y - drive_pose.y;
    if (phase == GOING) {
        return go_on(dx, dy, seconds);
    }
    if (hypot(dx, dy) < NEAR_M) {
        next_point();
    } else if (turn_to(atan2(dy, dx), seconds)) {
        enter(GOING);
    }
    return DRIVE_GOING;
}

enum drive_state drive_step(uint8_t steps) {
    float seconds = steps * STEP_S;
    enum drive_state state = DRIVE_STALLED;

    odometry(seconds);
    if (phase == RESTING) {
        return DRIVE_IDLE;
    }
    if (left_wheel.silent <= STALL_M && right_wheel.silent <= STALL_M) {
        state = control(seconds);
    }
    if (state != DRIVE_GOING) {
        drive_halt();
    }
    return state;
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
