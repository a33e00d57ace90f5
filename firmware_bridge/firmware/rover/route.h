/* The way round beds and obstacles: A* over the corners in tables.h, a few milliseconds of it at a time. */
#ifndef ROUTE_H
#define ROUTE_H

#include <stdint.h>

#include "tables.h"

#define ROUTE_MAX 16
/* What route_step answers while it is not done. */
#define ROUTE_PENDING 0xFF

/* Start to plan a way; the one before it is forgotten. */
void route_begin(struct point start, struct point goal);

/* Plan on. Once it is done: the count of points to drive to, in order, the goal last; 0 where there is no way. */
uint8_t route_step(struct point *route);

#endif
