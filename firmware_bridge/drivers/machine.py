"""The machine behind a driver: its wire, its start, its stop, and what is remembered of it."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby

from devices.drivers.driver_file import DriverFile, Step
from devices.drivers.patterns import Message
from devices.drivers.settings import Settings
from devices.drivers.templates import render
from devices.drivers.values import Scalar, Scope, number
from devices.outcome import Refusal
from devices.stop_outcome import StopOutcome
from firmware_bridge.drivers.conversation import Conversation, Lost
from firmware_bridge.drivers.reports import Reports, settle_steps, stop_messages
from firmware_bridge.drivers.steps import DEVICE_RESET, DriverFault, StepRunner, Stopped
from firmware_bridge.drivers.wire import Wire
from firmware_bridge.link import LinkError

STARTS = 3
"""So often a machine gets its start-up commands that starts anew in the middle of them."""
QUIET_S = 0.3
"""Before they are sent again; answers to the first ones that still come are nobody's."""
RETRY_S = 0.25
"""Between two tries to open a wire that was lost."""


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
        self.touched = False
        """Whether anything was asked of the machine, so that a stop is owed when the wire is lost."""
        self.on_wire: Callable[[StopOutcome | None], None] = lambda stop: None
        """Told when the wire is lost (None), and when it is back, with how its stop went."""
        self._stop_messages = stop_messages(driver, names, settings.tables)
        self._settle_steps = settle_steps(driver, names, settings.tables)
        self._stop_owed = False
        self._wire_up = True
        self._rescue: threading.Thread | None = None
        self._rescue_lock = threading.Lock()
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
        with self._rescue_lock:
            # No rescue begins after this, and one that began has been started.
            self._closed.set()
        for thread in (self._heart, self._rescue):
            if thread is not None:
                thread.join(2.0)
        self.wire.close(self._stop_owed)

    @property
    def confirms_stop(self) -> bool:
        """Whether the driver knows a question that tells whether the machine obeyed a stop."""
        return any(self.driver.asks(step) for step, _ in self._settle_steps)

    def ensure(self) -> None:
        """A connected machine that is started; after trouble it is stopped first.

        Raises:
            DriverFault: it says that it is not there, or does not leave its stop.
            LinkError, Lost: it cannot be reached, or does not answer.
        """
        if self._ready and self.wire.connected:
            if self._says_offline():
                raise DriverFault("offline", "The device's last will says that it is gone.")
            return
        if not self.wire.connected:
            self.wire.open(self._conversation.hear, self._lost)
        with self.writing:
            self._write_stop()
        self.memory.update(self.driver.stop.remember)
        self._boot()
        confirmed = self._settle()
        self._stop_owed = False
        self._run_own(self.driver.reset)
        self._tell_wire(StopOutcome.CONFIRMED if confirmed else StopOutcome.SENT)

    def distrust(self) -> None:
        """Nobody knows what the machine is doing: stop it now, and start it anew before the next call."""
        self._ready = False
        self._stop_once()

    def stop(self) -> StopOutcome:
        """The stop, at once, and what settles it; nothing else goes out until `leave_stop`. Never raises."""
        self.halted.set()
        return self._stop_once()

    def take_back(self) -> None:
        """Open a wire that was lost; the stop is the first that goes out, also when no call follows.

        Raises:
            LinkError: it is still gone.
        """
        with self.one_at_a_time:
            if self._closed.is_set():
                raise LinkError(f"{self.wire.name} was closed")
            if not self.wire.connected:
                self.wire.open(self._conversation.hear, self._lost)
            if not self._stop_owed:
                return
            stop = self._stop_once()
        self._tell_wire(stop)

    def leave_stop(self) -> None:
        """Take steps again; a machine in doubt is asked at the next call.

        Raises:
            Refusal, DriverFault, LinkError, Lost, Stopped: it does not leave its stop, and stays stopped.
        """
        if not self.wire.connected:
            raise LinkError(f"{self.wire.name} is gone; is the cable in?")
        self.halted.clear()
        try:
            if self._ready:
                self._run_own(self.driver.reset)
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

    def _stop_once(self) -> StopOutcome:
        # What is being written ends first, but the stop never waits for it for long.
        mine = self.writing.acquire(timeout=0.2)
        try:
            self._write_stop()
        except LinkError:
            self._stop_owed = self.touched
            return StopOutcome.NOT_SENT
        finally:
            if mine:
                self.writing.release()
            self.memory.update(self.driver.stop.remember)
        confirmed = self._settle()
        # The wire may have been lost since, and with it a stop that was only written.
        self._stop_owed = self.touched and not confirmed and (self.confirms_stop or not self.wire.connected)
        return StopOutcome.CONFIRMED if confirmed else StopOutcome.SENT

    def _settle(self) -> bool:
        """What follows the stop, never in its way; whether the machine's answers confirm it. Never raises."""
        if self._says_offline():
            return False
        for _, same in groupby(self._settle_steps, key=lambda one: id(one[0])):
            steps = list(same)
            if not self._settled(steps[0][0], [names for _, names in steps]) and not steps[0][0].optional:
                return False
        return self.confirms_stop

    def _settled(self, step: Step, rows: Sequence[dict[str, str]]) -> bool:
        """Run it for its rows; the first that stays unanswered speaks for the others. Never raises."""
        for names in rows:
            try:
                if not self.wire.connected:
                    return False
                output = Output(self, obeys_stop=False)
                self.runner(self.scope.for_call({}), lambda: False, output).run([step], names)
            except (Refusal, DriverFault, LinkError, Lost):
                return False
        return True

    def _says_offline(self) -> bool:
        there = self.driver.availability
        if there is None:
            return False
        last = self._conversation.last.get(render(there.topic, self.scope.names))
        return last is not None and last.text == there.offline

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
        if self._closed.is_set():
            return
        self._stop_owed = self.touched
        self._tell_wire(None)
        with self._rescue_lock:
            if self.touched and not self._closed.is_set() and not self._rescued():
                self._rescue = threading.Thread(
                    target=self._take_back_soon, name=f"stop {self.wire.name}", daemon=True
                )
                self._rescue.start()

    def _rescued(self) -> bool:
        return self._rescue is not None and self._rescue.is_alive()

    def _tell_wire(self, stop: StopOutcome | None) -> None:
        if self._wire_up or stop is not None:
            self._wire_up = stop is not None
            self.on_wire(stop)

    def _take_back_soon(self) -> None:
        while self._stop_owed and not self._closed.wait(RETRY_S):
            with contextlib.suppress(LinkError):
                self.take_back()

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
