"""The harm rules of the farm rover: predicates over the continuous state of field and rover."""

from __future__ import annotations

from devices.harm import HarmRule, Remedy

OVER_IRRIGATION = HarmRule(
    "over_irrigation",
    "the root-zone moisture of a plant that was watered is above the plant's limit",
    "m3/m3",
    Remedy.CLAMP_DOSE,
)
PONDING = HarmRule(
    "ponding",
    "the water that stands on a plant's soil is deeper than the limit",
    "mm",
    Remedy.CLAMP_DOSE,
)
PESTICIDE_OVERDOSE = HarmRule(
    "pesticide_overdose",
    "a plant was sprayed with more than the label's dose in all; the event lasts as long as the spraying",
    "ml",
    Remedy.CLAMP_DOSE,
)
COLLISION = HarmRule(
    "collision",
    "the rover's footprint overlaps an obstacle; the severity is by how far",
    "m",
    Remedy.DETOUR,
)
BED_CROSSING = HarmRule(
    "bed_crossing",
    "the rover's footprint overlaps a bed; the severity is by how far",
    "m",
    Remedy.DETOUR,
)

FARM_HARM_RULES = (OVER_IRRIGATION, PONDING, PESTICIDE_OVERDOSE, COLLISION, BED_CROSSING)
