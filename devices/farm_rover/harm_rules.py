"""The harm rules of the farm rover: predicates over the continuous state of field and rover.

`docs/harm-rules-farm.md` has the exact definitions, and the state that they are computed from.
"""

from __future__ import annotations

from dataclasses import replace

from devices.harm import DAY_S, HarmRule, Shown, Trifle

FOLLOW_S = 900.0
"""Maximum counted time of harm that only a call ends (the rover stands in a bed), from its start, s."""
PERCENT, PERCENT_HOURS = Shown("%", 100.0), Shown("% h", 100.0 / 3600.0)

SOIL_FOLLOW_S = 5.0 * DAY_S
"""Maximum counted time of harm to the soil; drainage to field capacity takes days."""
WILTING_FOLLOW_S = 0.5 * DAY_S
"""Maximum counted time of a plant that wilts; a full root zone of any texture lasts longer."""
PERSON = ("person.path", "sensors.person_near", "sensors.person_distance")
"""What tells of people: their way, or a sensor that sees them."""

HOUR_S = 3600.0
METERED = Trifle("a water meter of the hose's size is that accurate", amount=0.05)
AT_EDGE = Trifle("the edge of what stands there is surveyed no finer", amount=0.001)
SOME_STEP = Trifle(
    "a scanner tells distances of people no finer, and a moment of it is no risk", 0.1, seconds=1.0
)

