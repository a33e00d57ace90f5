"""A device that is third-party hardware, described by a driver file."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

from core_eval.call_status import CallStatus
from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile, ToolDriver
from devices.drivers.settings import Settings
from devices.drivers.tool_driver import DriverFault, Stopped
from devices.drivers.values import MissingValue, Scalar, Scope, evaluate, write
from devices.outcome import Outcome, Refusal, StopOutcome
from devices.rig_motion import Event
from devices.sensors import Emit, Sample, Truth
from devices.tool import ArgumentsError
from firmware_bridge.drivers.conversation import Lost
from firmware_bridge.drivers.machine import Machine
from firmware_bridge.drivers.steps import UNSURE
from firmware_bridge.drivers.wire import Wire
from firmware_bridge.link import LinkError, gone


class DriverDevice:
    """Drives the hardware behind `wire`. Physical: it has no truth, and `init` is invalid.

    After the stop nothing is sent until `reset`. If an answer is missing, or the machine restarts during a
    call, the call is a fault, and before the next one the machine is stopped and started again.

    Args:
        driver: the driver.
        device: the type whose tools it maps.
        settings: the rig's options and tables.
        wire: the raw line or topics.
        rig: the device's part of MQTT topics, `${rig}`.

    Attributes:
        machine: the machine, which must be opened before the first call.
        unattended: what stops the machine without a host, as the driver's file declares.
        leave_alone: set before a rig without calls is closed: then no stop is sent.
    """

    def __init__(
        self, driver: DriverFile, device: DeviceType, settings: Settings, wire: Wire, rig: str = ""
    ) -> None:
        self.name = device.name
        self.firmware = f"driver {driver.name}"
        self.leave_alone = False
        self.unattended = settings.filled(driver.unattended, rig)
        self._driver = driver
        self.machine = Machine(driver, settings, wire, rig, self._sample)
        self._surface = device
        self._known = None if device.rules is None else device.rules.known_state(stopped=False)
        self._emit: Emit | None = None
        self._born = self.machine.clock.now()

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Run one call to its end."""
        began = self.machine.clock.now()

        def outcome(
            status: CallStatus, code: str | None = None, message: str | None = None, value: Any = None
        ) -> Outcome:
            now = self.machine.clock.now()
            return Outcome(status, value, code, message, t=now - self._born, duration=now - began)

        try:
            validated = self._surface.validate(tool, arguments).model_dump()
        except ArgumentsError as error:
            return outcome(CallStatus.INVALID, error.code, str(error))
        mapped = self._driver.tools.get(tool)
        if mapped is None or mapped.not_fitted is not None:
            why = None if mapped is None else mapped.not_fitted
            return outcome(CallStatus.REJECTED, "not_fitted", why or f"This rig has nothing for {tool}.")
        with self.machine.one_at_a_time:
            self.machine.rig.on(Event.DRIVE)
            known = self._known
            try:
                refusal = None if known is None else known.refusal(tool, validated)
                if refusal is not None:
                    raise refusal
                done = outcome(CallStatus.OK, value=self._call(mapped, validated, stop))
            except Refusal as refusal:
                done = outcome(CallStatus.REJECTED, refusal.code, refusal.message)
            except Stopped:
                done = outcome(CallStatus.FAULT, "stopped", "The call was stopped.")
            except DriverFault as fault:
                if fault.code in UNSURE:
                    self.machine.mark_unknown()
                done = outcome(CallStatus.FAULT, fault.code, fault.message)
            except (LinkError, Lost) as error:
                self.machine.mark_unknown()
                done = outcome(
                    CallStatus.FAULT,
                    "link",
                    str(error) or gone(self.machine.wire.name),
                )
            if known is not None:
                known.on_outcome(tool, validated, done)
            return done

    def safe(self) -> StopOutcome:
        """Stop the machine at once, and send nothing until `reset`. Never raises."""
        if self.leave_alone and not self.machine.rig.driven:
            return StopOutcome.NOT_SENT
        stop = self.machine.stop()
        if self._surface.rules is not None:
            self._known = self._surface.rules.known_state(stopped=stop is StopOutcome.CONFIRMED)
        return stop

    def close(self) -> None:
        """Close the machine's wire. Never raises."""
        self.machine.close()

    def reset(self) -> None:
        """Leave the stop. Raises if the machine does not."""
        with self.machine.one_at_a_time:
            self.machine.rig.on(Event.DRIVE)
            self.machine.leave_stop()

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Return `invalid`: hardware has no initial state."""
        return Outcome(
            CallStatus.INVALID,
            code="physical",
            message="this rig is hardware",
            t=self.machine.clock.now() - self._born,
        )

    def subscribe(self, emit: Emit) -> None:
        """Emit samples from now on, on the reader thread, and the last ones at once."""
        self._emit = emit
        self.machine.reports.repeat()

    def truth(self) -> Truth | None:
        """Return None: hardware has no ground truth."""
        return None

    def _call(
        self, mapped: ToolDriver, arguments: Mapping[str, Any], stop: threading.Event
    ) -> dict[str, Any]:
        if mapped.steps or mapped.lastly:
            self.machine.ensure()
        scope = self.machine.scope.for_call(arguments)
        for need in mapped.needs:
            need.check(scope)
        rig = self.machine.rig
        runner = self.machine.runner(scope, lambda: stop.is_set() or rig.halted)
        runner.in_call = True
        names = scope.names = self.machine.scope.names | self._written(mapped, scope)
        try:
            runner.run(mapped.steps, names)
        except (Refusal, DriverFault):
            with contextlib.suppress(Refusal, DriverFault):
                runner.run(mapped.lastly, names)
            raise
        runner.run(mapped.lastly, names)
        result: dict[str, Any] = {}
        for key, value in mapped.result.items():
            # A value that this hardware does not provide is left out of the result.
            with contextlib.suppress(MissingValue):
                result[key] = evaluate(value, scope)
        return result

    def _written(self, mapped: ToolDriver, scope: Scope) -> dict[str, str]:
        try:
            return {name: write(value, scope) for name, value in mapped.values.items()}
        except MissingValue as error:
            raise DriverFault("missing_value", f"The driver lacks a value: {error}.") from None

    def _sample(self, sensor: str, value: Scalar) -> None:
        sample = Sample(sensor, value, self.machine.clock.now() - self._born)
        if self._known is not None:
            self._known.on_sample(sample)
        if self._emit is not None:
            self._emit(sample)
