"""The farm's physics at the pins of a board: wheels, pump and tools as switched, sensors as they are read.

No tool call reaches it: the firmware decides, and the field follows the pins.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from devices.farm_rover.world import FarmWorld, Pose, distance
from sims.farm_rover import board_pins as pins
from sims.farm_rover.board_pins import Inputs, Outputs
from sims.farm_rover.people import Sighting, sighting
from sims.farm_rover.pump_curve import water_share
from sims.farm_rover.simulator import FarmSimulator
from sims.farm_rover.spray_drift import drift_shares
from sims.farm_rover.state import FarmState, PlantState
from sims.farm_rover.trajectory import wrapped

PROBES = 4
"""Number of moisture probes on the board."""
SLOW_STEPS = 20
"""Steps between two updates of the analogue inputs, which change slowly."""
TOOL_PINS = pins.PUMP | pins.SPRAYER | pins.PICKER | pins.GATE
PINS_CALL = 0
"""The cause in the harm ledger: there are no calls on this side of the pins."""


class FieldAtPins:
    """A simulated farm that a board's pins drive.

    Attributes:
        farm: the simulator, to which no calls go.
        outputs: the pins as the board last drove them.
        wheel_shares: the share of its drive by which the left and the right wheel turn; 0: blocked.
        meter_share: the share of its pulses that the flow meter gives.
        stop_pressed: whether the contact at the stop input is open.
    """

    def __init__(self, world: FarmWorld) -> None:
        self.farm = FarmSimulator(world)
        self.farm.state.latest = PINS_CALL
        self.outputs = Outputs()
        self.wheel_shares = (1.0, 1.0)
        self.meter_share = 1.0
        self.stop_pressed = False
        self._left_m = self._right_m = 0.0
        self._metered = 0.0
        self._pumped = self.state.water.pumped
        self._counters = (0, 0, 0)
        self._steps = 0
        self._slow: tuple[int, ...] = ()
        self._seen: Sighting | None = None
        self._gate_s = 0.0
        self._picked: dict[str, float] = {}

    @property
    def state(self) -> FarmState:
        """The farm's state."""
        return self.farm.state

    @property
    def _world(self) -> FarmWorld:
        return self.farm.world

    def step(self, outputs: Outputs, seconds: float) -> Inputs:
        """Advance device time with these pins; return what the board reads then."""
        self.outputs = outputs
        self.state.safety_locked = not outputs.port_a & pins.ENABLE
        self._switch_pumps()
        self.farm.dynamics.activity = self._act
        self.farm.pass_time(seconds)
        return self._inputs()

    def _act(self, _t: float, seconds: float) -> None:
        out, state = self.outputs, self.state
        if self._moving:
            self._move(seconds)
        actions: list[tuple[int, Callable[[float], None]]] = [
            (pins.PICKER, self._pick),
            (pins.WATER_VALVE, self._fill_water),
            (pins.PESTICIDE_VALVE, self._fill_pesticide),
            (pins.CHARGER, self._charge),
        ]
        for pin, action in actions:
            if out.port_a & pin:
                action(seconds)
        self._gate_s = self._gate_s + seconds if out.port_a & pins.GATE else 0.0
        if self._gate_s >= self._world.rover.dump_s / 2 and self._at("collection_bin"):
            state.collected_fruit += state.fruit
            state.fruit, state.heap, state.heaped_by = 0, 0.0, None

    @property
    def _moving(self) -> bool:
        return self.outputs.moving and self.wheel_shares != (0.0, 0.0)

    def _move(self, seconds: float) -> None:
        state, rover = self.state, self._world.rover
        per_duty = pins.WHEEL_FULL_SPEED / pins.DUTY_MAX * seconds
        left = self.outputs.left * per_duty * self.wheel_shares[0]
        right = self.outputs.right * per_duty * self.wheel_shares[1]
        self._left_m += left
        self._right_m += right
        travel, turn = (left + right) / 2, (right - left) / pins.TRACK
        middle, came_from = state.pose.yaw + turn / 2, (state.pose.x, state.pose.y)
        state.pose = Pose(
            x=state.pose.x + travel * math.cos(middle),
            y=state.pose.y + travel * math.sin(middle),
            yaw=wrapped(state.pose.yaw + turn),
        )
        used = abs(travel) * rover.drive_charge_per_m + abs(turn) * rover.turn_charge_per_rad
        state.battery = max(0.0, state.battery - used)
        overlap = max(0.0, self.farm.contact.moved(came_from, (state.pose.x, state.pose.y), PINS_CALL))
        state.contact_n = overlap * rover.contact_stiffness

    def _switch_pumps(self) -> None:
        """Switch the pumps at the plant in reach; all its water is attributed to the pins."""
        state, rover, port = self.state, self._world.rover, self.outputs.port_a
        stuck = self.farm.faults.strength("stuck_valve")
        near = self._plant_in_reach()
        aim = None if near is None else near[0]
        state.moving = self._moving
        state.working = PINS_CALL if state.moving or port & TOOL_PINS else None
        state.picking = aim if port & pins.PICKER else None
        if aim != state.aim:
            state.aim = aim
            state.drift = {} if aim is None else drift_shares(self._world.wind, aim, self._world.plants)
        for pin, hose, flow in (
            (pins.PUMP, state.water, rover.water_flow),
            (pins.SPRAYER, state.pesticide, rover.pesticide_flow),
        ):
            if not port & pin:
                hose.close(stuck)
            elif not hose.pump:
                if hose is state.water:
                    hose.share = water_share(self._world, state.battery, hose.content)
                hose.open(flow)
                if near is not None and hose is state.pesticide:
                    near[1].dose = 0.0
        if near is not None:
            plant = near[1]
            if plant.dose >= rover.effective_dose_ml:
                plant.pests = False

    def _pick(self, seconds: float) -> None:
        near = self._plant_in_reach()
        if near is None or not near[1].ripe:
            return
        name, plant = near
        self._picked[name] = self._picked.get(name, 0.0) + seconds
        # The fruit comes off near the end of the picker's time.
        if self._picked[name] >= 0.9 * self._world.rover.harvest_s:
            plant.ripe = False
            state = self.state
            state.heap += plant.place.fruit * self._world.hidden.fruit_size
            state.fruit = min(state.fruit + 1, self._world.hopper.capacity)
            if state.heap > self._world.hopper.capacity * self._world.hopper.heaped_share:
                state.heaped_by = PINS_CALL

    def _fill_water(self, seconds: float) -> None:
        tank = self._world.water_tank
        if self._at("water_station"):
            self.state.water.fill(tank.refill_liters_per_s * seconds, tank.capacity_liters)

    def _fill_pesticide(self, seconds: float) -> None:
        tank = self._world.pesticide_tank
        if self._at("pesticide_refill"):
            self.state.pesticide.fill(tank.refill_ml_per_s * seconds, tank.capacity_ml)

    def _charge(self, seconds: float) -> None:
        if self._at("charging_pad"):
            charged = self.state.battery + self._world.rover.charging_per_s * seconds
            self.state.battery = min(1.0, charged)

    def _at(self, station: str) -> bool:
        """Return whether the station is in reach: a little beyond the reach that the firmware allows."""
        return distance(self.state.pose, self._world.stations[station]) <= 1.1 * self._world.rover.reach

    def _plant_in_reach(self) -> tuple[str, PlantState] | None:
        """Return the plant that hose, sprayer and picker reach: the nearest one."""
        pose = self.state.pose
        plants = self.state.plants
        name = min(plants, key=lambda plant: distance(plants[plant].place, pose), default=None)
        if name is None or distance(plants[name].place, pose) > 1.1 * self._world.rover.reach:
            return None
        return name, plants[name]

    def _inputs(self) -> Inputs:
        pumped = self.state.water.pumped
        self._metered += (pumped - self._pumped) * self.meter_share
        self._pumped = pumped
        counters = (
            math.floor(self._left_m * pins.TICKS_PER_M),
            math.floor(self._right_m * pins.TICKS_PER_M),
            math.floor(self._metered * pins.PULSES_PER_L),
        )
        left, right, pulses = (abs(now - then) for now, then in zip(counters, self._counters, strict=True))
        self._counters = counters
        if self._steps % SLOW_STEPS == 0:
            self._seen = sighting(self.farm)
            self._slow = self._millivolts()
        self._steps += 1
        stop = int(self.stop_pressed)
        return Inputs(left, right, pulses, self._port_c(), self._port_l(), stop, self._slow)

    def _port_c(self) -> int:
        state, sensors = self.state, self._world.sensors
        levels = {
            pins.WATER_LOW: state.water_liters < (sensors.water_tank_low.threshold or 0.0),
            pins.PESTICIDE_LOW: state.pesticide_ml < (sensors.pesticide_tank_low.threshold or 0.0),
            pins.HOPPER_FULL: state.fruit >= self._world.hopper.capacity,
            pins.PERSON_SEEN: self._seen is not None,
        }
        return sum(bit for bit, high in levels.items() if high)

    def _port_l(self) -> int:
        """Return the camera module's bits: ripe in the low ones and pests in the high ones, by plant."""
        return sum(
            (plant.ripe << index) | (plant.pests << (4 + index))
            for index, plant in enumerate(self.state.plants.values())
        )

    def _millivolts(self) -> tuple[int, ...]:
        probes = [round(plant.soil.moisture * pins.MOISTURE_MV) for plant in self.state.plants.values()]
        probes += [0] * (PROBES - len(probes))
        return (*probes, round(self.state.battery * pins.BATTERY_MV), *self._scanner())

    def _scanner(self) -> tuple[int, int]:
        """Return what the scanner for people gives: distance, and bearing from the rover's own heading."""
        if self._seen is None:
            return 0, 0
        turn = wrapped(self._seen.bearing - self.state.pose.yaw) / (2.0 * math.pi) + 0.5
        return round(self._seen.distance * pins.SCANNER_MV), round(turn * pins.TURN_MV)
