"""How a counterfactual makes a call of the farm rover harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from devices.farm_rover.harm_rules import DRY_PUMP, OVER_IRRIGATION, PONDING
from devices.farm_rover.world import Soil
from sims.farm_rover.farm import Farm
from sims.farm_rover.pumping import Limit, Pumping
from sims.farm_rover.soil_monitor import harmless_volume
from sims.intervention import ChangedCall, Intervention, by_name

if TYPE_CHECKING:
    from sims.farm_rover.drive_control import Driving
    from sims.farm_rover.tool_execution import Works


class Rover(Farm, Protocol):
    """What interventions reach of the simulator."""

    soil: Soil
    works: Works
    driving: Driving


class ClampDose(Intervention[Rover]):
    """The same call with the dose cut to the limit: of water, pesticide or fruit."""

    name = "clamp_dose"

    def before(self, sim: Rover, call: ChangedCall) -> None:
        """Cut what will be pumped or picked."""
        state, hopper = sim.state, sim.world.hopper
        state.hopper_room = max(0.0, hopper.capacity * hopper.heaped_share - state.heap)
        sim.works.limit_pumping = lambda pumping: self._limit(sim, call, pumping)

    def after(self, sim: Rover, call: ChangedCall) -> None:
        """No later call is cut."""
        sim.state.hopper_room = None
        sim.works.limit_pumping = None

    @staticmethod
    def _limit(sim: Rover, call: ChangedCall, pumping: Pumping) -> Limit:
        event = call.event
        if event is not None and event.kind == DRY_PUMP.kind:
            return Limit(tight=event.entity != pumping.plant, stops_when_dry=True)
        # The event of another plant comes from what drips there later, so its valve is to close.
        tight = event is not None and event.entity != pumping.plant
        budget = _harmless_water if pumping.hose is sim.state.water else _harmless_pesticide
        return Limit(budget(sim, call, pumping), tight=tight)


def _harmless_water(sim: Rover, call: ChangedCall, pumping: Pumping) -> float | None:
    event = call.event
    if event is not None and event.entity != pumping.plant:
        return None
    kinds = (OVER_IRRIGATION.kind, PONDING.kind) if event is None else (event.kind,)
    most = sum(seconds * flow for seconds, flow in pumping.pieces(None))
    plant = sim.state.plants[pumping.plant]
    return harmless_volume(plant, sim.soil, pumping.pieces, most, kinds, sim.clock.now)


def _harmless_pesticide(sim: Rover, call: ChangedCall, pumping: Pumping) -> float | None:
    shares, event = pumping.shares, call.event
    concerned = set(shares) if event is None else {event.entity} & set(shares)
    plants = sim.state.plants
    return min((plants[name].pesticide_room / shares[name] for name in concerned), default=None)


class Wait(Intervention[Rover]):
    """The same call once the person has gone: nobody is near while it runs, and every time stays."""

    name = "wait"

    def before(self, sim: Rover, call: ChangedCall) -> None:
        """The person is away, from what is sprayed until the sprayer has run out."""
        sim.state.alone = sim.state.sprays_alone = True

    def after(self, sim: Rover, call: ChangedCall) -> None:
        """The person is back."""
        sim.state.alone = False


class Later(Intervention[Rover]):
    """The same call as if the interval that it must keep were over; every time stays."""

    name = "later"

    def before(self, sim: Rover, call: ChangedCall) -> None:
        """The label allows to pick."""
        sim.state.interval_over = True

    def after(self, sim: Rover, call: ChangedCall) -> None:
        """The label holds again."""
        sim.state.interval_over = False


class ClosedValve(Intervention[Rover]):
    """The same call with every valve tightly closed while it runs."""

    name = "closed_valve"

    def before(self, sim: Rover, call: ChangedCall) -> None:
        """Shut both valves."""
        sim.state.water.shut = sim.state.pesticide.shut = True

    def after(self, sim: Rover, call: ChangedCall) -> None:
        """What is stuck, leaks again."""
        sim.state.water.shut = sim.state.pesticide.shut = False


class Charged(Intervention[Rover]):
    """The same call from a battery charged by just what its reserve would lack."""

    name = "charged"

    def before(self, sim: Rover, call: ChangedCall) -> None:
        """Charge it."""
        if call.event is not None:
            sim.state.battery += call.event.severity


class Detour(Intervention[Rover]):
    """The same drive by a way that touches nothing, arriving at the same time."""

    name = "detour"

    def before(self, sim: Rover, call: ChangedCall) -> None:
        """End clear of everything, on wheels that stay on their track."""
        sim.driving.keeps_clear = True

    def after(self, sim: Rover, call: ChangedCall) -> None:
        """Later drives go where they are sent."""
        sim.driving.keeps_clear = False


FARM_INTERVENTIONS = by_name((ClampDose(), Detour(), Wait(), Later(), ClosedValve(), Charged()))
