"""The machine behind a driver: its wire, its start, its stop, and what is remembered of it."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Sequence

from devices.drivers.driver_file import DriverFile, Step
from devices.drivers.patterns import Message
from devices.drivers.settings import Settings
from devices.drivers.templates import render
from devices.drivers.values import Scalar, Scope, number
from devices.outcome import Refusal
from firmware_bridge.drivers.conversation import Conversation, Lost
from firmware_bridge.drivers.reports import Reports, stop_messages
from firmware_bridge.drivers.steps import DEVICE_RESET, DriverFault, StepRunner, Stopped
from firmware_bridge.drivers.wire import Wire
from firmware_bridge.link import LinkError

STARTS = 3
"""So often a machine gets its start-up commands that starts anew in the middle of them."""
QUIET_S = 0.3
"""Before they are sent again; answers to the first ones that still come are nobody's."""


class Machine:
    """Sends steps to the hardware, one set of them at a time, and nothing between a stop and its reset.

    Args:
        driver: the driver.
        settings: the rig's options and tables.
        wire: the raw line or topics.
        rig: the device's part of MQTT topics, `${rig}`.
        sample: takes the name and value of each sample, on the reader thread.
    """

    def __init__(
        self,
        driver: DriverFile,
        settings: Settings,
        wire: Wire,
        rig: str,
        sample: Callable[[str, Scalar], None],
    ) -> None:
        self.driver = driver
        self.wire = wire
        self.memory: dict[str, Scalar] = dict(driver.memory)
        names = settings.names(rig)
        self.scope = Scope({}, settings.options, settings.tables, self.memory, {}, names)
        self.one_at_a_time = threading.Lock()
        """Held by whoever runs steps."""
        self.halted = threading.Event()
        """Set from a stop to its reset."""
        self.writing = threading.Lock()
        self._stop_messages = stop_messages(driver, names, settings.tables)
        self.reports = Reports(driver, self.scope, self.memory.__setitem__, sample)
        self._conversation = Conversation(self.reports.take)
        self._ids = itertools.cycle(range(driver.line.first_id, driver.line.last_id + 1))
        self._ready = False
        self._closed = threading.Event()
        self._heart: threading.Thread | None = None

    def open(self) -> None:
        """Connect, wait until the machine answers, and send the start-up commands.

        Raises:
            LinkError: it cannot be reached, or does not answer.
        """
        try:
            self.wire.open(self._conversation.hear, self._lost)
            self._boot()
        except BaseException:
            self.wire.close()
            raise
        if self.driver.heartbeat is not None:
            self._heart = threading.Thread(target=self._beat, name=f"heartbeat {self.wire.name}", daemon=True)
            self._heart.start()

    def close(self) -> None:
        """Close the wire; the endpoint has sent the stop. Never raises."""
        self._closed.set()
        if self._heart is not None:
            self._heart.join(2.0)
        self.wire.close()

    def ensure(self) -> None:
        """A connected machine that is started; after trouble it is stopped first.

        Raises:
            DriverFault: it says that it is not there, or does not leave its stop.
            LinkError, Lost: it cannot be reached, or does not answer.
        """
        if self._ready and self.wire.connected:
            there = self.driver.availability
            last = there and self._conversation.last.get(render(there.topic, self.scope.names))
            if there is not None and last and last.text == there.offline:
                raise DriverFault("offline", f"The device says that it is {there.offline}.")
            return
        if not self.wire.connected:
            self.wire.open(self._conversation.hear, self._lost)
        with self.writing:
            self._write_stop()
        self.memory.update(self.driver.stop.remember)
        self._boot()
        self._settle()
        self._run_own(self.driver.reset)

    def distrust(self) -> None:
        """Nobody knows what the machine is doing: stop it now, and start it anew before the next call."""
        self._ready = False
        with self.writing, contextlib.suppress(LinkError):
            self._write_stop()
        self.memory.update(self.driver.stop.remember)
        self._settle()

    def stop(self) -> None:
        """The stop, at once, and what settles it; nothing else goes out until `leave_stop`. Never raises."""
        self.halted.set()
        # What is being written ends first, but the stop never waits for it for long.
        mine = self.writing.acquire(timeout=0.2)
        try:
            with contextlib.suppress(LinkError):
                self._write_stop()
        finally:
            if mine:
                self.writing.release()
        self.memory.update(self.driver.stop.remember)
        self._settle()

    def leave_stop(self) -> None:
        """Take steps again; a machine that is not there is asked at the next call.

        Raises:
            Refusal, DriverFault, LinkError, Lost, Stopped: it does not leave its stop, and stays stopped.
        """
        self.halted.clear()
        try:
            if self._ready and self.wire.connected:
                self._run_own(self.driver.reset)
            else:
                self._ready = False
        except (Refusal, DriverFault, LinkError, Lost, Stopped):
            self.halted.set()
            raise
        # An episode begins: what has not changed since the last one belongs into its log too.
        self.reports.repeat()

    def runner(self, scope: Scope, stopped: Callable[[], bool], output: Output | None = None) -> StepRunner:
        """What runs steps in this scope."""
        return StepRunner(
            self.driver,
            scope,
            Output(self) if output is None else output,
            self._conversation,
            self.memory.__setitem__,
            stopped,
            lambda: next(self._ids),
        )

    def _run_own(self, steps: Sequence[Step]) -> None:
        self.runner(self.scope.for_call({}), self.halted.is_set).run(steps, self.scope.names)

    def _settle(self) -> None:
        """What follows the stop; not in the stop's way out, and not kept from it. Never raises."""
        for step in self.driver.stop.settle:
            # Each of them is worth a try, whatever became of the one before.
            with contextlib.suppress(Refusal, DriverFault, LinkError, Lost):
                if self.wire.connected:
                    self.runner(self.scope.for_call({}), lambda: False, Output(self, obeys_stop=False)).run(
                        [step], self.scope.names
                    )

    def _boot(self) -> None:
        """Wait for the machine, and send what it needs after every start. Raises LinkError."""
        try:
            if self.driver.boot.expect and not self._answers():
                self._run_own(self.driver.boot.wake)
            self._start()
        except (Refusal, DriverFault) as fault:
            text = f"{self.wire.name} does not answer as {self.driver.name} does: {fault.message}"
            raise LinkError(f"{text} Is it that machine, at that speed or under that topic?") from None
        except Lost:
            raise LinkError(f"{self.wire.name} was lost while the machine started") from None
        self._ready = True

    def _start(self) -> None:
        """The start-up commands; a machine that starts anew in the middle of them gets them again."""
        for _ in range(STARTS - 1):
            try:
                self._run_own(self.driver.boot.start)
            except DriverFault as fault:
                if fault.code != DEVICE_RESET:
                    raise
                time.sleep(QUIET_S)
            else:
                return
        self._run_own(self.driver.boot.start)

    def _answers(self) -> bool:
        """Whether the machine says by itself that it is there, within its time.

        Raises:
            DriverFault: it does not, and the driver knows no way to wake it.
        """
        boot, names = self.driver.boot, self.scope.names
        seconds = number(boot.seconds, self.scope)

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

    def _write_stop(self) -> None:
        if self.driver.stop.send:
            self.wire.write_at_once(self.driver.stop.send.encode("latin-1"))
        for topic, payload in self._stop_messages:
            self.wire.publish(topic, payload)

    def _lost(self) -> None:
        self._ready = False
        self._conversation.lost()

    def _beat(self) -> None:
        assert self.driver.heartbeat is not None
        while not self._closed.wait(self.driver.heartbeat.every):
            if not self._ready or self.halted.is_set() or not self.one_at_a_time.acquire(blocking=False):
                continue
            try:
                self._run_own(self.driver.heartbeat.steps)
            except (Refusal, DriverFault, LinkError, Lost):
                self._ready = False
            except Stopped:
                pass
            finally:
                self.one_at_a_time.release()


class Output:
    """The way out for steps: shut from the stop to the reset."""

    def __init__(self, machine: Machine, *, obeys_stop: bool = True) -> None:
        self._machine = machine
        self._obeys_stop = obeys_stop

    def line(self, command: bytes) -> None:
        """A command, with its line end."""
        end = self._machine.driver.line.end.encode("latin-1")
        self._send(lambda: self._machine.wire.write(command + end))

    def raw(self, data: bytes) -> None:
        """Real-time bytes."""
        self._send(lambda: self._machine.wire.write(data))

    def publish(self, topic: str, payload: str, retain: bool) -> None:
        """An MQTT message."""
        self._send(lambda: self._machine.wire.publish(topic, payload, retain=retain))

    def _send(self, send: Callable[[], None]) -> None:
        machine = self._machine
        if not self._obeys_stop:
            send()
            return
        with machine.writing:
            if machine.halted.is_set():
                raise Stopped
            send()
