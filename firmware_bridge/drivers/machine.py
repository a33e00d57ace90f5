"""The machine behind a driver: its wire, its start, its stop, and the driver's memory."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Sequence

from devices.drivers.driver_file import DriverFile, Step
from devices.drivers.patterns import MachineMessage
from devices.drivers.settings import Settings
from devices.drivers.templates import render
from devices.drivers.tool_driver import DEVICE_RESET, DriverFault, Stopped
from devices.drivers.values import Scalar, Scope, number
from devices.outcome import Refusal, StopOutcome
from devices.rig_motion import Event, Motion, RigMotion
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.drivers.conversation import Conversation, Lost
from firmware_bridge.drivers.reports import Reports, settle_steps, stop_messages
from firmware_bridge.drivers.steps import Output, StepRunner
from firmware_bridge.drivers.wire import Wire
from firmware_bridge.link import LinkError, gone

STARTS = 3
"""Largest number of times that the start-up commands are sent to a machine that restarts during them."""
QUIET_S = 0.3
"""Time before they are sent again, in which late answers to the first ones arrive."""
RETRY_S = 0.25
"""Time between two attempts to open a lost wire."""


class Machine:
    """Sends steps to the hardware, one set at a time, and none between a stop and its reset.

    Args:
        driver: the driver.
        settings: the rig's options and tables.
        wire: the raw line or topics.
        rig: the device's part of MQTT topics, `${rig}`.
        sample: takes name and value of each sample; called on the reader thread.
        clock: of all its waits.
    """

    def __init__(
        self,
        driver: DriverFile,
        settings: Settings,
        wire: Wire,
        rig: str,
        sample: Callable[[str, Scalar], None],
        clock: Clock = MONOTONIC,
    ) -> None:
        self.driver = driver
        self.clock = clock
        self.wire = wire
        self.memory: dict[str, Scalar] = dict(driver.memory)
        names = settings.names(rig)
        self.scope = Scope({}, settings.options, settings.tables, self.memory, {}, names)
        self.one_at_a_time = threading.Lock()
        """Held while steps run."""
        self.rig = RigMotion()
        """Whether it moves. One that was ever driven and is lost is owed a stop."""
        self.writing = threading.Lock()
        self.on_wire: Callable[[StopOutcome | None], None] = lambda stop: None
        """Called when the wire is lost (None), and when it is restored, with the outcome of its stop."""
        self._stop_messages = stop_messages(driver, names, settings.tables)
        self._settle_steps = settle_steps(driver, names, settings.tables)
        self._recovery: threading.Thread | None = None
        self._recovery_lock = threading.Lock()
        self.reports = Reports(driver, self.scope, self.memory.__setitem__, sample)
        self._conversation = Conversation(self.reports.take, clock)
        self._ids = itertools.cycle(range(driver.line.first_id, driver.line.last_id + 1))
        self._ready = False
        self._closed = threading.Event()
        self._heart: threading.Thread | None = None

    def open(self, *, stop_first: bool = False) -> None:
        """Connect, wait until the machine answers, and send the start-up commands.

        Args:
            stop_first: send the stop before all else: an earlier rig process may have left it moving.

        Raises:
            LinkError: the machine cannot be reached, or does not answer.
        """
        try:
            self.wire.open(self._conversation.publish, self._on_lost)
            if stop_first:
                self._write_stop()
            self._boot()
        except BaseException:
            self.wire.close()
            raise
        if self.driver.heartbeat is not None:
            self._heart = threading.Thread(target=self._beat, name=f"heartbeat {self.wire.name}", daemon=True)
            self._heart.start()

    def close(self) -> None:
        """Close the wire; the endpoint has sent the stop. Never raises."""
        with self._recovery_lock:
            # No recovery thread starts after this, and one that was created has started.
            self._closed.set()
        for thread in (self._heart, self._recovery):
            if thread is not None:
                thread.join(2.0)
        self.wire.close()

    @property
    def connected(self) -> bool:
        """Whether bytes can go out, to a machine that has not fallen silent."""
        return self.wire.connected and not self._lost

    @property
    def why_down(self) -> str:
        """Why it is not connected; one line."""
        return f"{self.wire.name} does not answer" if self.wire.connected else gone(self.wire.name)

    @property
    def stop_owed(self) -> bool:
        """Whether the wire is lost with a stop pending, and can come back."""
        return self._owed and self.wire.comes_back and not self.wire.connected

    @property
    def _lost(self) -> bool:
        return self.rig.state is Motion.LOST

    @property
    def _owed(self) -> bool:
        unconfirmed = self.confirms_stop and self.rig.state is Motion.STOPPING
        return self.rig.driven and (self._lost or unconfirmed)

    @property
    def confirms_stop(self) -> bool:
        """Whether the driver has a query that confirms a stop."""
        return any(self.driver.asks(step) for step, _ in self._settle_steps)

    def ensure(self) -> None:
        """Connect and start the machine if necessary; after an error it is stopped first.

        Raises:
            DriverFault: the machine is offline, or does not leave its stop.
            LinkError, Lost: the machine cannot be reached, or does not answer.
        """
        if self._ready and self.wire.connected:
            if self._is_offline():
                raise DriverFault("offline", "The device is offline by its last will.")
            return
        if not self.wire.connected:
            self.wire.open(self._conversation.publish, self._on_lost)
        with self.writing:
            self._write_stop()
        self.memory.update(self.driver.stop.remember)
        self._boot()
        confirmed = self._settle()
        self._run_own(self.driver.reset)
        self._found(StopOutcome.CONFIRMED if confirmed else StopOutcome.SENT)
        self.rig.on(Event.DRIVE)

    def mark_unknown(self) -> None:
        """Stop a machine whose state is unknown, and start it again before the next call.

        One that says nothing at all, not even whether it has stopped, is reported as a lost wire is.
        """
        self._ready = False
        heard = self._conversation.messages
        stop = self._stop_once()
        asked = self.confirms_stop and self.wire.connected and not self._is_offline()
        if asked and stop is StopOutcome.SENT and self._conversation.messages == heard:
            self._lose()

    def stop(self) -> StopOutcome:
        """Stop the machine at once, and send only settle steps until `leave_stop`. Never raises."""
        self.rig.on(Event.HALT)
        return self._stop_once()

    def reconnect(self) -> None:
        """Open a lost wire, and send a pending stop first; stop a mute machine, and ask it again.

        Raises:
            LinkError: it is still lost, or mute.
        """
        with self.one_at_a_time:
            if self._closed.is_set():
                raise LinkError(f"{self.wire.name} was closed")
            owed, mute = self._owed, self._lost and self.wire.connected
            if not self.wire.connected:
                self.wire.open(self._conversation.publish, self._on_lost)
            if not owed:
                self.rig.on(Event.FIND)
                return
            heard = self._conversation.messages
            stop = self._stop_once()
            if stop is StopOutcome.NOT_SENT or (mute and self._conversation.messages == heard):
                raise LinkError(self.why_down)
        self._found(stop)

    def leave_stop(self) -> None:
        """Accept steps again; a machine whose state is unknown is started at the next call.

        Raises:
            Refusal, DriverFault, LinkError, Lost, Stopped: the machine stays stopped.
        """
        if not self.wire.connected:
            raise LinkError(self.why_down)
        self.rig.on(Event.RESET)
        try:
            if self._ready:
                self._run_own(self.driver.reset)
        except (Refusal, DriverFault, LinkError, Lost, Stopped):
            self.rig.on(Event.HALT)
            raise
        # An episode begins: its log needs the unchanged readings too.
        self.reports.repeat()

    def output(self, *, obeys_stop: bool = True) -> Output:
        """Return what steps are sent by; one that does not obey the stop is for what follows it."""
        end = self.driver.line.end.encode("latin-1")
        return Output(self.wire, end, self.writing, self.rig if obeys_stop else None)

    def runner(self, scope: Scope, stopped: Callable[[], bool], output: Output | None = None) -> StepRunner:
        """Return a runner of steps in this scope."""
        return StepRunner(
            self.driver,
            scope,
            output or self.output(),
            self._conversation,
            self.memory.__setitem__,
            stopped,
            lambda: next(self._ids),
        )

    def _run_own(self, steps: Sequence[Step]) -> None:
        self.runner(self.scope.for_call({}), lambda: self.rig.halted).run(steps, self.scope.names)

    def _stop_once(self) -> StopOutcome:
        # A write in progress ends first, but the stop waits only briefly for it.
        mine = self.writing.acquire(timeout=0.2)
        try:
            self._write_stop()
        except LinkError:
            return StopOutcome.NOT_SENT
        finally:
            if mine:
                self.writing.release()
            self.memory.update(self.driver.stop.remember)
        confirmed = self._settle()
        stop = StopOutcome.CONFIRMED if confirmed else StopOutcome.SENT
        self.rig.stopped(stop)
        return stop

    def _settle(self) -> bool:
        """Run the settle steps and return whether the machine's answers confirm the stop. Never raises."""
        if self._is_offline() or not self.wire.taken():
            # What was reported before counts only of a stop that has arrived.
            return False
        for step, names in self._settle_steps:
            if not self._settled(step, names) and not step.optional:
                return False
        return self.confirms_stop

    def _settled(self, step: Step, names: dict[str, str]) -> bool:
        """Run a step and return whether it was answered. Never raises."""
        try:
            if not self.wire.connected:
                return False
            output = self.output(obeys_stop=False)
            self.runner(self.scope.for_call({}), lambda: False, output).run([step], names)
        except (Refusal, DriverFault, LinkError, Lost):
            return False
        return True

    def _is_offline(self) -> bool:
        there = self.driver.availability
        if there is None:
            return False
        last = self._conversation.last.get(render(there.topic, self.scope.names))
        return last is not None and last.text == there.offline

    def _boot(self) -> None:
        """Wait for the machine, and send its start-up commands. Raises LinkError."""
        try:
            if self.driver.boot.expect and not self._greets():
                self._run_own(self.driver.boot.wake)
            self._start()
        except (Refusal, DriverFault) as fault:
            text = f"{self.wire.name} does not answer as {self.driver.name} does: {fault.message}"
            raise LinkError(f"{text} Is it that machine, at that speed or under that topic?") from None
        except Lost:
            raise LinkError(f"{self.wire.name} was lost while the machine started") from None
        self._ready = True

    def _start(self) -> None:
        """Send the start-up commands, again if the machine restarts during them."""
        for _ in range(STARTS - 1):
            try:
                self._run_own(self.driver.boot.start)
            except DriverFault as fault:
                if fault.code != DEVICE_RESET:
                    raise
                self.clock.sleep(QUIET_S)
            else:
                return
        self._run_own(self.driver.boot.start)

    def _greets(self) -> bool:
        """Return whether the machine sends its greeting within its time.

        Raises:
            DriverFault: it does not, and the driver has no steps to wake it.
        """
        boot, names = self.driver.boot, self.scope.names
        seconds = number(boot.seconds, self.scope)

        def fits(message: MachineMessage) -> bool:
            return any(pattern.find(message, names) is not None for pattern in boot.expect)

        with self._conversation.subscribed() as subscription:
            if any(fits(message) for message in list(self._conversation.last.values())):
                return True
            end = self.clock.now() + seconds
            while (left := end - self.clock.now()) > 0:
                message = subscription.next(left)
                if message is not None and fits(message):
                    return True
        if not boot.wake:
            raise DriverFault("no_answer", f"It sent no greeting within {seconds:g} s.")
        return False

    def _write_stop(self) -> None:
        if self.driver.stop.send:
            self.wire.write_at_once(self.driver.stop.send.encode("latin-1"))
        for topic, payload in self._stop_messages:
            self.wire.publish(topic, payload)

    def _on_lost(self) -> None:
        self._ready = False
        self._conversation.lost()
        if self._closed.is_set():
            return
        self._lose()
        with self._recovery_lock:
            recovering = self._recovery is not None and self._recovery.is_alive()
            if self.rig.driven and not self._closed.is_set() and not recovering:
                self._recovery = threading.Thread(
                    target=self._recover, name=f"stop {self.wire.name}", daemon=True
                )
                self._recovery.start()

    def _lose(self) -> None:
        if self.rig.on(Event.LOSE):
            self.on_wire(None)

    def _found(self, stop: StopOutcome) -> None:
        self.rig.on(Event.FIND)
        self.rig.stopped(stop)
        self.on_wire(stop)

    def _recover(self) -> None:
        while self._owed and not self.clock.wait(self._closed, RETRY_S):
            with contextlib.suppress(LinkError):
                self.reconnect()

    def _beat(self) -> None:
        assert self.driver.heartbeat is not None
        while not self.clock.wait(self._closed, self.driver.heartbeat.every):
            if not self._ready or self.rig.halted or not self.one_at_a_time.acquire(blocking=False):
                continue
            try:
                self._run_own(self.driver.heartbeat.steps)
            except (Refusal, DriverFault, LinkError, Lost):
                self._ready = False
            except Stopped:
                pass
            finally:
                self.one_at_a_time.release()
