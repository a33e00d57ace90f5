"""A device that is somebody else's hardware, as a driver file describes it."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devices.catalog import device_type
from devices.device import Emit, Truth
from devices.drivers.driver_file import DriverFile, Step, ToolDriver
from devices.drivers.needs import check_need
from devices.drivers.patterns import Message
from devices.drivers.settings import Settings
from devices.drivers.templates import render
from devices.drivers.values import MissingValue, Scalar, Scope, evaluate, number, write
from devices.outcome import Outcome, Refusal
from devices.sensors import Sample
from devices.tool import ArgumentsError
from firmware_bridge.drivers.conversation import Conversation, Lost
from firmware_bridge.drivers.reports import Reports, stop_messages
from firmware_bridge.drivers.steps import (
    UNSURE,
    DriverFault,
    StepRunner,
    Stopped,
    option_names,
    scope_with,
)
from firmware_bridge.drivers.wire import Wire
from firmware_bridge.link import LinkError


class DriverDevice:
    """Drives the hardware behind `wire`. Physical: it has no truth, and `init` is invalid.

    After the stop nothing is sent until `reset`. Where an answer stays away, or the machine starts anew in
    mid-call, the call is a fault, and before the next one the machine is stopped and started again.

    Args:
        driver: the driver.
        settings: the rig's options and tables.
        wire: the raw line or topics.
        rig: the device's part of MQTT topics, `${rig}`.
    """

    def __init__(self, driver: DriverFile, settings: Settings, wire: Wire, rig: str = "") -> None:
        assert driver.device is not None, "the loader makes sure"
        self.name = driver.device
        self.firmware = f"driver {driver.name}"
        self.leave_alone = False
        """Set before the end of a rig that was only looked at: then no stop is sent."""
        self._driver = driver
        self._wire = wire
        self._surface = device_type(driver.device)
        self._memory: dict[str, Scalar] = dict(driver.memory)
        names = option_names(settings.options) | {"rig": rig}
        self._scope = Scope({}, settings.options, settings.tables, self._memory, {}, names)
        self._stop_messages = stop_messages(driver, names, settings.tables)
        self._reports = Reports(driver, self._scope, self._remember, self._sample)
        self._conversation = Conversation(self._reports.take)
        self._ids = itertools.cycle(range(driver.line.first_id, driver.line.last_id + 1))
        self._emit: Emit | None = None
        self._born = time.monotonic()
        self._halted = threading.Event()
        self._writing = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._ready = False
        self._used = False
        self._closed = threading.Event()
        self._heart: threading.Thread | None = None

    def open(self) -> None:
        """Connect, wait until the machine answers, and send the start-up commands.

        Raises:
            LinkError: it cannot be reached, or does not answer.
        """
        try:
            self._wire.open(self._conversation.hear, self._lost)
            self._boot()
        except BaseException:
            self._wire.close()
            raise
        if self._driver.heartbeat is not None:
            self._heart = threading.Thread(target=self._beat, name=f"heartbeat {self.name}", daemon=True)
            self._heart.start()

    def close(self) -> None:
        """Close the wire; the endpoint has sent the stop. Never raises."""
        self._closed.set()
        if self._heart is not None:
            self._heart.join(2.0)
        self._wire.close()

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Run one call to its end."""
        began = time.monotonic()

        def outcome(
            status: str, code: str | None = None, message: str | None = None, value: Any = None
        ) -> Outcome:
            now = time.monotonic()
            return Outcome(status, value, code, message, t=now - self._born, duration=now - began)

        try:
            self._surface.validate(tool, arguments)
        except ArgumentsError as error:
            known = tool in self._surface.by_name
            return outcome("invalid", "bad_arguments" if known else "unknown_tool", str(error))
        mapped = self._driver.tools.get(tool)
        if mapped is None or mapped.not_fitted is not None:
            why = None if mapped is None else mapped.not_fitted
            return outcome("rejected", "not_fitted", why or f"This rig has nothing for {tool}.")
        validated = self._surface.validate(tool, arguments).model_dump()
        with self._one_at_a_time:
            self._used = True
            try:
                return outcome("ok", value=self._call(mapped, validated, stop))
            except Refusal as refusal:
                return outcome("rejected", refusal.code, refusal.message)
            except Stopped:
                return outcome("fault", "stopped", "The call was stopped.")
            except DriverFault as fault:
                if fault.code in UNSURE:
                    self._distrust()
                return outcome("fault", fault.code, fault.message)
            except (LinkError, Lost) as error:
                self._distrust()
                return outcome("fault", "link", str(error) or f"{self._wire.name} is gone; is the cable in?")

    def safe(self) -> None:
        """The stop, at once; nothing else goes out until `reset`. Never raises."""
        if self.leave_alone and not self._used:
            return
        self._halted.set()
        # What is being written ends first, but the stop never waits for it for long.
        mine = self._writing.acquire(timeout=0.2)
        try:
            with contextlib.suppress(LinkError):
                self._write_stop()
        finally:
            if mine:
                self._writing.release()
        self._memory.update(self._driver.stop.remember)
        if self._driver.stop.settle and self._wire.connected:
            for step in self._driver.stop.settle:
                # Each of them is worth a try, whatever became of the one before.
                with contextlib.suppress(Refusal, DriverFault, LinkError, Lost):
                    self._runner({}, lambda: False, _Output(self, obeys_stop=False)).run(
                        [step], self._scope.names
                    )

    def reset(self) -> None:
        """Leave the stop. Raises where the machine does not."""
        with self._one_at_a_time:
            self._used = True
            self._halted.clear()
            try:
                if self._ready and self._wire.connected:
                    self._run_own(self._driver.reset)
                else:
                    self._ready = False
            except (Refusal, DriverFault, LinkError, Lost, Stopped):
                self._halted.set()
                raise

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Hardware has no initial state."""
        return Outcome(
            "invalid", code="physical", message="this rig is hardware", t=time.monotonic() - self._born
        )

    def subscribe(self, emit: Emit) -> None:
        """Samples come from the reader thread."""
        self._emit = emit

    def truth(self) -> Truth | None:
        """Hardware knows none."""
        return None

    def _call(
        self, mapped: ToolDriver, arguments: Mapping[str, Any], stop: threading.Event
    ) -> dict[str, Any]:
        if mapped.steps or mapped.lastly:
            self._ensure()
        scope = scope_with(self._scope, arguments)
        for need in mapped.needs:
            check_need(need, scope)
        runner = self._runner(arguments, lambda: stop.is_set() or self._halted.is_set(), _Output(self), scope)
        names = scope.names = self._scope.names | self._written(mapped, scope)
        try:
            runner.run(mapped.steps, names)
        except (Refusal, DriverFault):
            with contextlib.suppress(Refusal, DriverFault):
                runner.run(mapped.lastly, names)
            raise
        runner.run(mapped.lastly, names)
        result: dict[str, Any] = {}
        for key, value in mapped.result.items():
            # What this hardware cannot tell is left out of the result rather than made up.
            with contextlib.suppress(MissingValue):
                result[key] = evaluate(value, scope)
        return result

    def _written(self, mapped: ToolDriver, scope: Scope) -> dict[str, str]:
        try:
            return {name: write(value, scope) for name, value in mapped.values.items()}
        except MissingValue as error:
            raise DriverFault("missing_value", f"The driver lacks a value: {error}.") from None

    def _ensure(self) -> None:
        """A connected machine that is started; after trouble it is stopped first."""
        if self._ready and self._wire.connected:
            there = self._driver.availability
            last = there and self._conversation.last.get(render(there.topic, self._scope.names))
            if there is not None and last and last.text == there.offline:
                raise DriverFault("offline", f"The device says that it is {there.offline}.")
            return
        if not self._wire.connected:
            self._wire.open(self._conversation.hear, self._lost)
        with self._writing:
            self._write_stop()
        self._memory.update(self._driver.stop.remember)
        self._boot()
        self._run_own(self._driver.reset)

    def _distrust(self) -> None:
        """Nobody knows what the machine is doing: stop it now, and start it anew before the next call."""
        self._ready = False
        with self._writing, contextlib.suppress(LinkError):
            self._write_stop()
        self._memory.update(self._driver.stop.remember)

    def _boot(self) -> None:
        """Wait for the machine, and send what it needs after every start. Raises LinkError."""
        try:
            if self._driver.boot.expect and not self._answers():
                self._run_own(self._driver.boot.wake)
            self._run_own(self._driver.boot.start)
        except (Refusal, DriverFault) as fault:
            text = f"{self._wire.name} does not answer as {self._driver.name} does: {fault.message}"
            raise LinkError(f"{text} Is it that machine, at that speed or under that topic?") from None
        except Lost:
            raise LinkError(f"{self._wire.name} was lost while the machine started") from None
        self._ready = True

    def _answers(self) -> bool:
        """Whether the machine says by itself that it is there, within its time.

        Raises:
            DriverFault: it does not, and the driver knows no way to wake it.
        """
        boot, names = self._driver.boot, self._scope.names
        seconds = number(boot.seconds, self._scope)

        def fits(message: Message) -> bool:
            return any(pattern.find(message, names) is not None for pattern in boot.expect)

        with self._conversation.listening() as ear:
            if any(fits(message) for message in list(self._conversation.last.values())):
                return True
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                message = ear.next(left)
                if message is not None and fits(message):
                    return True
        if not boot.wake:
            raise DriverFault("no_answer", f"It said nothing within {seconds:g} s.")
        return False

    def _run_own(self, steps: Sequence[Step]) -> None:
        self._runner({}, self._halted.is_set, _Output(self)).run(steps, self._scope.names)

    def _runner(
        self,
        arguments: Mapping[str, Any],
        stopped: Callable[[], bool],
        output: _Output,
        scope: Scope | None = None,
    ) -> StepRunner:
        scope = scope_with(self._scope, arguments) if scope is None else scope
        return StepRunner(
            self._driver, scope, output, self._conversation, self._remember, stopped, lambda: next(self._ids)
        )

    def _write_stop(self) -> None:
        if self._driver.stop.send:
            self._wire.write_at_once(self._driver.stop.send.encode("latin-1"))
        for topic, payload in self._stop_messages:
            self._wire.publish(topic, payload)

    def _lost(self) -> None:
        self._ready = False
        self._conversation.lost()

    def _remember(self, name: str, value: Scalar) -> None:
        self._memory[name] = value

    def _sample(self, sensor: str, value: Scalar) -> None:
        if self._emit is not None:
            self._emit(Sample(sensor, value, time.monotonic() - self._born))

    def _beat(self) -> None:
        assert self._driver.heartbeat is not None
        while not self._closed.wait(self._driver.heartbeat.every):
            if not self._ready or self._halted.is_set() or not self._one_at_a_time.acquire(blocking=False):
                continue
            try:
                self._run_own(self._driver.heartbeat.steps)
            except (Refusal, DriverFault, LinkError, Lost):
                self._ready = False
            except Stopped:
                pass
            finally:
                self._one_at_a_time.release()


class _Output:
    """The way out for steps: shut from the stop to the reset."""

    def __init__(self, device: DriverDevice, *, obeys_stop: bool = True) -> None:
        self._device = device
        self._obeys_stop = obeys_stop

    def line(self, command: bytes) -> None:
        end = self._device._driver.line.end.encode("latin-1")
        self._send(lambda: self._device._wire.write(command + end))

    def raw(self, data: bytes) -> None:
        self._send(lambda: self._device._wire.write(data))

    def publish(self, topic: str, payload: str, retain: bool) -> None:
        self._send(lambda: self._device._wire.publish(topic, payload, retain=retain))

    def _send(self, send: Callable[[], None]) -> None:
        device = self._device
        if not self._obeys_stop:
            send()
            return
        with device._writing:
            if device._halted.is_set():
                raise Stopped
            send()
