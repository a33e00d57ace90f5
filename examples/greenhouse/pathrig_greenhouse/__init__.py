"""A greenhouse with a vent, a heater, a lamp and two sensors, as a world of pathrig."""

from pathlib import Path

from pathrig.world import World
from pathrig_greenhouse.device import GREENHOUSE
from pathrig_greenhouse.simulator import INTERVENTIONS, RULES, GreenhouseSimulator
from pathrig_greenhouse.state import GreenhouseState

HERE = Path(__file__).parent

WORLD = World(
    name="greenhouse",
    device=GREENHOUSE,
    state=GreenhouseState,
    defaults=HERE / "greenhouse.yaml",
    simulator=GreenhouseSimulator,
    harm_rules=RULES,
    interventions=INTERVENTIONS,
    tasks=HERE / "tasks",
)
