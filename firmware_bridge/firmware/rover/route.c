#include "route.h"

#include <math.h>

#define TOUCH 1e-3f
#define NO_NODE 0xFF

static float least(float a, float b) { return a < b ? a : b; }
static float most(float a, float b) { return a > b ? a : b; }

static float apart(struct point a, struct point b) { return hypot(a.x - b.x, a.y - b.y); }

static float point_to_segment(struct point p, struct point a, struct point b) {
    float dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy, along = 0;
    if (square > 0) {
        along = most(0, least(1, ((p.x - a.x) * dx + (p.y - a.y) * dy) / square));
    }
    return hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

static float box_distance(const struct box *box, struct point p) {
    float dx = most(box->x_min - p.x, p.x - box->x_max), dy = most(box->y_min - p.y, p.y - box->y_max);
    if (dx <= 0 && dy <= 0) {
        return most(dx, dy);
    }
    return hypot(most(dx, 0), most(dy, 0));
}

/* Clips [low, high] to where start + t * step lies between two limits; 0 where nothing is left. */
static uint8_t clip(float start, float step, float from, float to, float *low, float *high) {
    if (step == 0) {
        return from <= start && start <= to;
    }
    float enter = (from - start) / step, leave = (to - start) / step;
    *low = most(*low, least(enter, leave));
    *high = least(*high, most(enter, leave));
    return *low <= *high;
}

static float box_segment_distance(const struct box *box, struct point a, struct point b) {
    float low = 0, high = 1;
    if (clip(a.x, b.x - a.x, box->x_min, box->x_max, &low, &high) &&
        clip(a.y, b.y - a.y, box->y_min, box->y_max, &low, &high)) {
        return 0;
    }
    float nearest = least(box_distance(box, a), box_distance(box, b));
    for (uint8_t i = 0; i < 4; i++) {
        struct point corner = {i & 1 ? box->x_max : box->x_min, i & 2 ? box->y_max : box->y_min};
        nearest = least(nearest, point_to_segment(corner, a, b));
    }
    return nearest;
}

/* Whether the straight line ab stays further than CLEARANCE from the box by its bounding box alone. */
static uint8_t far_from(const struct box *box, struct point a, struct point b) {
    return most(a.x, b.x) < box->x_min - CLEARANCE || least(a.x, b.x) > box->x_max + CLEARANCE ||
           most(a.y, b.y) < box->y_min - CLEARANCE || least(a.y, b.y) > box->y_max + CLEARANCE;
}

/* From what an end stands too near to, the line must not come nearer than that end stands. */
static float needed(float at_a, float at_b) { return least(CLEARANCE, most(0, least(at_a, at_b))); }

static uint8_t sees(struct point a, struct point b) {
    for (uint8_t i = 0; i < BED_COUNT; i++) {
        struct box box;
        memcpy_P(&box, &beds[i], sizeof box);
        if (!far_from(&box, a, b)) {
            float gap = needed(box_distance(&box, a), box_distance(&box, b));
            if (gap > 0 && box_segment_distance(&box, a, b) < gap - TOUCH) {
                return 0;
            }
        }
    }
    for (uint8_t i = 0; i < OBSTACLE_COUNT; i++) {
        struct disc disc;
        memcpy_P(&disc, &obstacles[i], sizeof disc);
        struct point centre = {disc.x, disc.y};
        struct box round = {disc.x - disc.radius, disc.x + disc.radius, disc.y - disc.radius, disc.y + disc.radius};
        if (!far_from(&round, a, b)) {
            float gap = needed(apart(centre, a) - disc.radius, apart(centre, b) - disc.radius);
            if (gap > 0 && point_to_segment(centre, a, b) - disc.radius < gap - TOUCH) {
                return 0;
            }
        }
    }
    return 1;
}

static struct point corner(uint8_t node) {
    struct point point;
    memcpy_P(&point, &corners[node], sizeof point);
    return point;
}

uint8_t route_plan(struct point start, struct point goal, struct point *route, uint8_t (*poll)(void)) {
    static float length[CORNER_COUNT];
    static uint8_t before[CORNER_COUNT], settled[CORNER_COUNT];
    float shortest = INFINITY;
    uint8_t last = NO_NODE, count = 1;

    if (sees(start, goal)) {
        route[0] = goal;
        return 1;
    }
    for (uint8_t i = 0; i < CORNER_COUNT; i++) {
        length[i] = sees(start, corner(i)) ? apart(start, corner(i)) : INFINITY;
        before[i] = NO_NODE;
        settled[i] = 0;
        if (!poll()) {
            return 0;
        }
    }
    for (;;) {
        uint8_t here = NO_NODE;
        float best = shortest;
        for (uint8_t i = 0; i < CORNER_COUNT; i++) {
            if (!settled[i] && length[i] < INFINITY) {
                float bound = length[i] + apart(corner(i), goal);
                if (bound < best) {
                    best = bound;
                    here = i;
                }
            }
        }
        if (here == NO_NODE) {
            break;
        }
        struct point at = corner(here);
        settled[here] = 1;
        if (sees(at, goal)) {
            shortest = best;
            last = here;
        }
        for (uint8_t i = 0; i < CORNER_COUNT; i++) {
            float through = length[here] + apart(at, corner(i));
            if (!settled[i] && through < length[i] && sees(at, corner(i))) {
                length[i] = through;
                before[i] = here;
            }
            if (!poll()) {
                return 0;
            }
        }
    }
    if (last == NO_NODE) {
        return 0;
    }
    for (uint8_t node = last; node != NO_NODE; node = before[node]) {
        count++;
    }
    if (count > ROUTE_MAX) {
        return 0;
    }
    route[count - 1] = goal;
    for (uint8_t node = last, i = count - 1; node != NO_NODE; node = before[node]) {
        route[--i] = corner(node);
    }
    return count;
}
