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

/* The search. `length` and `before` of a corner: the shortest way found to it, and the corner before it. `here` is the
 * corner whose neighbours are looked at, NO_NODE while that is the start; `next` the neighbour to look at. */
static struct {
    struct point start, goal;
    float length[CORNER_COUNT], shortest;
    uint8_t before[CORNER_COUNT], settled[CORNER_COUNT];
    uint8_t here, next, last;
} search;

void route_begin(struct point start, struct point goal) {
    search.start = start;
    search.goal = goal;
    search.shortest = INFINITY;
    search.here = search.last = NO_NODE;
    search.next = 0;
    for (uint8_t i = 0; i < CORNER_COUNT; i++) {
        search.length[i] = INFINITY;
        search.before[i] = NO_NODE;
        search.settled[i] = 0;
    }
}

/* The open corner that promises the shortest way, or NO_NODE where none can be shorter than the one found. */
static uint8_t most_promising(void) {
    uint8_t found = NO_NODE;
    float best = search.shortest;

    for (uint8_t i = 0; i < CORNER_COUNT; i++) {
        if (!search.settled[i] && search.length[i] < INFINITY) {
            float bound = search.length[i] + apart(corner(i), search.goal);
            if (bound < best) {
                best = bound;
                found = i;
            }
        }
    }
    return found;
}

/* The points of the way found; their count, or 0 where there is none. */
static uint8_t written(struct point *route) {
    uint8_t count = 1;

    if (search.last == NO_NODE) {
        return 0;
    }
    for (uint8_t node = search.last; node != NO_NODE; node = search.before[node]) {
        count++;
    }
    if (count > ROUTE_MAX) {
        return 0;
    }
    route[count - 1] = search.goal;
    for (uint8_t node = search.last, i = count - 1; node != NO_NODE; node = search.before[node]) {
        route[--i] = corner(node);
    }
    return count;
}

uint8_t route_step(struct point *route) {
    struct point at = search.here == NO_NODE ? search.start : corner(search.here);

    if (search.here == NO_NODE && search.next == 0 && sees(search.start, search.goal)) {
        route[0] = search.goal;
        return 1;
    }
    if (search.next < CORNER_COUNT) {
        uint8_t i = search.next++;
        float through = (search.here == NO_NODE ? 0 : search.length[search.here]) + apart(at, corner(i));
        if (!search.settled[i] && through < search.length[i] && sees(at, corner(i))) {
            search.length[i] = through;
            search.before[i] = search.here;
        }
        return ROUTE_PENDING;
    }
    search.here = most_promising();
    if (search.here == NO_NODE) {
        return written(route);
    }
    search.next = 0;
    search.settled[search.here] = 1;
    at = corner(search.here);
    if (sees(at, search.goal)) {
        search.shortest = search.length[search.here] + apart(at, search.goal);
        search.last = search.here;
    }
    return ROUTE_PENDING;
}
