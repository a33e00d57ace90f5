"""The link to hardware behind a driver's Python class: the device's endpoint runs in this process."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from core_eval.call_status import CallStatus
from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile
from devices.drivers.python_driver import PythonDriver, load_class
from devices.drivers.settings import Settings
from devices.error_text import described
from devices.outcome import Outcome, StopOutcome
from devices.rig_motion import Event, Motion, RigMotion
from devices.sensors import Emit, Truth
from devices.tool import ArgumentsError
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.drivers.hardware_link import WiredLink
from firmware_bridge.link import LinkError
from firmware_bridge.serial.open import port_comes_back

log = logging.getLogger(__name__)

STANDING_SECONDS = 3.0
"""Time in which hardware must stand after its stop."""
ASK_SECONDS = 0.05
"""Time between two questions whether it stands."""
TEND_SECONDS = 1.0
"""Time between two polls, and between two attempts to reach lost hardware."""


class PythonDriverDevice:
    """Checks calls before they reach the driver, stops the hardware after a fault, and reaches it again.

    Hardware that says nothing, not even whether it stands, is lost. A driver with `connect` is connected
    again then, and stopped first; one with `poll` is polled while no call runs. Hardware that was only
    observed gets no stop.

    Args:
        comes_back: whether lost hardware can be opened again under the same URL.

    Attributes:
        rig: whether it moves. One that was ever called or stopped and is lost is owed a stop.
        on_wire: called when the hardware is lost (None), and when it is back, with the outcome of its stop.
    """

    def __init__(
        self,
        driver: PythonDriver,
        device_type: DeviceType,
        name: str = "rig",
        clock: Clock = MONOTONIC,
        *,
        comes_back: bool = True,
    ) -> None:
        self.name = device_type.name
        self.firmware = driver.firmware
        self._clock, self._comes_back = clock, comes_back
        self.confirms_stop = True
        with contextlib.suppress(Exception):
            self.confirms_stop = driver.standing() is not None
        self.leave_alone = False
        self.on_wire: Callable[[StopOutcome | None], None] = lambda stop: None
        self._driver, self._device_type, self._rig = driver, device_type, name
        self._known = None if device_type.rules is None else device_type.rules.known_state(stopped=False)
        self.rig = RigMotion()
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._connect: Callable[[], None] | None = getattr(driver, "connect", None)
        self._poll: Callable[[], None] | None = getattr(driver, "poll", None)
        self._tender: threading.Thread | None = None

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Run one call that the device type's schema and rules admit, with the defaults of its arguments."""
        try:
            complete = self._device_type.validate(tool, arguments).model_dump()
        except ArgumentsError as error:
            return Outcome(CallStatus.INVALID, code=error.code, message=str(error))
        refusal = None if self._known is None else self._known.refusal(tool, complete)
        if refusal is not None:
            return Outcome(CallStatus.REJECTED, code=refusal.code, message=refusal.message)
        with self._turn:
            self.rig.on(Event.DRIVE)
            outcome = self._fitting(tool, self._driver.execute(tool, complete, stop))
            if outcome.status is CallStatus.FAULT and not stop.is_set():
                # Its state is unknown.
                self._stop()
        if self._known is not None:
            self._known.on_outcome(tool, complete, outcome)
        return outcome

    def _fitting(self, tool: str, outcome: Outcome) -> Outcome:
        """Make a call a fault if its result has other keys or types than the tool's; keys may lack."""
        if outcome.status is not CallStatus.OK:
            return outcome
        wrong = self._device_type.by_name[tool].misfits(outcome.value or {}, lacking=False)
        if not wrong:
            return outcome
        text = f"the result of {tool} does not fit: {wrong[0]}"
        return replace(outcome, status=CallStatus.FAULT, value=None, code="bad_result", message=text)

    def safe(self) -> StopOutcome:
        """Stop the hardware, unless the session ends and has neither called nor stopped it."""
        if self.leave_alone and not self._touched:
            return StopOutcome.NOT_SENT
        self.rig.on(Event.HALT)
        stop = self._stop()
        if self._device_type.rules is not None:
            self._known = self._device_type.rules.known_state(stopped=stop is StopOutcome.CONFIRMED)
        return stop

    def _stop(self) -> StopOutcome:
        """Send the stop, and ask whether the hardware stands; tell of one that says nothing."""
        stop, heard = self._stop_and_ask()
        self.rig.stopped(stop)
        if not heard and self._connect is not None and self.rig.on(Event.LOSE):
            self.on_wire(None)
        return stop

    def _stop_and_ask(self) -> tuple[StopOutcome, bool]:
        try:
            self._driver.stop()
        except Exception:
            log.exception("the stop was not sent")
            return StopOutcome.NOT_SENT, False
        deadline, heard = self._clock.now() + STANDING_SECONDS, False
        while True:
            standing: bool | None = False
            try:
                standing = self._driver.standing()
                heard = True
            except Exception:
                log.exception("the hardware did not say whether it stands")
            if standing:
                return StopOutcome.CONFIRMED, True
            if standing is None or self._clock.now() >= deadline:
                return StopOutcome.SENT, heard
            self._clock.sleep(ASK_SECONDS)

    @property
    def connected(self) -> bool:
        """Whether the hardware is not lost."""
        return self.rig.state is not Motion.LOST

    @property
    def _touched(self) -> bool:
        return self.rig.driven or self.rig.halted

    @property
    def why_down(self) -> str:
        """Why a call or a stop is not sent; one line."""
        return f"{self._rig}: the driver cannot reach the hardware"

    @property
    def stop_owed(self) -> bool:
        """Whether the hardware was lost after a call, could not be stopped, and can come back."""
        return not self.connected and self._touched and self._comes_back

    def reconnect(self) -> None:
        """Connect lost hardware, and stop it before all else.

        Raises:
            LinkError: it is still lost.
        """
        with self._turn:
            if self.connected or self._connect is None:
                return
            try:
                # A mute machine may hear: its port stays open for the next stop.
                stop, heard = self._stop_and_ask() if self._touched else (StopOutcome.NOT_SENT, False)
                if stop is StopOutcome.NOT_SENT:
                    if not self._comes_back:
                        raise LinkError("its port does not come back")
                    self._driver.close()
                    self._connect()
                    stop, heard = self._stop_and_ask() if self._touched else (StopOutcome.SENT, True)
            except Exception as error:
                raise LinkError(f"{self.why_down}: {error}") from None
            if not heard:
                raise LinkError(f"{self._rig}: the hardware does not answer")
            self.rig.on(Event.FIND)
            if self._touched:
                self.rig.stopped(stop)
        self.on_wire(stop)

    def _tend(self) -> None:
        while not self._clock.wait(self._closed, getattr(self._driver, "poll_seconds", TEND_SECONDS)):
            if not self.connected:
                with contextlib.suppress(LinkError):
                    self.reconnect()
            elif self._poll is not None and self._turn.acquire(blocking=False):
                try:
                    self._poll()
                except OSError:
                    self._stop()
                except Exception:
                    log.exception("the driver failed in its poll")
                finally:
                    self._turn.release()

    def reset(self) -> None:
        """Leave the stop."""
        self.rig.on(Event.DRIVE)
        self.rig.on(Event.RESET)
        try:
            self._driver.reset()
        except BaseException:
            self.rig.on(Event.HALT)
            raise

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Initialise what the class simulates; physical hardware answers `invalid`."""
        return self._driver.init(state, seed)

    def subscribe(self, emit: Emit) -> None:
        """Deliver samples to `emit`, and poll the hardware from now on."""
        self._driver.subscribe(emit)
        if self._tender is None and (self._poll or self._connect):
            self._tender = threading.Thread(target=self._tend, name=f"tend {self._rig}", daemon=True)
            self._tender.start()

    def truth(self) -> Truth | None:
        """Return the ground truth; None for physical hardware."""
        return self._driver.truth()

    def close(self) -> None:
        """Close the hardware."""
        self._closed.set()
        if self._tender is not None:
            self._tender.join(2.0)
        self._driver.close()


def open_python_driver(
    driver: DriverFile, device_type: DeviceType, settings: Settings, url: str, name: str
) -> WiredLink:
    """Open the hardware behind a driver whose `link` is `python`.

    Raises:
        LinkError: the class cannot be loaded, or cannot open the hardware.
    """
    try:
        hardware = load_class(driver.python)(url, settings)
    except (OSError, ValueError) as error:
        raise LinkError(f"driver {driver.name}: {error}") from error
    except Exception as error:
        raise LinkError(f"driver {driver.name}: {described(error)}") from error
    unattended = settings.filled(driver.unattended)
    device = PythonDriverDevice(hardware, device_type, name, comes_back=port_comes_back(url))
    return WiredLink(device, device, name, unattended)
