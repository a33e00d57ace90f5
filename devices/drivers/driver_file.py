"""The keys of a driver file."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from devices.drivers.patterns import Pattern
from devices.drivers.values import Number, Scalar, Scope, Strict, Value, evaluate, number
from devices.outcome import Refusal

KINDS = ("send", "realtime", "publish", "wait", "set", "use")


class Option(Strict):
    """A setting that a rig file may give."""

    default: Scalar = Field(description="the value where the rig file gives none; its type is the option's")
    description: str = Field(description="what it is, with its unit")
    min: float | None = Field(default=None, description="the least value")
    max: float | None = Field(default=None, description="the greatest value")


class Column(Strict):
    """A column of a table."""

    description: str = Field(description="what it holds, with its unit")
    type: Literal["number", "text"] = Field(default="number", description="number or text")
    default: Scalar | None = Field(default=None, description="for a row that leaves it out")
    optional: bool = Field(default=False, description="may be left out; tools that need it refuse")


class Table(Strict):
    """Named places, pins or valves that a rig file lists."""

    description: str = Field(description="what its rows are")
    columns: dict[str, Column] = Field(description="the columns")


class Failure(Strict):
    """An answer that means that the command failed."""

    when: Pattern = Field(description="the answer")
    status: Literal["rejected", "fault"] = Field(
        description="rejected: the machine refused and nothing moved; fault: it failed during the work"
    )
    code: str = Field(description="a stable word for agents and the log; may hold ${captures}")
    message: str = Field(description="a sentence: what to do; may hold ${captures}")
    at_end: bool = Field(
        default=False,
        description="it counts once the command is over: the machine works on after reporting it",
    )
    recover: list[Step] = Field(default=[], description="steps after which the machine answers again")


class Poll(Strict):
    """A real-time query while an answer is awaited."""

    realtime: str = Field(description="the byte")
    every: float = Field(default=0.25, gt=0, description="seconds between two")


class Step(Strict):
    """One step: exactly one of `send`, `realtime`, `publish`, `wait`, `set` and `use`."""

    send: str | None = Field(default=None, description="serial: a command; ${...} stands for values")
    realtime: str | None = Field(default=None, description="serial: bytes outside the lines")
    publish: str | None = Field(default=None, description="MQTT: the topic")
    payload: str = Field(default="", description="for `publish`: the payload; ${...} stands for values")
    json_payload: dict[str, Value] | None = Field(
        default=None, alias="json", description="for `publish`: a JSON payload by key, instead of `payload`"
    )
    retain: bool = Field(default=False, description="for `publish`: the broker keeps it")
    wait: Value | None = Field(default=None, description="pause, in seconds")
    set: dict[str, Value] | None = Field(default=None, description="values to remember, by name")
    use: str | None = Field(default=None, description="the steps of this macro, with `values`")
    values: dict[str, Value] = Field(default={}, description="values for ${...}, for this step alone")
    expect: list[Pattern] | None = Field(
        default=None, description="answers that end it; left out: `answers.done` for `send`, else none"
    )
    read: list[Pattern] = Field(
        default=[], description="messages that must have come before the end; their groups are captured"
    )
    failures: list[Failure] = Field(default=[], description="checked before `answers.failures`")
    seconds: Number | None = Field(
        default=None, description="fault after so many seconds without progress; left out: `answers.seconds`"
    )
    at_most: Number = Field(default=600.0, description="maximum seconds of a step that reports progress")
    tries: int = Field(
        default=1, ge=1, le=10, description="number of attempts before that; only for what may be done twice"
    )
    already: bool = Field(
        default=False, description="MQTT: the last message on the topic counts, even from before the step"
    )
    poll: Poll | None = Field(default=None, description="serial: a query while waiting")
    only_if: str | None = Field(default=None, description="left out unless this option is true")
    only_unless: str | None = Field(default=None, description="left out if this option is true")

    @model_validator(mode="after")
    def _one_kind(self) -> Step:
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a step needs exactly one of {', '.join(KINDS)}, and has {given or 'none'}")
        return self


class Need(Strict):
    """A condition that must hold before a tool starts, or the call is rejected."""

    remembered: str | None = Field(default=None, description="a remembered name")
    equals: Scalar | None = Field(default=None, description="what it must be")
    near: Value | None = Field(default=None, description="the name of a row that the machine must be near")
    table: str | None = Field(default=None, description="for `near`: its table, with columns x and y")
    within: Number = Field(default=0.0, description="for `near`: metres between it and remembered x and y")
    code: str = Field(description="the code of the refusal")
    message: str = Field(description="a sentence: what to do first")

    @model_validator(mode="after")
    def _one(self) -> Need:
        if (self.remembered is None) == (self.near is None):
            raise ValueError("a need has either `remembered` and `equals`, or `near`, `table` and `within`")
        if (self.equals is None) == (self.table is None):
            raise ValueError("`remembered` goes with `equals`, and `near` with `table`")
        return self

    def check(self, scope: Scope) -> None:
        """Check the condition.

        Raises:
            Refusal: with its own code and message, or `unknown_name`.
        """
        if self.remembered is not None:
            if scope.memory.get(self.remembered) != self.equals:
                raise Refusal(self.code, self.message)
            return
        assert self.near is not None and self.table is not None, "the file's check makes sure"
        name = str(evaluate(self.near, scope))
        place = scope.tables[self.table].get(name)
        if place is None:
            known = ", ".join(scope.tables[self.table]) or "none"
            raise Refusal("unknown_name", f"there is no {name!r}; there are {known}.")
        # A machine that has not reported its position is near nothing.
        away = math.hypot(
            *(float(scope.memory.get(axis, math.inf)) - float(place[axis]) for axis in ("x", "y"))
        )
        if not away <= number(self.within, scope):
            raise Refusal(self.code, self.message)


class ToolDriver(Strict):
    """The steps of a tool."""

    not_fitted: str | None = Field(
        default=None, description="why this hardware cannot do it; the tool is not offered to an agent"
    )
    needs: list[Need] = Field(default=[], description="conditions before it starts")
    values: dict[str, Value] = Field(default={}, description="values for ${...} in all its steps")
    steps: list[Step] = Field(default=[], description="the steps, in order")
    lastly: list[Step] = Field(
        default=[], description="done after the steps, and also when one failed: close what was opened"
    )
    result: dict[str, Value] = Field(default={}, description="the result's keys; those unknown are left out")


class Line(Strict):
    """The protocol of a serial line."""

    baud: int = Field(default=115_200, gt=0, description="unless the URL gives it")
    end: str = Field(default="\n", description="the end of a command")
    max_bytes: int = Field(default=255, gt=0, description="the longest command")
    never_send: str = Field(default="", description="bytes that no command may hold: they mean the stop")
    realtime: str = Field(default="", description="bytes that `realtime` steps may send")
    outstanding: int = Field(default=1, ge=1, le=64, description="commands that may wait for their answers")
    first_id: int = Field(default=1, ge=0, description="${id} counts from here")
    last_id: int = Field(default=9999, gt=0, description="and begins again after this")


class Boot(Strict):
    """How a start of the machine is recognised."""

    expect: list[Pattern] = Field(default=[], description="any of these means that it is ready")
    seconds: Number = Field(default=5.0, description="how long to wait for that, s")
    wake: list[Step] = Field(default=[], description="sent once if nothing came in that time")
    banner: list[Pattern] = Field(default=[], description="any of these means that it has just restarted")
    start: list[Step] = Field(default=[], description="sent after every start")


class Answers(Strict):
    """Answers that all commands share."""

    done: list[Pattern] = Field(default=[], description="a command is done")
    progress: list[Pattern] = Field(default=[], description="it is still at work: keep waiting")
    failures: list[Failure] = Field(default=[], description="it failed")
    seconds: Number = Field(default=5.0, description="fault after this time without answer or progress, s")


class Report(Strict):
    """An unsolicited message."""

    when: Pattern = Field(description="the message")
    for_each: str | None = Field(
        default=None, description="once for each row of this table, with ${row} and ${COLUMN}"
    )
    sample: str | None = Field(default=None, description="the sensor's name in the log; may hold ${...}")
    value: Value | None = Field(default=None, description="the sample's value")
    remember: dict[str, Value] = Field(default={}, description="remembered under these names")


class StopMessage(Strict):
    """An MQTT message of the stop."""

    publish: str = Field(description="the topic")
    payload: str = Field(description="the payload")
    for_each: str | None = Field(default=None, description="once for each row of this table")


class SettleStep(Step):
    """A step that follows the stop; an answer to each one that expects any confirms the stop."""

    for_each: str | None = Field(
        default=None,
        description="once for each row of this table, with ${row} and ${COLUMN}; a row that leaves out a "
        "column that is named is left out",
    )
    optional: bool = Field(default=False, description="its answer may be missing: a later step asks the same")


class Stop(Strict):
    """The emergency stop. It waits for nothing, and nothing else is sent until the reset."""

    send: str = Field(default="", description="serial: bytes, written at once")
    publish: list[StopMessage] = Field(
        default=[], description="MQTT: messages, sent at once; also the last wills of this program"
    )
    settle: list[SettleStep] = Field(
        default=[],
        description="steps after the stop; without one that expects an answer no stop is ever confirmed",
    )
    remember: dict[str, Scalar] = Field(default={}, description="values to remember after a stop")


class Heartbeat(Strict):
    """A query while no call runs."""

    every: float = Field(gt=0, description="seconds")
    steps: list[Step] = Field(description="the query")


class Availability(Strict):
    """MQTT: where the device reports whether it is online (its last will)."""

    topic: str = Field(description="the topic, retained")
    online: str = Field(description="the payload of a device that is online")
    offline: str = Field(description="the payload of a device that is offline: calls are faults")


class DriverFile(Strict):
    """A driver: everything that differs between two makes of hardware."""

    name: str = Field(description="the driver's name")
    description: str = Field(description="what it drives")
    protocol: str = Field(default="", description="reference of the protocol")
    link: Literal["serial", "mqtt", "pathrig", "python"] = Field(
        description="serial lines, MQTT topics, our own wire (docs/wire.md) on either, or a Python class"
    )
    python: str = Field(
        default="", description="link python: the class that drives the hardware, `package.module:Class`"
    )
    device: str | None = Field(
        default=None, description="the device type whose tools it maps: a registered name, or a device file"
    )
    options: dict[str, Option] = Field(default={}, description="settings of the rig file")
    tables: dict[str, Table] = Field(default={}, description="tables of the rig file")
    memory: dict[str, Scalar] = Field(default={}, description="remembered names and their first values")
    line: Line = Field(default=Line(), description="the protocol of the serial line")
    unattended: str = Field(
        default="",
        description="what stops the machine if host and keeper die (a watchdog of the board, pin guards, "
        "last wills); may hold ${options}; left out: nothing does",
    )
    subscribe: list[str] = Field(default=[], description="MQTT: the topics to listen to; may hold + and #")
    boot: Boot = Field(default=Boot(), description="start and start-up commands")
    answers: Answers = Field(default=Answers(), description="answers that all commands share")
    reports: list[Report] = Field(default=[], description="unsolicited messages")
    stop: Stop = Field(default=Stop(), description="the emergency stop")
    reset: list[Step] = Field(default=[], description="steps that leave the stop")
    heartbeat: Heartbeat | None = Field(default=None, description="a query while idle")
    availability: Availability | None = Field(default=None, description="MQTT: whether it is online")
    macros: dict[str, list[Step]] = Field(default={}, description="steps by name, for `use`")
    tools: dict[str, ToolDriver] = Field(
        default={},
        description="the tools; those left out are not offered to an agent (link python: empty means all)",
    )

    @property
    def fitted(self) -> frozenset[str]:
        """The tools that the hardware has."""
        return frozenset(name for name, tool in self.tools.items() if tool.not_fitted is None)

    def asks(self, step: Step) -> bool:
        """Return whether a step ends with an answer; a `send` without `expect` waits for `answers.done`."""
        if step.use is not None:
            return any(self.asks(inner) for inner in self.macros[step.use])
        return bool(self.answers.done if step.expect is None and step.send is not None else step.expect)


Failure.model_rebuild()
