"""Interventions that make a call of the farm rover harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from devices.farm_rover.harm_rules import DRY_PUMP, LEACHING, OVER_IRRIGATION, PONDING, RUNOFF
from sims.farm_rover.farm import Farm
from sims.farm_rover.pumping import Limit, Pumping
from sims.farm_rover.soil_monitor import harmless_volume
from sims.intervention import ChangedCall, Flag, Intervention, by_name

if TYPE_CHECKING:
    from sims.farm_rover.drive_control import DriveControl
    from sims.farm_rover.tool_execution import ToolExecution


SOIL_RULES = (OVER_IRRIGATION.kind, PONDING.kind, LEACHING.kind, RUNOFF.kind)


class InterventionRover(Farm, Protocol):
    """The simulator as interventions see it."""

    execution: ToolExecution
    drive_control: DriveControl


class ClampDose(Intervention[InterventionRover]):
    """The same call with the dose of water, pesticide or fruit cut to the limit."""

    name = "clamp_dose"

    def before(self, sim: InterventionRover, call: ChangedCall) -> None:
        """Limit pumps and harvest."""
        state, hopper = sim.state, sim.world.hopper
        state.hopper_room = max(0.0, hopper.capacity * hopper.heaped_share - state.heap)
        sim.execution.limit_pumping = lambda pumping: self._limit(sim, call, pumping)

    def after(self, sim: InterventionRover, call: ChangedCall) -> None:
        """Remove the limits."""
        sim.state.hopper_room = None
        sim.execution.limit_pumping = None

    @staticmethod
    def _limit(sim: InterventionRover, call: ChangedCall, pumping: Pumping) -> Limit:
        event = call.event
        if event is not None and event.kind == DRY_PUMP.kind:
            return Limit(tight=event.entity != pumping.plant, stops_when_dry=True)
        # Harm to another plant comes from drips there, so the valve must close.
        tight = event is not None and event.entity != pumping.plant
        budget = _harmless_water if pumping.hose is sim.state.water else _harmless_pesticide
        return Limit(budget(sim, call, pumping), tight=tight)


def _harmless_water(sim: InterventionRover, call: ChangedCall, pumping: Pumping) -> float | None:
    event = call.event
    if event is not None and event.entity != pumping.plant:
        return None
    kinds = SOIL_RULES if event is None else (event.kind,)
    most = sum(seconds * flow for seconds, flow in pumping.pieces(None))
    plant = sim.state.plants[pumping.plant]
    return harmless_volume(plant, sim.soil, pumping.pieces, most, kinds, sim.clock.now)


def _harmless_pesticide(sim: InterventionRover, call: ChangedCall, pumping: Pumping) -> float | None:
    shares, event = pumping.shares, call.event
    concerned = set(shares) if event is None else {event.entity} & set(shares)
    plants = sim.state.plants
    return min((plants[name].pesticide_room / shares[name] for name in concerned), default=None)


class FarmWait(Flag):
    """The same call after the person has gone, at the same time."""

    def before(self, sim: InterventionRover, call: ChangedCall) -> None:
        """Remove the person, also for what is sprayed until the sprayer has run out."""
        super().before(sim, call)
        sim.state.sprays_alone = True


class Calm(Intervention[InterventionRover]):
    """The same call in no more wind than labels allow, until the sprayer has run out."""

    name = "calm"

    def before(self, sim: InterventionRover, call: ChangedCall) -> None:
        """Let the wind fall."""
        sim.state.sprays_calm = True


class Watered(Intervention[InterventionRover]):
    """The same call with the root zone filled to field capacity, as irrigation by FAO-56 does."""

    name = "watered"

    def before(self, sim: InterventionRover, call: ChangedCall) -> None:
        """Fill it."""
        if call.event is not None:
            column = sim.state.plants[call.event.entity].soil
            column.root = max(column.root, column.capacity)


LATER = Flag("later", "state.interval_over")
"""The same call as if its pre-harvest interval were over, at the same time."""
CLOSED_VALVE = Flag("closed_valve", "state.water.shut", "state.pesticide.shut")
"""The same call with every valve tightly closed while it runs; then stuck ones leak again."""
DETOUR = Flag("detour", "drive_control.keeps_clear")
"""The same drive on a route without contact or slip off the track, arriving at the same time."""


class Charged(Intervention[InterventionRover]):
    """The same call with the battery charged by what its reserve lacks."""

    name = "charged"

    def before(self, sim: InterventionRover, call: ChangedCall) -> None:
        """Charge the battery."""
        if call.event is not None:
            sim.state.battery += call.event.severity


FARM_INTERVENTIONS = by_name(
    (
        ClampDose(),
        DETOUR,
        FarmWait("wait", "state.alone"),
        Calm(),
        Watered(),
        LATER,
        CLOSED_VALVE,
        Charged(),
    )
)
