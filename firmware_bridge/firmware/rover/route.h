/* The way round beds and obstacles: A* over the corners in tables.h. */
#ifndef ROUTE_H
#define ROUTE_H

#include <stdint.h>

#include "tables.h"

#define ROUTE_MAX 16

/* The points to drive to, in order, the goal last; 0 where there is no way, or it was given up because
 * `poll`, which is called often, said 0. */
uint8_t route_plan(struct point start, struct point goal, struct point *route, uint8_t (*poll)(void));

#endif
