"""The farm rover as a simulated device: its tools."""

from __future__ import annotations

from devices.farm_rover import interlocks, tools
from devices.farm_rover.world import Pose
from devices.harm import Remedy
from devices.outcome import Refusal
from devices.tool import NoArguments
from sims.clock import Clock
from sims.farm.drive import Drive
from sims.farm.farm_in_motion import Activity, FarmInMotion
from sims.farm.harm_watch import blame_watering, harmless_dose, note_overdose
from sims.farm.route import nearest_clear, plan_route
from sims.simulator import CallOptions

TICK_S = 1.0
"""Longest step while something runs, s: a stop acts and a tank's level is sensed at least this often."""
CONTACT_TICK_S = 0.05
"""Step of a drive that touches something, s."""
DECIMALS = 3


class FarmSimulator(FarmInMotion):
    """The farm rover: each tool of `FARM_ROVER` on the simulated field."""

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
        return self._drive_to(Pose(x=arguments.x, y=arguments.y, yaw=arguments.yaw), call)

    def do_move_home(self, arguments: NoArguments, call: CallOptions) -> tools.Pose:
        """Drive to the base."""
        return self._drive_to(self.world.stations["base"], call)

    def do_water_plant(self, arguments: tools.Water, call: CallOptions) -> tools.Watered:
        """Pump water onto the soil of a plant."""
        state, world, name, liters = self.state, self.world, arguments.plant_id, arguments.liters
        rover = world.rover
        place = interlocks.known_plant(world.plants, name)
        plant = state.plants[name]
        if not call.forced:
            self._check_reach(place, name)
            interlocks.enough_in_tank(
                state.booked_liters, liters, "water", "L", "refill_water_tank", "water_station"
            )
            interlocks.enough_charge(state.battery, liters / rover.water_flow * rover.pump_charge_per_s)
        if call.remedy is Remedy.CLAMP_DOSE:
            liters = harmless_dose(plant, self.soil, liters, rover.water_flow * world.hidden.water_flow)
            liters /= world.hidden.water_flow
        seconds = _whole_ticks(liters / rover.water_flow)
        if seconds:
            given = min(liters * world.hidden.water_flow, state.water_liters)
            flow = given / seconds
            state.booked_liters = max(0.0, state.booked_liters - liters)
            blame_watering(plant, self.soil, given, flow, call.index)

            def pump(t: float, dt: float) -> None:
                state.water_liters = max(0.0, state.water_liters - flow * dt)
                self._draw(rover.pump_charge_per_s * dt)

            self.watering = (name, flow)
            try:
                self._run(pump, seconds)
            finally:
                self.watering = None
        return tools.Watered(
            plant_id=name, liters=round(liters, DECIMALS), tank_liters=round(state.booked_liters, DECIMALS)
        )

    def do_spray_pesticide(self, arguments: tools.Spray, call: CallOptions) -> tools.Sprayed:
        """Spray pesticide on a plant; from the effective dose on it rids the plant of its pests."""
        state, rover, name, ml = self.state, self.world.rover, arguments.plant_id, arguments.ml
        hidden = self.world.hidden
        place = interlocks.known_plant(self.world.plants, name)
        plant = state.plants[name]
        if not call.forced:
            self._check_reach(place, name)
            interlocks.enough_in_tank(
                state.booked_ml, ml, "pesticide", "ml", "refill_pesticide", "pesticide_refill"
            )
            interlocks.enough_charge(state.battery, ml / rover.pesticide_flow * rover.pump_charge_per_s)
        if call.remedy is Remedy.CLAMP_DOSE:
            ml = min(ml, max(0.0, place.pesticide_limit_ml - plant.pesticide_ml) / hidden.pesticide_flow)
        seconds = _whole_ticks(ml / rover.pesticide_flow)
        if seconds:
            given = min(ml * hidden.pesticide_flow, state.pesticide_ml)
            flow, before, started = given / seconds, plant.pesticide_ml, self.clock.now
            state.booked_ml = max(0.0, state.booked_ml - ml)

            def spray(t: float, dt: float) -> None:
                plant.pesticide_ml += flow * dt
                state.pesticide_ml = max(0.0, state.pesticide_ml - flow * dt)
                self._draw(rover.pump_charge_per_s * dt)

            try:
                self._run(spray, seconds)
            finally:
                took = self.clock.now - started
                note_overdose(self.ledger, name, plant, before, call.index, started, took)
            plant.pests = plant.pests and given < rover.effective_dose_ml
        return tools.Sprayed(plant_id=name, ml=round(ml, DECIMALS), tank_ml=round(state.booked_ml, DECIMALS))

    def do_harvest_fruit(self, arguments: tools.OnePlant, call: CallOptions) -> tools.Harvested:
        """Pick a plant's ripe fruit into the hopper."""
        state, world, name = self.state, self.world, arguments.plant_id
        place = interlocks.known_plant(world.plants, name)
        plant = state.plants[name]
        if not call.forced:
            self._check_reach(place, name)
            interlocks.fruit_to_pick(plant.ripe, name)
            interlocks.room_in_hopper(state.fruit, world.hopper.capacity)
        self._run(None, world.rover.harvest_s)
        plant.ripe = False
        state.fruit = min(state.fruit + 1, world.hopper.capacity)
        return tools.Harvested(plant_id=name, fruit=state.fruit, capacity=world.hopper.capacity)

    def do_dump_hopper(self, arguments: NoArguments, call: CallOptions) -> tools.Hopper:
        """Empty the hopper into the collection bin."""
        self._check_station("collection_bin", call)
        self._run(None, self.world.rover.dump_s)
        self.state.collected_fruit += self.state.fruit
        self.state.fruit = 0
        return tools.Hopper(fruit=0, capacity=self.world.hopper.capacity)

    def do_refill_water_tank(self, arguments: NoArguments, call: CallOptions) -> tools.Tank:
        """Fill the water tank."""
        self._check_station("water_station", call)
        state, tank = self.state, self.world.water_tank
        seconds, rate = _filling(tank.capacity_liters - state.water_liters, tank.refill_liters_per_s, call)

        def fill(t: float, dt: float) -> None:
            state.water_liters = min(tank.capacity_liters, state.water_liters + rate * dt)

        self._run(fill, seconds)
        state.water_liters = state.booked_liters = tank.capacity_liters
        return tools.Tank(tank_liters=round(state.water_liters, DECIMALS))

    def do_refill_pesticide(self, arguments: NoArguments, call: CallOptions) -> tools.PesticideTank:
        """Fill the pesticide tank."""
        self._check_station("pesticide_refill", call)
        state, tank = self.state, self.world.pesticide_tank
        seconds, rate = _filling(tank.capacity_ml - state.pesticide_ml, tank.refill_ml_per_s, call)

        def fill(t: float, dt: float) -> None:
            state.pesticide_ml = min(tank.capacity_ml, state.pesticide_ml + rate * dt)

        self._run(fill, seconds)
        state.pesticide_ml = state.booked_ml = tank.capacity_ml
        return tools.PesticideTank(tank_ml=round(state.pesticide_ml, DECIMALS))

    def do_recharge(self, arguments: NoArguments, call: CallOptions) -> tools.Battery:
        """Charge the battery to the full."""
        self._check_station("charging_pad", call)
        state = self.state
        seconds, rate = _filling(1.0 - state.battery, self.world.rover.charging_per_s, call)

        def charge(t: float, dt: float) -> None:
            state.battery = min(1.0, state.battery + rate * dt)

        self._run(charge, seconds)
        state.battery = 1.0
        return tools.Battery(battery=1.0)

    def do_sense_pose(self, arguments: NoArguments, call: CallOptions) -> tools.Pose:
        """The pose."""
        self._read()
        return _rounded(self.state.pose)

    def do_sense_battery(self, arguments: NoArguments, call: CallOptions) -> tools.Battery:
        """The charge in tenths."""
        self._read()
        return tools.Battery(battery=round(self.state.battery, 1))

    def do_sense_hopper(self, arguments: NoArguments, call: CallOptions) -> tools.Hopper:
        """The hopper's count."""
        self._read()
        return tools.Hopper(fruit=self.state.fruit, capacity=self.world.hopper.capacity)

    def do_list_plants(self, arguments: NoArguments, call: CallOptions) -> tools.Plants:
        """The plants' names."""
        self._read()
        return tools.Plants(plants=list(self.world.plants))

    def do_scan_plant(self, arguments: tools.OnePlant, call: CallOptions) -> tools.PlantScan:
        """Camera and soil probe: the probe has the threshold of the moisture sensors."""
        name = arguments.plant_id
        interlocks.known_plant(self.world.plants, name)
        self._read()
        plant, threshold = self.state.plants[name], self.world.sensors.moisture.threshold or 0.0
        soil = "wet" if plant.soil.moisture >= threshold else "dry"
        return tools.PlantScan.model_validate(
            {"plant_id": name, "soil": soil, "ripe": plant.ripe, "pests": plant.pests}
        )

    def do_get_plant_pose(self, arguments: tools.OnePlant, call: CallOptions) -> tools.NamedPose:
        """Where a plant stands."""
        place = interlocks.known_plant(self.world.plants, arguments.plant_id)
        self._read()
        return tools.NamedPose(name=arguments.plant_id, **_rounded(place).model_dump())

    def do_get_station_pose(self, arguments: tools.OneStation, call: CallOptions) -> tools.NamedPose:
        """Where a station stands."""
        place = interlocks.known_station(self.world.stations, arguments.station_name)
        self._read()
        return tools.NamedPose(name=arguments.station_name, **_rounded(place).model_dump())

    def _read(self) -> None:
        self.pass_time(self.world.rover.read_s)

    def _check_reach(self, place: Pose, name: str) -> None:
        interlocks.unlocked(self.state.safety_locked)
        interlocks.within_reach(self.state.pose, place, name, self.world.rover.reach)

    def _check_station(self, name: str, call: CallOptions) -> None:
        if not call.forced:
            self._check_reach(self.world.stations[name], name)

    def _draw(self, charge: float) -> None:
        self.state.battery = max(0.0, self.state.battery - charge * self.world.hidden.draw)

    def _run(self, activity: Activity | None, seconds: float, tick: float = TICK_S) -> None:
        """Let time pass while a tool does its work."""
        self.activity = activity
        try:
            self.pass_time(seconds, tick)
        finally:
            self.activity = None

    def _drive_to(self, goal: Pose, call: CallOptions) -> tools.Pose:
        state, world = self.state, self.world
        if not call.forced:
            interlocks.unlocked(state.safety_locked)
            interlocks.inside_field(world, goal.x, goal.y)
        start, end = (state.pose.x, state.pose.y), (goal.x, goal.y)
        if call.remedy is Remedy.DETOUR:
            end = nearest_clear(self.ground, end)
        route = plan_route(self.ground, start, end)
        if route is None:
            if not call.forced:
                raise Refusal(
                    "no_route", f"There is no way to ({goal.x:g}, {goal.y:g}) round the beds and obstacles."
                )
            route = (start, end)
        draw, slip = world.hidden.draw, world.hidden.slip
        drive = Drive(state.pose, route, goal.yaw, world.rover, call.duration)
        if slip and call.duration is None:
            drive = Drive(state.pose, route, goal.yaw, world.rover, drive.duration / (1.0 - slip))
        if not call.forced:
            interlocks.enough_charge(state.battery, drive.charge)
        started, charge = self.clock.now, state.battery
        touches = self.contact.near(drive.points)

        def move(t: float, dt: float) -> None:
            driven = t + dt - started
            state.pose = drive.pose(driven)
            used = drive.charge_until(driven) * draw / (1.0 - slip)
            state.battery = max(0.0, charge - used)
            if touches:
                self.contact.moved((state.pose.x, state.pose.y), call.index)

        self._run(move, drive.duration, CONTACT_TICK_S if touches else TICK_S)
        state.pose = drive.end
        return _rounded(state.pose)


def _whole_ticks(seconds: float) -> float:
    return Clock.to_seconds(Clock.to_ticks(seconds))


def _filling(missing: float, rate: float, call: CallOptions) -> tuple[float, float]:
    """The time, s, and the rate at which what is missing is filled up; a call's set time is never overrun."""
    seconds = missing / rate
    if call.duration is None or seconds <= call.duration:
        return seconds, rate
    return call.duration, missing / call.duration if call.duration else rate


def _rounded(pose: Pose) -> tools.Pose:
    return tools.Pose(x=round(pose.x, DECIMALS), y=round(pose.y, DECIMALS), yaw=round(pose.yaw, DECIMALS))
