"""The greenhouse's physics: one balance of heat and one of water vapour, both with exact steps.

Heat:   C dT/dt = P + sun - (U A + V n rho c) (T - T_out).   Vapour: V rho dw/dt = E - V n rho (w - w_out).
n is the air changes a second; relative humidity follows from w and T by the Magnus formula (WMO, 2018).
"""

import math
from collections.abc import Mapping
from typing import Any

from pathrig.device import NoArguments
from pathrig.world import CallOptions, Check, CoarseSensor, Flag, HarmRule, Refusal, Simulator, by_name
from pathrig_greenhouse.device import GREENHOUSE, Climate, Minutes, Opening, Power, Settings
from pathrig_greenhouse.state import GreenhouseState

AIR_KG_PER_M3, AIR_J_PER_KG_K, PRESSURE_HPA, STEP_S = 1.2, 1006.0, 1013.25, 10.0

OVERHEATED = HarmRule(
    "overheated", "the air is hotter than the leaves bear", "K", "kept_mild", "temperature", "too_hot"
)
CHILLED = HarmRule("chilled", "the air is colder than growth needs", "K", "kept_mild")
MOULD = HarmRule(
    "mould", "the air is so damp that mould grows", "1", "kept_mild", "relative_humidity", "too_damp"
)
RULES = (OVERHEATED, CHILLED, MOULD)


def heater_off(house: "GreenhouseSimulator", arguments: Mapping[str, Any]) -> None:
    """The vent opens more than half with the heater off alone."""
    if house.heater and arguments["percent"] > 50.0:
        raise Refusal("heater_on", "The heater is on. Turn it off before opening more than 50 percent.")


INTERLOCKS = {"set_vent": (Check("heater_off", heater_off),)}
INTERVENTIONS = by_name([Flag("kept_mild", "kept_mild")])


class GreenhouseSimulator(Simulator[GreenhouseState]):
    """The greenhouse on a virtual clock. Its safe state: heater and lamp off, vent half open."""

    name = "greenhouse"
    firmware = "pathrig-greenhouse 0.1"
    device_type = GREENHOUSE
    harm_rules = RULES
    interlocks = INTERLOCKS
    interventions = INTERVENTIONS
    kept_mild = False
    kept = ("temperature", "humidity", "vent", "heater", "lamp", "cause")

    def begin(self) -> None:
        """Set the state from the initial one."""
        world = self.world
        self.temperature, self.humidity = world.temperature, world.humidity
        self.vent, self.heater, self.lamp = world.vent, world.heater, world.lamp
        self.cause = 0

    def make_safe(self) -> None:
        """Heater and lamp off, vent half open."""
        self.heater = self.lamp = False
        self.vent = 0.5

    def evolve(self, seconds: float) -> None:
        """Both balances are linear, so each goes to its equilibrium exponentially."""
        w, mass = self.world, self.world.volume_m3 * AIR_KG_PER_M3
        changes = (w.leak_per_h + self.vent * w.air_changes_per_h) / 3600.0
        loss = w.loss_w_per_k + mass * changes * AIR_J_PER_KG_K
        power = w.sun_w + self.heater * w.heater_w + self.lamp * w.lamp_w
        settled = w.outside_temperature + power / loss
        faded = math.exp(-loss / w.heat_capacity_j_per_k * seconds)
        self.temperature = settled + (self.temperature - settled) * faded
        vapour = w.outside_humidity + w.transpiration_kg_per_h / 3600.0 / (mass * changes)
        self.humidity = vapour + (self.humidity - vapour) * math.exp(-changes * seconds)
        if self.kept_mild:
            self.temperature = min(max(self.temperature, w.too_cold), w.too_hot)
            self.humidity *= min(1.0, w.too_damp / self.relative_humidity())
        now = self.clock.now
        for rule, excess in (
            (OVERHEATED, self.temperature - w.too_hot),
            (CHILLED, w.too_cold - self.temperature),
            (MOULD, self.relative_humidity() - w.too_damp),
        ):
            if excess > 0.0:
                self.ledger.note(rule.kind, "air", self.cause, now, now + seconds, excess, excess * seconds)

    def relative_humidity(self) -> float:
        """Of the air now, 0 to 1."""
        vapour_hpa = self.humidity * PRESSURE_HPA / (0.622 + self.humidity)
        return vapour_hpa / (6.112 * math.exp(17.62 * self.temperature / (243.12 + self.temperature)))

    def coarse_sensors(self) -> list[CoarseSensor]:
        """A thermometer of whole degrees, and a damp switch."""
        quantities = {"temperature": lambda: self.temperature, "damp": self.relative_humidity}
        return [CoarseSensor(name, spec, quantities[name]) for name, spec in self.world.sensors.items()]

    def state_dict(self) -> dict[str, Any]:
        """The true state."""
        kept = {name: getattr(self, name) for name in ("temperature", "humidity", "vent", "heater", "lamp")}
        return {**kept, "relative_humidity": self.relative_humidity()}

    def coarse_state(self) -> dict[str, Any]:
        """What the sensors show, and what is set."""
        return {**self.sensor_values, "vent": self.vent, "heater": self.heater, "lamp": self.lamp}

    def do_set_vent(self, arguments: Opening, call: CallOptions) -> Settings:
        """Move the vent."""
        self.vent, self.cause = arguments.percent / 100.0, call.index
        return self.do_read_settings(NoArguments(), call)

    def do_set_heater(self, arguments: Power, call: CallOptions) -> Settings:
        """Switch the heater."""
        self.heater, self.cause = arguments.power == "on", call.index
        return self.do_read_settings(NoArguments(), call)

    def do_set_lamp(self, arguments: Power, call: CallOptions) -> Settings:
        """Switch the lamp."""
        self.lamp, self.cause = arguments.power == "on", call.index
        return self.do_read_settings(NoArguments(), call)

    def do_wait(self, arguments: Minutes, call: CallOptions) -> Climate:
        """Let time pass; whoever waits answers for what comes of it."""
        self.cause = call.index
        self.pass_time(arguments.minutes * 60.0, STEP_S)
        return self.do_read_climate(NoArguments(), call)

    def do_read_climate(self, arguments: NoArguments, call: CallOptions) -> Climate:
        """Both sensors, read in a second."""
        self.pass_time(1.0)
        return Climate(temperature=round(self.temperature), damp=self.relative_humidity() >= 0.85)

    def do_read_settings(self, arguments: NoArguments, call: CallOptions) -> Settings:
        """What is set."""
        self.pass_time(1.0)
        words = ("off", "on")
        return Settings(vent_percent=100 * self.vent, heater=words[self.heater], lamp=words[self.lamp])
