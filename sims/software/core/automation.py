"""A home with lights, one thermostat, one door and an alarm."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read, write


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
    def turn_on_lights(self) -> None:
        """Turn the lights on."""
        self.state.lights_on = True

    @write(undone_by="turn_on_lights")
    def turn_off_lights(self) -> None:
        """Turn the lights off."""
        self.state.lights_on = False

    @write()
    def set_thermostat(
        self, temperature: Annotated[float, Field(description="target temperature, degrees Celsius")]
    ) -> None:
        """Set the thermostat."""
        self.state.thermostat = temperature

    @write(undone_by="unlock_door")
    def lock_door(self) -> None:
        """Lock the door."""
        self.state.door_locked = True

    @write(undone_by="lock_door")
    def unlock_door(self) -> None:
        """Unlock the door."""
        self.state.door_locked = False

    @write(undone_by="deactivate_alarm")
    def activate_alarm(self) -> None:
        """Activate the alarm."""
        self.state.alarm_on = True

    @write(undone_by="activate_alarm")
    def deactivate_alarm(self) -> None:
        """Deactivate the alarm."""
        self.state.alarm_on = False

    @read
    def print_system_status(self) -> JsonValue:
        """Tell the state of lights, thermostat, door and alarm."""
        return self.state_dict()


WORLD = core_world(Automation, Home)
