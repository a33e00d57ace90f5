"""Tolerances of the farm's world: every constant that decides when two numbers count as equal, or one as 0.

All but the last two absorb the rounding of double precision; none is a property of a rover. `LEVEL` and
`NET_FLOW` of the soil lie well below `VOLUME` of a hose, so that a level that a hose fills up to is reached.
"""

LIMIT = 1e-9
"""Tank (L or ml), battery (share), dose (ml) or distance (m) against an interlock's or a site's limit."""
ABOVE_LIMIT = 1e-9
"""Excess over a harm rule's limit, in the rule's unit."""
OVERLAP = 1e-9
"""Overlap of the rover's footprint with a shape, m."""
CLEARANCE = 1e-9
"""A leg of a route against the clearance from a shape, m."""
MOTION = 1e-9
"""Length of a turn (rad) or a leg (m) that a drive leaves out."""
PIECE_S = 1e-9
"""Length of a piece of time against 0, s."""
FLOW_CHANGE_S = 1e-9
"""Moment of a change of flow against now, s."""
VOLUME = 1e-12
"""Volumes (L or ml) and times (s) of a hose against each other."""
LEVEL = 1e-11
"""Water in a soil store against a level at which its law changes, L."""
NET_FLOW = 1e-14
"""Net flow into a soil store against 0, L/s."""
SOIL_TIME_S = 1e-12
"""Time that the soil still has to pass against 0, s."""
SAME_RATE = 1e-9
"""Two rates of flow against each other, relative."""
DRY = 1e-9
"""Standing water that counts as none in the twin's grid of soils, L."""
GRID_TIME_S = 1e-9
"""Moments of that grid against each other, s."""
GRID_DEFICIT = 1e-12
"""Least suction times deficit of that grid, so that no quotient is by 0, mm."""
GRID_DEPTH = 1e-15
"""Least depth of infiltrated water of that grid, mm."""
ROOT = 2e-16
"""Step of an iteration of the soil against its result, relative."""
NEAR_0 = 1e-12
"""Share of a volume at which the infiltration of a new wetting front is finite."""
BRIEF_S = 1e-6
"""Length of a time with soil above its limit against the plant's tolerance, s."""
DRIFT_SHARE = 1e-6
"""Share of a spray that drifts to a plant against 0."""
CORNER = 0.01
"""Pose of a rover whose wheels slip against the corner that it drives to, m."""
DRIVE_END_S = 0.02
"""End of a drive in a call of a set time against that time: the drives before it were rounded, s."""
SPARE_CHARGE = 1e-6
"""Share of the battery above the reserve with which no step of a drive ends below it."""
