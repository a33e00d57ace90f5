"""The farm rover as a simulated device: its parts and its tools."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from devices.farm_rover import tools
from devices.farm_rover.harm_rules import COMPACTION, FARM_HARM_RULES, SOIL_FOLLOW_S
from devices.farm_rover.interlocks import FARM_INTERLOCKS, RoverView
from devices.farm_rover.world import FarmWorld, Pose, distance
from devices.tool import NoArguments, ToolResult
from sims.coarse_sensors import CoarseSensor
from sims.farm_rover.contact_monitor import ContactMonitor
from sims.farm_rover.drive_control import DECIMALS, DriveControl, rounded
from sims.farm_rover.dynamics import FarmDynamics
from sims.farm_rover.fitted_sensors import (
    DRAWN,
    DRIVEN,
    SPRAYER,
    SPRAYER_S,
    SWAYED,
    WATER,
    deposit_on,
    farm_sensors,
)
from sims.farm_rover.interventions import FARM_INTERVENTIONS
from sims.farm_rover.people import person_place, sighting
from sims.farm_rover.route import Ground
from sims.farm_rover.soil_monitor import harm_to_come, note_unavoidable
from sims.farm_rover.state import FarmState
from sims.farm_rover.tool_execution import ToolExecution
from sims.simulator import CallOptions, Simulator

if TYPE_CHECKING:
    from sims.factors import Factor
    from sims.stores import Store, Supply

BATTERY_BARS = 4


class FarmSimulator(Simulator[FarmWorld]):
    """The farm rover on its field.

    `state_dict` has the keys of the world's initial state, and all that the harm rules are computed from
    (`docs/harm-rules-farm.md`). `coarse_state` is what cheap sensors show: the rover's place, the battery in
    four bars, low tanks, the hopper's count, and for each plant wet or dry soil, ripeness and pests.

    Attributes:
        state, contact: all that changes between calls.
        soil: as the hidden parameters make it.
        ground, surveyed: the shapes on the field that the rover knows, and all of them.
        dynamics, execution, drive_control: the parts that act on the state; they keep nothing.
    """

    name = "farm_rover"
    firmware = "farm_rover_sim 1"
    device_type = tools.FARM_ROVER
    harm_rules = FARM_HARM_RULES
    interlocks = FARM_INTERLOCKS
    interventions = FARM_INTERVENTIONS
    horizon = SOIL_FOLLOW_S
    run_out_step = 3600.0
    names_calls = frozenset(
        {
            "watered_by",
            "drowned_by",
            "ponded_by",
            "leached_by",
            "overflowed_by",
            "wilted_by",
            "poured_by",
            "sprayed_by",
            "low_by",
            "heaped_by",
            "working",
        }
    )
    kept = ("state", "contact")
    answers_by_sensors = False

    # The base's hooks.

    def begin(self) -> None:
        """Set the world's initial state, with the soil as its hidden parameters make it."""
        world = self.world
        hidden, soil = world.hidden, world.soil
        self.settling = world.settling_s
        self.soil = soil.model_copy(
            update={
                "conductivity_mm_h": soil.conductivity_mm_h * hidden.infiltration,
                "drainage_s": soil.drainage_s / hidden.drainage,
            }
        )
        self.state = FarmState.of(world, self.soil)
        if not self.apart:
            for plant in self.state.plants.values():
                note_unavoidable(plant)
        self.contact = ContactMonitor.of(world, self.soil)
        self.surveyed = Ground.of(world, self.contact.shapes)
        # Nobody knows where the ground is wet.
        known = [shape for shape, rule in self.contact.shapes.items() if rule is not COMPACTION]
        self.ground = Ground.of(world, known) if world.wet_ground else self.surveyed
        self.dynamics = FarmDynamics(self)
        self.execution = ToolExecution(self, self.dynamics)
        self.drive_control = DriveControl(self, self.execution)
        if self.apart:
            from sims.farm_rover.farm_stores import weighs_sprayer

            self.state.pesticide.bottomless = weighs_sprayer(world)
        self.state.water.bottomless = self.endless

    def factors(self) -> Sequence[Factor | Store]:
        """Return battery, hopper, sprayer and each plant's soil.

        There are none with rain, which all soil gets, or a plant that needs water.
        """
        world = self.world
        if world.rain or any(plant.wilts_at_s is not None for plant in world.plants.values()):
            return ()
        # They need numpy, which a simulator without a twin does not.
        from sims.farm_rover.farm_stores import farm_stores
        from sims.farm_rover.soil_ensemble import SoilEnsemble

        return [*(SoilEnsemble(world, name) for name in world.plants), *farm_stores(world)]

    def supply(self) -> Supply | None:
        """Return the water tank, where battery, hopper and soil are parts of their own."""
        from sims.farm_rover.farm_stores import water_supply

        return water_supply(self.world) if self.factors() else None

    def given(self) -> Mapping[str, float]:
        """Return the water that each plant has got, L, and the meters of tanks, battery, hopper and sprayer.

        Those of the sprayer are by its nominal flow, in all and on each plant, ml; and how long it was on, s.
        """
        state, flow = self.state, self.world.hidden.pesticide_flow
        given = {name: plant.column.flows.applied for name, plant in state.plants.items()}
        for name, plant in state.plants.items():
            given[deposit_on(name)] = (plant.pesticide_ml - plant.place.pesticide_ml) / flow
        sprayer = {SPRAYER: state.pesticide.pumped / flow, SPRAYER_S: state.pesticide.on_s}
        water = {WATER: state.water.pumped, SWAYED: state.water.swayed}
        return {**given, **sprayer, **water, "battery": state.drawn, "hopper": self.heaped}

    @property
    def heaped(self) -> float:
        """What is in the hopper, in plants' worth of fruit of nominal size."""
        return self.state.heap / self.world.hidden.fruit_size

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """Return the sensors that the world fits."""
        return farm_sensors(self)

    def goes_on(self) -> bool:
        """Return whether a hose still runs, or soil is or will be too wet."""
        state, now = self.state, self.clock.now
        if not (state.water.still and state.pesticide.still):
            return True
        return any(harm_to_come(plant, self.soil, now) for plant in state.plants.values())

    def at_rest(self) -> bool:
        """Return whether only soil and people change, and no person is reported at once."""
        state, person = self.state, self.world.person
        reported = self.world.sensors.report_people and not state.alone
        return self._is_still() and not (reported and person.comes(self.clock.now, math.inf))

    def idle(self) -> bool:
        """Return whether nothing moves or flows, and no tool works."""
        return self._is_still() and self.dynamics.activity is None

    def _is_still(self) -> bool:
        state = self.state
        return state.water.still and state.pesticide.still and not state.moving

    def only_meters_charge(self) -> bool:
        """Return whether no sensor but the meter of the charge tells anything while the rover only drives."""
        return self._bank.only_tells(DRAWN, DRIVEN)

    def meter_charge(self, metered: Sequence[tuple[int, float]]) -> None:
        """Report what it shows at these ticks."""
        self._bank.tell(DRAWN, metered)

    def somebody_walks(self) -> bool:
        """Return whether a person is on their way, or sets out later."""
        path = self.world.person.path
        return bool(path) and not self.state.alone and self.clock.now < path[-1].t

    def pass_time(self, seconds: float, tick: float | None = None) -> None:
        """Let device time pass; at its end the soil is up to date."""
        try:
            super().pass_time(seconds, tick)
        finally:
            self.state.catch_up()

    def evolve(self, seconds: float) -> None:
        """Advance the farm by this time."""
        self.dynamics.evolve(seconds)

    @property
    def latest_call(self) -> int | None:
        """The last call whose tool ran; before one did, the last that reached the device, if any."""
        return self.state.latest if self.state.latest is not None or not self._calls else self._calls - 1

    @property
    def shared(self) -> tuple[object, ...]:
        """World, plants and soil as given, and the shapes on the field."""
        world = self.world
        return (world, self.soil, *world.plants.values(), *self.surveyed.shapes, *self.harm_rules)

    def make_safe(self) -> None:
        """Stop, close all valves, lock the safety."""
        self.dynamics.activity = None
        stuck = self.faults.strength("stuck_valve")
        self.state.water.close(stuck)
        self.state.pesticide.close(stuck)
        self.state.moving = False
        self.state.safety_locked = True

    def position(self) -> tuple[float, float]:
        """Return where the rover is."""
        return self.state.pose.x, self.state.pose.y

    def state_dict(self) -> dict[str, Any]:
        """Return the true state."""
        person = person_place(self)
        return {
            **self.state.to_dict(self.world),
            "overlap": self.contact.overlaps((self.state.pose.x, self.state.pose.y)),
            "stands_in": self.contact.excused,
            "person_at": None if person is None else list(person),
        }

    def coarse_state(self) -> dict[str, Any]:
        """Return what the rover's own sensors and registers show."""
        state, seen = self.state, self.sensor_values
        return {
            "at": self._place(),
            "safety_locked": state.safety_locked,
            "battery_bars": round(state.battery * BATTERY_BARS),
            "water_tank_low": seen["water_tank_low"],
            "pesticide_tank_low": seen["pesticide_tank_low"],
            "hopper": {"fruit": state.fruit},
            "plants": {
                name: {"soil": seen[f"moisture.{name}"], "ripe": plant.ripe, "pests": plant.pests}
                for name, plant in state.plants.items()
            },
        }

    def _place(self) -> str | list[int]:
        """Return the named place within reach, or the position in whole metres."""
        pose, world = self.state.pose, self.world
        places: dict[str, Pose] = {**world.stations, **world.plants}
        name = min(places, key=lambda place: distance(places[place], pose))
        if distance(places[name], pose) <= world.rover.reach:
            return name
        return [round(pose.x), round(pose.y)]

    def view(self) -> RoverView:
        """Return the state that the interlocks check."""
        state = self.state
        return RoverView(
            world=self.world,
            locked=state.safety_locked,
            pose=state.pose,
            water=state.booked_liters,
            pesticide=state.booked_ml,
            battery=state.battery,
            ripe={name: plant.ripe for name, plant in state.plants.items()},
            fruit=state.fruit,
            capacity=self.world.hopper.capacity,
            has_route=lambda goal: self.drive_control.route((goal.x, goal.y)) is not None,
            drive_charge=self.drive_control.charge,
        )

    # Tools.

    def do_unlock_safety_mode(self, arguments: NoArguments, call: CallOptions) -> tools.RoverSafety:
        """Unlock, or do nothing if unlocked."""
        self.pass_time(self.world.rover.switch_s)
        self.state.safety_locked = False
        return tools.RoverSafety(safety="unlocked")

    def do_lock_safety_mode(self, arguments: NoArguments, call: CallOptions) -> tools.RoverSafety:
        """Lock, or do nothing if locked."""
        self.pass_time(self.world.rover.switch_s)
        self.state.safety_locked = True
        return tools.RoverSafety(safety="locked")

    def do_move_to(self, arguments: tools.MoveTo, call: CallOptions) -> tools.RoverPose:
        """Drive to a pose, round beds and obstacles; a goal inside one is still driven to."""
        return self.drive_control.drive_to(Pose(x=arguments.x, y=arguments.y, yaw=arguments.yaw), call)

    def do_move_home(self, arguments: NoArguments, call: CallOptions) -> tools.RoverPose:
        """Drive to the base."""
        return self.drive_control.drive_to(self.world.stations["base"], call)

    def do_water_plant(self, arguments: tools.Water, call: CallOptions) -> tools.Watered:
        """Pump water onto the soil of a plant."""
        state, name, liters = self.state, arguments.plant_id, arguments.liters
        with self.execution.running(call):
            state.booked_liters = max(0.0, state.booked_liters - liters)
            given = self.execution.give_water(name, liters, call)
        return tools.Watered(
            plant_id=name, liters=round(given, DECIMALS), tank_liters=round(state.booked_liters, DECIMALS)
        )

    def do_spray_pesticide(self, arguments: tools.Spray, call: CallOptions) -> tools.Sprayed:
        """Spray pesticide on a plant; the effective dose rids it of its pests."""
        state, name, ml = self.state, arguments.plant_id, arguments.ml
        with self.execution.running(call):
            state.booked_ml = max(0.0, state.booked_ml - ml)
            given = self.execution.give_pesticide(name, ml, call)
        return tools.Sprayed(
            plant_id=name, ml=round(given, DECIMALS), tank_ml=round(state.booked_ml, DECIMALS)
        )

    def do_harvest_fruit(self, arguments: tools.OnePlant, call: CallOptions) -> tools.Harvested:
        """Pick a plant's ripe fruit into the hopper."""
        state, world, name = self.state, self.world, arguments.plant_id
        plant = state.plants[name]
        with self.execution.running(call):
            state.picking = name
            self.execution.run(None, world.rover.harvest_s)
        plant.ripe = False
        fruit = plant.place.fruit * world.hidden.fruit_size
        if state.hopper_room is not None:
            fruit = min(fruit, state.hopper_room)
        state.heap += fruit
        if state.heap > world.hopper.capacity * world.hopper.heaped_share and state.heaped_by is None:
            state.heaped_by = call.index
        state.fruit = min(state.fruit + 1, world.hopper.capacity)
        return tools.Harvested(plant_id=name, fruit=state.fruit, capacity=world.hopper.capacity)

    def do_dump_hopper(self, arguments: NoArguments, call: CallOptions) -> tools.HopperReading:
        """Empty the hopper into the collection bin."""
        with self.execution.running(call):
            self.execution.run(None, self.world.rover.dump_s)
        state = self.state
        state.collected_fruit += state.fruit
        state.fruit, state.heap, state.heaped_by = 0, 0.0, None
        return tools.HopperReading(fruit=0, capacity=self.world.hopper.capacity)

    def do_refill_water_tank(self, arguments: NoArguments, call: CallOptions) -> tools.Tank:
        """Fill the water tank until its float valve closes, and reset the booked content."""
        tank = self.world.water_tank
        self.execution.refill(self.state.water, tank.capacity_liters, tank.refill_liters_per_s, call)
        self.state.booked_liters = tank.capacity_liters
        return tools.Tank(tank_liters=round(tank.capacity_liters, DECIMALS))

    def do_refill_pesticide(self, arguments: NoArguments, call: CallOptions) -> tools.TankReading:
        """Fill the pesticide tank until its float valve closes, and reset the booked content."""
        tank = self.world.pesticide_tank
        self.execution.refill(self.state.pesticide, tank.capacity_ml, tank.refill_ml_per_s, call)
        self.state.booked_ml = tank.capacity_ml
        return tools.TankReading(tank_ml=round(tank.capacity_ml, DECIMALS))

    def do_recharge(self, arguments: NoArguments, call: CallOptions) -> tools.Battery:
        """Charge the battery fully."""
        state = self.state

        def charge(share: float) -> None:
            state.battery = min(1.0, state.battery + share)

        self.execution.fill_up(max(0.0, 1.0 - state.battery), self.world.rover.charging_per_s, call, charge)
        state.battery = 1.0
        return tools.Battery(battery=1.0)

    def do_sense_pose(self, arguments: NoArguments, call: CallOptions) -> tools.RoverPose:
        """Read the pose."""
        self._read()
        return rounded(self.state.pose)

    def do_sense_battery(self, arguments: NoArguments, call: CallOptions) -> tools.Battery:
        """Read the charge in tenths."""
        self._read()
        return self._charge()

    def do_sense_hopper(self, arguments: NoArguments, call: CallOptions) -> tools.HopperReading:
        """Read the hopper's count."""
        self._read()
        return self._hopper()

    def do_list_plants(self, arguments: NoArguments, call: CallOptions) -> tools.Plants:
        """List the plants' names."""
        self._read()
        return tools.Plants(plants=list(self.world.plants))

    def do_scan_plant(self, arguments: tools.OnePlant, call: CallOptions) -> tools.PlantScan:
        """Read camera and soil probe; the probe has the threshold of the moisture sensors."""
        name = arguments.plant_id
        self._read()
        plant, threshold = self.state.plants[name], self.world.sensors.moisture.threshold or 0.0
        soil = "wet" if plant.soil.moisture >= threshold else "dry"
        return tools.PlantScan.model_validate(
            {"plant_id": name, "soil": soil, "ripe": plant.ripe, "pests": plant.pests}
        )

    def do_scan_people(self, arguments: NoArguments, call: CallOptions) -> tools.PeopleScan:
        """Read the scanner for people."""
        self.pass_time(self.world.rover.people_scan_s)
        seen = sighting(self)
        if seen is None:
            return tools.PeopleScan(people=0, distance=None, bearing=None, x=None, y=None)
        x, y = (round(part, 1) + 0.0 for part in seen.place)
        distance, bearing = round(seen.distance, 1), round(seen.bearing, 2) + 0.0
        return tools.PeopleScan(people=1, distance=distance, bearing=bearing, x=x, y=y)

    def do_get_plant_pose(self, arguments: tools.OnePlant, call: CallOptions) -> tools.PlantPose:
        """Read the pose of a plant."""
        place = self.world.plants[arguments.plant_id]
        self._read()
        return tools.PlantPose(name=arguments.plant_id, **rounded(place).model_dump())

    def do_get_station_pose(self, arguments: tools.OneStation, call: CallOptions) -> tools.PlantPose:
        """Read the pose of a station."""
        place = self.world.stations[arguments.station_name]
        self._read()
        return tools.PlantPose(name=arguments.station_name, **rounded(place).model_dump())

    def registers(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the lock, the pose, the charge, and the hopper's count."""
        results: dict[str, ToolResult] = {
            "lock_safety_mode": tools.RoverSafety(
                safety="locked" if self.state.safety_locked else "unlocked"
            ),
            "sense_pose": rounded(self.state.pose),
            "sense_battery": self._charge(),
            "sense_hopper": self._hopper(),
        }
        return {tool: value.model_dump() for tool, value in results.items()}

    def _charge(self) -> tools.Battery:
        return tools.Battery(battery=round(self.state.battery, 1))

    def _hopper(self) -> tools.HopperReading:
        return tools.HopperReading(fruit=self.state.fruit, capacity=self.world.hopper.capacity)

    def _read(self) -> None:
        self.pass_time(self.world.rover.read_s)
