"""Runs the steps of a driver file: sends commands, and reads answers within their times."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from devices.drivers.driver_file import DriverFile, Failure, Step
from devices.drivers.patterns import MachineMessage, Pattern
from devices.drivers.templates import TemplateError, check_bytes, render
from devices.drivers.tool_driver import DEVICE_RESET, DriverFault, Stopped
from devices.drivers.values import MissingValue, Scalar, Scope, evaluate, number, write
from devices.outcome import Refusal
from devices.rig_motion import RigMotion
from firmware_bridge.drivers.conversation import Conversation, Subscription
from firmware_bridge.drivers.wire import Wire

SLICE = 0.02
"""Time between two checks whether the call was stopped, s."""
UNSURE = frozenset({"no_answer", "bad_answer", DEVICE_RESET})
"""After these the machine's state is unknown: it is stopped and started again."""


class Output:
    """The output of steps, closed from the stop to the reset.

    Args:
        wire: what it writes to.
        end: of a command's line.
        writing: held while it writes.
        rig: closes it from a stop to its reset; None: the stop does not close this output.
    """

    def __init__(self, wire: Wire, end: bytes, writing: Lock, rig: RigMotion | None) -> None:
        self._wire, self._end, self._writing, self._rig = wire, end, writing, rig

    def line(self, command: bytes) -> None:
        """Send a command, with its line end."""
        self.raw(command + self._end)

    def raw(self, data: bytes) -> None:
        """Send real-time bytes. Raises Stopped once the machine is stopped, and LinkError."""
        self._send(lambda: self._wire.write(data))

    def publish(self, topic: str, payload: str, retain: bool) -> None:
        """Publish an MQTT message. Raises as `raw`."""
        self._send(lambda: self._wire.publish(topic, payload, retain=retain))

    def _send(self, send: Callable[[], None]) -> None:
        if self._rig is None:
            send()
            return
        with self._writing:
            if self._rig.halted:
                raise Stopped
            send()


@dataclass
class _Sent:
    step: Step
    names: dict[str, str]
    again: Callable[[], None]
    expect: Sequence[Pattern]
    seconds: float
    tries_left: int
    deadline: float
    last_moment: float
    next_poll: float
    read: set[int] = field(default_factory=set)
    failed: tuple[Failure, dict[str, str]] | None = None