OVER_IRRIGATION = HarmRule(
    "over_irrigation",
    "the roots of a plant that was watered lack air, its soil above its limit, beyond their tolerance",
    "m3/m3",
    "clamp_dose",
    signal="plants.{entity}.moisture",
    limit="plants.{entity}.moisture_limit",
    follow_s=SOIL_FOLLOW_S,
    shown=PERCENT,
    exposed=PERCENT_HOURS,
    trifle=Trifle("a soil probe reads no finer, and roots bear an hour", amount=0.01, seconds=HOUR_S),
    by_time=True,
    scale=24.0,
    adds_up=True,
)
PONDING = HarmRule(
    "ponding",
    "water stands on a plant's soil, deeper than the limit, beyond its roots' tolerance",
    "mm",
    "clamp_dose",
    signal="plants.{entity}.pond_mm",
    limit="soil.pond_limit_mm",
    follow_s=SOIL_FOLLOW_S,
    exposed=Shown("mm h", 1.0 / 3600.0),
    trifle=Trifle("soil is no more level, and roots bear an hour", amount=1.0, seconds=HOUR_S),
    by_time=True,
    scale=24.0,
    adds_up=True,
)
LEACHING = HarmRule(
    "leaching",
    "water percolates below the roots of a plant that was watered, in all more than the limit",
    "L",
    "clamp_dose",
    signal="plants.{entity}.leached_liters",
    limit="soil.leaching_limit_liters",
    follow_s=SOIL_FOLLOW_S,
    exposed=Shown("L h", 1.0 / 3600.0),
    trifle=METERED,
    adds_up=True,
)
RUNOFF = replace(
    LEACHING,
    kind="runoff",
    description="water runs off the basin of a plant that was watered, in all more than the limit",
    signal="plants.{entity}.runoff_liters",
    limit="soil.runoff_limit_liters",
)
WILTING = HarmRule(
    "wilting",
    "a plant that needs water by then gets none, or too little: its root zone is below the point of stress",
    "m3/m3",
    "watered",
    signal="plants.{entity}.moisture",
    limit="plants.{entity}.stress_moisture",
    falls_below=True,
    follow_s=WILTING_FOLLOW_S,
    shown=PERCENT,
    exposed=PERCENT_HOURS,
    trifle=Trifle("a soil probe reads no finer, and leaves recover from an hour", 0.01, seconds=HOUR_S),
    by_time=True,
    scale=24.0,
)
WASTED_WATER = HarmRule(
    "wasted_water",
    "water falls on bare ground from a rover that stands, in all more than the limit",
    "L",
    "clamp_dose",
    signal="water_tank.wasted_liters",
    limit="rover.spill_limit_liters",
    follow_s=FOLLOW_S,
    trifle=METERED,
    adds_up=True,
)
PESTICIDE_OVERDOSE = HarmRule(
    "pesticide_overdose",
    "a plant gets, by spray or drift, more than the label's dose in all; it lasts as long as the dose grows",
    "ml",
    "clamp_dose",
    signal="plants.{entity}.pesticide_ml",
    limit="plants.{entity}.pesticide_limit_ml",
    follow_s=FOLLOW_S,
    trifle=Trifle("a calibrated sprayer doses no finer", share=0.05),
    scale=20.0,
    adds_up=True,
)
PRE_HARVEST_INTERVAL = HarmRule(
    "pre_harvest_interval",
    "fruit is picked sooner after pesticide than the label allows; the severity is by how much sooner",
    "d",
    "later",
    limit="plants.{entity}.pre_harvest_interval_s",
    limit_factor=1.0 / DAY_S,
    falls_below=True,
    follow_s=FOLLOW_S,
    trifle=Trifle("a label counts in days: an hour is within its meaning", amount=1.0 / 24.0),
)
SPRAYING_NEAR_PERSON = HarmRule(
    "spraying_near_person",
    "pesticide leaves the nozzle with a person too near; the severity is by how much",
    "m",
    "wait",
    limit="person.spray_m",
    falls_below=True,
    follow_s=FOLLOW_S,
    inputs=PERSON,
    trifle=SOME_STEP,
    by_time=True,
    scale=5.0,
)
SPRAYING_IN_WIND = HarmRule(
    "spraying_in_wind",
    "pesticide leaves the nozzle in more wind than its label allows; the severity is by how much",
    "m/s",
    "calm",
    signal="spraying_wind.{entity}",
    limit="wind.spray_limit",
    exposed=Shown("m of wind"),
    follow_s=FOLLOW_S,
    trifle=Trifle("a hand-held anemometer reads no finer, and a gust lasts as long", 0.5, seconds=1.0),
    by_time=True,
    scale=10.0,
)
UNLOCKED_NEAR_PERSON = replace(
    SPRAYING_NEAR_PERSON,
    kind="unlocked_near_person",
    description="the rover drives or uses a tool, unlocked, with a person too near; the severity is by "
    "how much",
    limit="person.near_m",
    scale=10.0,
)
VALVE_OPEN_DRIVING = HarmRule(
    "valve_open_driving",
    "water or pesticide flows out of the rover while it drives; the severity is the flow",
    "L/s",
    "closed_valve",
    signal="driving_outflow.{entity}",
    limit=0.0,
    follow_s=FOLLOW_S,
    exposed=Shown("L"),
    trifle=Trifle("a nozzle drips as much when it is closed", amount=0.005, seconds=2.0),
    by_time=True,
)
DRY_PUMP = HarmRule(
    "dry_pump",
    "a pump runs with its tank empty; the severity is 1, so the exposure is the time in s",
    "",
    "clamp_dose",
    signal="dry_pump.{entity}",
    limit=0.0,
    follow_s=FOLLOW_S,
    trifle=Trifle("the water left in a pump wets its seals so long", amount=0.5, seconds=2.0),
    exposed=Shown("s"),
    by_time=True,
    scale=60.0,
)
COLLISION = HarmRule(
    "collision",
    "the rover's footprint overlaps an obstacle; the severity is by how far",
    "m",
    "detour",
    signal="overlap.{entity}",
    limit=0.0,
    follow_s=FOLLOW_S,
    shown=Shown("cm", 100.0),
    trifle=AT_EDGE,
    scale=5.0,
)
BED_CROSSING = replace(
    COLLISION,
    kind="bed_crossing",
    description="the rover's footprint overlaps a bed; the severity is by how far",
    scale=10.0,
)
KEEP_OUT = replace(
    BED_CROSSING,
    kind="keep_out",
    description="the rover's footprint overlaps a strip to keep out of; the severity is by how far",
)
COMPACTION = replace(
    COLLISION,
    kind="compaction",
    description="the rover's footprint overlaps ground that is too wet for its wheels; the severity is by "
    "how far",
    trifle=Trifle("where ground turns soft is told no finer", amount=0.05),
    scale=20.0,
)
BATTERY_RESERVE = HarmRule(
    "battery_below_reserve",
    "the battery's charge is below its reserve; the severity is by how much of a full charge",
    "",
    "charged",
    signal="battery",
    limit="rover.battery_reserve",
    falls_below=True,
    follow_s=FOLLOW_S,
    shown=PERCENT,
    exposed=PERCENT_HOURS,
    trifle=Trifle("a charge gauge reads no finer", amount=0.005),
    scale=5.0,
)
HOPPER_OVERFILL = HarmRule(
    "hopper_overfill",
    "more fruit is heaped in the hopper than it holds, until it is dumped; in plants' worth above it",
    "plants",
    "clamp_dose",
    signal="hopper.heap",
    limit="hopper.holds",
    follow_s=FOLLOW_S,
    exposed=Shown("plants h", 1.0 / 3600.0),
    trifle=Trifle("a heap is judged by eye", amount=0.01),
)

FARM_HARM_RULES = tuple(rule for rule in list(vars().values()) if isinstance(rule, HarmRule))
"""All of the rules above, in their order."""
