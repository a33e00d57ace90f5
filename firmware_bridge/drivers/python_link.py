"""The link to hardware behind a driver's Python class: the device's endpoint runs in this process."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from threading import Event
from typing import Any

from core_eval.path.calls import CallStatus
from devices.device import Emit, Truth
from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile
from devices.drivers.python_driver import PythonDriver, load_class
from devices.drivers.settings import Settings
from devices.drivers.templates import render
from devices.outcome import Outcome
from devices.stop_outcome import StopOutcome
from devices.tool import ArgumentsError
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.drivers.hardware_link import HardwareLink
from firmware_bridge.link import LinkError

log = logging.getLogger(__name__)

STANDING_SECONDS = 3.0
"""Time in which hardware must stand after its stop."""
ASK_SECONDS = 0.05
"""Time between two questions whether it stands."""


class PythonDriverDevice:
    """Checks calls before they reach the driver, and sends no stop to a rig that was only observed."""

    def __init__(self, driver: PythonDriver, device_type: DeviceType, clock: Clock = MONOTONIC) -> None:
        self.name = device_type.name
        self.firmware = driver.firmware
        self._clock = clock
        self.confirms_stop = True
        with contextlib.suppress(Exception):
            self.confirms_stop = driver.standing() is not None
        self.leave_alone = False
        self._driver = driver
        self._device_type = device_type
        self._known = None if device_type.rules is None else device_type.rules.known_state(stopped=False)
        self._touched = False

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        """Run one call that the device type's schema and rules admit, with the defaults of its arguments."""
        try:
            complete = self._device_type.validate(tool, arguments).model_dump()
        except ArgumentsError as error:
            return Outcome(CallStatus.INVALID, code=error.code, message=str(error))
        refusal = None if self._known is None else self._known.refusal(tool, complete)
        if refusal is not None:
            return Outcome(CallStatus.REJECTED, code=refusal.code, message=refusal.message)
        self._touched = True
        outcome = self._driver.execute(tool, complete, stop)
        if self._known is not None:
            self._known.on_outcome(tool, complete, outcome)
        return outcome

    def safe(self) -> StopOutcome:
        """Stop the hardware, unless the session ends and has neither called nor stopped it."""
        if self.leave_alone and not self._touched:
            return StopOutcome.NOT_SENT
        self._touched = True
        stop = self._stop()
        if self._device_type.rules is not None:
            self._known = self._device_type.rules.known_state(stopped=stop is StopOutcome.CONFIRMED)
        return stop

    def _stop(self) -> StopOutcome:
        try:
            self._driver.stop()
        except Exception:
            log.exception("the stop was not sent")
            return StopOutcome.NOT_SENT
        deadline = self._clock.now() + STANDING_SECONDS
        while True:
            standing: bool | None = False
            try:
                standing = self._driver.standing()
            except Exception:
                log.exception("the hardware did not say whether it stands")
            if standing is None:
                return StopOutcome.SENT
            if standing:
                return StopOutcome.CONFIRMED
            if self._clock.now() >= deadline:
                return StopOutcome.SENT
            self._clock.sleep(ASK_SECONDS)

    def reset(self) -> None:
        """Leave the stop."""
        self._touched = True
        self._driver.reset()

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Initialise what the class simulates; physical hardware answers `invalid`."""
        return self._driver.init(state, seed)

    def subscribe(self, emit: Emit) -> None:
        """Deliver samples to `emit`."""
        self._driver.subscribe(emit)

    def truth(self) -> Truth | None:
        """Return the ground truth; None for physical hardware."""
        return self._driver.truth()

    def close(self) -> None:
        """Close the hardware."""
        self._driver.close()


class PythonDriverLink(HardwareLink):
    """The endpoint of hardware behind a driver's Python class."""

    def __init__(self, device: PythonDriverDevice, name: str, unattended: str) -> None:
        super().__init__(device, name, unattended, device.confirms_stop)

    @property
    def why_down(self) -> str:
        """Why a stop was not sent; one line."""
        return f"{self.name}: the driver could not send the stop"


def open_python_driver(
    driver: DriverFile, device_type: DeviceType, settings: Settings, url: str, name: str
) -> PythonDriverLink:
    """Open the hardware behind a driver whose `link` is `python`.

    Raises:
        LinkError: the class cannot be loaded, or cannot open the hardware.
    """
    try:
        hardware = load_class(driver.python)(url, settings)
    except (OSError, ValueError) as error:
        raise LinkError(f"driver {driver.name}: {error}") from error
    unattended = render(driver.unattended, settings.names(""))
    return PythonDriverLink(PythonDriverDevice(hardware, device_type), name, unattended)