class StepRunner:
    """Runs the steps of one call, of a start, or of a reset.

    Args:
        driver: the driver.
        scope: the call's arguments; receives the captures.
        output: sends the commands.
        conversation: provides the answers.
        remember: takes a name and a value of `set`.
        stopped: returns whether the call was stopped.
        next_id: returns the next ${id}.
    """

    def __init__(
        self,
        driver: DriverFile,
        scope: Scope,
        output: Output,
        conversation: Conversation,
        remember: Callable[[str, Scalar], None],
        stopped: Callable[[], bool],
        next_id: Callable[[], int],
    ) -> None:
        self._driver = driver
        self._scope = scope
        self._output = output
        self._conversation = conversation
        self._clock = conversation.clock
        self._remember = remember
        self._stopped = stopped
        self._next_id = next_id
        self._pending: deque[_Sent] = deque()
        self.in_call = False
        """Whether a restart of the machine during the steps ends a call."""

    def run(self, steps: Sequence[Step], names: Mapping[str, str]) -> None:
        """Run the steps to their end.

        Raises:
            Refusal: the machine refused, or a value is out of its limits.
            DriverFault: a failure, or no answer.
            Stopped: the call was stopped.
            Lost, LinkError: the wire is lost.
        """
        with self._conversation.subscribed() as subscription:
            self._run(steps, dict(names), subscription)
            self._finish_all(subscription)

    def _run(self, steps: Sequence[Step], names: dict[str, str], answers: Subscription) -> None:
        for step in steps:
            if self._stopped():
                raise Stopped
            options = self._scope.options
            if (step.only_if and not options[step.only_if]) or (
                step.only_unless and options[step.only_unless]
            ):
                continue
            if step.send is None or len(self._pending) >= self._driver.line.outstanding:
                self._finish_all(answers)
            try:
                inner = names | {name: write(value, self._scope) for name, value in step.values.items()}
            except MissingValue:
                # A pending answer may contain it.
                self._finish_all(answers)
                inner = names | self._values(step)
            self._one(step, inner, answers)

    def _values(self, step: Step) -> dict[str, str]:
        try:
            return {name: write(value, self._scope) for name, value in step.values.items()}
        except MissingValue as error:
            raise DriverFault("missing_value", f"The driver lacks a value: {error}.") from None

    def _one(self, step: Step, names: dict[str, str], answers: Subscription) -> None:
        if step.use is not None:
            self._run(self._driver.macros[step.use], names, answers)
        elif step.set is not None:
            for name, value in step.set.items():
                result = evaluate(value, self._scope)
                assert not isinstance(result, list), "a list cannot be remembered"
                self._remember(name, result)
        elif step.wait is not None:
            self._wait(float(evaluate(step.wait, self._scope)), answers)  # type: ignore[arg-type]
        else:
            self._send(step, names, answers)

    def _wait(self, seconds: float, answers: Subscription) -> None:
        end = self._clock.now() + seconds
        while (left := end - self._clock.now()) > 0:
            message = answers.next(min(left, SLICE))
            if self._stopped():
                raise Stopped
            if message is not None:
                self._restarted(message, self._scope.names)
                self._gone(message)

    def _send(self, step: Step, names: dict[str, str], answers: Subscription) -> None:
        names = names | {"id": str(self._next_id())}
        again = self._writer(step, names)
        if step.expect is not None:
            expect: Sequence[Pattern] = step.expect
        else:
            expect = self._driver.answers.done if step.send is not None else []
        if not self._pending:
            for message in answers.clear():
                if self.in_call:
                    self._restarted(message, names)
        before = list(self._conversation.last.values())
        there = step.already and any(p.find(m, names) is not None for p in expect for m in before)
        if step.publish is not None and not there:
            # The state is unknown until the answer.
            self._conversation.forget(render(p.topic, names) for p in expect)
        again()
        if not expect:
            return
        now = self._clock.now()
        seconds = number(step.seconds or self._driver.answers.seconds, self._scope)
        sent = _Sent(
            step=step,
            names=names,
            again=again,
            expect=expect,
            seconds=seconds,
            tries_left=step.tries - 1,
            deadline=now + seconds,
            last_moment=now + max(seconds, number(step.at_most, self._scope)),
            next_poll=now + (0.0 if step.poll is None else step.poll.every),
        )
        if there:
            return
        self._pending.append(sent)

    def _writer(self, step: Step, names: dict[str, str]) -> Callable[[], None]:
        try:
            if step.send is not None:
                line = self._driver.line
                command = check_bytes(render(step.send, names), line.never_send, line.max_bytes)
                return lambda: self._output.line(command)
            if step.realtime is not None:
                data = step.realtime.encode("latin-1")
                return lambda: self._output.raw(data)
            assert step.publish is not None
            topic, payload = render(step.publish, names), render(step.payload, names)
        except TemplateError as error:
            raise DriverFault("not_sent", f"{error}.") from None
        if step.json_payload is not None:
            payload = json.dumps({key: evaluate(v, self._scope) for key, v in step.json_payload.items()})
        return lambda: self._output.publish(topic, payload, step.retain)

    def _finish_all(self, answers: Subscription) -> None:
        while self._pending:
            self._finish(self._pending.popleft(), answers)

    def _finish(self, sent: _Sent, answers: Subscription) -> None:
        while True:
            message = answers.next(min(SLICE, sent.deadline - self._clock.now()))
            if self._stopped():
                raise Stopped
            if message is None:
                self._time_passed(sent)
            elif self._taken(sent, message):
                return

    def _time_passed(self, sent: _Sent) -> None:
        now = self._clock.now()
        if sent.step.poll is not None and now >= sent.next_poll:
            sent.next_poll = now + sent.step.poll.every
            self._output.raw(sent.step.poll.realtime.encode("latin-1"))
        if now < sent.deadline:
            return
        if sent.tries_left > 0:
            sent.tries_left -= 1
            sent.deadline = now + sent.seconds
            sent.again()
            return
        asked = sent.step.send or sent.step.publish or repr(sent.step.realtime)
        raise DriverFault("no_answer", f"The machine did not answer {asked!r} within {sent.seconds:g} s.")

    def _taken(self, sent: _Sent, message: MachineMessage) -> bool:
        """Handle one message and return whether the step is done."""
        for index, pattern in enumerate(sent.step.read):
            captures = pattern.find(message, sent.names)
            if captures is not None:
                sent.read.add(index)
                self._scope.captures.update(captures)
        for pattern in sent.expect:
            # A retained message is no answer.
            captures = None if message.retained else pattern.find(message, sent.names)
            if captures is not None:
                self._scope.captures.update(captures)
                if sent.failed is not None:
                    self._fail(*sent.failed, sent.names)
                if len(sent.read) < len(sent.step.read):
                    raise DriverFault("bad_answer", f"The answer ends without its value: {message.text!r}.")
                return True
        for failure in (*sent.step.failures, *self._driver.answers.failures):
            captures = failure.when.find(message, sent.names)
            if captures is not None:
                if not failure.at_end:
                    self._fail(failure, captures, sent.names)
                sent.failed = sent.failed or (failure, captures)
        self._restarted(message, sent.names)
        self._gone(message)
        if any(p.find(message, sent.names) is not None for p in self._driver.answers.progress):
            sent.deadline = min(self._clock.now() + sent.seconds, sent.last_moment)
        return False

    def _fail(self, failure: Failure, captures: Mapping[str, str], names: dict[str, str]) -> None:
        self._pending.clear()
        known = names | dict(captures)
        code, message = render(failure.code, known), render(failure.message, known)
        if failure.recover:
            self.in_call = False
            self.run(failure.recover, names)
        if failure.status == "rejected":
            raise Refusal(code, message)
        raise DriverFault(code, message)

    def _restarted(self, message: MachineMessage, names: Mapping[str, str]) -> None:
        if any(pattern.find(message, names) is not None for pattern in self._driver.boot.banner):
            raise DriverFault(DEVICE_RESET, "The machine started anew in the middle of the call.")

    def _gone(self, message: MachineMessage) -> None:
        there = self._driver.availability
        if (
            there is not None
            and message.text == there.offline
            and message.topic == render(there.topic, self._scope.names)
        ):
            raise DriverFault("offline", f"The device says that it is {there.offline}.")
