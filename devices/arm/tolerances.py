"""Tolerances of the bench's world: every constant that decides when two numbers count as equal, or one as 0.

Those of the physics (`STILL`, `JOINT`) are as wide as what contacts and drives leave behind in MuJoCo; the
others absorb rounding.
"""

OVERLAP = 1e-4
"""Overlap of two footprints against 0, m."""
REACH = 1e-6
"""A pose against the arm's reach and ceiling, m."""
STILL = 2e-5
"""Motion of an object since the last sample against 0, m."""
JOINT = 2e-4
"""Angle of a joint against its command, rad."""
PATH = 1e-9
"""Length (m) and turn (rad) of a motion against 0, its steps against a whole number, and its distance from
the base's axis (m) against the zone to keep out of."""
