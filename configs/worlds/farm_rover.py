"""The farm rover's world, as the kit registers it."""

from __future__ import annotations

from pathlib import Path

from devices.farm_rover.accepted import accepted
from devices.farm_rover.harm_rules import FARM_HARM_RULES
from devices.farm_rover.known_state import KnownFarmRover
from devices.farm_rover.tools import FARM_ROVER
from devices.farm_rover.world import FARM_FAULTS, FarmWorld
from sims.farm_rover.interventions import FARM_INTERVENTIONS
from sims.world_type import WorldType, made_by

WORLD = WorldType(
    name="farm_rover",
    aliases=("farm",),
    device=FARM_ROVER,
    state=FarmWorld,
    defaults=Path(__file__).with_suffix(".yaml"),
    simulator=made_by("sims.farm_rover.simulator:FarmSimulator"),
    probing=Path(__file__).parents[1] / "probes" / "farm_rover.jsonl",
    harm_rules=FARM_HARM_RULES,
    interventions=FARM_INTERVENTIONS,
    faults=FARM_FAULTS,
    known_state=KnownFarmRover,
    place_keys=("plants", "stations"),
    ways=200,
    accepts=accepted,
    removed=("soil.infiltration_s",),
)
