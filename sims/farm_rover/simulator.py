"""The farm rover as a simulated device: its tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devices.farm_rover import tools
from devices.farm_rover.interlocks import FARM_INTERLOCKS, RoverView
from devices.farm_rover.world import Pose
from devices.tool import NoArguments, ToolResult
from sims.farm_rover.drive_control import DECIMALS, Driving, rounded
from sims.farm_rover.dynamics import FarmDynamics
from sims.farm_rover.hose import Hose
from sims.farm_rover.interventions import FARM_INTERVENTIONS
from sims.farm_rover.tool_execution import Works, filling
from sims.simulator import CallOptions


class FarmSimulator(FarmDynamics):
    """The farm rover: each tool of `FARM_ROVER` on the simulated field.

    Its parts: `works` (the tools at work, pumps), `driving`, and what `FarmDynamics` has.
    """

    interlocks = FARM_INTERLOCKS
    interventions = FARM_INTERVENTIONS

    def begin(self) -> None:
        """The initial state, and parts that work on it."""
        super().begin()
        self.works = Works(self)
        self.driving = Driving(self, self.works)

    def view(self) -> RoverView:
        """What the interlocks look at."""
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
            has_way=lambda goal: self.driving.route((goal.x, goal.y)) is not None,
            drive_charge=self.driving.charge,
        )

    def do_unlock_safety_mode(self, arguments: NoArguments, call: CallOptions) -> tools.SafetyState:
        """Unlock; nothing changes where it is unlocked already."""
        self.pass_time(self.world.rover.switch_s)
        self.state.safety_locked = False
        return tools.SafetyState(safety="unlocked")

    def do_lock_safety_mode(self, arguments: NoArguments, call: CallOptions) -> tools.SafetyState:
        """Lock; nothing changes where it is locked already."""
        self.pass_time(self.world.rover.switch_s)
        self.state.safety_locked = True
        return tools.SafetyState(safety="locked")

    def do_move_to(self, arguments: tools.MoveTo, call: CallOptions) -> tools.Pose:
        """Drive to a pose, round beds and obstacles; a goal inside one is driven to all the same."""
        return self.driving.drive_to(Pose(x=arguments.x, y=arguments.y, yaw=arguments.yaw), call)

    def do_move_home(self, arguments: NoArguments, call: CallOptions) -> tools.Pose:
        """Drive to the base."""
        return self.driving.drive_to(self.world.stations["base"], call)

    def do_water_plant(self, arguments: tools.Water, call: CallOptions) -> tools.Watered:
        """Pump water onto the soil of a plant."""
        state, name, liters = self.state, arguments.plant_id, arguments.liters
        with self.works.at_work(call):
            state.booked_liters = max(0.0, state.booked_liters - liters)
            given = self.works.give_water(name, liters, call)
        return tools.Watered(
            plant_id=name, liters=round(given, DECIMALS), tank_liters=round(state.booked_liters, DECIMALS)
        )

    def do_spray_pesticide(self, arguments: tools.Spray, call: CallOptions) -> tools.Sprayed:
        """Spray pesticide on a plant; from the effective dose on it rids the plant of its pests."""
        state, name, ml = self.state, arguments.plant_id, arguments.ml
        with self.works.at_work(call):
            state.booked_ml = max(0.0, state.booked_ml - ml)
            given = self.works.give_pesticide(name, ml, call)
        return tools.Sprayed(
            plant_id=name, ml=round(given, DECIMALS), tank_ml=round(state.booked_ml, DECIMALS)
        )

    def do_harvest_fruit(self, arguments: tools.OnePlant, call: CallOptions) -> tools.Harvested:
        """Pick a plant's ripe fruit into the hopper."""
        state, world, name = self.state, self.world, arguments.plant_id
        plant = state.plants[name]
        with self.works.at_work(call):
            state.picking = name
            self.works.run(None, world.rover.harvest_s)
        plant.ripe = False
        fruit = plant.place.fruit * world.hidden.fruit_size
        if state.hopper_room is not None:
            fruit = min(fruit, state.hopper_room)
        state.heap += fruit
        if state.heap > world.hopper.capacity * world.hopper.heaped_share and state.heaped_by is None:
            state.heaped_by = call.index
        state.fruit = min(state.fruit + 1, world.hopper.capacity)
        return tools.Harvested(plant_id=name, fruit=state.fruit, capacity=world.hopper.capacity)

    def do_dump_hopper(self, arguments: NoArguments, call: CallOptions) -> tools.Hopper:
        """Empty the hopper into the collection bin."""
        with self.works.at_work(call):
            self.works.run(None, self.world.rover.dump_s)
        state = self.state
        state.collected_fruit += state.fruit
        state.fruit, state.heap, state.heaped_by = 0, 0.0, None
        return tools.Hopper(fruit=0, capacity=self.world.hopper.capacity)

    def do_refill_water_tank(self, arguments: NoArguments, call: CallOptions) -> tools.Tank:
        """Fill the water tank until its float valve closes; its book is then right again."""
        tank = self.world.water_tank
        self._refill(self.state.water, tank.capacity_liters, tank.refill_liters_per_s, call)
        self.state.booked_liters = tank.capacity_liters
        return tools.Tank(tank_liters=round(tank.capacity_liters, DECIMALS))

    def do_refill_pesticide(self, arguments: NoArguments, call: CallOptions) -> tools.PesticideTank:
        """Fill the pesticide tank until its float valve closes; its book is then right again."""
        tank = self.world.pesticide_tank
        self._refill(self.state.pesticide, tank.capacity_ml, tank.refill_ml_per_s, call)
        self.state.booked_ml = tank.capacity_ml
        return tools.PesticideTank(tank_ml=round(tank.capacity_ml, DECIMALS))

    def _refill(self, hose: Hose, capacity: float, rate: float, call: CallOptions) -> None:
        seconds, flow = filling(capacity - hose.content, rate, call)
        self.needs((capacity - hose.content) / rate)
        with self.works.at_work(call):
            self.works.run(lambda t, dt: hose.fill(flow * dt, capacity), seconds)
        hose.fill(capacity, capacity)

    def do_recharge(self, arguments: NoArguments, call: CallOptions) -> tools.Battery:
        """Charge the battery to the full."""
        state = self.state
        missing, usual = max(0.0, 1.0 - state.battery), self.world.rover.charging_per_s
        seconds, rate = filling(missing, usual, call)
        self.needs(missing / usual)

        def charge(t: float, dt: float) -> None:
            state.battery = min(1.0, state.battery + rate * dt)

        with self.works.at_work(call):
            self.works.run(charge, seconds)
        state.battery = 1.0
        return tools.Battery(battery=1.0)

    def do_sense_pose(self, arguments: NoArguments, call: CallOptions) -> tools.Pose:
        """The pose."""
        self._read()
        return rounded(self.state.pose)

    def do_sense_battery(self, arguments: NoArguments, call: CallOptions) -> tools.Battery:
        """The charge in tenths."""
        self._read()
        return self._charge()

    def do_sense_hopper(self, arguments: NoArguments, call: CallOptions) -> tools.Hopper:
        """The hopper's count."""
        self._read()
        return self._hopper()

    def do_list_plants(self, arguments: NoArguments, call: CallOptions) -> tools.Plants:
        """The plants' names."""
        self._read()
        return tools.Plants(plants=list(self.world.plants))

    def do_scan_plant(self, arguments: tools.OnePlant, call: CallOptions) -> tools.PlantScan:
        """Camera and soil probe: the probe has the threshold of the moisture sensors."""
        name = arguments.plant_id
        self._read()
        plant, threshold = self.state.plants[name], self.world.sensors.moisture.threshold or 0.0
        soil = "wet" if plant.soil.moisture >= threshold else "dry"
        return tools.PlantScan.model_validate(
            {"plant_id": name, "soil": soil, "ripe": plant.ripe, "pests": plant.pests}
        )

    def do_get_plant_pose(self, arguments: tools.OnePlant, call: CallOptions) -> tools.NamedPose:
        """Where a plant stands."""
        place = self.world.plants[arguments.plant_id]
        self._read()
        return tools.NamedPose(name=arguments.plant_id, **rounded(place).model_dump())

    def do_get_station_pose(self, arguments: tools.OneStation, call: CallOptions) -> tools.NamedPose:
        """Where a station stands."""
        place = self.world.stations[arguments.station_name]
        self._read()
        return tools.NamedPose(name=arguments.station_name, **rounded(place).model_dump())

    def registers(self) -> Mapping[str, Mapping[str, Any]]:
        """The lock, the pose, the charge, and the hopper's count."""
        told: dict[str, ToolResult] = {
            "lock_safety_mode": tools.SafetyState(
                safety="locked" if self.state.safety_locked else "unlocked"
            ),
            "sense_pose": rounded(self.state.pose),
            "sense_battery": self._charge(),
            "sense_hopper": self._hopper(),
        }
        return {tool: value.model_dump() for tool, value in told.items()}

    def _charge(self) -> tools.Battery:
        return tools.Battery(battery=round(self.state.battery, 1))

    def _hopper(self) -> tools.Hopper:
        return tools.Hopper(fruit=self.state.fruit, capacity=self.world.hopper.capacity)

    def _read(self) -> None:
        self.pass_time(self.world.rover.read_s)
