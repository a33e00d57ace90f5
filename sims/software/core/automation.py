"""A home with lights, one thermostat, one door and an alarm."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sims.software.core.base import CoreState, CoreWorld, Told, core_world, read, write


class Home(CoreState):
    """What is on, locked and set."""

    lights_on: bool = False
    thermostat: float = Field(default=22.0, description="target temperature, degrees Celsius")
    door_locked: bool = True
    alarm_on: bool = False


class Automation(CoreWorld[Home]):
    """A home with lights, a thermostat, a door lock and an alarm."""

    name = "core:automation"

    @write(undone_by="turn_off_lights")
    def turn_on_lights(self) -> Told:
        """Turn the lights on."""
        self.state.lights_on = True
        return Told()

    @write(undone_by="turn_on_lights")
    def turn_off_lights(self) -> Told:
        """Turn the lights off."""
        self.state.lights_on = False
        return Told()

    @write()
    def set_thermostat(
        self, temperature: Annotated[float, Field(description="target temperature, degrees Celsius")]
    ) -> Told:
        """Set the thermostat."""
        self.state.thermostat = temperature
        return Told()

    @write(undone_by="unlock_door")
    def lock_door(self) -> Told:
        """Lock the door."""
        self.state.door_locked = True
        return Told()

    @write(undone_by="lock_door")
    def unlock_door(self) -> Told:
        """Unlock the door."""
        self.state.door_locked = False
        return Told()

    @write(undone_by="deactivate_alarm")
    def activate_alarm(self) -> Told:
        """Activate the alarm."""
        self.state.alarm_on = True
        return Told()

    @write(undone_by="activate_alarm")
    def deactivate_alarm(self) -> Told:
        """Deactivate the alarm."""
        self.state.alarm_on = False
        return Told()

    @read()
    def print_system_status(self) -> Told:
        """Tell the state of lights, thermostat, door and alarm."""
        return Told(result=self.state_dict())


WORLD = core_world(Automation, Home)
